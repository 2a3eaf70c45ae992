package srun

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"muster/internal/command"
	"muster/internal/command/option"
	"muster/internal/wire"
)

// step is the step under way.
type step struct {
	p     *command.Program
	o     *option.Options
	id    string // 12.0
	tasks uint32
	nodes []*node
	by    map[uint32]*node // by task
	out   *output
	exits *exits
	in    *input
	end   func() // has the controller end what is left of the step

	waitSeconds   uint32
	killOnBadExit bool

	begun    chan struct{} // all nodes have started their tasks
	ended    chan struct{} // closed when the step is over
	missing  sync.WaitGroup
	killOnce sync.Once
	ending   sync.WaitGroup
	mu       sync.Mutex
	waiting  bool // for the other tasks after the first has ended
	failed   bool
	aborted  bool // after --wait: the end is not reported as a forced one
}

// run carries the step through; it returns the exit code.
func (s *step) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.missing.Add(len(s.nodes))
	go func() {
		s.missing.Wait()
		s.p.Verbose(1, "StepId=%s: all tasks started", s.id)
		close(s.begun)
	}()
	var work sync.WaitGroup
	for _, n := range s.nodes {
		work.Go(func() { s.carry(ctx, n) })
	}
	work.Wait()
	close(s.ended)
	s.in.stop()
	s.ending.Wait()
	s.exits.flush()
	if err := s.out.finish(); err != nil {
		s.p.Error("writing the tasks' output: %v", err)
		s.failed = true
	}
	code := s.exits.code()
	if s.failed && code == 0 {
		code = s.p.ErrorCode()
	}
	if s.exits.signalled() && !s.aborted {
		s.p.Say("Force Terminated StepId=%s", s.id)
	}
	return code
}

// carry is one node's part.
func (s *step) carry(ctx context.Context, n *node) {
	var launched sync.Once
	hear := &listener{step: s, launched: func() { launched.Do(s.missing.Done) }}
	err := n.run(ctx, hear)
	hear.launched() // there is nothing to wait for any more
	if err == nil {
		s.allEnded(n)
		return
	}
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	s.failed = true
	s.mu.Unlock()
	if !n.seen {
		s.p.Error("Task launch for StepId=%s failed on node %s: %v", s.id, n.name, err)
	} else {
		s.p.Error("Node failure on %s: %v", n.name, err)
	}
	s.kill("")
}

// allEnded is the end on a node. A task of whose end nothing was said never ran.
func (s *step) allEnded(n *node) {
	for _, task := range n.ranks {
		s.in.drop(task)
		if !s.exits.knows(task) {
			s.mu.Lock()
			s.failed = true
			s.mu.Unlock()
		}
	}
}

// kill has the step ended, once.
func (s *step) kill(why string) {
	s.killOnce.Do(func() {
		if why != "" {
			s.p.Say("%s", why)
		}
		s.ending.Go(s.end)
	})
}

func (s *step) terminating() string {
	return "launch/slurm: _step_signal: Terminating StepId=" + s.id
}

// listener is how a node's connection reaches the step.
type listener struct {
	step     *step
	launched func()
}

func (l *listener) started(n *node) { l.launched() }

func (l *listener) data(_ *node, f *wire.StepFrame) {
	if err := l.step.out.take(f.Stream, f.Task, f.Data, f.Eof); err != nil {
		l.step.p.Error("writing the output of task %d: %v", f.Task, err)
		l.step.mu.Lock()
		l.step.failed = true
		l.step.mu.Unlock()
		l.step.kill(l.step.terminating())
	}
}

// text is a line of the node's: the shepherd's own begins with its name, what
// the node itself says of the step is srun's to say.
func (l *listener) text(_ *node, line string) {
	line = strings.TrimRight(line, "\n")
	if complaint, ok := strings.CutPrefix(line, "error: "); ok {
		l.step.p.Error("%s", complaint)
		return
	}
	l.step.p.Raw("%s", line)
}

func (l *listener) inputTaken(task uint32, offset uint64) { l.step.in.ack(task, offset) }

func (l *listener) exit(n *node, exit *wire.TaskExit) {
	s := l.step
	if s.by[exit.Task] != n || !s.exits.add(n.name, exit.Task, exit.ExitStatus, exit.Oom) {
		return
	}
	s.in.drop(exit.Task)
	if exit.Message != "" {
		s.p.Raw("%s", exit.Message)
	}
	running, _, _ := s.exits.states(s.tasks)
	if len(running) == 0 {
		return
	}
	if exit.ExitStatus != 0 && s.killOnBadExit {
		s.exits.flush()
		s.kill(s.terminating())
		return
	}
	s.mu.Lock()
	first := !s.waiting
	s.waiting = true
	s.mu.Unlock()
	if first && s.waitSeconds > 0 {
		go s.expire()
	}
}

// expire ends the step some time after its first task has ended (--wait).
func (s *step) expire() {
	timer := time.NewTimer(time.Duration(s.waitSeconds) * time.Second)
	defer timer.Stop()
	select {
	case <-s.ended:
		return
	case <-timer.C:
	}
	s.exits.flush()
	s.p.Say("First task exited %ds ago", s.waitSeconds)
	s.tell()
	s.mu.Lock()
	s.aborted = true
	s.mu.Unlock()
	s.p.Say("%s", s.terminating())
	s.killNow()
}

// tell says how the tasks stand.
func (s *step) tell() {
	running, fine, bad := s.exits.states(s.tasks)
	for _, group := range []struct {
		tasks []uint32
		how   string
	}{{running, "running"}, {fine, "exited"}, {bad, "exited abnormally"}} {
		if len(group.tasks) == 0 {
			continue
		}
		word := "task"
		if len(group.tasks) > 1 {
			word = "tasks"
		}
		s.p.Say("StepId=%s %s %s: %s", s.id, word, ranges(group.tasks), group.how)
	}
}

const sigkill = 9

// killNow sends SIGKILL to all tasks, and has the controller see to the rest.
func (s *step) killNow() {
	s.p.Say("Job step aborted: Waiting up to %d seconds for job step to finish.", s.killWait())
	for _, n := range s.nodes {
		n.signal(sigkill)
	}
	s.kill("")
}

func (s *step) killWait() int { return killWait(s.p) + 2 }

func (s *step) signal(number uint32) {
	for _, n := range s.nodes {
		n.signal(number)
	}
}

// feed hands standard input on, once all tasks are there to read it.
func (s *step) feed(from interface{ Read([]byte) (int, error) }) {
	select {
	case <-s.begun:
	case <-s.ended:
		return
	}
	s.in.run(from)
}

// sendInput is one task's piece of standard input.
func (s *step) sendInput(task uint32, offset uint64, data []byte, eof bool) {
	n := s.by[task]
	if n == nil {
		return
	}
	n.send(&wire.StepIn{Body: &wire.StepIn_Data{Data: &wire.StepFrame{
		Stream: streamStdin, Task: task, Offset: offset, Data: data, Eof: eof,
	}}})
}

func stepID(reply *wire.StepReply) string {
	state := reply.GetJob().GetState()
	return fmt.Sprintf("%d.%d", state.GetJobId(), reply.Step)
}
