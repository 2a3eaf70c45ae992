package hostlist

import (
	"cmp"
	"slices"
)

// Sort orders names as Slurm orders nodes: by prefix, then by number, so that
// n9 stands before n10.
func Sort(names []string) { slices.SortStableFunc(names, Compare) }

// Compare is the order of Sort: negative when a stands before b.
func Compare(a, b string) int { return compareNames(split(a), split(b)) }

func compareNames(a, b name) int {
	if c := naturalCompare(a.prefix, b.prefix); c != 0 {
		return c
	}
	// Without padding fewer digits mean a smaller number; padded ones of one
	// length stand together, so that runs of either kind stay runs.
	if c := cmp.Compare(a.width, b.width); c != 0 {
		return c
	}
	return cmp.Compare(a.num, b.num)
}

// naturalCompare compares texts with runs of digits taken as numbers; a run that
// begins with 0 is compared digit by digit, like the places after a decimal point.
func naturalCompare(a, b string) int {
	i := 0
	for ; i < len(a) && i < len(b); i++ {
		if !isDigit(a[i]) || !isDigit(b[i]) {
			if a[i] != b[i] {
				return cmp.Compare(a[i], b[i])
			}
			continue
		}
		x, y := digits(a[i:]), digits(b[i:])
		if x == y {
			i += len(x) - 1
			continue
		}
		if x[0] != '0' && y[0] != '0' && len(x) != len(y) {
			return cmp.Compare(len(x), len(y))
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) string {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[:n]
}
