package users

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// maxAnswer bounds what is read of one answer; a group of 100,000 members fits.
const maxAnswer = 8 << 20

// getentNotFound is getent's exit status when one or more keys are unknown.
const getentNotFound = 2

// getent runs the program for one database and some keys and returns its
// output lines. Keys that are unknown are simply missing from the answer.
func (r *Resolver) getent(ctx context.Context, database string, keys ...string) ([]string, error) {
	select {
	case r.running <- struct{}{}:
		defer func() { <-r.running }()
	case <-ctx.Done():
		return nil, fmt.Errorf("getent %s %s: waiting for earlier lookups: %w", database, brief(keys), ctx.Err())
	}

	program := r.opts.Getent
	if program == "" {
		found, err := exec.LookPath("getent")
		if err != nil {
			return nil, fmt.Errorf("cannot look up users: getent is not on PATH (Debian: package libc-bin): %w", err)
		}
		program = found
	}
	cmd := exec.CommandContext(ctx, program, append([]string{database, "--"}, keys...)...)
	cmd.WaitDelay = 100 * time.Millisecond // a child of getent may hold the pipe open
	out := &limitedBuffer{limit: maxAnswer}
	var complaint limitedBuffer
	complaint.limit = 4096
	cmd.Stdout, cmd.Stderr = out, &complaint
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("getent %s %s: the name service did not answer in time: %w", database, brief(keys), ctx.Err())
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != getentNotFound) {
		return nil, fmt.Errorf("getent %s %s: %w: %s", database, brief(keys), err, bytes.TrimSpace(complaint.buf.Bytes()))
	}
	if out.full {
		return nil, fmt.Errorf("getent %s %s: answer is longer than %d bytes", database, brief(keys), maxAnswer)
	}
	return lines(out.buf.Bytes()), nil
}

func brief(keys []string) string {
	if len(keys) > 3 {
		return fmt.Sprintf("%s … (%d keys)", strings.Join(keys[:3], " "), len(keys))
	}
	return strings.Join(keys, " ")
}

// limitedBuffer keeps the first limit bytes and notes that there were more. It
// never refuses a write, so the program is not stopped by a broken pipe.
type limitedBuffer struct {
	buf   bytes.Buffer
	limit int
	full  bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.limit - b.buf.Len()
	if len(p) > room {
		b.full = true
		b.buf.Write(p[:room])
		return len(p), nil
	}
	return b.buf.Write(p)
}
