package hostlist

import (
	"slices"
	"strings"
)

// name is a host name split before its trailing number.
type name struct {
	prefix string
	num    uint64
	width  int // digits as written; 0: no trailing number
}

func split(s string) name {
	i := len(s)
	for i > 0 && isDigit(s[i-1]) {
		i--
	}
	if i == len(s) {
		return name{prefix: s}
	}
	if len(s)-i > maxDigits { // no number any more, only text
		return name{prefix: s}
	}
	var v uint64
	for _, c := range []byte(s[i:]) {
		v = v*10 + uint64(c-'0')
	}
	return name{prefix: s[:i], num: v, width: len(s) - i}
}

// follows tells whether n continues a range that ends in prev: the next number
// written with the same padding ("n9,n10" and "n09,n10" do, "n09,n010" not).
func (n name) follows(prev name) bool {
	return n.num == prev.num+1 && samePadding(n, prev)
}

func samePadding(a, b name) bool {
	return a.width == b.width || a.width == minWidth(a) && b.width == minWidth(b)
}

func minWidth(n name) int {
	w := 1
	for v := n.num; v >= 10; v /= 10 {
		w++
	}
	return w
}

// Compress writes names in their order, neighbours with the same prefix in
// brackets and runs as ranges, as `scontrol show hostlist` does.
func Compress(names []string) string {
	var c compressor
	for _, s := range names {
		c.add(split(s))
	}
	return c.finish()
}

// CompressSorted is Compress of the names as Sort orders them, duplicates kept,
// as `scontrol show hostlistsorted` prints them. The argument is not changed.
func CompressSorted(names []string) string {
	parsed := make([]name, len(names))
	for i, s := range names {
		parsed[i] = split(s)
	}
	slices.SortStableFunc(parsed, compareNames)
	var c compressor
	for _, n := range parsed {
		c.add(n)
	}
	return c.finish()
}

// compressor holds the open group (names that share a prefix) as text.
type compressor struct {
	out, group strings.Builder
	prefix     string
	open       bool
	plain      bool // the group is one name without a number
	ranges     int  // ranges closed in group, the running one not counted
	first      name
	last       name
}

func (c *compressor) add(n name) {
	plain := n.width == 0
	if !c.open || plain || c.plain || n.prefix != c.prefix {
		c.closeGroup()
		c.open, c.plain, c.prefix = true, plain, n.prefix
		c.first, c.last = n, n
		return
	}
	if n.follows(c.last) {
		c.last = n
		return
	}
	c.closeRange()
	c.first, c.last = n, n
}

func (c *compressor) closeRange() {
	if c.ranges > 0 {
		c.group.WriteByte(',')
	}
	c.ranges++
	writeNumber(&c.group, c.first)
	if c.last.num != c.first.num {
		c.group.WriteByte('-')
		writeNumber(&c.group, c.last)
	}
}

func (c *compressor) closeGroup() {
	if !c.open {
		return
	}
	if c.out.Len() > 0 {
		c.out.WriteByte(',')
	}
	c.out.WriteString(c.prefix)
	if c.plain {
		return
	}
	c.closeRange()
	text := c.group.String()
	if c.ranges == 1 && c.first.num == c.last.num {
		c.out.WriteString(text)
	} else {
		c.out.WriteByte('[')
		c.out.WriteString(text)
		c.out.WriteByte(']')
	}
	c.group.Reset()
	c.ranges = 0
}

func (c *compressor) finish() string {
	c.closeGroup()
	return c.out.String()
}

func writeNumber(b *strings.Builder, n name) {
	var buf [24]byte
	b.Write(appendPadded(buf[:0], n.num, n.width))
}
