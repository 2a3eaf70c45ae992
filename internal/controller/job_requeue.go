package controller

import (
	"muster/internal/model"
	"muster/internal/wire"
)

// requeueDelay keeps a requeued job from starting at once: a reader sees it
// waiting, with the reason BeginTime.
const requeueDelay = 5

// requeueHow is how a run is given up to be tried again.
type requeueHow struct {
	hold    bool
	byUser  bool
	special bool // SPECIAL_EXIT
	reason  string
	as      wire.BaseState // what the attempt's record says: NODE_FAIL, …; PENDING = REQUEUED
	fresh   bool           // the script never ran: SLURM_RESTART_COUNT stays
	delay   int64
}

// requeueRun ends the attempt of a running job; it waits again once all of
// its nodes are rid of it.
func (s *State) requeueRun(j *job, how requeueHow) {
	st := s.edit(j)
	s.stopClock(st)
	st.State = wire.BaseState_PENDING
	st.Flags = uint32(wire.StateFlag_FLAG_COMPLETING | wire.StateFlag_FLAG_REQUEUED)
	st.End = s.now
	st.EndingAs = how.as
	s.requeueNotes(st, how)
	s.clearNodes(j, terminateNow)
}

// requeueNotes writes down what is to be true once the job waits again.
func (s *State) requeueNotes(st *wire.JobState, how requeueHow) {
	if st.Priority == 0 && !how.hold { // held while it ran
		how.hold, how.byUser, how.reason = true, st.HeldByUser, model.ReasonHeldAdmin
		if how.byUser {
			how.reason = model.ReasonHeldUser
		}
	}
	st.RequeueHoldAfter = how.hold
	st.HeldByUser = how.byUser
	if how.special {
		st.Flags |= uint32(wire.StateFlag_FLAG_SPECIAL_EXIT)
	}
	st.Reason = how.reason
	if how.delay == 0 {
		how.delay = requeueDelay
	}
	st.NotBefore = s.now + how.delay
	if !how.fresh {
		st.Restarts++
	}
}

// requeued makes a given-up run a waiting job.
func (s *State) requeued(j *job) {
	st := j.st
	if st.EndingAs != wire.BaseState_PENDING {
		s.account(j, st.EndingAs, 0)
	} else {
		s.account(j, st.State, uint32(wire.StateFlag_FLAG_REQUEUED))
	}
	j.arr.ended(st)
	s.waitAgain(j)
	s.mail(j, mailRequeue)
}

// waitAgain clears what the last attempt left behind.
func (s *State) waitAgain(j *job) {
	st := s.edit(j)
	special := flag(st, wire.StateFlag_FLAG_SPECIAL_EXIT)
	st.State = wire.BaseState_PENDING
	st.Flags = 0
	if special {
		st.Flags = uint32(wire.StateFlag_FLAG_SPECIAL_EXIT)
	}
	st.EndingAs = wire.BaseState_PENDING
	st.Alloc, st.BatchHost, st.TresAlloc = nil, "", ""
	j.nodes, j.stage = nil, nil
	st.Start, st.End, st.EndedAt = 0, 0, 0
	st.Submit = s.now
	st.Eligible = st.NotBefore
	st.WasCancelled, st.CancelledBy = false, 0
	st.Partition = j.spec.Partition
	s.estimate(j)
	if st.RequeueHoldAfter {
		st.RequeueHoldAfter = false
		reason := st.Reason
		s.setHold(st, st.HeldByUser)
		if reason != "" {
			st.Reason = reason
		}
	} else {
		st.Reason = ""
		if st.Priority == 0 {
			st.Priority = s.firstPriority(j.spec, Actor{})
		}
	}
	if j.arr != nil && j.arr.pending != nil {
		s.queue(j.arr.pending)
	}
	if d, ok := parseDependency(st.Dependency); ok {
		s.addDeps(j, d) // cancelled while it still waited for others
		s.lookAtDeps(j)
	}
	s.moved(j)
	s.wantPass()
}

// mayRequeue tells whether the job wants to be run again after a failure that
// is not its own.
func (s *State) mayRequeue(j *job) bool {
	if !j.spec.Batch {
		return false
	}
	if j.spec.RequeueSet {
		return j.spec.Requeue
	}
	return s.set.JobRequeue
}

// loseRun ends an attempt that a node failure took: again, or NODE_FAIL.
func (s *State) loseRun(j *job, failed *node) {
	s.edit(j).FailedNode = failed.st.Name
	if !s.mayRequeue(j) {
		s.endRun(j, wire.BaseState_NODE_FAIL, 0, model.ReasonNodeDown, terminateNow)
		return
	}
	how := requeueHow{as: wire.BaseState_NODE_FAIL}
	s.limitRequeues(j, &how)
	s.requeueRun(j, how)
}

// limitRequeues holds a job that was requeued too often (MaxBatchRequeue).
func (s *State) limitRequeues(j *job, how *requeueHow) {
	if s.set.MaxBatchRequeue > 0 && j.st.Restarts+1 > s.set.MaxBatchRequeue {
		how.hold, how.reason = true, model.ReasonHoldMaxRequeue
	}
}

// Failed launches.
const (
	launchRetries    = 5   // of a job, then it is held
	launchDelay      = 2   // seconds, doubled each time
	launchDelayMost  = 300 // seconds
	nodeFailsToDrain = 3   // in a row
)

// launchFailed handles a launch that failed on a node: the node's fault until
// shown otherwise. The job goes elsewhere.
func (s *State) launchFailed(j *job, n *node, why string) {
	st := s.edit(j)
	st.LaunchFailures++
	st.FailedNode = n.st.Name
	st.AvoidNodes = s.avoid(j, n)
	s.logf(levelWarn, "launch failed", "job", model.JobID(st), "node", n.st.Name, "error", why)
	s.blameNode(n, why)
	how := requeueHow{
		as: wire.BaseState_NODE_FAIL, fresh: true,
		delay: min(int64(launchDelay)<<min(st.LaunchFailures-1, 16), launchDelayMost),
	}
	if st.LaunchFailures >= launchRetries {
		how.hold, how.reason = true, model.ReasonLaunchFailedRequeue
		how.byUser = true
	}
	s.requeueRun(j, how)
}

// avoid is where the job is not to be tried next: nodes that failed it, as long
// as others are left to try.
func (s *State) avoid(j *job, n *node) []string {
	choice := 0
	for _, p := range j.parts {
		choice += len(p.nodes)
	}
	out := append([]string(nil), j.st.AvoidNodes...)
	out = append(out, n.st.Name)
	if len(out)+len(j.nodes) > choice {
		out = nil
		if choice > len(j.nodes) {
			out = []string{n.st.Name}
		}
	}
	return out
}

// blameNode counts a failed launch against the node and drains it after a few
// in a row.
func (s *State) blameNode(n *node, why string) {
	st := s.editNode(n)
	st.LaunchFailures++
	if st.LaunchFailures >= nodeFailsToDrain {
		st.LaunchFailures = 0
		s.drain(n, "Launch failures: "+why)
	}
}
