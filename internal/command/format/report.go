package format

// Style says how the tables of the accounting commands are laid out.
type Style struct {
	Parsable  bool // values as long as they are, apart by the delimiter
	Delimiter string
	Trailing  bool // one after the last value, too
	Header    bool
}

// ReportColumn is one column of a Report.
type ReportColumn[R any] struct {
	Name  string
	Width int // 0 = the column is left out, but for its blank
	Left  bool
	Cell  Cell[R]
}

// Report is a table of sacct, sacctmgr and their kin: names over dashes, or
// values apart by a delimiter.
type Report[R any] []ReportColumn[R]

// AppendHeader appends the names, and where values stand in columns a line of dashes.
func (t Report[R]) AppendHeader(b []byte, s *Style) []byte {
	if s.Parsable {
		for i, c := range t {
			b = append(b, c.Name...)
			b = t.separate(b, s, i)
		}
		return append(b, '\n')
	}
	for _, c := range t {
		start := len(b)
		if c.Width == 0 {
			b = append(b, ' ')
			continue
		}
		b = append(b, c.Name...)
		b = Fit(b, start, c.Width, !c.Left)
		b = append(b, ' ')
	}
	b = append(b, '\n')
	for _, c := range t {
		for range c.Width {
			b = append(b, '-')
		}
		b = append(b, ' ')
	}
	return append(b, '\n')
}

func (t Report[R]) separate(b []byte, s *Style, i int) []byte {
	if i < len(t)-1 || s.Trailing {
		b = append(b, s.Delimiter...)
	}
	return b
}

// AppendRow appends a line; a value that does not fit ends in a plus.
func (t Report[R]) AppendRow(b []byte, s *Style, r *R) []byte {
	for i, c := range t {
		start := len(b)
		b = c.Cell(b, r)
		if s.Parsable {
			b = t.separate(b, s, i)
			continue
		}
		switch n := len(b) - start; {
		case c.Width == 0:
			b = b[:start]
		case n > c.Width:
			b = append(b[:start+c.Width-1], '+')
		default:
			b = Fit(b, start, c.Width, !c.Left)
		}
		b = append(b, ' ')
	}
	return append(b, '\n')
}

// Sized gives a column the width that stands behind its name, "20" or "-20" for
// a column whose values begin on the left.
func (c *ReportColumn[R]) Sized(width int) {
	switch c.Width = width; {
	case width < 0:
		c.Width, c.Left = -width, true
	case width > 0:
		c.Left = false
	}
}
