package stepd

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"muster/internal/node/steplink"
)

// step is the running step. One mutex guards all of it; goroutines are those
// of the reaper, of each control connection and of each relayed stream.
type step struct {
	spec  *steplink.Spec
	claim *steplink.Claim

	mu        sync.Mutex
	tasks     []*task
	entries   []int // descriptors through which processes enter the cgroups
	byPid     map[int]*task
	early     map[int]reaped // ended before their start was noted
	streams   []*stream
	conns     map[*conn]struct{}
	stderr    *os.File // where messages go, nil when they are relayed
	texts     []string // relayed messages, for a reader that comes later
	start     int64
	launched  bool
	alive     int // tasks that have not been reaped
	suspended bool
	ending    *ending
	usage     meter
	end       steplink.End
	final     []byte // the end, once it is written down

	over     chan struct{} // closed when all tasks have ended, or the extern step is terminated
	overOnce sync.Once
	reap     chan struct{} // told that there may be children

	unwritten  bool          // the end could not be written down
	retired    bool          // this process turns to another step
	leaving    chan struct{} // closed then
	reaperDone chan struct{} // closed when the reaper has ended
}

// task is one of the step's processes.
type task struct {
	spec   *steplink.Task
	pid    int
	done   bool
	status syscall.WaitStatus
	stdin  *input
}

func newStep(spec *steplink.Spec, claim *steplink.Claim) *step {
	return &step{
		spec: spec, claim: claim,
		byPid: make(map[int]*task),
		early: make(map[int]reaped),
		conns: make(map[*conn]struct{}),
		over:  make(chan struct{}),
		reap:  make(chan struct{}, 1),

		leaving:    make(chan struct{}),
		reaperDone: make(chan struct{}),
		start:      time.Now().Unix(),
	}
}

// run carries the step from its start to its end.
func (s *step) run() {
	go s.reaper()
	if s.spec.Extern {
		s.announce()
	} else {
		s.launch()
	}
	debug.SetGCPercent(100)
	s.armTimers()
	<-s.over
	s.runTaskEpilog()
	s.endLeftovers()
	s.finish()
	s.drain()
}

func (s *step) isOver() { s.overOnce.Do(func() { close(s.over) }) }

// launch starts the tasks; what fails is the step's end.
func (s *step) launch() {
	err := s.openCgroups()
	if err == nil {
		err = asUser(s.spec, s.startTasks)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.end.Failure = err.Error()
		_, s.end.UserFailure = err.(*userError)
	}
	s.launched = true
	if len(s.tasks) == 0 {
		for _, st := range s.streams {
			st.release()
		}
	}
	// A job that is over already need not be told to run, except to those who
	// wait for its output.
	if s.alive > 0 || s.spec.Relay && len(s.tasks) > 0 {
		s.broadcast(steplink.KindStarted, steplink.Marshal(s.startedLocked()))
	}
	switch {
	case s.alive == 0:
		s.isOver()
	case err != nil: // some tasks run, and not all can
		s.terminateLocked(steplink.Terminate{Now: true})
	case s.ending != nil:
		s.escalateLocked()
	}
}

// announce tells the peers of an extern step that it stands.
func (s *step) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launched = true
	s.broadcast(steplink.KindStarted, steplink.Marshal(s.startedLocked()))
	if s.ending != nil {
		s.isOver()
	}
}

func (s *step) startedLocked() steplink.Started {
	started := steplink.Started{Protocol: steplink.Protocol, Start: s.start, Done: s.final != nil}
	for _, t := range s.tasks {
		started.Pids = append(started.Pids, uint32(t.pid))
	}
	return started
}

// userError is a failure that is the job's own doing.
type userError struct{ text string }

func (e *userError) Error() string { return e.text }

// taskEnded notes the end of a task.
func (s *step) taskEnded(t *task, status syscall.WaitStatus) {
	t.done, t.status = true, status
	s.alive--
	if worse(int32(status), s.end.Status) {
		s.end.Status = int32(status)
	}
	s.toReaders(steplink.KindExit, steplink.Marshal(steplink.Exit{Task: t.spec.Rank, Status: int32(status), OOM: s.oomKilled()}))
	if s.alive == 0 && s.launched {
		s.isOver()
	}
}

// worse orders wait statuses as Slurm takes "the highest": any failure before
// success, the larger exit code, a signal above all.
func worse(a, b int32) bool {
	rank := func(status int32) int32 {
		if sig := status & 0x7f; sig != 0 {
			return 1000 + sig
		}
		return status >> 8
	}
	return rank(a) > rank(b)
}

// message writes a line of Slurm's form to the step's standard error.
func (s *step) messageLocked(text string) {
	line := s.spec.LogName + ": error: " + text + "\n"
	if s.stderr != nil {
		_, _ = s.stderr.WriteString(line) // the user's file may be full or gone
		return
	}
	s.texts = append(s.texts, line)
	s.toReaders(steplink.KindText, []byte(line))
}

// finish writes the end down and tells the peers.
func (s *step) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end.Start, s.end.End = s.start, time.Now().Unix()
	s.end.Usage = s.usage.total(s.tasks)
	s.end.OOM = s.oomKilled()
	if err := s.claim.Finish(s.end); err != nil {
		// The space was taken at the start, so this is a broken disk. The node
		// daemon still learns the end from the last frame.
		fmt.Fprintf(os.Stderr, "stepd: %v\n", err)
		s.unwritten = true
	}
	s.final = steplink.Marshal(s.end)
}

// drain waits until relayed output was received or given up, then says goodbye.
func (s *step) drain() {
	s.mu.Lock()
	streams := s.streams
	s.mu.Unlock()
	for _, st := range streams {
		st.waitTaken()
	}
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.broadcast(steplink.KindDone, s.final)
	s.mu.Unlock()
	for _, c := range conns {
		c.flush()
	}
}
