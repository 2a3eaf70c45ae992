package stepd

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"muster/internal/node/steplink"
)

// meter adds up what the step used. Processor time is exact for what was
// reaped; memory is the highest of what was sampled and what the kernel noted.
type meter struct {
	user, system uint64 // microseconds, of reaped processes
	tasks        map[*task]*taskUsage
	hooks        map[int]chan syscall.WaitStatus
	killedAt     time.Time
}

type taskUsage struct {
	cpu, rss, vm, pages, read, written uint64
}

func (m *meter) of(t *task) *taskUsage {
	if m.tasks == nil {
		m.tasks = make(map[*task]*taskUsage)
	}
	u := m.tasks[t]
	if u == nil {
		u = new(taskUsage)
		m.tasks[t] = u
	}
	return u
}

// reaped adds the usage of a process with all of its reaped children. One that
// is no task counts for the step alone.
func (m *meter) reaped(t *task, r *syscall.Rusage) {
	user, system := micros(r.Utime), micros(r.Stime)
	m.user += user
	m.system += system
	if t == nil {
		return
	}
	u := m.of(t)
	u.cpu = max(u.cpu, user+system)
	u.rss = max(u.rss, uint64(r.Maxrss)<<10)
	u.pages = max(u.pages, uint64(r.Majflt))
}

func micros(t syscall.Timeval) uint64 { return uint64(t.Sec)*1e6 + uint64(t.Usec) }

// sampled takes in one look at all processes of the step.
func (m *meter) sampled(byPid map[int]*task, samples map[int]*procSample) {
	sums := make(map[*task]*taskUsage)
	for pid := range samples {
		t := taskOf(pid, byPid, samples)
		if t == nil {
			continue
		}
		sum := sums[t]
		if sum == nil {
			sum = new(taskUsage)
			sums[t] = sum
		}
		p := samples[pid]
		sum.cpu += p.cpu
		sum.rss += p.rss
		sum.vm += p.vm
		sum.pages += p.pages
		sum.read += p.read
		sum.written += p.written
	}
	for t, sum := range sums {
		u := m.of(t)
		u.cpu, u.rss, u.vm = max(u.cpu, sum.cpu), max(u.rss, sum.rss), max(u.vm, sum.vm)
		u.pages, u.read, u.written = max(u.pages, sum.pages), max(u.read, sum.read), max(u.written, sum.written)
	}
}

// taskOf goes up the tree to the task that a process came from.
func taskOf(pid int, byPid map[int]*task, samples map[int]*procSample) *task {
	for range 1000 { // a tree that changes under us may have a loop
		if t := byPid[pid]; t != nil {
			return t
		}
		p := samples[pid]
		if p == nil {
			return nil
		}
		pid = p.parent
	}
	return nil
}

func (m *meter) total(tasks []*task) steplink.Usage {
	total := steplink.Usage{UserUsec: m.user, SystemUsec: m.system, Tasks: uint32(len(tasks))}
	if len(tasks) == 0 {
		return total
	}
	var rss, vm, cpu, live uint64
	total.MinCPUUsec = ^uint64(0)
	for _, t := range tasks {
		u := m.of(t)
		if u.rss > total.MaxRSS {
			total.MaxRSS, total.MaxRSSTask = u.rss, t.spec.Rank
		}
		if u.cpu < total.MinCPUUsec {
			total.MinCPUUsec, total.MinCPUTask = u.cpu, t.spec.Rank
		}
		total.MaxVM = max(total.MaxVM, u.vm)
		total.MaxPages = max(total.MaxPages, u.pages)
		total.MaxDiskRead = max(total.MaxDiskRead, u.read)
		total.MaxDiskWrite = max(total.MaxDiskWrite, u.written)
		rss, vm, cpu = rss+u.rss, vm+u.vm, cpu+u.cpu
		if !t.done {
			live += u.cpu
		}
	}
	n := uint64(len(tasks))
	total.AveRSS, total.AveVM, total.AveCPUUsec = rss/n, vm/n, cpu/n
	total.UserUsec += live // of running tasks the kind is not told apart
	return total
}

// procSample is what /proc says of one process.
type procSample struct {
	parent                             int
	cpu, rss, vm, pages, read, written uint64
}

func sampleAll(pids []int) map[int]*procSample {
	samples := make(map[int]*procSample, len(pids))
	for _, pid := range pids {
		if p := sampleOne(pid); p != nil {
			samples[pid] = p
		}
	}
	return samples
}

const clockTick = 100 // USER_HZ, fixed on Linux

func sampleOne(pid int) *procSample {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	words := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(words) < 22 {
		return nil
	}
	field := func(n int) uint64 { // numbered as in proc(5)
		value, _ := strconv.ParseUint(string(words[n-3]), 10, 64)
		return value
	}
	p := &procSample{
		parent: int(field(4)),
		pages:  field(12),
		cpu:    (field(14) + field(15)) * (1e6 / clockTick),
		vm:     field(23),
		rss:    field(24) * uint64(os.Getpagesize()),
	}
	if io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)); err == nil {
		for _, line := range bytes.Split(io, []byte("\n")) {
			name, value, _ := bytes.Cut(line, []byte(": "))
			n, _ := strconv.ParseUint(string(value), 10, 64)
			switch string(name) {
			case "rchar":
				p.read = n
			case "wchar":
				p.written = n
			}
		}
	}
	return p
}
