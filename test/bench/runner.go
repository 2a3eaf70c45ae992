package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"muster/test/bench/processes"
)

// runner measures figures, cluster by cluster, the systems in turn.
type runner struct {
	dir, bin    string
	repetitions int
	load        load
	only        string
	results     *results
}

func (r *runner) systems() ([]system, error) {
	both := []system{
		&muster{bin: r.bin, dir: filepath.Join(r.dir, "muster")},
		&slurm{dir: filepath.Join(r.dir, "slurm")},
	}
	if r.only == "" {
		return both, nil
	}
	for _, s := range both {
		if s.name() == r.only {
			return []system{s}, nil
		}
	}
	return nil, fmt.Errorf("no system %q: muster or slurm", r.only)
}

func (r *runner) measure(ctx context.Context, chosen []figure) error {
	for _, c := range clusters {
		var here []figure
		for _, f := range chosen {
			if f.cluster == c.name {
				here = append(here, f)
			}
		}
		if len(here) == 0 {
			continue
		}
		if err := r.onCluster(ctx, c.shape, here); err != nil {
			return fmt.Errorf("cluster %q: %w", c.name, err)
		}
	}
	return nil
}

// onCluster brings both systems up, measures and takes them down.
func (r *runner) onCluster(ctx context.Context, s shape, figures []figure) (err error) {
	systems, err := r.systems()
	if err != nil {
		return err
	}
	var places []*place
	for _, sys := range systems {
		defer func() { err = errors.Join(err, sys.stop()) }()
		if err := sys.start(ctx, s); err != nil {
			return err
		}
		p, err := newPlace(sys, r.dir, r.load)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	if err := r.idle(ctx, places); err != nil {
		return err
	}
	for _, f := range figures {
		if err := r.figure(ctx, f, places); err != nil {
			// The others are still worth knowing.
			fmt.Fprintf(os.Stderr, "%s: %v\n", f.name, err)
			r.results.failed = append(r.results.failed, fmt.Sprintf("%s: %v", f.name, err))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// idle notes what the daemons use when nothing is done: the one system must not
// slow the other down.
func (r *runner) idle(ctx context.Context, places []*place) error {
	const span = 3 * time.Second
	before := make([]map[string]time.Duration, len(places))
	for i, p := range places {
		before[i] = processes.CPU(p.folder())
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(span):
	}
	for i, p := range places {
		total := 0.0
		for _, seconds := range processes.Spent(p.folder(), before[i]) {
			total += seconds
		}
		r.results.idle(p.name(), 100*total/span.Seconds())
	}
	return nil
}

func (r *runner) figure(ctx context.Context, f figure, places []*place) error {
	if f.prepare != nil {
		for _, p := range places {
			if err := f.prepare(ctx, p); err != nil {
				return err
			}
		}
	}
	for n := range r.repetitions {
		for i := range places {
			p := places[(i+n)%len(places)] // each goes first in turn
			before, clients := processes.CPU(p.folder()), clientTime()
			value, err := f.measure(ctx, p)
			if err != nil {
				return err
			}
			used := processes.Spent(p.folder(), before)
			used["clients"] = (clientTime() - clients).Seconds()
			fmt.Fprintf(os.Stderr, "%-14s %-7s %d: %.2f %s\n", f.name, p.name(), n+1, value, f.unit)
			r.results.add(f, p.name(), value, used)
			if f.tidy != nil {
				if err := f.tidy(ctx, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// clientTime is the CPU time of the commands that were run so far.
func clientTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
