package conf

import (
	"fmt"
	"strings"
)

// Pos is a place in a configuration file; lines count from 1.
type Pos struct {
	File string
	Line int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Error is one mistake and where it stands.
type Error struct {
	Pos
	Msg string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Errors are all mistakes found, in the order found.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// report collects mistakes and notices while files are read.
type report struct {
	errs    Errors
	notices []string
	files   []string // read, in order
	told    map[string]bool
}

func (r *report) errorf(p Pos, format string, args ...any) {
	e := &Error{p, fmt.Sprintf(format, args...)}
	if r.first(e.Error()) {
		r.errs = append(r.errs, e)
	}
}

func (r *report) noticef(p Pos, format string, args ...any) {
	text := p.String() + ": " + fmt.Sprintf(format, args...)
	if r.first(text) {
		r.notices = append(r.notices, text)
	}
}

// first tells whether a text is new: what stands on a DEFAULT line is met again with
// every line that it serves.
func (r *report) first(text string) bool {
	if r.told[text] {
		return false
	}
	if r.told == nil {
		r.told = map[string]bool{}
	}
	r.told[text] = true
	return true
}

// err is nil when nothing was wrong.
func (r *report) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs
}
