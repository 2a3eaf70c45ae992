package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
)

// levels are Slurm's debug levels, from quiet to talkative.
var levels = []struct {
	name  string
	level slog.Level
}{
	{"quiet", slog.LevelError + 4}, {"fatal", slog.LevelError + 4}, {"error", slog.LevelError}, {"info", slog.LevelInfo},
	{"verbose", slog.LevelInfo - 1}, {"debug", slog.LevelDebug}, {"debug2", slog.LevelDebug - 1},
	{"debug3", slog.LevelDebug - 2}, {"debug4", slog.LevelDebug - 3}, {"debug5", slog.LevelDebug - 4},
}

// levelOf finds a level by name, `more` steps more talkative.
func levelOf(name string, more int) (slog.Level, error) {
	for i, l := range levels {
		if strings.EqualFold(l.name, name) {
			return levels[min(i+more, len(levels)-1)].level, nil
		}
	}
	return 0, fmt.Errorf("SlurmdDebug=%s is no level", name)
}

// logFile is a log that can be reopened after it was rotated away (SIGUSR2).
type logFile struct {
	path string
	file atomic.Pointer[os.File]
}

// openLog makes the logger: into the file, or to standard error without one.
func openLog(path string, level slog.Level) (*slog.Logger, *logFile, error) {
	l := &logFile{path: path}
	var out io.Writer = os.Stderr
	if path != "" && !strings.EqualFold(path, "none") {
		if err := l.reopen(); err != nil {
			return nil, nil, err
		}
		out = l
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), l, nil
}

func (l *logFile) reopen() error {
	if l.path == "" || strings.EqualFold(l.path, "none") {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("opening the log (SlurmdLogFile): %w", err)
	}
	if old := l.file.Swap(f); old != nil {
		old.Close()
	}
	return nil
}

// Write appends to the file. A full disk must not stop the node, so what
// cannot be written goes to standard error.
func (l *logFile) Write(p []byte) (int, error) {
	if n, err := l.file.Load().Write(p); err == nil {
		return n, nil
	}
	return os.Stderr.Write(p)
}
