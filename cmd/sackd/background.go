package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"log/syslog"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// backgroundMark tells the daemon that background started it, and that
// descriptor 3 waits for its word.
const backgroundMark = "MUSTER_SACKD_BACKGROUND"

const readyWord = "ready"

// background starts the daemon in a session of its own and returns when it
// serves, or with what kept it from that.
func background() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("going to the background: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("going to the background: %w", err)
	}
	defer read.Close()
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Env = append(os.Environ(), backgroundMark+"=1")
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		write.Close()
		return fmt.Errorf("going to the background: %w", err)
	}
	write.Close()
	said, err := io.ReadAll(io.LimitReader(read, 4096)) // ends when the daemon serves or is gone
	if err != nil {
		return fmt.Errorf("going to the background: %w", err)
	}
	if string(said) == readyWord {
		return cmd.Process.Release()
	}
	_ = cmd.Wait()
	if len(said) == 0 {
		return errors.New("the daemon ended before it served")
	}
	return errors.New(strings.TrimSpace(string(said)))
}

// report tells the starting process how it went; err nil means that the daemon
// serves. In the foreground there is nobody to tell.
func report(err error) {
	if os.Getenv(backgroundMark) == "" {
		return
	}
	os.Unsetenv(backgroundMark) // once
	pipe := os.NewFile(3, "starter")
	defer pipe.Close()
	word := readyWord
	if err != nil {
		word = err.Error()
	}
	_, _ = pipe.WriteString(word) // the starter may be gone
}

// newLog writes to standard error, or in the background to syslog.
func newLog(debug bool) (*slog.Logger, error) {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	var out io.Writer = os.Stderr
	if os.Getenv(backgroundMark) != "" {
		system, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, "sackd")
		if err != nil {
			err = fmt.Errorf("in the background the log goes to syslog, and there is none (use -D): %w", err)
			report(err)
			return nil, err
		}
		out = system
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), nil
}
