// Package size reads and writes amounts the way Slurm does: memory ("4G", "2048K",
// bare numbers are MiB) and counts ("1k" is 1024).
//
// It is pure text work on integers: no fractions, no rounding but that of kilobytes
// up to a whole MiB.
package size

import (
	"fmt"
	"math"
	"strconv"
)

// Error is a text that is no amount.
type Error struct {
	What, Text string
}

func (e *Error) Error() string { return fmt.Sprintf("invalid %s %q", e.What, e.Text) }

// ParseMemory reads an amount of memory into MiB: digits, then K, M, G or T in
// either case with an optional B. Without suffix it is MiB; KiB are rounded up.
func ParseMemory(s string) (mib uint64, err error) {
	bad := &Error{"memory size (wanted a whole number with K, M, G or T)", s}
	v, rest, ok := digits(s)
	if !ok {
		return 0, bad
	}
	if len(rest) == 2 && (rest[1] == 'b' || rest[1] == 'B') {
		rest = rest[:1]
	}
	if rest == "" {
		return v, nil
	}
	if len(rest) != 1 {
		return 0, bad
	}
	switch rest[0] {
	case 'k', 'K':
		return (v + 1023) / 1024, nil
	case 'm', 'M':
		return v, nil
	case 'g', 'G':
		v, ok = shift(v, 10)
	case 't', 'T':
		v, ok = shift(v, 20)
	default:
		ok = false
	}
	if !ok {
		return 0, bad
	}
	return v, nil
}

// ParseCount reads a number with an optional suffix K, M, G, T or P, each 1024
// times the one before.
func ParseCount(s string) (uint64, error) {
	bad := &Error{"count (wanted a whole number, K, M or G may follow)", s}
	v, rest, ok := digits(s)
	if !ok || len(rest) > 1 {
		return 0, bad
	}
	if rest == "" {
		return v, nil
	}
	bits, ok := map[byte]uint{'k': 10, 'm': 20, 'g': 30, 't': 40, 'p': 50}[rest[0]|0x20]
	if !ok {
		return 0, bad
	}
	if v, ok = shift(v, bits); !ok {
		return 0, bad
	}
	return v, nil
}

// FormatMemory writes MiB with the largest suffix that needs no fraction: 1500M,
// 4G, 0.
func FormatMemory(mib uint64) string {
	if mib == 0 {
		return "0"
	}
	unit := 0
	for ; unit < len(memoryUnits)-1 && mib%1024 == 0; unit++ {
		mib /= 1024
	}
	return strconv.FormatUint(mib, 10) + memoryUnits[unit:unit+1]
}

const memoryUnits = "MGTP"

// FormatCount writes a count with the largest suffix that needs no fraction: 1000,
// 1K.
func FormatCount(n uint64) string {
	if n == 0 {
		return "0"
	}
	unit := 0
	for ; unit < len(countUnits) && n%1024 == 0; unit++ {
		n /= 1024
	}
	text := strconv.FormatUint(n, 10)
	if unit == 0 {
		return text
	}
	return text + countUnits[unit-1:unit]
}

const countUnits = "KMGTP"

// digits reads at most 18 digits, which any suffix check can then shift safely.
func digits(s string) (v uint64, rest string, ok bool) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + uint64(s[n]-'0')
		if n++; n > 18 {
			return 0, "", false
		}
	}
	return v, s[n:], n > 0
}

func shift(v uint64, bits uint) (uint64, bool) {
	if v > math.MaxInt64>>bits {
		return 0, false
	}
	return v << bits, true
}
