package slurmtime

import (
	"fmt"
	"math"
	"strings"
)

// Unlimited is the limit in minutes that means none.
const Unlimited uint32 = math.MaxUint32

// LimitError is a text that is no time limit.
type LimitError struct{ Text string }

func (e *LimitError) Error() string {
	return fmt.Sprintf("invalid time limit %q (wanted minutes, minutes:seconds, hours:minutes:seconds, "+
		"days-hours, days-hours:minutes, days-hours:minutes:seconds or UNLIMITED)", e.Text)
}

// ParseLimit reads the value of --time: seconds count as a begun minute; 0, -1,
// INFINITE and UNLIMITED are Unlimited. Lower fields have no upper bound
// ("0:7200" is two hours).
func ParseLimit(s string) (uint32, error) {
	sec, unlimited, err := ParseSpan(s)
	if err != nil {
		return 0, err
	}
	minutes := (sec + 59) / 60
	if unlimited || minutes == 0 {
		return Unlimited, nil
	}
	if minutes >= int64(Unlimited) {
		return 0, &LimitError{s}
	}
	return uint32(minutes), nil
}

// ParseSpan reads the same notation as ParseLimit into seconds, zero being zero.
// slurm.conf uses it for MaxTime, PriorityMaxAge and the like.
func ParseSpan(s string) (seconds int64, unlimited bool, err error) {
	if s == "-1" || strings.EqualFold(s, "infinite") || strings.EqualFold(s, "unlimited") {
		return 0, true, nil
	}
	days, rest, hasDays := strings.Cut(s, "-")
	if !hasDays {
		rest = s
	}
	fields, ok := splitClock(rest, hasDays)
	if !ok {
		return 0, false, &LimitError{s}
	}
	var unit []int64
	switch {
	case hasDays:
		unit = []int64{3600, 60, 1}
	case len(fields) == 1:
		unit = []int64{60}
	case len(fields) == 2:
		unit = []int64{60, 1}
	default:
		unit = []int64{3600, 60, 1}
	}
	if hasDays {
		d, ok := number(days)
		if !ok {
			return 0, false, &LimitError{s}
		}
		seconds = d * 24 * 3600
	}
	for i, f := range fields {
		seconds += f * unit[i]
	}
	return seconds, false, nil
}

// splitClock reads one to three numbers between colons; after "days-" there may
// be nothing at all.
func splitClock(s string, hasDays bool) ([]int64, bool) {
	if s == "" {
		return nil, hasDays
	}
	parts := strings.SplitN(s, ":", 4)
	if len(parts) > 3 {
		return nil, false
	}
	fields := make([]int64, len(parts))
	for i, p := range parts {
		v, ok := number(p)
		if !ok {
			return nil, false
		}
		fields[i] = v
	}
	return fields, true
}

// number reads digits only; ten of them at most, so that no product overflows.
func number(s string) (int64, bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	var v int64
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		v = v*10 + int64(s[i]-'0')
	}
	return v, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
