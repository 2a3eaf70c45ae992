// Command squeue shows the jobs that wait and run.
package main

import (
	"context"
	"runtime/debug"

	"muster/internal/command"
	"muster/internal/command/queue"
)

func main() {
	debug.SetGCPercent(400) // a long list is read once and all of it is shown
	command.Main("squeue", func(p *command.Program) int { return queue.Run(context.Background(), p) })
}
