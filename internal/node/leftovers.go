package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killLeftovers ends what a dead shepherd left, and waits until it is gone.
func (r *run) killLeftovers(h *stepHandle) {
	settings := r.node.currentSettings()
	pids := r.leftovers(h)
	begin, told := time.Now(), false
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		left := pids()
		if len(left) == 0 || r.node.ctx.Err() != nil {
			return
		}
		if r.group != nil {
			r.group.StepPaths("step_" + h.name).Kill()
		} else {
			for _, pid := range left {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
			}
		}
		if !told && settings.UnkillableTimeout > 0 && time.Since(begin) > settings.UnkillableTimeout {
			told = true
			r.unkillable(h)
		}
		time.Sleep(pause) // they are not our children: their end cannot be awaited
	}
}

func (r *run) leftovers(h *stepHandle) func() []int {
	if r.group != nil {
		return r.group.StepPaths("step_" + h.name).Pids
	}
	mark := []byte(r.mark(h.name))
	return func() []int { return marked(mark) }
}

// mark stands in the environment of a step's processes where there is no
// cgroup to find them by.
func (r *run) mark(step string) string {
	return fmt.Sprintf("MUSTER_STEP=%s/%d.%d.%s", r.order.ClusterId, r.id.Key, r.id.Attempt, step)
}

// marked finds the processes with an entry in their environment.
func marked(mark []byte) []int {
	dirs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, path := range dirs {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // another user's, or ended
		}
		for _, entry := range bytes.Split(data, []byte{0}) {
			if bytes.Equal(entry, mark) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// know notes a child that somebody waits for.
func (n *Node) know(pid int, waited bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if waited {
		n.known[pid] = true
	} else {
		delete(n.known, pid)
	}
}

// orphanInterval is how often a sub-reaper looks for what it inherited.
const orphanInterval = 2 * time.Second

// reapOrphans waits for processes that became our children when their
// shepherd died; everybody else's children are waited for by those who
// started them.
func (n *Node) reapOrphans() {
	tick := time.NewTicker(orphanInterval)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		for _, pid := range zombies() {
			n.mu.Lock()
			known := n.known[pid]
			n.mu.Unlock()
			if !known && inherited(pid) {
				var status syscall.WaitStatus
				_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil) // nobody asks for its status
			}
		}
	}
}

func zombies() []int {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var pids []int
	for _, path := range lists {
		data, _ := os.ReadFile(path)
		for _, word := range bytes.Fields(data) {
			if pid, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// inherited tells a process that we did not start: our hooks lead a process
// group whose leader is alive or is the zombie itself, shepherds lead a
// session; what a shepherd left is in a session that is not ours and does not
// lead it.
func inherited(pid int) bool {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return false
	}
	own, err := unix.Getsid(0)
	return err == nil && sid != own && sid != pid
}
