// Package gres chooses which devices inside one node a job gets.
//
// It decides only among the devices of a node that was already chosen; which
// node is placement's. It knows no I/O and changes nothing it is given unless
// asked to hold or free.
package gres

import "muster/internal/wire"

// Set is one kind of a node's generic resources: one name, one type.
type Set struct {
	Name, Type string
	Count      uint64
	Index      []uint32 // device numbers, ascending; empty when only counted
	Held       []bool   // beside Index
	HeldCount  uint64
}

// Free is how many of the set nobody holds.
func (s *Set) Free() uint64 { return s.Count - s.HeldCount }

// matches tells whether a request for name and type can be served from s.
func (s *Set) matches(name, typ string) bool {
	return s.Name == name && (typ == "" || s.Type == typ)
}

// Available is how many devices of a name and type are free; an empty type
// counts all types.
func Available(sets []Set, name, typ string) uint64 {
	n := uint64(0)
	for i := range sets {
		if sets[i].matches(name, typ) {
			n += sets[i].Free()
		}
	}
	return n
}

// Total is how many devices of a name and type there are.
func Total(sets []Set, name, typ string) uint64 {
	n := uint64(0)
	for i := range sets {
		if sets[i].matches(name, typ) {
			n += sets[i].Count
		}
	}
	return n
}

// Pick chooses free devices for the requests, lowest numbers first, typed
// requests before untyped ones so that these do not take what those need. It
// holds nothing. ok is false when something is missing.
func Pick(sets []Set, requests []*wire.GresRequest) (picked []*wire.GresAlloc, ok bool) {
	taken := make([]uint64, len(sets))
	for _, typed := range []bool{true, false} {
		for _, r := range requests {
			if (r.Type != "") != typed || r.Count == 0 {
				continue
			}
			got, ok := pickOne(sets, taken, r)
			if !ok {
				return nil, false
			}
			picked = merge(picked, got)
		}
	}
	return picked, true
}

// All takes every free device of a node (--exclusive).
func All(sets []Set) []*wire.GresAlloc {
	var out []*wire.GresAlloc
	for i := range sets {
		if n := sets[i].Free(); n > 0 {
			out = append(out, take(&sets[i], 0, n))
		}
	}
	return out
}

func pickOne(sets []Set, taken []uint64, r *wire.GresRequest) ([]*wire.GresAlloc, bool) {
	need := r.Count
	var out []*wire.GresAlloc
	for i := range sets {
		if !sets[i].matches(r.Name, r.Type) {
			continue
		}
		n := min(need, sets[i].Free()-taken[i])
		if n == 0 {
			continue
		}
		out = append(out, take(&sets[i], taken[i], n))
		taken[i] += n
		if need -= n; need == 0 {
			return out, true
		}
	}
	return nil, false
}

// take names n free devices of s after skipping the first skip free ones.
func take(s *Set, skip, n uint64) *wire.GresAlloc {
	a := &wire.GresAlloc{Name: s.Name, Type: s.Type, Count: n}
	for i, idx := range s.Index {
		if s.Held[i] {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		a.Index = append(a.Index, idx)
		if uint64(len(a.Index)) == n {
			break
		}
	}
	return a
}

// merge adds got to list, one entry for each name and type.
func merge(list, got []*wire.GresAlloc) []*wire.GresAlloc {
next:
	for _, g := range got {
		for _, l := range list {
			if l.Name == g.Name && l.Type == g.Type {
				l.Count += g.Count
				l.Index = append(l.Index, g.Index...)
				continue next
			}
		}
		list = append(list, g)
	}
	return list
}

// Hold marks the devices of an allocation as held, in sets.
func Hold(sets []Set, alloc []*wire.GresAlloc) { mark(sets, alloc, true) }

// Release marks them as free again.
func Release(sets []Set, alloc []*wire.GresAlloc) { mark(sets, alloc, false) }

func mark(sets []Set, alloc []*wire.GresAlloc, held bool) {
	for _, a := range alloc {
		for i := range sets {
			s := &sets[i]
			if s.Name != a.Name || s.Type != a.Type {
				continue
			}
			if held {
				s.HeldCount += a.Count
			} else {
				s.HeldCount -= min(a.Count, s.HeldCount)
			}
			for _, idx := range a.Index {
				for j := range s.Index {
					if s.Index[j] == idx {
						s.Held[j] = held
					}
				}
			}
		}
	}
}
