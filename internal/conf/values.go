package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"muster/internal/slurmtime"
)

// Infinite stands for INFINITE and UNLIMITED in durations, Unlimited in numbers.
const (
	Infinite  = time.Duration(math.MaxInt64)
	Unlimited = slurmtime.Unlimited
)

func isInfinite(s string) bool {
	return strings.EqualFold(s, "INFINITE") || strings.EqualFold(s, "UNLIMITED") || s == "-1"
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "yes", "true", "1", "up", "on":
		return true, nil
	case "no", "false", "0", "down", "off":
		return false, nil
	}
	return false, fmt.Errorf("wanted YES or NO, found %q", s)
}

// parseNumber reads a whole number below 2^32; INFINITE and UNLIMITED are Unlimited.
func parseNumber(s string) (uint32, error) {
	if isInfinite(s) {
		return Unlimited, nil
	}
	v, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("wanted a whole number, found %q", s)
	}
	return uint32(v), nil
}

func parseFloat(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || v > 1e9 || v != v {
		return 0, fmt.Errorf("wanted a number, found %q", s)
	}
	return v, nil
}

// parseSeconds reads a number of seconds, INFINITE or UNLIMITED.
func parseSeconds(s string) (time.Duration, error) {
	if isInfinite(s) {
		return Infinite, nil
	}
	v, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("wanted a number of seconds, found %q", s)
	}
	return time.Duration(v) * time.Second, nil
}

// parseSpan reads minutes, or a clock with days, as in time limits.
func parseSpan(s string) (time.Duration, error) {
	sec, unlimited, err := slurmtime.ParseSpan(s)
	if err != nil {
		return 0, err
	}
	if unlimited || sec > int64(Infinite/time.Second) {
		return Infinite, nil
	}
	return time.Duration(sec) * time.Second, nil
}

// debugLevels in the order of Slurm's numbers.
var debugLevels = [...]string{"quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5"}

func parseDebugLevel(s string) (string, error) {
	for i, l := range debugLevels {
		if strings.EqualFold(s, l) || s == strconv.Itoa(i) {
			return l, nil
		}
	}
	return "", fmt.Errorf("wanted one of %s, found %q", strings.Join(debugLevels[:], " "), s)
}

// Options is a list such as SchedulerParameters: names, some with a value.
type Options []Option

// Option is one word of a list; Value is empty when none was given.
type Option struct{ Name, Value string }

// Has tells whether the option stands in the list, in any case.
func (o Options) Has(name string) bool {
	_, ok := o.Get(name)
	return ok
}

// Get gives the value of the last option of that name.
func (o Options) Get(name string) (string, bool) {
	for i := len(o) - 1; i >= 0; i-- {
		if strings.EqualFold(o[i].Name, name) {
			return o[i].Value, true
		}
	}
	return "", false
}

// Int gives the option's number, def when it is absent or no number.
func (o Options) Int(name string, def int) int {
	if s, ok := o.Get(name); ok {
		if v, err := strconv.Atoi(s); err == nil {
			return v
		}
	}
	return def
}

func parseOptions(s string) Options {
	var out Options
	for _, f := range splitList(s) {
		k, v, _ := strings.Cut(f, "=")
		out = append(out, Option{strings.TrimSpace(k), strings.TrimSpace(v)})
	}
	return out
}

// ParseIDs reads a list of numbers such as the CPUs "0,2-5"; empty gives none.
func ParseIDs(s string) ([]int, error) {
	var out []int
	for _, f := range splitList(s) {
		lo, hi, isRange := strings.Cut(f, "-")
		a, err := strconv.ParseUint(lo, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(hi, 10, 16)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("wanted numbers and ranges such as 0,2-5, found %q", s)
		}
		for ; a <= b; a++ {
			out = append(out, int(a))
		}
	}
	return out, nil
}

// splitList splits at commas; empty elements are dropped.
func splitList(s string) []string {
	var out []string
	for _, f := range strings.Split(s, ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}
