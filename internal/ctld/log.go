package ctld

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
)

// levels are Slurm's debug levels in slog's terms.
var levels = map[string]slog.Level{
	"quiet": slog.LevelError + 4, "fatal": slog.LevelError + 4, "error": slog.LevelError, "info": slog.LevelInfo,
	"verbose": slog.LevelInfo - 1, "debug": slog.LevelDebug, "debug2": slog.LevelDebug - 1, "debug3": slog.LevelDebug - 2,
	"debug4": slog.LevelDebug - 3, "debug5": slog.LevelDebug - 4,
}

// logFile is a log that can be reopened after it was rotated away (SIGUSR2).
type logFile struct {
	path  string
	level slog.LevelVar // changes while the daemon runs (scontrol setdebug)
	name  atomic.Pointer[string]
	file  atomic.Pointer[os.File]
}

// openLog makes the daemon's logger: into the file, or to stderr when there is
// none or the daemon runs in the foreground without one.
func openLog(path, level string) (*slog.Logger, *logFile, error) {
	l := &logFile{path: path}
	if err := l.setLevel(level); err != nil {
		return nil, nil, err
	}
	var out io.Writer = os.Stderr
	if path != "" && !strings.EqualFold(path, "none") {
		if err := l.reopen(); err != nil {
			return nil, nil, err
		}
		out = l
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: &l.level})), l, nil
}

// setLevel changes how much is logged, by Slurm's names.
func (l *logFile) setLevel(name string) error {
	name = strings.ToLower(name)
	level, ok := levels[name]
	if !ok {
		return fmt.Errorf("SlurmctldDebug=%s is no level", name)
	}
	l.level.Set(level)
	l.name.Store(&name)
	return nil
}

// reopen follows a rotated file.
func (l *logFile) reopen() error {
	if l.path == "" {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	if old := l.file.Swap(f); old != nil {
		old.Close()
	}
	return nil
}

// Write appends to the file. A full disk must not stop the controller, so what
// cannot be written goes to stderr.
func (l *logFile) Write(p []byte) (int, error) {
	if n, err := l.file.Load().Write(p); err == nil {
		return n, nil
	}
	return os.Stderr.Write(p)
}
