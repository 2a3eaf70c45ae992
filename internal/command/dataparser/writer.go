// Package dataparser writes what commands know as the JSON or YAML of Slurm's
// data_parser v0.0.45, piece by piece, so that memory does not grow with what is
// written. It knows the notation and the objects that every answer shares; what
// a job or a node consists of is described beside the command that shows it.
//
// It must not ask the controller for anything, and it holds no answer whole.
package dataparser

import (
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// Format is the notation.
type Format uint8

// The notations.
const (
	JSON Format = iota
	CompactJSON
	YAML
	CompactYAML // in one line
)

// flushSize is how much is gathered before it is written.
const flushSize = 60 << 10

// Writer writes one document. Members of an object have a key, those of a list
// have the key "".
type Writer struct {
	out    io.Writer
	format Format
	b      []byte
	open   []container
	err    error
	heads  []numberHeads // by depth
	sent   bool          // something of it has left
}

type container struct {
	list  bool
	empty bool
}

// NewWriter begins a document, which is one object.
func NewWriter(out io.Writer, format Format) *Writer {
	w := &Writer{out: out, format: format, b: make([]byte, 0, flushSize+4<<10)}
	switch format {
	case YAML:
		w.b = append(w.b, "---"...)
	case CompactYAML:
		w.b = append(w.b, "---\n"...)
	}
	w.begin(false)
	return w
}

// Err is the first error of the stream below.
func (w *Writer) Err() error { return w.err }

// Close ends the document and tells whether all of it could be written.
func (w *Writer) Close() error {
	w.End()
	if w.format != YAML || w.b[len(w.b)-1] != '\n' {
		w.b = append(w.b, '\n')
	}
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	w.sent = true
	if w.err == nil {
		_, w.err = w.out.Write(w.b)
	}
	w.b = w.b[:0]
}

// Object begins an object, which End ends.
func (w *Writer) Object(key string) {
	w.key(key)
	w.begin(false)
}

// List begins a list, which End ends.
func (w *Writer) List(key string) {
	w.key(key)
	w.begin(true)
}

func (w *Writer) begin(list bool) {
	w.open = append(w.open, container{list: list, empty: true})
	switch {
	case w.format == YAML: // nothing, until it is known whether anything is in it
	case list:
		w.b = append(w.b, '[')
	default:
		w.b = append(w.b, '{')
	}
}

// End ends what was begun last.
func (w *Writer) End() {
	last := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	brackets := "{}"
	if last.list {
		brackets = "[]"
	}
	switch {
	case w.format == YAML && last.empty:
		w.b = append(append(w.b, ' '), brackets...)
	case w.format == YAML:
	default:
		if !last.empty {
			w.line(len(w.open))
		}
		w.b = append(w.b, brackets[1])
	}
	if len(w.b) > flushSize {
		w.flush()
	}
}

// key begins a member of what is open.
func (w *Writer) key(key string) {
	in := &w.open[len(w.open)-1]
	first := in.empty
	in.empty = false
	if w.format == YAML {
		w.yamlKey(key, in.list, first)
		return
	}
	if !first {
		w.b = append(w.b, ',')
	}
	w.line(len(w.open))
	if in.list {
		return
	}
	w.b = append(append(append(w.b, '"'), key...), '"', ':')
	if w.format != CompactJSON {
		w.b = append(w.b, ' ')
	}
}

// yamlKey begins a member: an object in a list has its first member beside the
// dash.
func (w *Writer) yamlKey(key string, list, first bool) {
	depth := len(w.open) - 1
	inList := depth > 0 && w.open[depth-1].list
	if !list && first && inList {
		w.b = append(w.b, ' ')
	} else {
		w.line(depth)
	}
	if list {
		w.b = append(w.b, '-')
		return
	}
	w.b = append(append(w.b, key...), ':')
}

const blanks = "                                                                "

func (w *Writer) line(depth int) {
	if w.format == CompactJSON || w.format == CompactYAML {
		return
	}
	w.b = append(append(w.b, '\n'), blanks[:2*depth]...)
}

// value makes room for a plain value after its key.
func (w *Writer) value(key string) {
	w.key(key)
	if w.format == YAML {
		w.b = append(w.b, ' ')
	}
}

// String writes text; what of it is not UTF-8 is replaced.
func (w *Writer) String(key, text string) {
	w.value(key)
	w.b = appendQuoted(w.b, text, w.format == JSON || w.format == CompactJSON)
}

// Int writes a number.
func (w *Writer) Int(key string, n int64) {
	w.value(key)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// Uint writes a number.
func (w *Writer) Uint(key string, n uint64) {
	w.value(key)
	w.b = strconv.AppendUint(w.b, n, 10)
}

// Float writes a number; what is no number is written as 0.
func (w *Writer) Float(key string, n float64) {
	w.value(key)
	w.b = appendFloat(w.b, n)
}

func appendFloat(b []byte, n float64) []byte {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		n = 0
	}
	b = strconv.AppendFloat(b, n, 'f', -1, 64)
	if n == math.Trunc(n) {
		b = append(b, ".0"...)
	}
	return b
}

// Bool writes a truth value.
func (w *Writer) Bool(key string, v bool) {
	w.value(key)
	w.b = strconv.AppendBool(w.b, v)
}

// Strings writes a list of texts.
func (w *Writer) Strings(key string, list []string) {
	w.List(key)
	for _, s := range list {
		w.String("", s)
	}
	w.End()
}

const hex = "0123456789abcdef"

// appendQuoted writes a text between quotes. What it escapes both notations read;
// the slash is escaped in JSON only, where Slurm does so and YAML 1.1 has no word
// for it.
func appendQuoted(b []byte, s string, slash bool) []byte {
	b = append(b, '"')
	begin := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7f && (c != '/' || !slash) {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || size > 1) && printable(r) {
				i += size
				continue
			}
			b = append(append(b, s[begin:i]...), escaped(r)...)
			i += size
			begin = i
			continue
		}
		b = append(b, s[begin:i]...)
		switch c {
		case '"', '\\', '/':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		begin = i
	}
	return append(append(b, s[begin:]...), '"')
}

// printable tells whether YAML takes a rune as it is.
func printable(r rune) bool {
	return r >= 0xa0 && r != 0x2028 && r != 0x2029 && r != 0xfeff && r != 0xfffe && r != 0xffff && r < 0x10000 || r >= 0x10000
}

// escaped writes a rune below 0x10000 by its number.
func escaped(r rune) string {
	return string([]byte{'\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
}
