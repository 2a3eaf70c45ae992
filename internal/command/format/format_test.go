package format

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

type row struct{ a, b string }

func cellOf(letter byte) (Column[row], bool) {
	switch letter {
	case 'a':
		return Column[row]{Header: "ALPHA", Cell: func(b []byte, r *row) []byte { return append(b, r.a...) }}, true
	case 'b':
		return Column[row]{Header: "BETA", Cell: func(b []byte, r *row) []byte { return append(b, r.b...) }}, true
	}
	return Column[row]{}, false
}

func table(format string) Table[row] {
	prefix, fields := ParseLetters(format)
	t := Table[row]{Prefix: prefix}
	for _, f := range fields {
		c, ok := cellOf(f.Letter)
		if !ok {
			c = Column[row]{Header: "%" + f.Raw, Cell: Text[row]("%" + f.Raw)}
		} else {
			c.Width, c.Right, c.Suffix = f.Width, f.Right, f.Suffix
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// The layouts are squeue's for such formats.
func TestLayout(t *testing.T) {
	r := &row{a: "12", b: "abcdefgh"}
	for _, c := range []struct{ format, head, line string }{
		{"%.5a|%5b|", "ALPHA|BETA |\n", "   12|abcde|\n"},
		{"%5a|%.5b|", "ALPHA| BETA|\n", "12   |abcde|\n"},
		{"%.2a|%2a|", "AL|AL|\n", "12|12|\n"},
		{"x%a", "xALPHA\n", "x12\n"},
		{"%a %%", "ALPHA \n", "12 \n"},
		{"%", "\n", "\n"},
		{"", "\n", "\n"},
		{"text", "text\n", "text\n"},
		{"%.5", "%.5\n", "%.5\n"},
		{"%-5a", "%-5a\n", "%-5a\n"},
		{"%.3!b", "%.3!b\n", "%.3!b\n"},
		{"%.a|", "ALPHA|\n", "12|\n"},
		{"%a\n%b", "ALPHA\nBETA\n", "12\nabcdefgh\n"},
		{"%05a|", "ALPHA|\n", "12   |\n"},
	} {
		tab := table(c.format)
		assert.Equal(t, c.head, string(tab.AppendHeader(nil)), c.format)
		assert.Equal(t, c.line, string(tab.AppendRow(nil, r)), c.format)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, []Field{
		{Name: "jobid", Width: 20, Raw: "jobid"},
		{Name: "Name", Width: 9, Right: true, Raw: "Name:.9"},
		{Name: "state", Width: 5, Suffix: "|", Raw: "state:5|"},
		{Name: "user", Suffix: "|", Raw: "user:|"},
		{Name: "x", Raw: "x:"},
	}, ParseNames("jobid,Name:.9,,state:5|,user:|,x:,"))
}

func TestWhatIsNotCut(t *testing.T) {
	long := func(r *row) bool { return r.a == "12" }
	cell := func(b []byte, r *row) []byte { return append(b, r.b...) }
	tab := Table[row]{Columns: []Column[row]{
		{Header: "HEADER", Cell: cell, Width: 3, Right: true, Suffix: "|", Whole: long, WholeHeader: true},
		{Header: "HEADER", Cell: cell, Width: 3, Right: true, Suffix: "|", Whole: long},
		{Header: "HEADER", Cell: cell, Width: 9, Right: true, Suffix: "|", Whole: long, WholeHeader: true},
	}}
	assert.Equal(t, "HEADER|HEA|   HEADER|\n", string(tab.AppendHeader(nil)))
	assert.Equal(t, "abcde|abcde|    abcde|\n", string(tab.AppendRow(nil, &row{a: "12", b: "abcde"})))
	assert.Equal(t, "abc|abc|    abcde|\n", string(tab.AppendRow(nil, &row{a: "1", b: "abcde"})))
}

func TestNothingWhereItsNameDoesNotFit(t *testing.T) {
	tab, r := table("%b|%6b|%5b|%.5b|"), &row{b: Null}
	assert.Equal(t, "(null)|(null)|     |(null|\n", string(tab.AppendRow(nil, r)))
}

func TestRowAllocatesNothing(t *testing.T) {
	tab, r := table("%.18a %.9b %5a"), &row{a: "12", b: "abcdefgh"}
	buf := make([]byte, 0, 256)
	assert.Zero(t, testing.AllocsPerRun(100, func() { buf = tab.AppendRow(buf[:0], r) }))
}
