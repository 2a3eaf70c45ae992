package accounting

import (
	"fmt"
	"time"

	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// measured makes a cell of what was measured of a step; it is empty where
// nothing was.
func measured(cell func([]byte, *Row, *wire.Usage) []byte) func([]byte, *Row) []byte {
	return func(b []byte, r *Row) []byte {
		if u := r.usage(); u != nil {
			return cell(b, r, u)
		}
		return b
	}
}

// bytesOf writes an amount that was measured.
func bytesOf(of func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return measured(func(b []byte, r *Row, u *wire.Usage) []byte {
		if of(u) == 0 {
			return b
		}
		return r.amount(b, of(u))
	})
}

// countOf writes a number that was measured.
func countOf(of func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return measured(func(b []byte, _ *Row, u *wire.Usage) []byte { return uintText(b, of(u)) })
}

// diskOf writes traffic, which sacct shows in megabytes whatever it is.
func diskOf(of func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return measured(func(b []byte, _ *Row, u *wire.Usage) []byte {
		return fmt.Appendf(b, "%.2fM", float64(of(u))/(1<<20))
	})
}

func cpuOf(of func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return measured(func(b []byte, _ *Row, u *wire.Usage) []byte { return append(b, clock(of(u))...) })
}

func clock(usec uint64) string {
	return slurmtime.FormatClock(int64(time.Duration(usec) * time.Microsecond / time.Second))
}

func maxNode(b []byte, _ *Row, u *wire.Usage) []byte { return append(b, u.MaxRssNode...) }
func maxTask(b []byte, _ *Row, u *wire.Usage) []byte { return uintText(b, uint64(u.MaxRssTask)) }
func minNode(b []byte, _ *Row, u *wire.Usage) []byte { return append(b, u.MinCpuNode...) }
func minTask(b []byte, _ *Row, u *wire.Usage) []byte { return uintText(b, uint64(u.MinCpuTask)) }

// tasks is over how many the sums go.
func tasks(u *wire.Usage) uint64 { return uint64(max(u.Tasks, 1)) }

// usageIn writes the TRESUsageIn… of a step: times tells how often the value of
// one task is counted.
func usageIn(cpu, rss, vm, pages, disk func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return func(b []byte, r *Row) []byte {
		u := r.usage()
		if u == nil {
			return b
		}
		b = fmt.Appendf(b, "cpu=%s,energy=0,fs/disk=", clock(cpu(u)))
		b = r.amount(b, disk(u))
		b = r.amount(append(b, ",mem="...), rss(u))
		b = fmt.Appendf(b, ",pages=%d,vmem=", pages(u))
		return r.amount(b, vm(u))
	}
}

func usageOut(disk func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return func(b []byte, r *Row) []byte {
		if u := r.usage(); u != nil {
			return r.amount(append(b, "energy=0,fs/disk="...), disk(u))
		}
		return b
	}
}

// usageNodes names the node on which each was greatest.
func usageNodes(in bool) func([]byte, *Row) []byte {
	return measured(func(b []byte, _ *Row, u *wire.Usage) []byte {
		n := u.MaxRssNode
		if in {
			return fmt.Appendf(b, "cpu=%s,energy=%s,fs/disk=%s,mem=%s,pages=%s,vmem=%s", n, n, n, n, n, n)
		}
		return fmt.Appendf(b, "energy=%s,fs/disk=%s", n, n)
	})
}

func usageTasks(in bool) func([]byte, *Row) []byte {
	return measured(func(b []byte, _ *Row, u *wire.Usage) []byte {
		n := u.MaxRssTask
		if in {
			return fmt.Appendf(b, "cpu=%d,fs/disk=%d,mem=%d,pages=%d,vmem=%d", n, n, n, n, n)
		}
		return fmt.Appendf(b, "fs/disk=%d", n)
	})
}

func maxRSS(u *wire.Usage) uint64   { return u.MaxRss }
func aveRSS(u *wire.Usage) uint64   { return u.AveRss }
func totRSS(u *wire.Usage) uint64   { return u.AveRss * tasks(u) }
func maxVM(u *wire.Usage) uint64    { return u.MaxVmsize }
func aveVM(u *wire.Usage) uint64    { return u.AveVmsize }
func totVM(u *wire.Usage) uint64    { return u.AveVmsize * tasks(u) }
func maxPages(u *wire.Usage) uint64 { return u.MaxPages }
func maxRead(u *wire.Usage) uint64  { return u.MaxDiskRead }
func maxWrite(u *wire.Usage) uint64 { return u.MaxDiskWrite }
func minCPU(u *wire.Usage) uint64   { return u.MinCpuUsec }
func aveCPU(u *wire.Usage) uint64   { return u.AveCpuUsec }
func totCPU(u *wire.Usage) uint64   { return u.UserUsec + u.SystemUsec }
