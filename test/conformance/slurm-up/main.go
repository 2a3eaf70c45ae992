// Command slurm-up starts Debian's real Slurm in one folder, writes the shell
// lines that make the commands find it to DIR/env, and stops it all when it
// gets SIGINT or SIGTERM. It is for looking at what real Slurm does by hand;
// the conformance run starts its own.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"muster/test/conformance/clusters"
	"muster/test/conformance/oracle"
)

func main() {
	app := &cli.App{
		Name:  "slurm-up",
		Usage: "start a private real Slurm and keep it up until a signal",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Required: true, Usage: "the cluster's `FOLDER`; emptied at the start"},
			&cli.StringFlag{Name: "config", Value: "base", Usage: "`NAME` of a configuration of the cases"},
		},
		Action: up,
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "slurm-up:", err)
		os.Exit(1)
	}
}

func up(c *cli.Context) error {
	shape, err := clusters.Named(c.String("config"))
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(c.String("dir"))
	if err != nil {
		return fmt.Errorf("the cluster's folder: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cluster, err := oracle.Start(ctx, oracle.Config{
		Dir: dir, Nodes: shape.Nodes, CPUs: shape.CPUs, Threads: shape.Threads,
		Memory: shape.Memory, GPUs: shape.GPUs, GPUType: shape.GPUType, LastNode: shape.LastNode, Conf: shape.Conf,
	})
	if err != nil {
		return err
	}
	env := "export " + strings.Join(cluster.Env(), " ") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "env"), []byte(env), 0o644); err != nil {
		return fmt.Errorf("write the shell lines: %w", err)
	}
	fmt.Println("up: . " + filepath.Join(dir, "env"))
	<-ctx.Done()
	return cluster.Stop()
}
