// Package hooks runs the administrator's programs of a node: Prolog, Epilog,
// UnkillableStepProgram.
//
// It must not know when they are due or what their failure means.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// Runner runs programs.
type Runner struct {
	Timeout time.Duration // of each program, 0 = none
	Log     *slog.Logger
}

// Run runs the programs that the patterns name, one after the other, and stops
// at the first that fails. A pattern that matches nothing is nothing to do; a
// plain path that is missing is a failure.
func (r *Runner) Run(ctx context.Context, patterns, env []string) error {
	for _, pattern := range patterns {
		programs, err := expand(pattern)
		if err != nil {
			return err
		}
		for _, program := range programs {
			if err := r.one(ctx, program, env); err != nil {
				return err
			}
		}
	}
	return nil
}

func expand(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	programs, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", pattern, err)
	}
	sort.Strings(programs)
	return programs, nil
}

// outputBound is how much of a failing program's output is logged.
const outputBound = 2000

func (r *Runner) one(ctx context.Context, program string, env []string) error {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env, cmd.Dir = env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for output that a left-over child holds open
	out := &bounded{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%s took longer than %s", program, r.Timeout)
	} else {
		err = fmt.Errorf("%s: %w", program, err)
	}
	r.Log.Error("hook failed", "program", program, "error", err, "output", string(out.text))
	return err
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ text []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if room := outputBound - len(b.text); room > 0 {
		b.text = append(b.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
