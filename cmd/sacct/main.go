// Command sacct shows what jobs and steps used, ended and live.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/accounting"
)

func main() {
	command.Main("sacct", func(p *command.Program) int { return accounting.Run(context.Background(), p) })
}
