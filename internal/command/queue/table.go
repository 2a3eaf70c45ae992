package queue

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/command/format"
)

// Formats of the options that bring their own.
const (
	PlainFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
	LongFormat  = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
	StartFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
	StepsFormat = "%.15i %.8j %.9P %.8u %.9M %N"
)

// Table is a format of jobs or steps that was read, and what it needs of them.
type Table struct {
	format.Table[Row]
	Spec, State []uint32 // field numbers
	// Complaints are what was not understood; such a column prints itself.
	Complaints []string
}

// lookup finds columns by letter or by name.
type lookup struct {
	letter func(byte) *field
	name   func(string) *field
	all    string // letters of %all
	closed bool   // a bar after the last column of it, too
	what   string // "job" or "job step"
}

var jobColumns = lookup{
	letter: byLetter, name: byName, all: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", what: "job",
}

// ParseTable reads a format of -o.
func ParseTable(text string) *Table { return jobColumns.parse(text) }

// ParseNames reads a format of -O.
func ParseNames(text string) *Table { return jobColumns.parseNames(text) }

func (l *lookup) parse(text string) *Table {
	t := &Table{}
	if strings.EqualFold(text, format.All) {
		text = barred(l)
	}
	prefix, fields := format.ParseLetters(text)
	t.Prefix = prefix
	for _, f := range fields {
		known, what := l.letter(f.Letter), f.Raw[len(f.Raw)-len(f.Suffix)-min(int(f.Letter), 1):len(f.Raw)-len(f.Suffix)]
		if f.Auto {
			known, what = nil, "#"
		}
		if known == nil {
			t.complain(l, what)
			t.Columns = append(t.Columns, format.Column[Row]{Header: "%" + f.Raw, Cell: format.Text[Row]("%" + f.Raw)})
			continue
		}
		t.add(known, f)
	}
	return t
}

// barred is the format that %all stands for.
func barred(l *lookup) string {
	var b []byte
	for i := range len(l.all) {
		if l.letter(l.all[i]) == nil {
			continue
		}
		if len(b) > 0 {
			b = append(b, '|')
		}
		b = append(b, '%', l.all[i])
	}
	if l.closed {
		b = append(b, '|')
	}
	return string(b)
}

func (l *lookup) parseNames(text string) *Table {
	t := &Table{}
	for _, f := range format.ParseNames(text) {
		known := l.name(f.Name)
		if known == nil {
			t.complain(l, f.Name)
			continue
		}
		t.add(known, f)
	}
	return t
}

func (t *Table) complain(l *lookup, what string) {
	t.Complaints = append(t.Complaints, fmt.Sprintf("Invalid %s format specification: %s", l.what, what))
}

func (t *Table) add(known *field, f format.Field) {
	c := format.Column[Row]{Header: known.header, Cell: known.cell, Width: f.Width, Right: f.Right, Suffix: f.Suffix}
	if f.Right {
		c.Whole, c.WholeHeader = uncut(known)
	}
	t.Columns = append(t.Columns, c)
	t.need(known)
}

// uncut tells which values of a right-justified column stand whole, however
// narrow it is: lists of nodes, times that are numbers, and the tasks of an array
// where SLURM_BITSTR_LEN says how long they may get.
func uncut(f *field) (whole func(*Row) bool, wholeHeader bool) {
	always := func(*Row) bool { return true }
	switch f.header {
	case "NODELIST", "SCHEDNODES":
		return always, true
	case "NODELIST(REASON)":
		return (*Row).showsNodes, true
	case "REQ_NODES", "EXC_NODES", "TIME":
		return always, false
	case "TIME_LIMIT", "TIME_LEFT":
		return (*Row).limited, false
	case "JOBID":
		if f.name == "jobarrayid" {
			return func(r *Row) bool { return !r.CutID && r.State.ArrayPending != "" }, false
		}
	}
	return nil, false
}

func (t *Table) need(f *field) {
	t.Spec = merge(t.Spec, f.spec)
	t.State = merge(t.State, f.state)
}

// merge adds numbers that are not yet there.
func merge(list, more []uint32) []uint32 {
	for _, n := range more {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
