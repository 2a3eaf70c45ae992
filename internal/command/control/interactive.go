package control

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"muster/internal/command"
)

const prompt = "scontrol: "

// lines is where commands come from: a terminal, with editing and history, or a
// file.
type lines interface {
	next() (line string, ok bool)
}

// interactive reads commands until the input ends or one says so. "!!" is the
// command before.
func (s *session) interactive(ctx context.Context) {
	in := s.openLines()
	last := ""
	for !s.done {
		line, ok := in.next()
		if !ok {
			return
		}
		if line == "!!" {
			line = last
		}
		words := splitLine(line)
		if len(words) == 0 {
			continue
		}
		last = line
		if !s.local(words) {
			s.command(ctx, words)
		}
	}
}

func (s *session) openLines() lines {
	if fd := int(s.p.Stdin.Fd()); term.IsTerminal(fd) {
		return &terminal{s: s, fd: fd, editor: term.NewTerminal(readWriter{s.p.Stdin, os.Stdout}, prompt)}
	}
	in := bufio.NewScanner(s.p.Stdin)
	in.Buffer(nil, 1<<20)
	return &plain{s: s, in: in}
}

// plain is input that nobody types.
type plain struct {
	s  *session
	in *bufio.Scanner
}

func (l *plain) next() (string, bool) {
	l.s.p.Print(prompt)
	if l.s.p.Stdout.Flush() != nil {
		l.s.code = command.ExitError
		return "", false
	}
	if !l.in.Scan() {
		l.s.p.Print("\n")
		return "", false
	}
	l.s.p.Print("%s\n", l.in.Text()) // as scontrol echoes what nobody typed
	return l.in.Text(), true
}

type readWriter struct {
	io.Reader
	io.Writer
}

// terminal edits lines and remembers them; between lines it is as it was, for
// what commands print.
type terminal struct {
	s      *session
	fd     int
	editor *term.Terminal
}

func (l *terminal) next() (string, bool) {
	if l.s.p.Stdout.Flush() != nil {
		l.s.code = command.ExitError
		return "", false
	}
	state, err := term.MakeRaw(l.fd)
	if err != nil {
		l.s.fail("scontrol: error: setting up the terminal: %v", err)
		return "", false
	}
	line, err := l.editor.ReadLine()
	if restore := term.Restore(l.fd, state); restore != nil && err == nil {
		err = restore
	}
	switch {
	case errors.Is(err, term.ErrPasteIndicator), err == nil:
		return line, true
	case errors.Is(err, io.EOF):
		l.s.p.Print("\n")
	default:
		l.s.fail("scontrol: error: reading a command: %v", err)
	}
	return "", false
}
