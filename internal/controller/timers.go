package controller

import (
	"container/heap"

	"muster/internal/wire"
)

// alarm is the one next point in time at which a job or a node must be looked
// at. It is derived from the state, so a restart needs no list of timers.
type alarm struct {
	at  int64 // 0 = none
	tie int64 // orders alarms of one second
	pos int   // in the heap, when at is not 0
	j   *job
	n   *node
}

type alarmHeap []*alarm

func (h alarmHeap) Len() int { return len(h) }
func (h alarmHeap) Less(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].tie < h[k].tie
}
func (h alarmHeap) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].pos, h[k].pos = i, k
}
func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.pos = len(*h)
	*h = append(*h, a)
}
func (h *alarmHeap) Pop() any {
	old := *h
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return a
}

// set moves the alarm to a time, 0 = none.
func (h *alarmHeap) set(a *alarm, at int64) {
	switch {
	case a.at == at:
	case at == 0:
		heap.Remove(h, a.pos)
		a.at = 0
	case a.at == 0:
		a.at = at
		heap.Push(h, a)
	default:
		a.at = at
		heap.Fix(h, a.pos)
	}
}

// NextTimer is when the next timer is due, 0 = none.
func (s *State) NextTimer() int64 {
	if len(s.alarms) == 0 {
		return 0
	}
	return s.alarms[0].at
}

// timersAtOnce bounds how much one event does.
const timersAtOnce = 256

// timers handles what is due.
func (s *State) timers() {
	for range timersAtOnce {
		if len(s.alarms) == 0 || s.alarms[0].at > s.now {
			return
		}
		a := s.alarms[0]
		s.alarms.set(a, 0)
		if a.j != nil {
			s.jobDue(a.j)
			if !a.j.gone {
				s.rearm(a.j)
			}
		} else {
			s.nodeDue(a.n)
			s.rearmNode(a.n)
		}
	}
}

// earliest is the smaller of two times, where 0 is none.
func earliest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// rearm sets the job's alarm by its state.
func (s *State) rearm(j *job) {
	at := s.jobNext(j)
	if at != 0 {
		at = max(at, s.now) // overdue: at the next look
	}
	j.alarm.j, j.alarm.tie = j, j.st.Key
	s.alarms.set(&j.alarm, at)
}

// jobNext is when something is next due for the job. Every case here has its
// action in jobDue, which makes it go away.
func (s *State) jobNext(j *job) int64 {
	st := j.st
	switch {
	case waits(st):
		at := int64(0)
		if t := s.notBefore(j); t > s.now {
			at = t
		}
		if j.deps != nil {
			at = earliest(at, j.deps.at)
		}
		if j.spec.Deadline > 0 {
			at = earliest(at, j.spec.Deadline)
		}
		return at
	case st.State == wire.BaseState_RUNNING && runs(st):
		at := s.killTime(j)
		at = earliest(at, s.warnTime(j))
		for _, t := range j.stepEnd {
			at = earliest(at, t)
		}
		return at
	case final(st):
		return st.EndedAt + s.set.MinJobAge
	}
	return 0
}

// killTime is when the time limit strikes, 0 = never.
func (s *State) killTime(j *job) int64 {
	st := j.st
	if st.TimeLimit == Unlimited || st.Start == 0 {
		if j.spec.Deadline > 0 {
			return j.spec.Deadline
		}
		return 0
	}
	over := s.set.OverTimeLimit
	if p := s.partBy[st.Partition]; p != nil && p.info.OverTimeLimitSet {
		over = p.info.OverTimeLimit
	}
	if over == Unlimited {
		return 0
	}
	return st.End + int64(over)*60
}

// warnAfterStart is how long after its start a job is left alone, in seconds.
const warnAfterStart = 2

// warnTime is when --signal is due, 0 = not any more.
func (s *State) warnTime(j *job) int64 {
	if j.spec.Signal == 0 || j.st.SignalSent != 0 || j.st.TimeLimit == Unlimited || flag(j.st, wire.StateFlag_FLAG_CONFIGURING) {
		return 0
	}
	// Not before the script has had a moment to set up its traps.
	return max(max(j.st.Start, j.st.BatchStart)+warnAfterStart, j.st.End-int64(j.spec.SignalSeconds))
}

// jobDue does what is due for the job now.
func (s *State) jobDue(j *job) {
	st := j.st
	switch {
	case waits(st):
		if j.spec.Deadline > 0 && s.now >= j.spec.Deadline {
			s.endPending(j, wire.BaseState_DEADLINE, "DeadLine")
			return
		}
		s.lookAtDeps(j)
		s.queue(j)
		s.wantPass()
	case st.State == wire.BaseState_RUNNING && runs(st):
		if t := s.killTime(j); t != 0 && s.now >= t {
			s.timeOut(j)
			return
		}
		if t := s.warnTime(j); t != 0 && s.now >= t {
			s.warn(j)
		}
		s.stepsOverdue(j)
	case final(st):
		if s.now >= st.EndedAt+s.set.MinJobAge {
			s.purge(j)
		}
	}
}

// notBefore is when a waiting job may start at the earliest.
func (s *State) notBefore(j *job) int64 { return max(j.spec.Begin, j.st.NotBefore) }
