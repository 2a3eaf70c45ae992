// Command ctld is the controller: it keeps the cluster's state in PostgreSQL,
// schedules jobs, and answers commands and nodes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"muster/internal/conf"
	"muster/internal/ctld"
	"muster/internal/metrics/profile"
	"muster/internal/version"
)

func main() {
	cli.VersionPrinter = func(*cli.Context) { fmt.Println(version.Daemon()) }
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version"}
	app := &cli.App{
		Name:            "ctld",
		Usage:           "the controller of a cluster",
		Version:         version.Slurm,
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "f", Usage: "`FILE` to read instead of the usual slurm.conf"},
			&cli.BoolFlag{Name: "D", Usage: "stay in the foreground (it always does; a supervisor keeps it running)"},
			&cli.BoolFlag{Name: "systemd", Usage: "systemd waits for our word that we serve"},
			&cli.StringFlag{Name: "host", Usage: "which `SLURMCTLDHOST` this is, where the host's name does not tell"},
			&cli.StringFlag{Name: "dump", Usage: "write the embedded database to `FILE` and end"},
			&cli.StringFlag{Name: "restore", Usage: "load the embedded database from `FILE` and end"},
		},
		Action: run,
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "ctld:", err)
		os.Exit(1)
	}
}

func run(c *cli.Context) error {
	path := c.String("f")
	if path == "" {
		path = conf.Find()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := profile.Serve(ctx, "ctld"); err != nil {
		return err
	}
	opts := ctld.Options{Conf: path, Host: c.String("host"), Version: version.Slurm, Systemd: c.Bool("systemd")}
	switch {
	case c.String("dump") != "":
		return ctld.Dump(ctx, opts, c.String("dump"))
	case c.String("restore") != "":
		return ctld.Restore(ctx, opts, c.String("restore"))
	}
	defer keepBallast()()
	return ctld.Run(ctx, opts)
}
