package format

// Cell appends a value of a row. It appends only; cutting and padding follow.
type Cell[R any] func(b []byte, row *R) []byte

// Column is one column of a table.
type Column[R any] struct {
	Header string
	Cell   Cell[R]
	Width  int // 0 = as wide as the value
	Right  bool
	Suffix string
	// Whole, if set, tells of a right-justified column which rows' values are not
	// cut, however wide they are; WholeHeader says it of the header.
	Whole       func(row *R) bool
	WholeHeader bool
}

// Null is what a value that is not there is shown as. C's printf, which Slurm's
// commands print with, leaves it out where its six bytes do not fit.
const Null = "(null)"

// Table is a format that was read.
type Table[R any] struct {
	Prefix  string // before the first column
	Columns []Column[R]
}

// AppendHeader appends the line of headers.
func (t *Table[R]) AppendHeader(b []byte) []byte {
	b = append(b, t.Prefix...)
	for i := range t.Columns {
		c := &t.Columns[i]
		start := len(b)
		b = append(b, c.Header...)
		if !c.WholeHeader || len(b)-start < c.Width {
			b = Fit(b, start, c.Width, c.Right)
		}
		b = append(b, c.Suffix...)
	}
	return append(b, '\n')
}

// AppendRow appends the line of a row.
func (t *Table[R]) AppendRow(b []byte, row *R) []byte {
	b = append(b, t.Prefix...)
	for i := range t.Columns {
		c := &t.Columns[i]
		start := len(b)
		b = c.Cell(b, row)
		if c.Width > 0 && c.Width < len(Null) && !c.Right && string(b[start:]) == Null {
			b = b[:start]
		}
		if len(b)-start < c.Width || c.Whole == nil || !c.Whole(row) {
			b = Fit(b, start, c.Width, c.Right)
		}
		b = append(b, c.Suffix...)
	}
	return append(b, '\n')
}

// Fit cuts or pads what stands in b from start on to width bytes; 0 leaves it.
func Fit(b []byte, start, width int, right bool) []byte {
	if width == 0 {
		return b
	}
	n := len(b) - start
	if n >= width {
		return b[:start+width]
	}
	pad := width - n
	for range pad {
		b = append(b, ' ')
	}
	if right {
		copy(b[start+pad:], b[start:start+n])
		for i := start; i < start+pad; i++ {
			b[i] = ' '
		}
	}
	return b
}

// Text makes a cell that is the same in every row.
func Text[R any](s string) Cell[R] {
	return func(b []byte, _ *R) []byte { return append(b, s...) }
}
