package format

import "strings"

// Field is one element of a format as it was written.
type Field struct {
	Letter byte   // of "%5i": 'i'; 0 in a list of names
	Name   string // of "jobid:5"
	Width  int    // 0 = as wide as the value
	Auto   bool   // '#' in place of a width: as wide as the widest value
	Right  bool
	Suffix string
	Raw    string // the element whole, for one that nobody knows
}

// All is the one format that stands for every column, with bars between them.
const All = "%all"

// ParseLetters reads "%.18i %9P|…": `%`, an optional dot (right-justified), an
// optional width, a letter, and text up to the next `%`. What stands before the
// first `%` is the prefix of every line.
func ParseLetters(format string) (prefix string, fields []Field) {
	prefix, rest, found := strings.Cut(format, "%")
	for found {
		var token string
		token, rest, found = strings.Cut(rest, "%")
		if token == "" {
			continue // "%%" prints nothing
		}
		fields = append(fields, letterField(token))
	}
	return prefix, fields
}

func letterField(token string) Field {
	f := Field{Raw: token}
	i := 0
	if token[i] == '.' {
		f.Right = true
		i++
	}
	if i < len(token) && token[i] == '#' {
		f.Auto = true
		i++
	}
	for ; i < len(token) && token[i] >= '0' && token[i] <= '9'; i++ {
		f.Width = min(f.Width*10+int(token[i]-'0'), maxWidth)
	}
	if i < len(token) {
		f.Letter = token[i]
		f.Suffix = token[i+1:]
	}
	return f
}

// maxWidth bounds a column, so that a slip of the finger does not fill a disk.
const maxWidth = 65536

// NameWidth is the width of a column that is asked for by name and without one.
const NameWidth = 20

// ParseNames reads "jobid,name:30,state:.8|": a name, and after a colon an
// optional dot, width and suffix. A colon without a width leaves the value as
// wide as it is.
func ParseNames(list string) []Field {
	var fields []Field
	for len(list) > 0 {
		var token string
		token, list, _ = strings.Cut(list, ",")
		if token == "" {
			continue
		}
		name, spec, has := strings.Cut(token, ":")
		f := Field{Name: name, Raw: token, Width: NameWidth}
		if has {
			f.Width = 0
			if rest, ok := strings.CutPrefix(spec, "."); ok {
				f.Right, spec = true, rest
			}
			i := 0
			for ; i < len(spec) && spec[i] >= '0' && spec[i] <= '9'; i++ {
				f.Width = min(f.Width*10+int(spec[i]-'0'), maxWidth)
			}
			f.Suffix = spec[i:]
		}
		fields = append(fields, f)
	}
	return fields
}
