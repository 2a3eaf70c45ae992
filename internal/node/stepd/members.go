package stepd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"muster/internal/node/steplink"
)

// members lists the processes of the step: those in its cgroup, or the
// descendants of this process, which none of them can leave.
func (s *step) members() []int {
	if len(s.spec.Cgroups) == 0 {
		return descendants(os.Getpid())
	}
	data, err := os.ReadFile(filepath.Join(s.spec.Cgroups[0], "cgroup.procs"))
	if err != nil {
		return nil // removed: nobody is in it
	}
	var pids []int
	for _, line := range bytes.Fields(data) {
		if pid, err := strconv.Atoi(string(line)); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants walks down the tree of processes. Zombies are left out: they
// only wait for the reaper.
func descendants(root int) []int {
	var found []int
	for _, pid := range children(root) {
		if !isZombie(pid) {
			found = append(found, pid)
		}
		found = append(found, descendants(pid)...)
	}
	return found
}

func children(pid int) []int {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var pids []int
	for _, path := range threads {
		data, _ := os.ReadFile(path) // the thread may have ended
		for _, word := range bytes.Fields(data) {
			if child, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

func isZombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	rest := data[bytes.LastIndexByte(data, ')')+1:]
	return len(rest) > 1 && (rest[1] == 'Z' || rest[1] == 'X')
}

func (s *step) signalAll(sig syscall.Signal) {
	for _, pid := range s.members() {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}

// signalTasks signals the first processes of the tasks only.
func (s *step) signalTasks(sig syscall.Signal) {
	for _, t := range s.tasks {
		if !t.done {
			_ = syscall.Kill(t.pid, sig)
		}
	}
}

func (s *step) killAll() {
	if s.spec.V2 && len(s.spec.Cgroups) > 0 {
		if os.WriteFile(filepath.Join(s.spec.Cgroups[0], "cgroup.kill"), []byte("1"), 0) == nil {
			return
		}
	}
	s.signalAll(syscall.SIGKILL)
}

// suspend stops everything: by the freezer, which nothing can catch or miss,
// or by SIGTSTP for those who want to know and SIGSTOP after it.
func (s *step) suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspended {
		return
	}
	s.suspended = true
	if s.freeze("FROZEN", "1") {
		return
	}
	s.signalAll(syscall.SIGTSTP)
	s.signalAll(syscall.SIGSTOP)
}

func (s *step) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspended {
		s.thawLocked()
	}
}

func (s *step) thawLocked() {
	s.suspended = false
	if !s.freeze("THAWED", "0") {
		s.signalAll(syscall.SIGCONT)
	}
}

func (s *step) freeze(v1, v2 string) bool {
	file, value := filepath.Join(s.spec.Freezer, "freezer.state"), v1
	switch {
	case s.spec.V2 && len(s.spec.Cgroups) > 0:
		file, value = filepath.Join(s.spec.Cgroups[0], "cgroup.freeze"), v2
	case s.spec.Freezer == "":
		return false
	}
	return os.WriteFile(file, []byte(value), 0) == nil
}

// oomKilled asks the memory cgroup whether the kernel killed one of the step.
func (s *step) oomKilled() bool {
	if s.spec.Memory == "" {
		return false
	}
	file := "memory.oom_control"
	if s.spec.V2 {
		file = "memory.events"
	}
	data, err := os.ReadFile(filepath.Join(s.spec.Memory, file))
	if err != nil {
		return false
	}
	for _, line := range bytes.Split(data, []byte("\n")) {
		if count, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			return !bytes.Equal(bytes.TrimSpace(count), []byte("0"))
		}
	}
	return false
}

// armTimers starts the sampling of what the step uses.
func (s *step) armTimers() {
	if s.spec.Sample == 0 {
		return
	}
	go func() {
		tick := time.NewTicker(time.Duration(s.spec.Sample) * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.sample()
			case <-s.over:
				return
			}
		}
	}()
}

func (s *step) sample() {
	samples := sampleAll(s.members())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.sampled(s.byPid, samples)
	s.broadcast(steplink.KindUsage, steplink.Marshal(s.usage.total(s.tasks)))
}
