// Command squeue shows the jobs that wait and run.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/queue"
)

func main() {
	command.Main("squeue", func(p *command.Program) int { return queue.Run(context.Background(), p) })
}
