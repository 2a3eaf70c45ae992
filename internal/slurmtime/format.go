package slurmtime

import (
	"fmt"
	"time"
)

// FormatElapsed writes seconds as squeue does: 0:06, 12:34, 1:02:03, 1-02:03:04.
func FormatElapsed(sec int64) string {
	if sec < 0 {
		return "INVALID"
	}
	d, h, m, s := clock(sec)
	switch {
	case d > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", d, h, m, s)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	default:
		return fmt.Sprintf("%d:%02d", m, s)
	}
}

// FormatClock writes seconds as scontrol and sacct do: 00:00:06, 1-02:03:04.
func FormatClock(sec int64) string {
	if sec < 0 {
		return "INVALID"
	}
	d, h, m, s := clock(sec)
	if d > 0 {
		return fmt.Sprintf("%d-%02d:%02d:%02d", d, h, m, s)
	}
	return fmt.Sprintf("%02d:%02d:%02d", h, m, s)
}

// FormatLimit writes a limit in minutes as squeue does: 30:00, 1-00:00:00, UNLIMITED.
func FormatLimit(minutes uint32) string {
	if minutes == Unlimited {
		return "UNLIMITED"
	}
	return FormatElapsed(int64(minutes) * 60)
}

// FormatLimitClock writes a limit in minutes as scontrol and sacct do: 00:30:00,
// 1-00:00:00, UNLIMITED.
func FormatLimitClock(minutes uint32) string {
	if minutes == Unlimited {
		return "UNLIMITED"
	}
	return FormatClock(int64(minutes) * 60)
}

// FormatCPU writes CPU time as sacct does: with milliseconds below an hour
// (01:02.345), as a clock above and for zero.
func FormatCPU(d time.Duration) string {
	if d <= 0 || d >= time.Hour {
		return FormatClock(int64(max(d, 0) / time.Second))
	}
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d.%03d", ms/60000, ms/1000%60, ms%1000)
}

func clock(sec int64) (d, h, m, s int64) {
	return sec / 86400, sec / 3600 % 24, sec / 60 % 60, sec % 60
}
