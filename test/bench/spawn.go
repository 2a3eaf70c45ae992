package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// spawner starts one command again and again, in loops side by side. It costs
// as little as a shell loop in C would: vfork, exec, wait.
type spawner struct {
	argv []string
	env  []string
	dir  string // working folder of the commands
	// out, if set, gets what the commands print, a file each loop: out.0, out.1 …
	out string
}

// result of a run.
type spawned struct {
	took   time.Duration
	done   int // ended with status 0
	failed int
	memory int64 // the most that one had resident, in KiB
}

// run starts the command total times in so many loops. It ends early with ctx.
func (s spawner) run(ctx context.Context, loops, total int) (spawned, error) {
	var left, done, failed, memory atomic.Int64
	left.Store(int64(total))
	errs := make([]error, loops)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range loops {
		all.Go(func() {
			errs[i] = s.loop(i, func() bool { return ctx.Err() == nil && left.Add(-1) >= 0 }, &done, &failed, &memory)
		})
	}
	all.Wait()
	r := spawned{took: time.Since(begin), done: int(done.Load()), failed: int(failed.Load()), memory: memory.Load()}
	for _, err := range errs {
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func (s spawner) loop(number int, next func() bool, done, failed, memory *atomic.Int64) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	out := null
	if s.out != "" {
		out, err = os.OpenFile(s.out+"."+strconv.Itoa(number), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return fmt.Errorf("open the commands' output: %w", err)
		}
		defer out.Close()
	}
	attr := &syscall.ProcAttr{Dir: s.dir, Env: s.env, Files: []uintptr{null.Fd(), out.Fd(), out.Fd()}}
	for next() {
		pid, err := syscall.ForkExec(s.argv[0], s.argv, attr)
		if err != nil {
			return fmt.Errorf("start %s: %w", s.argv[0], err)
		}
		var status syscall.WaitStatus
		var usage syscall.Rusage
		for {
			if _, err = syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("wait for %s: %w", s.argv[0], err)
		}
		for old := memory.Load(); usage.Maxrss > old && !memory.CompareAndSwap(old, usage.Maxrss); old = memory.Load() {
		}
		if status.Exited() && status.ExitStatus() == 0 {
			done.Add(1)
		} else {
			failed.Add(1)
		}
	}
	return nil
}

// submitted reads the job ids that sbatch has printed so far, in no order.
func (s spawner) submitted() ([]string, error) {
	files, err := filepath.Glob(s.out + ".*")
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read what sbatch printed: %w", err)
		}
		for line := range bytes.Lines(text) {
			if id, ok := bytes.CutPrefix(line, []byte("Submitted batch job ")); ok && bytes.HasSuffix(id, []byte("\n")) {
				ids = append(ids, string(bytes.TrimSpace(id)))
			}
		}
	}
	return ids, nil
}
