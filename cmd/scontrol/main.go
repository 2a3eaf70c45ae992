// Command scontrol shows and changes the state of the cluster.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/control"
)

func main() {
	command.Main("scontrol", func(p *command.Program) int { return control.Run(context.Background(), p) })
}
