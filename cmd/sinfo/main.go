// Command sinfo shows partitions and nodes.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/nodes"
)

func main() {
	command.Main("sinfo", func(p *command.Program) int { return nodes.Run(context.Background(), p) })
}
