// Package hostlist reads and writes Slurm host lists: the notation
// "rack[0-3]n[001-128],login1" for a sequence of host names.
//
// It is pure text work: it resolves no name, knows no cluster and keeps no
// state. Order and duplicates are the caller's: Expand and Compress keep both, Uniq
// drops later copies, Sort and CompressSorted give the order in which Slurm prints
// the nodes of a job.
package hostlist

import (
	"fmt"
	"strings"
)

// DefaultLimit is the number of names that Expand and Count accept at most. A
// host list comes from users; "n[0-999999999]" must not fill the memory.
const DefaultLimit = 64 * 1024

// SyntaxError tells where a host list cannot be read. Pos counts bytes from 0.
type SyntaxError struct {
	Input string
	Pos   int
	Msg   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid host list %q: position %d: %s", shorten(e.Input), e.Pos, e.Msg)
}

// shorten keeps an error line readable when the list has thousands of names.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// List is a host list as written: expressions in their order, not expanded.
type List struct {
	input string
	exprs []expr
	count int
}

// expr is one comma-separated element: literals and bracket groups in turn.
type expr struct {
	pos   int
	parts []part
}

// part is either literal text or a bracket group (ranges is then not empty).
type part struct {
	text   string
	ranges []numRange
}

// numRange is "lo-hi" inside brackets; width is the number of digits to pad to.
type numRange struct {
	lo, hi uint64
	width  int
}

func (r numRange) size() uint64 { return r.hi - r.lo + 1 }

// Parse reads a host list of at most DefaultLimit names. Elements are
// separated by commas or blanks outside of brackets; empty elements are skipped.
func Parse(s string) (*List, error) { return ParseN(s, DefaultLimit) }

// ParseN is Parse with a limit of the caller's choice.
func ParseN(s string, limit int) (*List, error) {
	p := parser{in: s}
	l := &List{input: s}
	for p.skipSeparators(); p.pos < len(s); p.skipSeparators() {
		e, err := p.element()
		if err != nil {
			return nil, err
		}
		left := limit - l.count
		n, ok := e.count(left)
		if !ok {
			return nil, &SyntaxError{s, e.pos, fmt.Sprintf("more than %d host names", limit)}
		}
		l.count += n
		l.exprs = append(l.exprs, e)
	}
	return l, nil
}

// Count is the number of names, duplicates counted.
func (l *List) Count() int { return l.count }

// String is the list as it was written.
func (l *List) String() string { return l.input }

// Expand gives every name in the order written, duplicates kept.
func (l *List) Expand() []string {
	out := make([]string, 0, l.count)
	for _, e := range l.exprs {
		out = e.expand(out)
	}
	return out
}

// Expand gives the names of a host list of at most DefaultLimit names.
func Expand(s string) ([]string, error) { return ExpandN(s, DefaultLimit) }

// ExpandN is Expand with a limit of the caller's choice.
func ExpandN(s string, limit int) ([]string, error) {
	l, err := ParseN(s, limit)
	if err != nil {
		return nil, err
	}
	return l.Expand(), nil
}

// Count is the number of names in a host list, duplicates counted.
func Count(s string) (int, error) {
	l, err := Parse(s)
	if err != nil {
		return 0, err
	}
	return l.Count(), nil
}

// Uniq drops every name that stood before and keeps the order of the rest. The
// argument is not changed.
func Uniq(names []string) []string {
	seen := make(map[string]struct{}, len(names))
	out := make([]string, 0, len(names))
	for _, n := range names {
		if _, dup := seen[n]; dup {
			continue
		}
		seen[n] = struct{}{}
		out = append(out, n)
	}
	return out
}

// count multiplies the sizes of the groups; false when it exceeds limit.
func (e expr) count(limit int) (int, bool) {
	if limit < 1 {
		return 0, false
	}
	total := uint64(1)
	for _, p := range e.parts {
		if p.ranges == nil {
			continue
		}
		var n uint64
		for _, r := range p.ranges {
			n += r.size() // at most 10^18 each, checked below before the next
			if n > uint64(limit) {
				return 0, false
			}
		}
		total *= n // both factors are at most limit
		if total > uint64(limit) {
			return 0, false
		}
	}
	return int(total), true
}

// expand appends the names of one element. As in Slurm the last bracket turns
// fastest, then the first, the second and so on: with up to two brackets that is
// the reading order.
func (e expr) expand(out []string) []string {
	var groups []int
	for i, p := range e.parts {
		if p.ranges != nil {
			groups = append(groups, i)
		}
	}
	if len(groups) == 0 {
		return append(out, e.parts[0].text)
	}
	last := groups[len(groups)-1]
	outer := groups[:len(groups)-1]
	texts := make([]string, len(e.parts)) // the outer brackets' present numbers
	wheels := make([]wheel, len(outer))
	for i, g := range outer {
		wheels[i] = newWheel(e.parts[g].ranges)
		texts[g] = wheels[i].text()
	}
	for i, p := range e.parts {
		if p.ranges == nil {
			texts[i] = p.text
		}
	}
	var buf []byte
	for {
		head, tail := strings.Join(texts[:last], ""), strings.Join(texts[last+1:], "")
		for _, r := range e.parts[last].ranges {
			for v := r.lo; v <= r.hi; v++ {
				buf = appendPadded(append(buf[:0], head...), v, r.width)
				out = append(out, string(append(buf, tail...)))
			}
		}
		i := 0
		for ; i < len(wheels); i++ {
			wrapped := wheels[i].turn()
			texts[outer[i]] = wheels[i].text()
			if !wrapped {
				break
			}
		}
		if i == len(wheels) {
			return out
		}
	}
}

// wheel steps through the numbers of one bracket, again and again.
type wheel struct {
	ranges []numRange
	at     int
	v      uint64
}

func newWheel(ranges []numRange) wheel { return wheel{ranges: ranges, v: ranges[0].lo} }

func (w *wheel) text() string {
	return string(appendPadded(nil, w.v, w.ranges[w.at].width))
}

// turn goes to the next number and tells whether it began anew.
func (w *wheel) turn() (wrapped bool) {
	if w.v < w.ranges[w.at].hi {
		w.v++
		return false
	}
	w.at = (w.at + 1) % len(w.ranges)
	w.v = w.ranges[w.at].lo
	return w.at == 0
}

func appendPadded(buf []byte, v uint64, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + v%10)
		v /= 10
		if v == 0 {
			break
		}
	}
	for n := len(digits) - i; n < width; n++ {
		buf = append(buf, '0')
	}
	return append(buf, digits[i:]...)
}

func isSeparator(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
