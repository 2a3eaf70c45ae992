package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// starts measures one run of a command, in milliseconds.
func starts(name string, args ...string) func(context.Context, *place) (float64, error) {
	return func(ctx context.Context, p *place) (float64, error) { return p.each(ctx, p.load.starts, name, args...) }
}

// each runs a command so many times in one loop and returns the mean in ms.
func (p *place) each(ctx context.Context, times int, name string, args ...string) (float64, error) {
	s, err := p.command(false, name, args...)
	if err != nil {
		return 0, err
	}
	r, err := s.run(ctx, 1, times)
	if err == nil && r.done != times {
		err = fmt.Errorf("%s: %d of %d runs of %s failed", p.name(), times-r.done, times, name)
	}
	return r.took.Seconds() * 1000 / float64(times), err
}

func squeueEmpty(ctx context.Context, p *place) (float64, error) {
	return p.each(ctx, p.load.starts, "squeue")
}

func testOnly(ctx context.Context, p *place) (float64, error) {
	return p.each(ctx, p.load.starts, "sbatch", "--test-only", p.script())
}

// submissions submits held jobs: nothing else goes on then.
func submissions(loops int) func(context.Context, *place) (float64, error) {
	return func(ctx context.Context, p *place) (float64, error) {
		r, _, err := p.sbatch(ctx, loops, p.load.submissions, "--hold")
		return float64(r.done) / r.took.Seconds(), err
	}
}

// submitLoops is how many loops of sbatch feed the cluster.
const submitLoops = 4

// jobs counts from the first submission to the last end.
func jobs(ctx context.Context, p *place) (float64, error) { return p.throughput(ctx, p.load.jobs) }

// jobsNarrow takes fewer: where turn-round decides, the rate shows soon.
func jobsNarrow(ctx context.Context, p *place) (float64, error) {
	return p.throughput(ctx, p.load.narrow)
}

func (p *place) throughput(ctx context.Context, count int) (float64, error) {
	begin := time.Now()
	_, ids, err := p.sbatch(ctx, submitLoops, count)
	if err != nil {
		return 0, err
	}
	if err := p.emptied(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	return float64(len(ids)) / took.Seconds(), p.completed(ctx, ids)
}

func array(ctx context.Context, p *place) (float64, error) {
	begin := time.Now()
	_, ids, err := p.sbatch(ctx, 1, 1, fmt.Sprintf("--array=0-%d", p.load.jobs-1))
	if err != nil {
		return 0, err
	}
	if err := p.emptied(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	var tasks []string
	for i := range p.load.jobs {
		tasks = append(tasks, fmt.Sprintf("%s_%d", ids[0], i))
	}
	return float64(p.load.jobs) / took.Seconds(), p.completed(ctx, tasks)
}

// fill makes a long queue.
func fill(ctx context.Context, p *place) error { return p.fill(ctx, p.load.pending) }

func fillHuge(ctx context.Context, p *place) error { return p.fill(ctx, p.load.huge) }

func (p *place) fill(ctx context.Context, count int) (err error) {
	_, p.ids, err = p.sbatch(ctx, submitLoops, count, "--hold")
	return err
}

// history has so many jobs run that a long list of ended ones is there; jobs that
// are cancelled before they start are none that sacct lists.
func history(ctx context.Context, p *place) error {
	for {
		out, err := call(ctx, p.system, "sacct", "-n", "-X", "-P", "-o", "JobIDRaw", "-S", "now-2hours")
		if err != nil {
			return err
		}
		p.ids = strings.Fields(out)
		if len(p.ids) >= p.load.ended {
			return nil
		}
		if _, err := array(ctx, p); err != nil {
			return err
		}
	}
}

// listing measures one run of a command over a long list, in milliseconds.
func listing(name string, args ...string) func(context.Context, *place) (float64, error) {
	return func(ctx context.Context, p *place) (float64, error) {
		return p.each(ctx, p.load.listings, name, args...)
	}
}

// memory measures what a command has resident at most, in MiB.
func memory(name string, args ...string) func(context.Context, *place) (float64, error) {
	return func(ctx context.Context, p *place) (float64, error) {
		s, err := p.command(false, name, args...)
		if err != nil {
			return 0, err
		}
		r, err := s.run(ctx, 1, 1)
		if err == nil && r.failed > 0 {
			err = fmt.Errorf("%s: %s failed", p.name(), name)
		}
		return float64(r.memory) / 1024, err
	}
}

// sacctOne asks for one of many ended jobs.
func sacctOne(ctx context.Context, p *place) (float64, error) {
	return p.each(ctx, p.load.starts, "sacct", "-j", p.ids[len(p.ids)/2])
}

// lost submits for a while, kills the controller while submissions go on,
// starts it again and counts which of the jobs whose id had been printed before
// are unknown to it afterwards.
func lost(ctx context.Context, p *place) (float64, error) {
	s, err := p.command(true, "sbatch", "--hold", p.script())
	if err != nil {
		return 0, err
	}
	burst, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := s.run(burst, submitLoops, 1<<30)
		ended <- err
	}()
	select {
	case <-time.After(p.load.burst):
	case err := <-ended:
		return 0, errors.Join(errors.New("the submissions ended early"), err)
	}
	acknowledged, err := s.submitted()
	if err == nil {
		err = p.killController()
	}
	stop()
	if err == nil {
		err = p.startController()
	}
	if err := errors.Join(err, <-ended); err != nil {
		return 0, err
	}
	if len(acknowledged) == 0 {
		return 0, fmt.Errorf("%s acknowledged no job in %s", p.name(), p.load.burst)
	}
	if err := p.answers(ctx); err != nil {
		return 0, err
	}
	known, err := p.states(ctx)
	if err != nil {
		return 0, err
	}
	all, err := s.submitted()
	if err != nil {
		return 0, err
	}
	p.tellTwice(all)
	missing := 0
	for _, id := range acknowledged {
		if _, ok := known[id]; !ok {
			missing++
		}
	}
	return 100 * float64(missing) / float64(len(acknowledged)), nil
}

// answers waits until the controller answers a query.
func (p *place) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := call(ctx, p.system, "squeue", "-h")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the controller does not answer: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tellTwice reports ids that were given to two jobs.
func (p *place) tellTwice(ids []string) {
	seen, twice := map[string]bool{}, 0
	for _, id := range ids {
		if seen[id] {
			twice++
		}
		seen[id] = true
	}
	if twice > 0 {
		fmt.Printf("%s: %d job ids were given twice\n", p.name(), twice)
	}
}
