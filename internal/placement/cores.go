package placement

import "math/bits"

// Cores is a set of core numbers of one node.
type Cores []uint64

// NewCores makes an empty set with room for n cores.
func NewCores(n int) Cores { return make(Cores, (n+63)/64) }

// Has tells whether core i is in the set.
func (c Cores) Has(i int) bool { return i/64 < len(c) && c[i/64]&(1<<(i%64)) != 0 }

// Add puts core i in; the set must have room for it.
func (c Cores) Add(i int) { c[i/64] |= 1 << (i % 64) }

// Remove takes core i out.
func (c Cores) Remove(i int) {
	if i/64 < len(c) {
		c[i/64] &^= 1 << (i % 64)
	}
}

// Count counts the members.
func (c Cores) Count() int {
	n := 0
	for _, w := range c {
		n += bits.OnesCount64(w)
	}
	return n
}

// Clone copies the set.
func (c Cores) Clone() Cores { return append(Cores(nil), c...) }

// Union adds the members of d; both have the same room.
func (c Cores) Union(d Cores) {
	for i := range d {
		if i < len(c) {
			c[i] |= d[i]
		}
	}
}
