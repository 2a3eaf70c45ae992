package accounting

import (
	"fmt"
	"strconv"
	"strings"

	"muster/internal/command/format"
	"muster/internal/wire"
)

func qos(s *wire.JobSpec) string         { return s.Qos }
func reservation(s *wire.JobSpec) string { return s.Reservation }

// reqMem is the memory of the whole request, in the unit that was asked for.
func reqMem(b []byte, r *Row) []byte {
	if r.Step != nil {
		return b
	}
	return reqTRES("mem")(b, r)
}

// Style says how a table is laid out.
type Style struct {
	Delimiter string // not empty: values apart by it, as long as they are
	Trailing  bool   // one after the last value, too
	Header    bool
}

// Table is a list of columns that was read.
type Table struct {
	columns []column
}

type column struct {
	*field
	width int
	left  bool
}

// FieldError names a field that does not exist.
type FieldError struct{ Name string }

func (e *FieldError) Error() string { return fmt.Sprintf("Invalid field requested: %q", e.Name) }

// ParseTable reads "jobid,state%20,nodelist%-256".
func ParseTable(list string) (*Table, error) {
	known := fields()
	t := &Table{}
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		name, size, sized := strings.Cut(word, "%")
		if strings.EqualFold(name, "all") {
			for i := range known {
				t.columns = append(t.columns, column{&known[i], known[i].width, known[i].left})
			}
			continue
		}
		f := find(known, name)
		if f == nil {
			return nil, &FieldError{name}
		}
		c := column{f, f.width, f.left}
		if sized {
			n, _ := strconv.Atoi(size) // what is no number is a width of 0, as in Slurm
			c.width = n
			if n < 0 {
				c.width, c.left = -n, true
			} else if n > 0 {
				c.left = false
			}
		}
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// AppendHeader appends the names, and where values stand in columns a line of dashes.
func (t *Table) AppendHeader(b []byte, s *Style) []byte {
	if s.Delimiter != "" {
		for i, c := range t.columns {
			b = append(b, c.name...)
			b = t.separate(b, s, i)
		}
		return append(b, '\n')
	}
	for _, c := range t.columns {
		start := len(b)
		if c.width == 0 {
			b = append(b, ' ')
			continue
		}
		b = append(b, c.name...)
		b = format.Fit(b, start, c.width, !c.left)
		b = append(b, ' ')
	}
	b = append(b, '\n')
	for _, c := range t.columns {
		for range c.width {
			b = append(b, '-')
		}
		b = append(b, ' ')
	}
	return append(b, '\n')
}

func (t *Table) separate(b []byte, s *Style, i int) []byte {
	if i < len(t.columns)-1 || s.Trailing {
		b = append(b, s.Delimiter...)
	}
	return b
}

// AppendRow appends a line; a value that does not fit ends in a plus.
func (t *Table) AppendRow(b []byte, s *Style, r *Row) []byte {
	for i, c := range t.columns {
		start := len(b)
		b = c.cell(b, r)
		if s.Delimiter != "" {
			b = t.separate(b, s, i)
			continue
		}
		switch n := len(b) - start; {
		case c.width == 0:
			b = b[:start]
		case n > c.width:
			b = append(b[:start+c.width-1], '+')
		default:
			b = format.Fit(b, start, c.width, !c.left)
		}
		b = append(b, ' ')
	}
	return append(b, '\n')
}

// HelpFormat lists the names of all fields in columns.
func HelpFormat() []byte {
	var b []byte
	for i, f := range fields() {
		b = fmt.Appendf(b, "%-19s", f.name)
		if i%4 == 3 {
			b = append(b, '\n')
		} else {
			b = append(b, ' ')
		}
	}
	if len(b) > 0 && b[len(b)-1] == ' ' {
		b[len(b)-1] = '\n'
	}
	return b
}
