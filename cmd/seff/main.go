// Command seff shows how much of what it held a finished job used.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/accounting"
)

func main() {
	command.Main("seff", func(p *command.Program) int { return accounting.RunEfficiency(context.Background(), p) })
}
