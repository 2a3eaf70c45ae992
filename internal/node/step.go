package node

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/node/stepd"
	"muster/internal/node/steplink"
	"muster/internal/wire"
)

// stepHandle is this daemon's hold on one shepherd.
type stepHandle struct {
	run    *run
	number int32
	name   string
	dir    string
	proc   *os.Process // nil: an earlier daemon started it

	// An idle shepherd may have died unseen: its step then goes to another.
	secondHand bool
	spec       *steplink.Spec // until the tasks run
	again      bool           // it did
	idle       bool           // the shepherd has offered itself for another step

	started  chan struct{} // the tasks run; closed also at the end
	done     chan struct{} // the step has ended
	begun    sync.Once
	pids     []uint32
	end      *steplink.End
	released bool // nobody will read its output
	readers  int  // sruns that follow it
	losing   *time.Timer
	ending   bool // it was told to end

	mu   sync.Mutex
	sock net.Conn
}

// startStep starts a shepherd for spec. What the shepherd says of the step
// arrives in the handle.
func (r *run) startStep(spec *steplink.Spec, number int32) (*stepHandle, error) {
	h := &stepHandle{run: r, number: number, name: spec.Name, dir: spec.Dir, started: make(chan struct{}), done: make(chan struct{})}
	n := r.node
	n.mu.Lock()
	if r.closed {
		n.mu.Unlock()
		return nil, errors.New("the job is ending")
	}
	if r.steps[number] != nil || r.givenUp[number] {
		given := r.givenUp[number]
		n.mu.Unlock()
		if given {
			return nil, fmt.Errorf("step %d has been given up", number)
		}
		return nil, fmt.Errorf("step %d was already started", number)
	}
	r.steps[number] = h
	n.mu.Unlock()
	if err := h.spawn(spec); err != nil {
		n.mu.Lock()
		delete(r.steps, number)
		n.mu.Unlock()
		return nil, err
	}
	n.mu.Lock()
	if r.stop != nil {
		h.terminate(r.termination(r.stop, number))
	}
	if r.suspended {
		h.send(steplink.KindSuspend, nil)
	}
	n.mu.Unlock()
	n.work.Add(1)
	go h.listen()
	return h, nil
}

// spawn gives the step to a shepherd, an idle one if there is any.
func (h *stepHandle) spawn(spec *steplink.Spec) error {
	s := h.run.node.idleShepherd()
	h.secondHand = s != nil
	if s == nil {
		var err error
		if s, err = h.run.node.newShepherd(spec); err != nil {
			return err
		}
	}
	h.mu.Lock()
	h.proc, h.sock, h.spec = s.proc, s.sock, spec
	h.mu.Unlock()
	// An error is seen as the shepherd's end, by the listener.
	h.send(steplink.KindSpec, steplink.Marshal(spec))
	return nil
}

const stepWriteTimeout = 20 * time.Second

// send says something to the shepherd. What does not reach it is of no use any
// more, or is said again after reconnecting.
func (h *stepHandle) send(kind steplink.Kind, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sock == nil {
		return
	}
	_ = h.sock.SetWriteDeadline(time.Now().Add(stepWriteTimeout))
	_ = steplink.WriteFrame(h.sock, kind, body)
}

// terminate ends the step. Its srun may have been ended with the job: it is
// given little time to come back for the rest of the output.
func (h *stepHandle) terminate(t steplink.Terminate) {
	h.ending = true
	if h.losing != nil {
		h.losing.Reset(endingWait)
	}
	h.send(steplink.KindTerminate, steplink.Marshal(t))
}

func (h *stepHandle) signal(s steplink.Signal) { h.send(steplink.KindSignal, steplink.Marshal(s)) }

func (h *stepHandle) disconnect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sock != nil {
		h.sock.Close()
	}
}

func (h *stepHandle) hasStarted() { h.begun.Do(func() { close(h.started) }) }

// listen hears the shepherd until the step has ended.
func (h *stepHandle) listen() {
	n := h.run.node
	defer n.work.Done()
	for {
		final := h.hear()
		if n.ctx.Err() != nil {
			return
		}
		if end := h.outcome(final); end != nil {
			h.reapShepherd()
			h.ended(end)
			return
		}
		if h.again {
			h.again = false
			continue
		}
		if err := h.reconnect(); err != nil {
			// The next look at its files tells whether it is dead.
			select {
			case <-n.ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// hear reads frames until the connection ends, and returns the shepherd's last
// words if there were any.
func (h *stepHandle) hear() *steplink.End {
	h.mu.Lock()
	sock := h.sock
	h.mu.Unlock()
	if sock == nil {
		return nil
	}
	in := bufio.NewReader(sock)
	var end *steplink.End
	for {
		kind, body, err := steplink.ReadFrame(in)
		if err != nil {
			return end
		}
		switch kind {
		case steplink.KindStarted:
			var s steplink.Started
			if steplink.Unmarshal(body, &s) == nil {
				h.pids, h.spec = s.Pids, nil
				h.run.stepStarted(h, s.Start)
				h.hasStarted()
			}
		case steplink.KindDone:
			e := new(steplink.End)
			if steplink.Unmarshal(body, e) != nil {
				continue
			}
			if end = e; h.proc == nil {
				return end
			}
			// Its process ends now, or says that it goes on.
		case steplink.KindIdle:
			h.idle = true
			return end
		case steplink.KindUnkillable:
			h.run.unkillable(h)
		case steplink.KindUsage:
			var u steplink.Usage
			if steplink.Unmarshal(body, &u) == nil {
				h.run.stepUsage(h, &u)
			}
		}
	}
}

// outcome decides, after the connection has ended, how the step ended; nil: it
// has not.
func (h *stepHandle) outcome(final *steplink.End) *steplink.End {
	if final != nil {
		return final
	}
	standing, err := steplink.Stand(h.dir, h.name)
	if err != nil {
		h.run.node.log.Error("looking at a step", "job", h.run.id.Key, "step", h.name, "error", err)
		return nil
	}
	switch standing {
	case steplink.Ended:
		end, err := steplink.ReadEnd(h.dir, h.name)
		if err != nil {
			return &steplink.End{Failure: err.Error()}
		}
		return end
	case steplink.Alive:
		return nil
	}
	if h.secondHand && standing == steplink.Unclaimed {
		if err := h.spawnAgain(); err != nil {
			return h.mournEnd(steplink.End{Failure: err.Error()})
		}
		return nil
	}
	if h.proc != nil && standing == steplink.Unclaimed {
		// It ended before it could claim the step: nothing was started.
		h.reapShepherd()
		return h.mournEnd(steplink.End{Failure: "stepd ended before it could start the step (see stepd.log in the spool directory)"})
	}
	h.reapShepherd()
	h.run.killLeftovers(h)
	return h.mournEnd(steplink.End{Status: int32(syscall.SIGKILL), Start: h.run.startOf(h.number), Killed: true})
}

// spawnAgain gives a step that was not begun to another shepherd.
func (h *stepHandle) spawnAgain() error {
	spec := h.spec
	h.reapShepherd()
	if err := h.spawn(spec); err != nil {
		return err
	}
	h.again = true
	n := h.run.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.run.stop != nil {
		h.terminate(h.run.termination(h.run.stop, h.number))
	}
	if h.run.suspended {
		h.send(steplink.KindSuspend, nil)
	}
	return nil
}

// mournEnd writes the end that a dead shepherd could not.
func (h *stepHandle) mournEnd(end steplink.End) *steplink.End {
	end.End = time.Now().Unix()
	if err := steplink.WriteEnd(h.dir, h.name, end); err != nil {
		h.run.node.log.Error("writing the end of a step whose shepherd died", "job", h.run.id.Key, "step", h.name, "error", err)
	}
	return &end
}

// reapShepherd waits for the shepherd's process, if it is ours and does not
// wait for another step.
func (h *stepHandle) reapShepherd() {
	if h.proc == nil {
		return
	}
	if h.idle {
		h.mu.Lock()
		s := &shepherd{proc: h.proc, sock: h.sock}
		h.proc, h.sock = nil, nil
		h.mu.Unlock()
		h.run.node.release(s)
		return
	}
	_, _ = h.proc.Wait() // its end is in its file
	h.run.node.know(h.proc.Pid, false)
	h.proc = nil
	h.disconnect()
}

// reconnect connects to the shepherd's socket.
func (h *stepHandle) reconnect() error {
	sock, err := dialStep(h.dir, h.name)
	if err != nil {
		return err
	}
	if err := steplink.WriteFrame(sock, steplink.KindHello, steplink.Marshal(steplink.Hello{Protocol: steplink.Protocol})); err != nil {
		sock.Close()
		return err
	}
	h.mu.Lock()
	h.sock = sock
	h.mu.Unlock()
	n := h.run.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.run.stop != nil {
		h.terminate(h.run.termination(h.run.stop, h.number))
	}
	if h.released {
		h.send(steplink.KindRelease, nil)
	}
	return nil
}

// dialStep goes through the folder's descriptor: a socket's name has room for
// 107 bytes only.
func dialStep(dir, name string) (net.Conn, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	path := "/proc/self/fd/" + strconv.Itoa(fd) + strings.TrimPrefix(steplink.SocketPath(dir, name), dir)
	return net.DialTimeout("unix", path, 5*time.Second)
}

// ended notes the step's end and lets the run go on.
func (h *stepHandle) ended(end *steplink.End) {
	h.end = end
	r := h.run
	usage := wireUsage(&end.Usage, r.node.cfg.Name)
	switch {
	case h.number == steplink.StepBatch:
		r.change(func(f *wire.RunFact) {
			f.Stage = wire.RunStage_STAGE_ENDED
			f.BatchEnded, f.BatchExitStatus, f.BatchUsage = true, exitStatus(end), usage
			f.BatchStart, f.BatchEnd = end.Start, end.End
			f.Oom = f.Oom || end.OOM
			f.KillFailed = f.KillFailed || end.KillFailed
			if end.Failure != "" {
				f.Failure, f.UserFailure = end.Failure, end.UserFailure
			}
		}, true)
	default:
		fact := &wire.StepFact{Step: h.number, Ended: true, ExitStatus: exitStatus(end), Usage: usage, Start: end.Start, End: end.End, Oom: end.OOM}
		r.change(func(f *wire.RunFact) {
			f.KillFailed = f.KillFailed || end.KillFailed
			f.Steps = setStep(f.Steps, fact)
		}, end.KillFailed)
		r.node.reports.StepFact(r.id.Key, r.id.Attempt, fact)
	}
	h.hasStarted()
	close(h.done)
	if h.number == steplink.StepBatch {
		r.end()
	}
}

// statusOOM is the wait status of what was killed for its memory: Slurm's 0:125.
const statusOOM = 125

func exitStatus(end *steplink.End) int32 {
	switch {
	case end.OOM:
		return statusOOM
	case end.UserFailure && end.Status == 0:
		return stepd.StatusNoOutput
	}
	return end.Status
}

func setStep(steps []*wire.StepFact, fact *wire.StepFact) []*wire.StepFact {
	for i, s := range steps {
		if s.Step == fact.Step {
			steps[i] = fact
			return steps
		}
	}
	return append(steps, fact)
}

func wireUsage(u *steplink.Usage, node string) *wire.Usage {
	return &wire.Usage{
		UserUsec: u.UserUsec, SystemUsec: u.SystemUsec,
		MaxRss: u.MaxRSS, AveRss: u.AveRSS, MaxVmsize: u.MaxVM, AveVmsize: u.AveVM,
		MaxPages: u.MaxPages, MaxDiskRead: u.MaxDiskRead, MaxDiskWrite: u.MaxDiskWrite,
		MaxRssNode: node, MaxRssTask: u.MaxRSSTask,
		MinCpuUsec: u.MinCPUUsec, MinCpuNode: node, MinCpuTask: u.MinCPUTask, AveCpuUsec: u.AveCPUUsec,
		Tasks: u.Tasks,
	}
}

// joined notes an srun that follows the step. The node's mutex guards the count.
func (h *stepHandle) joined() {
	n := h.run.node
	n.mu.Lock()
	defer n.mu.Unlock()
	h.readers++
	if h.losing != nil {
		h.losing.Stop()
		h.losing = nil
	}
}

// left notes an srun that is gone. A step that nobody follows is ended after a
// while: whoever lost a connection comes back before.
func (h *stepHandle) left() {
	n := h.run.node
	n.mu.Lock()
	defer n.mu.Unlock()
	h.readers--
	h.awaitSrunLocked()
}

func (h *stepHandle) awaitSrunLocked() {
	n := h.run.node
	wait := n.settings.ReattachWait
	if h.ending {
		wait = endingWait
	}
	if wait >= 0 && h.readers <= 0 && h.losing == nil && n.ctx.Err() == nil {
		h.losing = time.AfterFunc(wait, h.abandon)
	}
}

// endingWait is how long a step that is being ended keeps its output for an srun
// that is not connected.
const endingWait = time.Second

func (h *stepHandle) abandon() {
	n := h.run.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.readers > 0 || n.ctx.Err() != nil {
		return
	}
	h.released, h.losing = true, nil
	h.terminate(steplink.Terminate{KillWait: uint32(n.settings.KillWait / time.Second)})
	h.send(steplink.KindRelease, nil)
}

// stepStarted reports a step that runs.
func (r *run) stepStarted(h *stepHandle, start int64) {
	if h.number == steplink.StepBatch {
		r.change(func(f *wire.RunFact) {
			if f.Stage < wire.RunStage_STAGE_RUNNING {
				f.Stage, f.BatchStart = wire.RunStage_STAGE_RUNNING, start
			}
		}, true)
		return
	}
	fact := &wire.StepFact{Step: h.number, Start: start}
	r.change(func(f *wire.RunFact) { f.Steps = setStep(f.Steps, fact) }, false)
	r.node.reports.StepFact(r.id.Key, r.id.Attempt, fact)
}

func (r *run) stepUsage(h *stepHandle, u *steplink.Usage) {
	usage := wireUsage(u, r.node.cfg.Name)
	if h.number == steplink.StepBatch {
		r.change(func(f *wire.RunFact) { f.BatchUsage = usage }, true)
		return
	}
	fact := &wire.StepFact{Step: h.number, Usage: usage, Start: r.startOf(h.number)}
	r.change(func(f *wire.RunFact) { f.Steps = setStep(f.Steps, fact) }, false)
	r.node.reports.StepFact(r.id.Key, r.id.Attempt, fact)
}

func (r *run) startOf(step int32) int64 {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	if step == steplink.StepBatch {
		return r.fact.BatchStart
	}
	for _, s := range r.fact.Steps {
		if s.Step == step {
			return s.Start
		}
	}
	return 0
}

func (r *run) unkillable(h *stepHandle) {
	r.change(func(f *wire.RunFact) { f.KillFailed = true }, true)
	r.runUnkillable(h.number)
}
