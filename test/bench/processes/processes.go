// Package processes finds the processes of a cluster by its folder and adds up
// what they cost. It only looks.
package processes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process of a cluster.
type Process struct {
	PID     int
	Program string
	CPU     time.Duration // its own and that of the children it has waited for
}

// Family finds the processes of the cluster in a folder: those that name it in
// their arguments or their environment, and all below them.
func Family(dir string) []Process {
	needle := []byte(dir + "/")
	parents, own := map[int]int{}, map[int]bool{}
	stats := map[int]Process{}
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range found {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, parent, ok := readStat(pid)
		if !ok {
			continue
		}
		line, _ := os.ReadFile(path + "/cmdline")
		environ, _ := os.ReadFile(path + "/environ")
		stats[pid], parents[pid] = p, parent
		// Either the folder itself or something in it.
		named := bytes.ReplaceAll(append(line, environ...), []byte{0}, []byte{'/'})
		own[pid] = bytes.Contains(named, needle)
	}
	var out []Process
	for pid, p := range stats {
		for at := pid; at > 1; at = parents[at] {
			if own[at] {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

// readStat reads /proc/PID/stat: the fields stand after the name in brackets.
func readStat(pid int) (p Process, parent int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, 0, false
	}
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return p, 0, false
	}
	fields := strings.Fields(string(text[shut+1:]))
	if len(fields) < 15 {
		return p, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	ticks := int64(0)
	for _, f := range fields[11:15] { // utime stime cutime cstime
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	const perSecond = 100 // USER_HZ of every Linux
	return Process{PID: pid, Program: string(text[open+1 : shut]), CPU: time.Duration(ticks) * time.Second / perSecond}, parent, err == nil
}

// CPU sums up the CPU time by program.
func CPU(dir string) map[string]time.Duration {
	sum := map[string]time.Duration{}
	for _, p := range Family(dir) {
		sum[p.Program] += p.CPU
	}
	return sum
}

// Spent is what has been used since an earlier call of CPU, in seconds.
func Spent(dir string, before map[string]time.Duration) map[string]float64 {
	out := map[string]float64{}
	for name, now := range CPU(dir) {
		if d := now - before[name]; d >= 10*time.Millisecond {
			out[name] = d.Seconds()
		}
	}
	return out
}

// AwaitEnd waits until a process is gone.
func AwaitEnd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == syscall.ESRCH {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", pid, err)
		case n == 0:
			return fmt.Errorf("process %d does not end", pid)
		default:
			return nil
		}
	}
}
