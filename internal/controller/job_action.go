package controller

import (
	"slices"

	"muster/internal/model"
	"muster/internal/wire"
)

// action holds, releases, requeues, suspends or resumes jobs.
func (s *State) action(ev *JobAction) *wire.JobOutcomes {
	reply := &wire.JobOutcomes{}
	req := ev.Request
	say := func(id string, r *wire.Refusal) {
		reply.Jobs = append(reply.Jobs, &wire.JobOutcome{Id: id, Refusal: r})
	}
	for _, ref := range req.Jobs {
		found := s.chooseOne(ref)
		if s.isArray(ref) {
			reply.Jobs = append(reply.Jobs, s.actArray(ref, found, ev)...)
			continue
		}
		if len(found) == 0 {
			say(refText(ref), errJobID)
		}
		for _, c := range found {
			say(refText(ref), s.actChosen(c, ev))
		}
	}
	if len(req.Names) > 0 {
		for _, j := range inOrder(s.jobs) {
			if slices.Contains(req.Names, j.spec.Name) && !model.Ended(j.st.State) && ev.Actor.may(j.spec.Uid) {
				say(model.JobID(j.st), s.actChosen(chosen{j: j}, ev))
			}
		}
	}
	return reply
}

// actArray acts on tasks of an array; of a whole array only on those that it
// concerns.
func (s *State) actArray(ref *wire.JobRef, found []chosen, ev *JobAction) []*wire.JobOutcome {
	done := unknownTasks(ref, found)
	for _, c := range found {
		if ref.Tasks == "" && !applies(ev.Request.Verb, c.j.st) && len(found) > 1 && ev.Actor.may(c.j.spec.Uid) {
			continue
		}
		tasks := tasksOf(c)
		done = append(done, taskOutcome{tasks, s.actChosen(c, ev)})
	}
	if out := arrayOutcomes(ref.JobId, done); out != nil {
		return out
	}
	return []*wire.JobOutcome{{Id: refText(ref)}}
}

// actChosen acts on what a choice stands for.
func (s *State) actChosen(c chosen, ev *JobAction) *wire.Refusal {
	if !ev.Actor.may(c.j.spec.Uid) {
		return notOwner(ev.Request.Verb)
	}
	var last *wire.Refusal
	for _, j := range s.records(c) {
		if r := s.act(j, ev.Request, ev.Actor); r != nil {
			last = r
		}
	}
	return last
}

// notOwner is what somebody else is told: Slurm has two words for it.
func notOwner(v wire.JobVerb) *wire.Refusal {
	switch v {
	case wire.JobVerb_VERB_HOLD, wire.JobVerb_VERB_UHOLD, wire.JobVerb_VERB_RELEASE:
		return errUser
	}
	return errDenied
}

// applies tells whether an action on a whole array is meant for this record.
func applies(v wire.JobVerb, st *wire.JobState) bool {
	switch v {
	case wire.JobVerb_VERB_HOLD, wire.JobVerb_VERB_UHOLD, wire.JobVerb_VERB_RELEASE, wire.JobVerb_VERB_TOP:
		return waits(st)
	case wire.JobVerb_VERB_SUSPEND, wire.JobVerb_VERB_RESUME:
		return runs(st)
	default:
		return st.State != wire.BaseState_PENDING
	}
}

func (s *State) act(j *job, req *wire.JobActionRequest, a Actor) *wire.Refusal {
	switch req.Verb {
	case wire.JobVerb_VERB_HOLD, wire.JobVerb_VERB_UHOLD:
		// An administrator's hold is one that the user cannot lift.
		if req.Verb == wire.JobVerb_VERB_UHOLD && a.Operator && waits(j.st) {
			s.setHold(s.edit(j), true)
			return nil
		}
		return s.hold(j, !a.Operator || a.UID == j.spec.Uid && a.UID != 0)
	case wire.JobVerb_VERB_RELEASE:
		return s.unhold(j, a)
	case wire.JobVerb_VERB_REQUEUE, wire.JobVerb_VERB_REQUEUE_HOLD:
		return s.requeue(j, req, a)
	case wire.JobVerb_VERB_SUSPEND:
		if !a.Operator {
			return errDenied
		}
		return s.suspend(j)
	case wire.JobVerb_VERB_RESUME:
		if !a.Operator {
			return errDenied
		}
		return s.resume(j)
	case wire.JobVerb_VERB_TOP:
		if !waits(j.st) {
			return errNotPending
		}
		return errDisabled
	case wire.JobVerb_VERB_NOTIFY:
		return s.notify(j, req.Text)
	}
	return errParameter
}

// notify has a text written to the standard error of the job's script.
func (s *State) notify(j *job, text string) *wire.Refusal {
	switch {
	case model.Ended(j.st.State):
		return errDone
	case !runs(j.st) || !j.spec.Batch:
		return errDisabled
	}
	s.signalNodes(j, &wire.SignalOrder{Key: j.st.Key, Attempt: j.st.Attempt, Batch: true, Message: text})
	return nil
}

func (s *State) hold(j *job, byUser bool) *wire.Refusal {
	switch {
	case model.Ended(j.st.State):
		return errFinished
	case j.st.Priority == 0 && !j.st.HeldByUser && byUser:
		return nil // an administrator's hold stays one
	}
	// A job that runs goes on; the hold keeps it from starting again once requeued.
	st := s.edit(j)
	eligible := st.Eligible
	s.setHold(st, byUser)
	if !waits(st) {
		st.Eligible = eligible
	}
	return nil
}

func (s *State) unhold(j *job, a Actor) *wire.Refusal {
	switch {
	case model.Ended(j.st.State):
		return errFinished
	case j.st.Priority != 0:
		return nil
	case !j.st.HeldByUser && !a.Operator:
		return errDenied
	}
	st := s.edit(j)
	st.Priority = s.firstPriority(j.spec, Actor{})
	st.Reason, st.HeldByUser = "", false
	if !waits(st) {
		st.RequeueHoldAfter = false
		return nil
	}
	st.Flags &^= uint32(wire.StateFlag_FLAG_REQUEUE_HOLD | wire.StateFlag_FLAG_SPECIAL_EXIT)
	st.LaunchFailures, st.AvoidNodes = 0, nil
	if j.deps == nil {
		st.Eligible = max(s.now, s.notBefore(j))
	}
	s.lookAtDeps(j)
	s.wantPass()
	return nil
}

// requeue gives up a run, or revives an ended job.
func (s *State) requeue(j *job, req *wire.JobActionRequest, a Actor) *wire.Refusal {
	st := j.st
	how := requeueHow{special: req.SpecialExit}
	if req.Verb == wire.JobVerb_VERB_REQUEUE_HOLD {
		how.hold, how.byUser = true, !a.Operator || a.UID == j.spec.Uid && a.UID != 0
		how.reason = model.ReasonRequeuedHeld
	}
	switch {
	case !j.spec.Batch || j.spec.RequeueSet && !j.spec.Requeue:
		return errRequeueHere
	case waits(st):
		if how.hold {
			return s.hold(j, how.byUser)
		}
		return errPending
	case st.State == wire.BaseState_PENDING: // being requeued already
		return errTransition
	case runs(st):
		s.requeueRun(j, how)
	case completing(st):
		t := s.edit(j)
		t.State = wire.BaseState_PENDING
		t.Flags |= uint32(wire.StateFlag_FLAG_REQUEUED)
		t.EndingAs = st.State
		s.requeueNotes(t, how)
	case isArrayHead(j):
		return errDone
	default:
		s.revive(j, how)
	}
	return nil
}

// revive lets an ended job wait again.
func (s *State) revive(j *job, how requeueHow) {
	s.requeueNotes(s.edit(j), how)
	if j.st.Attempt == 0 { // cancelled before it ran
		j.st.Restarts--
	}
	s.waitAgain(j)
}

func (s *State) suspend(j *job) *wire.Refusal {
	switch st := j.st; {
	case waits(st):
		return errPending
	case st.State == wire.BaseState_SUSPENDED && runs(st):
		return nil
	case !runs(st):
		return errDone
	case flag(st, wire.StateFlag_FLAG_CONFIGURING):
		return errTransition
	}
	st := s.edit(j)
	st.State, st.SuspendedAt = wire.BaseState_SUSPENDED, s.now
	s.orderSuspend(j, false)
	return nil
}

func (s *State) resume(j *job) *wire.Refusal {
	switch st := j.st; {
	case waits(st):
		return errPending
	case !runs(st):
		return errDone
	case st.State != wire.BaseState_SUSPENDED:
		return errNotSuspended
	}
	st := s.edit(j)
	gap := s.now - st.SuspendedAt
	s.stopClock(st)
	st.State = wire.BaseState_RUNNING
	st.End += gap
	s.orderSuspend(j, true)
	return nil
}

func (s *State) orderSuspend(j *job, resume bool) {
	for _, n := range j.nodes {
		if n.session != 0 {
			o := &wire.SuspendOrder{Key: j.st.Key, Attempt: j.st.Attempt, Resume: resume}
			s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Suspend{Suspend: o}})
		}
	}
}
