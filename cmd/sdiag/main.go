// Command sdiag shows what the controller counts of itself.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/diag"
)

func main() {
	command.Main("sdiag", func(p *command.Program) int { return diag.Run(context.Background(), p) })
}
