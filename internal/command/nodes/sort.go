package nodes

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/wire"
)

// DefaultSort and NodeSort are the orders of sinfo and sinfo -N.
const (
	DefaultSort = "#P,-t"
	NodeSort    = "N"
	ReasonSort  = "-t"
)

type compare func(a, b *Row) int

// parseSort reads "#P,-t"; letters that are none are passed over, as by Slurm.
func parseSort(text string) []compare {
	var keys []compare
	for _, word := range strings.Split(text, ",") {
		configured, descending := false, false
		for word != "" && strings.IndexByte("+-#", word[0]) >= 0 {
			configured, descending = word[0] == '#', word[0] == '-' // the last sign counts
			word = word[1:]
		}
		for i := range len(word) {
			key := comparison(word[i], configured)
			if key == nil {
				continue
			}
			if descending {
				ascending := key
				key = func(a, b *Row) int { return ascending(b, a) }
			}
			keys = append(keys, key)
		}
	}
	return keys
}

func comparison(c byte, configured bool) compare {
	switch c {
	case 'P', 'R':
		if configured {
			return func(a, b *Row) int { return cmp.Compare(a.place, b.place) }
		}
		return func(a, b *Row) int { return strings.Compare(a.Part.Name, b.Part.Name) }
	case 't', 'T':
		return func(a, b *Row) int { return cmp.Compare(rank(a), rank(b)) }
	case 'N', 'n':
		return func(a, b *Row) int { return compareNames(a, b) }
	case 'D':
		return func(a, b *Row) int { return cmp.Compare(len(a.Nodes), len(b.Nodes)) }
	case 'c':
		return byLeast(cpus)
	case 'm':
		return byLeast(memory)
	case 'd':
		return byLeast(disk)
	case 'w':
		return byLeast(weight)
	case 'X':
		return byLeast(sockets)
	case 'Y':
		return byLeast(cores)
	case 'Z':
		return byLeast(threads)
	case 'e':
		return byLeast(func(n *wire.NodeInfo) uint64 { return n.FreeMem })
	case 'O':
		return byLeast(func(n *wire.NodeInfo) uint64 { return uint64(n.CpuLoad) })
	case 'l':
		return func(a, b *Row) int { return cmp.Compare(a.Part.MaxTime-1, b.Part.MaxTime-1) } // 0 = no limit comes last
	case 'H':
		return func(a, b *Row) int { return cmp.Compare(reasonTime(a), reasonTime(b)) }
	}
	f := byLetter(c)
	if f == nil {
		return nil
	}
	return func(a, b *Row) int { return bytes.Compare(f.cell(nil, a), f.cell(nil, b)) }
}

func rank(r *Row) uint64 {
	if n := r.first(); n != nil {
		return stateRank(n)
	}
	return 0
}

func reasonTime(r *Row) int64 {
	if n := r.first(); n != nil {
		return n.State.ReasonTime
	}
	return 0
}

func byLeast(of func(*wire.NodeInfo) uint64) compare {
	return func(a, b *Row) int {
		x, _ := bounds(a, of)
		y, _ := bounds(b, of)
		return cmp.Compare(x, y)
	}
}

func compareNames(a, b *Row) int {
	x, y := a.first(), b.first()
	switch {
	case x == nil || y == nil:
		return cmp.Compare(len(a.Nodes), len(b.Nodes))
	}
	return hostlist.Compare(x.State.Name, y.State.Name)
}

// Sort orders rows; what the keys leave open stays in the order of the configuration.
func Sort(rows []*Row, text string) {
	keys := parseSort(text)
	slices.SortStableFunc(rows, func(a, b *Row) int {
		for _, key := range keys {
			if c := key(a, b); c != 0 {
				return c
			}
		}
		return 0
	})
}
