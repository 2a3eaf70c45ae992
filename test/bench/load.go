package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// load is how much is done for a figure.
type load struct {
	starts      int           // of a command, to find its time
	submissions int           // to find how many a second
	jobs        int           // of /bin/true
	narrow      int           // of them where only a few run at once
	pending     int           // in the queue that squeue prints
	ended       int           // in the list that sacct prints
	huge        int           // in the queue of the figures that take long
	listings    int           // of that queue
	burst       time.Duration // of submissions before the controller is killed
}

var (
	fullLoad  = load{starts: 100, submissions: 400, jobs: 1000, narrow: 200, pending: 10_000, ended: 10_000, huge: 100_000, listings: 10, burst: 3 * time.Second}
	quickLoad = load{starts: 20, submissions: 50, jobs: 100, narrow: 30, pending: 500, ended: 300, huge: 1000, listings: 3, burst: time.Second}
)

// script is what every job is: it does nothing, so that all else is measured.
const script = "#!/bin/sh\n#SBATCH --output=/dev/null\n/bin/true\n"

// place is a system under measurement, with a folder for its scripts.
type place struct {
	system
	work string
	load load
	ids  []string // of the long queue
}

func newPlace(s system, dir string, l load) (*place, error) {
	p := &place{system: s, work: filepath.Join(dir, "work-"+s.name()), load: l}
	if err := os.RemoveAll(p.work); err != nil {
		return nil, fmt.Errorf("empty the folder of scripts: %w", err)
	}
	if err := os.MkdirAll(p.work, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of scripts: %w", err)
	}
	if err := os.WriteFile(p.script(), []byte(script), 0o755); err != nil {
		return nil, fmt.Errorf("write the script: %w", err)
	}
	return p, nil
}

func (p *place) script() string { return filepath.Join(p.work, "job.sh") }

// command is a spawner of one of the commands; keep says whether what it prints
// is read afterwards.
func (p *place) command(keep bool, name string, args ...string) (spawner, error) {
	s := spawner{argv: append([]string{p.program(name)}, args...), env: environment(p.system), dir: p.work}
	if keep {
		s.out = filepath.Join(p.work, "out")
		old, err := filepath.Glob(s.out + ".*")
		if err != nil {
			return s, err
		}
		for _, f := range old {
			if err := os.Remove(f); err != nil {
				return s, fmt.Errorf("remove older output: %w", err)
			}
		}
	}
	return s, nil
}

// sbatch submits the script total times and returns the ids.
func (p *place) sbatch(ctx context.Context, loops, total int, options ...string) (spawned, []string, error) {
	s, err := p.command(true, "sbatch", append(options, p.script())...)
	if err != nil {
		return spawned{}, nil, err
	}
	r, err := s.run(ctx, loops, total)
	if err != nil {
		return r, nil, err
	}
	ids, err := s.submitted()
	if err != nil {
		return r, nil, err
	}
	if r.failed > 0 || len(ids) != total {
		return r, nil, fmt.Errorf("%s: %d of %d submissions failed, %d ids were printed: %s", p.name(), r.failed, total, len(ids), p.lastOutput())
	}
	return r, ids, nil
}

// lastOutput is the end of what a failed command printed.
func (p *place) lastOutput() string {
	text, err := os.ReadFile(filepath.Join(p.work, "out.0"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// jobLimit is how long the jobs of one figure may take.
const jobLimit = 10 * time.Minute

// emptied waits until no job is pending, running or completing. It looks more
// seldom the longer it takes, so that looking costs about one part in fifty. A
// controller that is too busy to answer is asked again.
func (p *place) emptied(ctx context.Context) error {
	begin := time.Now()
	for {
		out, err := call(ctx, p.system, "squeue", "-h", "-o", "%i %T %r")
		if err == nil && strings.TrimSpace(out) == "" {
			return nil
		}
		took := time.Since(begin)
		if err != nil && took > jobLimit {
			return err
		}
		if took > jobLimit {
			first, _, _ := strings.Cut(out, "\n")
			return fmt.Errorf("%s: jobs are still there after %s: %s", p.name(), jobLimit, first)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(max(20*time.Millisecond, took/50), time.Second)):
		}
	}
}

// cancelAll ends what a figure has left.
func (p *place) cancelAll(ctx context.Context) error {
	if _, err := call(ctx, p.system, "scancel", "-u", "root"); err != nil {
		return err
	}
	return p.emptied(ctx)
}

// states counts the states of all jobs that the controller knows, by id.
func (p *place) states(ctx context.Context) (map[string]string, error) {
	out, err := call(ctx, p.system, "squeue", "-h", "-r", "-t", "all", "-o", "%i %T")
	if err != nil {
		return nil, err
	}
	states := map[string]string{}
	for line := range strings.Lines(out) {
		id, state, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return nil, fmt.Errorf("%s: squeue printed %q", p.name(), line)
		}
		states[id] = state
	}
	return states, nil
}

// completed checks that every job has ended as it should.
func (p *place) completed(ctx context.Context, ids []string) error {
	states, err := p.states(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if s := states[id]; s != "COMPLETED" {
			errs = append(errs, fmt.Errorf("%s: job %s is %q, not COMPLETED", p.name(), id, s))
		}
	}
	if len(errs) > 3 {
		errs = append(errs[:3], fmt.Errorf("and %d more", len(errs)-3))
	}
	return errors.Join(errs...)
}
