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
)

func main() {
	app := &cli.App{
		Name:      "bench",
		Usage:     "measure Muster beside Debian's Slurm",
		ArgsUsage: "[FIGURE ...]",
		Description: "Without figures all are measured but those of 100,000 jobs (squeue-huge, squeue-memory), which take " +
			"a quarter of an hour; a name that ends in * stands for all that begin so. " +
			"The figures are: " + strings.Join(names(), " "),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "repeat", Aliases: []string{"n"}, Value: 3, Usage: "`REPETITIONS` of which the median counts"},
			&cli.BoolFlag{Name: "quick", Usage: "one repetition of smaller loads, to see that all works"},
			&cli.StringFlag{Name: "only", Usage: "measure one `SYSTEM`: muster or slurm"},
			&cli.StringFlag{Name: "bin", Value: "build", Usage: "`FOLDER` with Muster's bin/ and sbin/"},
			&cli.StringFlag{Name: "dir", Usage: "`FOLDER` for the clusters; without it a temporary one"},
			&cli.StringFlag{Name: "json", Value: "build/bench.json", Usage: "`FILE` for all numbers"},
			&cli.BoolFlag{Name: "check", Usage: "fail when a figure is outside of its range"},
		},
		Action: run,
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := app.RunContext(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(c *cli.Context) error {
	chosen, err := choose(c.Args().Slice())
	if err != nil {
		return err
	}
	dir, remove, err := folder(c.String("dir"))
	if err != nil {
		return err
	}
	defer remove()
	bin, err := filepath.Abs(c.String("bin"))
	if err != nil {
		return fmt.Errorf("find Muster's programs: %w", err)
	}
	r := &runner{dir: dir, bin: bin, repetitions: c.Int("repeat"), load: fullLoad, only: c.String("only"), results: newResults()}
	if c.Bool("quick") {
		r.repetitions, r.load = 1, quickLoad
	}
	if err := r.measure(c.Context, chosen); err != nil {
		return err
	}
	fmt.Print(r.results.table())
	if err := r.results.write(c.String("json")); err != nil {
		return err
	}
	for _, line := range r.results.failed {
		fmt.Println("not measured:", line)
	}
	if n := len(r.results.failed); n > 0 {
		return fmt.Errorf("%d figures could not be measured", n)
	}
	outside := r.results.outside()
	for _, line := range outside {
		fmt.Println("outside of its range:", line)
	}
	if c.Bool("check") && len(outside) > 0 {
		return fmt.Errorf("%d figures are outside of their ranges", len(outside))
	}
	return nil
}

// folder makes the place of the clusters. Daemons of several users must be able
// to enter it, and the paths of sockets in it to stay short.
func folder(given string) (dir string, remove func(), err error) {
	if given != "" {
		dir, err := filepath.Abs(given)
		if err != nil {
			return "", nil, fmt.Errorf("the clusters' folder: %w", err)
		}
		return dir, func() {}, os.MkdirAll(dir, 0o755)
	}
	dir, err = os.MkdirTemp("", "bench")
	if err != nil {
		return "", nil, fmt.Errorf("make the clusters' folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, os.Chmod(dir, 0o755)
}
