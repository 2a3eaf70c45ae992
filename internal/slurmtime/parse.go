package slurmtime

import (
	"fmt"
	"strings"
	"time"
)

// SyntaxError is a text that names no point in time; its message is Slurm's.
type SyntaxError struct {
	Text string
	Pos  int
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("Invalid time specification (pos=%d): %s", e.Pos, e.Text)
}

// Parse reads a point in time that lies ahead (--begin, --deadline, reservations):
// a time of day that is past means tomorrow, a date without year that is past
// next year. The zone is now's.
func Parse(s string, now time.Time) (time.Time, error) { return parse(s, now, false) }

// ParsePast reads a point in time that lies behind (sacct -S and -E): a time of
// day is today's, a date without year and still to come last year's.
func ParsePast(s string, now time.Time) (time.Time, error) { return parse(s, now, true) }

// spec collects what the pieces of a specification say.
type spec struct {
	in  string
	pos int
	now time.Time

	hasClock, hasDate, hasYear bool
	hour, min, sec             int
	year, day                  int
	month                      time.Month
}

func (p *spec) fail(pos int) error { return &SyntaxError{p.in, pos} }

func parse(s string, now time.Time, past bool) (time.Time, error) {
	p := &spec{in: s, now: now}
	for p.skip(); p.pos < len(s); p.skip() {
		if p.word("now") {
			if p.hasClock || p.hasDate {
				return time.Time{}, p.fail(p.pos - len("now"))
			}
			return p.nowPlus()
		}
		if err := p.piece(); err != nil {
			return time.Time{}, err
		}
	}
	if !p.hasClock && !p.hasDate {
		return time.Time{}, p.fail(len(s))
	}
	return p.resolve(past), nil
}

// skip passes over what may stand between pieces.
func (p *spec) skip() {
	for p.pos < len(p.in) && strings.IndexByte(" \t\n-T", p.in[p.pos]) >= 0 {
		p.pos++
	}
}

// word consumes w, in any case.
func (p *spec) word(w string) bool {
	if len(p.in)-p.pos < len(w) || !strings.EqualFold(p.in[p.pos:p.pos+len(w)], w) {
		return false
	}
	p.pos += len(w)
	return true
}

// hoursByName are the words for a time of day.
var hoursByName = [...]struct {
	word string
	hour int
}{{"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}}

func (p *spec) piece() error {
	for _, h := range hoursByName {
		if p.word(h.word) {
			p.setClock(h.hour, 0, 0)
			return nil
		}
	}
	switch {
	case p.word("today"):
		p.setDay(p.now)
	case p.word("tomorrow"):
		p.setDay(p.now.AddDate(0, 0, 1))
	default:
		return p.numeric()
	}
	return nil
}

func (p *spec) setClock(h, m, s int) { p.hasClock, p.hour, p.min, p.sec = true, h, m, s }

func (p *spec) setDay(t time.Time) {
	p.hasDate, p.hasYear = true, true
	p.year, p.month, p.day = t.Date()
}

// resolve completes what was left out.
func (p *spec) resolve(past bool) time.Time {
	if !p.hasDate {
		y, m, d := p.now.Date()
		t := p.at(y, m, d)
		if !past && t.Before(p.now) {
			t = p.at(y, m, d+1)
		}
		return t
	}
	if p.hasYear {
		return p.at(p.year, p.month, p.day)
	}
	t := p.at(p.now.Year(), p.month, p.day)
	switch {
	case past && dayNumber(t) > dayNumber(p.now):
		return p.at(p.now.Year()-1, p.month, p.day)
	case !past && t.Before(p.now):
		return p.at(p.now.Year()+1, p.month, p.day)
	}
	return t
}

func (p *spec) at(y int, m time.Month, d int) time.Time {
	return time.Date(y, m, d, p.hour, p.min, p.sec, 0, p.now.Location())
}

// nowPlus reads what may follow "now": nothing, or a sign, a count and a unit.
func (p *spec) nowPlus() (time.Time, error) {
	p.blanks()
	if p.pos == len(p.in) {
		return p.now.Truncate(time.Second), nil
	}
	sign := int64(1)
	signPos := p.pos
	switch p.in[p.pos] {
	case '-':
		sign = -1
	case '+':
	default:
		return time.Time{}, p.fail(p.pos)
	}
	p.pos++
	p.blanks()
	n, digits := p.digits(11)
	if digits == 0 {
		return time.Time{}, p.fail(signPos)
	}
	countEnd := p.pos - 1
	p.blanks()
	unit, ok := p.unit()
	if !ok {
		return time.Time{}, p.fail(countEnd)
	}
	p.blanks()
	if p.pos < len(p.in) {
		return time.Time{}, p.fail(p.pos)
	}
	return time.Unix(p.now.Unix()+sign*n*unit, 0).In(p.now.Location()), nil
}

func (p *spec) unit() (seconds int64, ok bool) {
	if p.pos == len(p.in) {
		return 1, true
	}
	for _, u := range [...]struct {
		word    string
		seconds int64
	}{{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 7 * 86400}} {
		if p.word(u.word) {
			p.word("s")
			return u.seconds, true
		}
	}
	return 0, false
}

func (p *spec) blanks() {
	for p.pos < len(p.in) && (p.in[p.pos] == ' ' || p.in[p.pos] == '\t') {
		p.pos++
	}
}

// digits reads at most most digits and says how many there were.
func (p *spec) digits(most int) (v int64, n int) {
	for n < most && p.pos < len(p.in) && isDigit(p.in[p.pos]) {
		v = v*10 + int64(p.in[p.pos]-'0')
		p.pos++
		n++
	}
	return v, n
}
