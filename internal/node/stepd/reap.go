package stepd

import (
	"syscall"
	"time"

	"muster/internal/node/steplink"
)

// reaped is a child that has ended.
type reaped struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
}

// reaper waits for every child of this process: the tasks, and what their
// children left behind, because this process is a sub-reaper.
func (s *step) reaper() {
	for {
		var r reaped
		pid, err := syscall.Wait4(-1, &r.status, syscall.WALL, &r.usage)
		if err == syscall.EINTR {
			continue
		}
		if err != nil { // no children now
			select {
			case <-s.reap:
			case <-s.leaving:
				close(s.reaperDone)
				return
			}
			continue
		}
		s.reaped(pid, r)
	}
}

func (s *step) wakeReaper() {
	select {
	case s.reap <- struct{}{}:
	default:
	}
}

func (s *step) reaped(pid int, r reaped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.byPid[pid]
	s.usage.reaped(t, &r.usage)
	if t != nil {
		s.taskEnded(t, r.status)
		return
	}
	if waiter := s.usage.hooks[pid]; waiter != nil {
		waiter <- r.status
		delete(s.usage.hooks, pid)
		return
	}
	if !s.launched {
		s.early[pid] = r
	}
}

// ending is a termination under way.
type ending struct {
	killed bool // SIGKILL was sent
	timer  *time.Timer
}

// terminate ends the step: at once, or by SIGCONT and SIGTERM first. Asked
// again, it can only become quicker.
func (s *step) terminate(t steplink.Terminate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminateLocked(t)
}

func (s *step) terminateLocked(t steplink.Terminate) {
	if s.ending == nil {
		s.ending = &ending{}
		s.end.Killed = true
		if t.Message != "" {
			s.messageLocked(t.Message)
		}
		s.spec.KillWait = t.KillWait
		if t.Now {
			s.ending.killed = true
		}
	} else if t.Now && !s.ending.killed {
		s.ending.killed = true
		if s.ending.timer != nil {
			s.ending.timer.Stop()
		}
	} else {
		return
	}
	if s.launched {
		s.escalateLocked()
	}
}

// escalateLocked sends the signals of a termination.
func (s *step) escalateLocked() {
	if s.spec.Extern {
		s.isOver()
		return
	}
	if s.alive == 0 {
		return
	}
	if s.suspended {
		s.thawLocked()
	}
	if s.ending.killed {
		s.killAll()
		s.ending.timer = time.AfterFunc(time.Second, s.killAgain)
		return
	}
	s.signalAll(syscall.SIGCONT)
	s.signalAll(syscall.SIGTERM)
	s.ending.timer = time.AfterFunc(time.Duration(s.spec.KillWait)*time.Second, s.killAgain)
}

func (s *step) killAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending.killed = true
	s.escalateLocked()
	s.noteUnkillable()
}

// noteUnkillable tells, once, of processes that outlive SIGKILL.
func (s *step) noteUnkillable() {
	if s.spec.Unkill == 0 || s.end.KillFailed || s.alive == 0 {
		return
	}
	if s.usage.killedAt.IsZero() {
		s.usage.killedAt = time.Now()
	}
	if time.Since(s.usage.killedAt) >= time.Duration(s.spec.Unkill)*time.Second {
		s.end.KillFailed = true
		s.broadcast(steplink.KindUnkillable, nil)
	}
}

// endLeftovers kills what the tasks left behind, and waits until it is gone.
func (s *step) endLeftovers() {
	begin := time.Now()
	pause := 2 * time.Millisecond
	for {
		if len(s.members()) == 0 {
			return
		}
		s.mu.Lock()
		if s.suspended {
			s.thawLocked()
		}
		s.mu.Unlock()
		s.killAll()
		time.Sleep(pause) // the end of a process that is not our child cannot be awaited
		pause = min(2*pause, time.Second)
		if s.spec.Unkill > 0 && time.Since(begin) >= time.Duration(s.spec.Unkill)*time.Second {
			s.mu.Lock()
			if !s.end.KillFailed {
				s.end.KillFailed = true
				s.broadcast(steplink.KindUnkillable, nil)
			}
			s.mu.Unlock()
		}
	}
}
