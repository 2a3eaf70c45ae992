package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"muster/internal/command/client"
	"muster/test/bench/processes"
)

// limit is how long any of the loads may take.
const limit = 5 * time.Minute

// throughput runs small jobs from submission to accounting.
func throughput(ctx context.Context, c *cluster, r *report, profileFile string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := job("#!/bin/sh\n#SBATCH --output=/dev/null\n/bin/true\n")
	if err != nil {
		return err
	}
	cl, err := client.New(c.getenv)
	if err != nil {
		return err
	}
	defer cl.Close()
	first, err := stats(ctx, cl)
	if err != nil {
		return err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- c.profile(ctx, profileFile) }()
	before, begin := processes.CPU(c.home()), time.Now()
	took, err := c.submit(ctx, r.Connections, r.Jobs, request)
	if err != nil {
		return err
	}
	r.Submitted = took.Seconds()
	if err := awaitNone(ctx, cl); err != nil {
		return err
	}
	r.Ended = time.Since(begin).Seconds()
	r.PerSecond = float64(r.Jobs) / r.Ended
	r.CPU = processes.Spent(c.home(), before)
	last, err := stats(ctx, cl)
	if err != nil {
		return err
	}
	r.Passes, r.Commits, r.Rows = last.Cycles-first.Cycles, last.Commits-first.Commits, last.Rows-first.Rows
	n, err := recorded(ctx, cl, begin)
	if err == nil && n != r.Jobs {
		err = fmt.Errorf("the accounting has %d completed jobs of %d", n, r.Jobs)
	}
	return errors.Join(err, <-profiled)
}

// awaitNone waits until no job is live.
func awaitNone(ctx context.Context, cl *client.Client) error {
	for {
		n, err := live(ctx, cl)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d jobs are still there: %w", n, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// memory fills the queue: one large array, then separate jobs that wait for
// nodes which others hold.
func memory(ctx context.Context, c *cluster, r *report) error {
	ctx, cancel := context.WithTimeout(ctx, 2*limit)
	defer cancel()
	var err error
	if r.Start, err = c.sizes(ctx); err != nil {
		return err
	}
	array, err := job(fmt.Sprintf("#!/bin/sh\n#SBATCH --hold\n#SBATCH --array=0-%d\n/bin/true\n", r.Tasks-1))
	if err != nil {
		return err
	}
	if _, err := c.submit(ctx, 1, 1, array); err != nil {
		return fmt.Errorf("submit the array: %w", err)
	}
	if r.WithArray, err = c.sizes(ctx); err != nil {
		return err
	}
	holders, err := job("#!/bin/sh\n#SBATCH --exclusive\nsleep 86400\n")
	if err != nil {
		return err
	}
	if _, err := c.submit(ctx, r.Connections, c.nodes, holders); err != nil {
		return fmt.Errorf("occupy the nodes: %w", err)
	}
	waiting, err := job("#!/bin/sh\n#SBATCH --output=/dev/null\n/bin/true\n")
	if err != nil {
		return err
	}
	took, err := c.submit(ctx, r.Connections, r.Pending, waiting)
	if err != nil {
		return fmt.Errorf("fill the queue: %w", err)
	}
	r.PendingTook = took.Seconds()
	r.WithPending, err = c.sizes(ctx)
	return err
}

// sizes of the controller's memory in MiB.
type sizes struct {
	Resident float64 `json:"resident_mib"`
	Peak     float64 `json:"peak_mib"`
	Heap     float64 `json:"heap_in_use_after_collection_mib"`
}

func (s sizes) String() string {
	return fmt.Sprintf("%.0f MiB resident, %.0f at most, %.1f in use of the heap", s.Resident, s.Peak, s.Heap)
}

// sizes looks at the controller after a garbage collection.
func (c *cluster) sizes(ctx context.Context) (sizes, error) {
	var s sizes
	heap, err := c.pprof(ctx, "heap?gc=1&debug=1")
	if err != nil {
		return s, err
	}
	defer heap.Close()
	scan := bufio.NewScanner(heap)
	for scan.Scan() {
		var bytes uint64
		if n, _ := fmt.Sscanf(scan.Text(), "# HeapAlloc = %d", &bytes); n == 1 {
			s.Heap = float64(bytes) / (1 << 20)
		}
	}
	if err := scan.Err(); err != nil {
		return s, fmt.Errorf("read the heap's size: %w", err)
	}
	for _, p := range processes.Family(c.home()) {
		if p.Program != "ctld" {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
		if err != nil {
			return s, fmt.Errorf("read the controller's size: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			var kib float64
			if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
				s.Resident = kib / 1024
			}
			if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
				s.Peak = kib / 1024
			}
		}
	}
	if s.Resident == 0 || s.Heap == 0 {
		return s, errors.New("the controller's size cannot be read")
	}
	return s, nil
}

// profile writes the controller's CPU profile of the next seconds.
func (c *cluster) profile(ctx context.Context, file string) error {
	if file == "" {
		return nil
	}
	body, err := c.pprof(ctx, "profile?seconds=4")
	if err != nil {
		return err
	}
	defer body.Close()
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	_, err = io.Copy(out, body)
	return errors.Join(err, out.Close())
}

// pprof asks the controller's debug socket.
func (c *cluster) pprof(ctx context.Context, what string) (io.ReadCloser, error) {
	socket := filepath.Join(c.dir, "ctld.sock")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	h := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ctld/debug/pprof/"+what, nil)
	if err != nil {
		return nil, err
	}
	reply, err := h.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the controller for its profile: %w", err)
	}
	if reply.StatusCode != http.StatusOK {
		_ = reply.Body.Close() // the status is the error
		return nil, fmt.Errorf("ask the controller for its profile: %s", reply.Status)
	}
	return reply.Body, nil
}

// costs shows the CPU seconds by program.
func costs(cpu map[string]float64) string {
	var words []string
	for name, seconds := range cpu {
		words = append(words, fmt.Sprintf("%s %.2f", name, seconds))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
