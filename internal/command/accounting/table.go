package accounting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/command/format"
	"muster/internal/model"
	"muster/internal/wire"
)

func qos(s *wire.JobSpec) string         { return s.Qos }
func reservation(s *wire.JobSpec) string { return s.Reservation }

// reqMem is the memory of the whole request, in the unit that was asked for.
func reqMem(b []byte, r *Row) []byte {
	if r.Step != nil {
		return b
	}
	return append(b, r.unit(model.TRESValue(r.State.TresReq, "mem"))...)
}

// Style says how a table is laid out.
type Style = format.Style

// Table is a list of columns that was read.
type Table = format.Report[Row]

type column = format.ReportColumn[Row]

func columnOf(f *field) column {
	return column{Name: f.name, Width: f.width, Left: f.left, Cell: f.cell}
}

// FieldError names a field that does not exist.
type FieldError struct{ Name string }

func (e *FieldError) Error() string { return fmt.Sprintf("Invalid field requested: %q", e.Name) }

// ParseTable reads "jobid,state%20,nodelist%-256".
func ParseTable(list string) (Table, error) {
	known := fields()
	var t Table
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimLeft(word, " ")
		if word == "" {
			break // as in Slurm, the end of the list
		}
		name, size, sized := strings.Cut(word, "%")
		if strings.EqualFold(name, "all") {
			for i := range known {
				t = append(t, columnOf(&known[i]))
			}
			continue
		}
		f := find(known, name)
		if f == nil {
			return nil, &FieldError{name}
		}
		c := columnOf(f)
		if sized {
			n, _ := strconv.Atoi(size) // what is no number is a width of 0, as in Slurm
			c.Sized(n)
			for i := range t { // a width is the field's, wherever it stands
				if t[i].Name == c.Name {
					t[i].Width, t[i].Left = c.Width, c.Left
				}
			}
		} else if i := slices.IndexFunc(t, func(o column) bool { return o.Name == c.Name }); i >= 0 {
			c.Width, c.Left = t[i].Width, t[i].Left
		}
		t = append(t, c)
	}
	return t, nil
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
