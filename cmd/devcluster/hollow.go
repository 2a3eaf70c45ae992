package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"muster/internal/devcluster"
	"muster/internal/node/daemon"
)

// hollow runs the simulated nodes of the cluster until it is told to end.
func hollow(c *cli.Context) error {
	l, err := devcluster.New(c.String("dir"))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return daemon.RunHollow(ctx, l.Conf(), "hollow")
}
