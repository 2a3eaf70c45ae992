// Command squeue shows the jobs that wait and run.
package main

import (
	"context"
	"runtime/debug"

	"muster/internal/command"
	"muster/internal/command/queue"
)

func main() {
	debug.SetGCPercent(100) // lines stay, the messages that they are made of do not
	command.Main("squeue", func(p *command.Program) int { return queue.Run(context.Background(), p) })
}
