// Command devcluster brings up a whole Muster cluster on this machine, in one
// folder, and takes it down again.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"muster/internal/devcluster"
)

func main() {
	dir := &cli.StringFlag{Name: "dir", Usage: "folder of the cluster", Required: true}
	app := &cli.App{
		Name:  "devcluster",
		Usage: "a whole cluster on one machine",
		Commands: []*cli.Command{
			{Name: "up", Usage: "make a cluster and start it", Action: up, Flags: append([]cli.Flag{dir}, upFlags()...)},
			{Name: "env", Usage: "print shell lines that make the commands use the cluster", Flags: []cli.Flag{dir}, Action: printEnv},
			{Name: "start", Usage: "start `ctld`, a node or `hollow` again", Flags: []cli.Flag{dir}, Action: start},
			{Name: "stop", Usage: "end `ctld`, a node or `db` in order", Flags: []cli.Flag{dir}, Action: send(syscall.SIGTERM)},
			{Name: "kill", Usage: "end `ctld`, a node or `db` by SIGKILL", Flags: []cli.Flag{dir}, Action: send(syscall.SIGKILL)},
			{Name: "down", Usage: "end the cluster and remove its folder", Action: down, Flags: []cli.Flag{dir,
				&cli.BoolFlag{Name: "keep", Usage: "leave the folder, with its logs"}}},
			{Name: "hollow", Hidden: true, Flags: []cli.Flag{dir}, Action: hollow},
		},
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func upFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "nodes", Value: 4, Usage: "number of nodes"},
		&cli.IntFlag{Name: "cpus", Value: 8, Usage: "CPUs of a node, as declared"},
		&cli.IntFlag{Name: "threads", Value: 1, Usage: "CPUs of a core"},
		&cli.IntFlag{Name: "mem", Value: 16000, Usage: "memory of a node in MiB, as declared"},
		&cli.IntFlag{Name: "gpus", Usage: "GPUs of a node, as declared"},
		&cli.StringFlag{Name: "gpu-type", Usage: "their type"},
		&cli.StringFlag{Name: "last-node", Usage: "more words for the last node's line in slurm.conf"},
		&cli.StringFlag{Name: "conf", Usage: "file with more lines for slurm.conf"},
		&cli.IntFlag{Name: "hollow", Usage: "number of simulated nodes, in one process"},
		&cli.StringFlag{Name: "database", Usage: "URL of an external PostgreSQL"},
		&cli.IntFlag{Name: "controllers", Value: 1, Usage: "number of ctld; more than one needs --database"},
		&cli.StringFlag{Name: "auth", Value: "auth/slurm", Usage: "AuthType"},
	}
}

func up(c *cli.Context) error {
	l, err := devcluster.New(c.String("dir"))
	if err != nil {
		return err
	}
	return l.Up(c.Context, devcluster.Options{
		Nodes: c.Int("nodes"), CPUs: c.Int("cpus"), Threads: c.Int("threads"), Mem: c.Int("mem"),
		GPUs: c.Int("gpus"), GPUType: c.String("gpu-type"), LastNode: c.String("last-node"), Conf: c.String("conf"), Hollow: c.Int("hollow"),
		Database: c.String("database"), Controllers: c.Int("controllers"), Auth: c.String("auth"),
	})
}

func printEnv(c *cli.Context) error {
	l, err := devcluster.New(c.String("dir"))
	if err != nil {
		return err
	}
	text, err := l.Env()
	if err != nil {
		return err
	}
	fmt.Print(text)
	return nil
}

// target is the cluster and the one daemon that a call names.
func target(c *cli.Context) (devcluster.Layout, string, error) {
	l, err := devcluster.New(c.String("dir"))
	if err != nil {
		return l, "", err
	}
	if c.NArg() != 1 {
		return l, "", errors.New("name one daemon: ctld, db or a node")
	}
	name := c.Args().First()
	if strings.ContainsAny(name, "/ ") {
		return l, "", fmt.Errorf("%q is no daemon of the cluster", name)
	}
	return l, name, nil
}

func start(c *cli.Context) error {
	l, name, err := target(c)
	if err != nil {
		return err
	}
	if name == "db" {
		return errors.New("ctld starts its database by itself")
	}
	return l.Start(name)
}

func send(sig syscall.Signal) cli.ActionFunc {
	return func(c *cli.Context) error {
		l, name, err := target(c)
		if err != nil {
			return err
		}
		return l.Signal(name, sig)
	}
}

func down(c *cli.Context) error {
	l, err := devcluster.New(c.String("dir"))
	if err != nil {
		return err
	}
	return l.Down(!c.Bool("keep"))
}
