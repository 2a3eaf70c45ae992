package slurmtime

import (
	"fmt"
	"time"

	"github.com/ncruces/go-strftime"
)

// Stamp writes a point in time as SLURM_TIME_FORMAT wants it: "" and "standard"
// give 2006-01-02T15:04:05, "relative" the short forms around today (now and its
// zone decide what today is), anything with '%' is a strftime pattern. An
// unusable pattern falls back to standard; CheckFormat tells beforehand.
func Stamp(t time.Time, format string, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case format == "relative":
		return relative(t, now)
	case isPattern(format):
		if text := strftime.Format(format, t); len(text) <= longestStamp {
			return text
		}
		fallthrough
	default:
		return Standard(t)
	}
}

// longestStamp is how many bytes a pattern may make.
const longestStamp = 30

// CheckFormat refuses a SLURM_TIME_FORMAT that is neither a known word nor a
// strftime pattern, in Slurm's words.
func CheckFormat(format string) error {
	if format == "" || format == "standard" || format == "relative" ||
		isPattern(format) && len(strftime.Format(format, time.Unix(0, 0))) <= longestStamp {
		return nil
	}
	return fmt.Errorf("invalid SLURM_TIME_FORMAT = '%s'", format)
}

// Standard writes 2006-01-02T15:04:05 in t's own zone.
func Standard(t time.Time) string { return t.Format("2006-01-02T15:04:05") }

func isPattern(format string) bool {
	for i := range len(format) {
		if format[i] == '%' {
			return true
		}
	}
	return false
}

func relative(t, now time.Time) string {
	switch days := dayNumber(t) - dayNumber(now); {
	case days == 0:
		return t.Format("15:04:05")
	case days == 1:
		return t.Format("Tomorr 15:04")
	case days == -1:
		return t.Format("Ystday 15:04")
	case days > 1 && days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	default:
		return t.Format("2 Jan 2006")
	}
}

// dayNumber counts calendar days, whatever the length of a day in the zone.
func dayNumber(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400
}
