// Command sacctmgr shows the cluster's accounts, users, associations and QOS.
package main

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/acctmgr"
)

func main() {
	command.Main("sacctmgr", func(p *command.Program) int { return acctmgr.Run(context.Background(), p) })
}
