// Command noded is the daemon of a compute node: it takes the controller's
// orders and runs the jobs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"muster/internal/auth/confcopy"
	"muster/internal/conf"
	"muster/internal/metrics/profile"
	"muster/internal/node/daemon"
	"muster/internal/node/inventory"
	"muster/internal/version"
)

func main() {
	cli.VersionPrinter = func(*cli.Context) { fmt.Println(version.Daemon()) }
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version"}
	verbose := 0
	app := &cli.App{
		Name:                   "noded",
		Usage:                  "the daemon of a compute node",
		Version:                version.Slurm,
		HideHelpCommand:        true,
		UseShortOptionHandling: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "N", Usage: "which `NODE` of slurm.conf this is"},
			&cli.StringFlag{Name: "f", Usage: "`FILE` to read instead of the usual slurm.conf"},
			&cli.BoolFlag{Name: "D", Usage: "stay in the foreground (it always does; a supervisor keeps it running)"},
			&cli.BoolFlag{Name: "systemd", Usage: "systemd waits for our word that we serve"},
			&cli.BoolFlag{Name: "C", Usage: "print this machine's line for slurm.conf and end"},
			&cli.BoolFlag{Name: "G", Usage: "print the generic resources of gres.conf and end"},
			&cli.BoolFlag{Name: "c", Usage: "clear locks that a killed noded left (the kernel always does)"},
			&cli.BoolFlag{Name: "v", Usage: "log more; repeat for still more", Count: &verbose},
			&cli.StringFlag{Name: "L", Usage: "log to `FILE`"},
			&cli.StringFlag{Name: "conf-server", Usage: "keep a copy of the configuration of the controller at `HOST[:PORT],...`"},
			&cli.PathFlag{Name: "conf-dir", Usage: "where that copy is kept", Value: confcopy.DefaultDir},
			&cli.PathFlag{Name: "key", Usage: "the cluster's key (default: slurm.key beside slurm.conf, or /etc/slurm/slurm.key with --conf-server)"},
			&cli.BoolFlag{Name: "declared", Usage: "register the hardware that slurm.conf declares, whatever this machine has"},
			&cli.StringFlag{Name: "boot-id", Hidden: true},
		},
		Action: func(c *cli.Context) error { return run(c, verbose) },
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "noded:", err)
		os.Exit(1)
	}
}

func run(c *cli.Context, verbose int) error {
	path := c.String("f")
	if path == "" {
		path = conf.Find()
	}
	switch {
	case c.String("conf-server") != "" && c.String("f") != "":
		return errors.New("-f and --conf-server exclude each other")
	case c.String("conf-server") == "" && c.IsSet("conf-dir"):
		return errors.New("--conf-dir is of use only with --conf-server")
	case c.Bool("C"):
		return printMachine(c.String("N"))
	case c.Bool("G"):
		return printGres(path, c.String("N"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := profile.Serve(ctx, "noded."+c.String("N")); err != nil {
		return err
	}
	return daemon.Run(ctx, daemon.Options{
		Conf: path, Node: c.String("N"), Declared: c.Bool("declared"), LogFile: c.String("L"),
		Server: c.String("conf-server"), ConfDir: c.Path("conf-dir"), Key: c.Path("key"),
		Verbose: verbose, BootID: c.String("boot-id"), Version: version.Slurm, Systemd: c.Bool("systemd"),
	})
}

// printMachine prints what slurmd -C does.
func printMachine(name string) error {
	if name == "" {
		var err error
		if name, err = conf.ShortHostname(); err != nil {
			return err
		}
	}
	m, err := inventory.Detect("/tmp")
	if err != nil {
		return err
	}
	fmt.Println(m.Line(name))
	fmt.Println(inventory.UpTime())
	return nil
}

func printGres(path, name string) error {
	c, err := conf.Load(path)
	if err != nil {
		return err
	}
	n, err := daemon.FindNode(c, name)
	if err != nil {
		return err
	}
	devices, err := inventory.Devices(c, n.Name, false)
	if err != nil {
		return err
	}
	for _, d := range devices {
		fmt.Printf("noded: Gres Name=%s Type=%s Index=%d File=%s Cores=%s Links=%s Flags=%s\n", d.Name,
			orNull(d.Type), d.Index, orNull(d.File), orNull(d.Cores), orNull(d.Links), orNull(strings.ToUpper(d.Flags)))
	}
	return nil
}

func orNull(text string) string {
	if text == "" {
		return "(null)"
	}
	return text
}
