package dataparser

import "strconv"

// A number that may be missing or endless is an object of three members. A job
// has some sixty of them, so the text up to the number is made once for each
// depth and each of its faces.

// Faces of such a number.
const (
	faceSet = iota
	faceUnset
	faceInfinite
)

type numberHeads [3]string

func (w *Writer) noVal(key string, set, infinite bool, n uint64) {
	w.numberHead(key, set, infinite)
	w.b = strconv.AppendUint(w.b, n, 10)
	w.numberEnd()
}

// FloatNumber writes a number with a fraction that may not be set.
func (w *Writer) FloatNumber(key string, set bool, n float64) {
	w.numberHead(key, set, false)
	w.b = appendFloat(w.b, n)
	w.numberEnd()
}

func (w *Writer) numberHead(key string, set, infinite bool) {
	w.key(key)
	face := faceUnset
	switch {
	case infinite:
		face = faceInfinite
	case set:
		face = faceSet
	}
	depth := len(w.open)
	for len(w.heads) <= depth {
		w.heads = append(w.heads, numberHeads{})
	}
	if w.heads[depth][face] == "" {
		w.heads[depth][face] = w.makeHead(set, infinite)
	}
	w.b = append(w.b, w.heads[depth][face]...)
}

// makeHead writes the members before the number the long way and takes them back.
func (w *Writer) makeHead(set, infinite bool) string {
	from := len(w.b)
	w.begin(false)
	w.Bool("set", set)
	w.Bool("infinite", infinite)
	w.value("number")
	w.open = w.open[:len(w.open)-1]
	head := string(w.b[from:])
	w.b = w.b[:from]
	return head
}

func (w *Writer) numberEnd() {
	if w.format != YAML {
		w.line(len(w.open))
		w.b = append(w.b, '}')
	}
}
