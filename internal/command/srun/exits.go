package srun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// gather is how long exits of one node are collected before they are reported,
// so that tasks which end together share a line.
const gather = 100 * time.Millisecond

// exits keeps how tasks ended, and says it.
type exits struct {
	say   func(format string, args ...any)
	mu    sync.Mutex
	ended map[uint32]int32 // wait statuses
	wait  []*exitGroup
	timer *time.Timer
}

// exitGroup are tasks of one node that ended in one way.
type exitGroup struct {
	node  string
	how   string
	tasks []uint32
}

func newExits(say func(string, ...any)) *exits {
	return &exits{say: say, ended: make(map[uint32]int32)}
}

// add notes the end of a task; false says that it was known.
func (x *exits) add(node string, task uint32, status int32, oom bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.ended[task]; known {
		return false
	}
	x.ended[task] = status
	how := describe(status, oom)
	if how == "" {
		return true
	}
	i := slices.IndexFunc(x.wait, func(g *exitGroup) bool { return g.node == node && g.how == how })
	if i < 0 {
		i = len(x.wait)
		x.wait = append(x.wait, &exitGroup{node: node, how: how})
	}
	x.wait[i].tasks = append(x.wait[i].tasks, task)
	if x.timer == nil {
		x.timer = time.AfterFunc(gather, x.flush)
	}
	return true
}

// knows tells whether a task has ended.
func (x *exits) knows(task uint32) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ended := x.ended[task]
	return ended
}

// flush reports what was collected.
func (x *exits) flush() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
	for _, g := range x.wait {
		word := "task"
		if len(g.tasks) > 1 {
			word = "tasks"
		}
		x.say("%s: %s %s: %s", g.node, word, ranges(g.tasks), g.how)
	}
	x.wait = nil
}

// describe is what Slurm says of a bad end; empty for a good one.
func describe(status int32, oom bool) string {
	w := unix.WaitStatus(status)
	switch {
	case oom:
		return "Out Of Memory"
	case w.Signaled():
		text := signalText(w.Signal())
		if w.CoreDump() {
			text += " (core dumped)"
		}
		return text
	case w.ExitStatus() != 0:
		return fmt.Sprintf("Exited with exit code %d", w.ExitStatus())
	}
	return ""
}

// signalText is the C library's name of a signal.
func signalText(s unix.Signal) string {
	text := s.String()
	if text == "" || strings.HasPrefix(text, "signal ") {
		return fmt.Sprintf("Unknown signal %d", int(s))
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// code is srun's exit code: the highest of the tasks', a signal counting as
// 128 more than its number.
func (x *exits) code() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	code := 0
	for _, status := range x.ended {
		w := unix.WaitStatus(status)
		if w.Signaled() {
			code = max(code, 128+int(w.Signal()))
		} else {
			code = max(code, w.ExitStatus())
		}
	}
	return code
}

// signalled tells whether a signal ended any task.
func (x *exits) signalled() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, status := range x.ended {
		if unix.WaitStatus(status).Signaled() {
			return true
		}
	}
	return false
}

// states sorts tasks by how they stand, for people who interrupt.
func (x *exits) states(tasks uint32) (running, fine, bad []uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for task := range tasks {
		status, ended := x.ended[task]
		switch {
		case !ended:
			running = append(running, task)
		case status == 0:
			fine = append(fine, task)
		default:
			bad = append(bad, task)
		}
	}
	return running, fine, bad
}

// ranges writes task numbers as `0-2,5`.
func ranges(tasks []uint32) string {
	tasks = slices.Clone(tasks)
	slices.Sort(tasks)
	var out strings.Builder
	for i := 0; i < len(tasks); {
		j := i
		for j+1 < len(tasks) && tasks[j+1] == tasks[j]+1 {
			j++
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.FormatUint(uint64(tasks[i]), 10))
		if j > i {
			out.WriteString("-" + strconv.FormatUint(uint64(tasks[j]), 10))
		}
		i = j + 1
	}
	return out.String()
}
