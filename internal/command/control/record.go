package control

import (
	"fmt"
	"time"

	"muster/internal/slurmtime"
)

// Style is how records are written.
type Style struct {
	OneLine    bool
	Details    bool
	Now        time.Time // the controller's
	TimeFormat string
	TasksWidth int
}

// record collects the lines of one record: below each other and indented, or
// one after the other with -o.
type record struct {
	*Style
	b     []byte
	lines int
}

// line appends a line.
func (r *record) line(format string, args ...any) {
	if r.lines > 0 {
		if r.OneLine {
			r.b = append(r.b, ' ')
		} else {
			r.b = append(r.b, "\n   "...)
		}
	}
	r.lines++
	r.b = fmt.Appendf(r.b, format, args...)
}

// end closes a record; people get a blank line after it.
func (r *record) end() []byte {
	r.b = append(r.b, '\n')
	if !r.OneLine {
		r.b = append(r.b, '\n')
	}
	return r.b
}

// time writes a point in time, or what stands for none.
func (r *record) time(t int64, none string) string {
	if t == 0 {
		return none
	}
	return slurmtime.Stamp(time.Unix(t, 0), r.TimeFormat, r.Now)
}

func orNull(s string) string { return or(s, "(null)") }

func or(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

func yesNo(v bool) string {
	if v {
		return "YES"
	}
	return "NO"
}

func oneZero(v bool) int {
	if v {
		return 1
	}
	return 0
}

// star writes a count, or "*" where none was given.
func star(n uint32) string {
	if n == 0 {
		return "*"
	}
	return fmt.Sprint(n)
}

// count writes a limit on a number.
func count(n uint32) string {
	if n == 0xffffffff || n == 0 {
		return "UNLIMITED"
	}
	return fmt.Sprint(n)
}
