// Command sackd proves on a login node who its users are: it holds the cluster's
// key, looks at the unix-socket peer, and hands out tokens for connections to the
// controller. On a host without configuration files it keeps a copy of the
// controller's.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"

	"muster/internal/auth/confcopy"
	"muster/internal/auth/sack"
	"muster/internal/command"
)

func main() {
	if err := app(os.Stdout).Run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "sackd: fatal: %v\n", err)
		os.Exit(1)
	}
}

func app(stdout io.Writer) *cli.App {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version and exit"}
	cli.VersionPrinter = func(c *cli.Context) {
		fmt.Fprintf(c.App.Writer, "slurm %s\nmuster %s\n", command.Version, ownVersion())
	}
	return &cli.App{
		Name:                   "sackd",
		Usage:                  "hand out authentication tokens to the users of this host",
		Version:                command.Version,
		Writer:                 stdout,
		HideHelpCommand:        true,
		UseShortOptionHandling: true, // -Dvv
		OnUsageError:           func(_ *cli.Context, err error, _ bool) error { return err },
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "D", Usage: "stay in the foreground and log to standard error"},
			&cli.BoolFlag{Name: "systemd", Usage: "run under systemd (Type=notify); implies -D"},
			&cli.PathFlag{Name: "f", Usage: "read this configuration `FILE`"},
			&cli.StringFlag{Name: "conf-server", Usage: "keep a copy of the configuration of the controller at `HOST[:PORT],...`"},
			&cli.PathFlag{Name: "conf-dir", Usage: "where that copy is kept", Value: confcopy.DefaultDir},
			&cli.BoolFlag{Name: "disable-reconfig", Usage: "fetch that copy only once"},
			&cli.PathFlag{Name: "key", Usage: "the cluster's key (default: slurm.key beside slurm.conf)", EnvVars: []string{"SLURM_SACK_KEY"}},
			&cli.PathFlag{Name: "socket", Usage: "listen on this `PATH`", Value: sack.SackdSocket},
			&cli.BoolFlag{Name: "v", Usage: "log each token, too", Count: new(int)},
			&cli.StringFlag{Name: "port", Hidden: true},
		},
		Action: action,
	}
}

func action(c *cli.Context) error {
	o := options{
		conf: c.Path("f"), server: c.String("conf-server"), confDir: c.Path("conf-dir"),
		key: c.Path("key"), socket: c.Path("socket"), once: c.Bool("disable-reconfig"), systemd: c.Bool("systemd"),
	}
	switch {
	case c.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", c.Args().First())
	case c.IsSet("port"):
		return errors.New("not supported yet: --port (the configuration is fetched, not pushed)")
	case o.server != "" && o.conf != "":
		return errors.New("-f and --conf-server exclude each other")
	case o.server == "" && (o.once || c.IsSet("conf-dir")):
		return errors.New("--disable-reconfig and --conf-dir are of use only with --conf-server")
	case !c.Bool("D") && !o.systemd && os.Getenv(backgroundMark) == "":
		return background()
	}
	log, err := newLog(c.Count("v") > 0)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return run(ctx, o, log)
}

// ownVersion is Muster's own, beside that of the Slurm whose behaviour it has.
func ownVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
