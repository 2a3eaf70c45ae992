package controller

import (
	"muster/internal/model"
	"muster/internal/wire"
)

const sigkill = 9

// signal cancels or signals the selected jobs and steps.
func (s *State) signal(ev *Signal) *wire.JobOutcomes {
	reply := &wire.JobOutcomes{}
	req := ev.Request
	say := func(id string, r *wire.Refusal) {
		reply.Jobs = append(reply.Jobs, &wire.JobOutcome{Id: id, Refusal: r})
	}
	chosen := s.selected(req.Select, func(ref *wire.JobRef) { say(refText(ref), errJobID) })
	for _, c := range chosen {
		if c.ref == nil && (!ev.Actor.may(c.j.spec.Uid) || final(c.j.st)) {
			continue
		}
		if !ev.Actor.may(c.j.spec.Uid) {
			say(refText(c.ref), errDenied)
			continue
		}
		if c.ref != nil && c.ref.HasStep {
			say(refText(c.ref), s.signalStep(c.j, c.ref.Step, req, ev.Actor))
			continue
		}
		if len(chosen) > 1 && final(c.j.st) && c.j.arr != nil {
			continue // of an array the ended tasks are passed over
		}
		for _, j := range s.records(c) {
			r := s.signalJob(j, req, ev.Actor)
			say(model.JobID(j.st), r)
			if r == nil && req.AdminComment != "" && ev.Actor.Operator {
				s.editSpec(j).AdminComment = req.AdminComment
			}
		}
	}
	return reply
}

func (s *State) signalJob(j *job, req *wire.SignalRequest, a Actor) *wire.Refusal {
	st := j.st
	kill := req.Cancel || req.Signal == sigkill && !req.BatchOnly
	switch {
	case model.Ended(st.State):
		return errDone
	case kill && flag(st, wire.StateFlag_FLAG_REQUEUED) && completing(st):
		s.cancelRequeue(j, a)
	case waits(st) && kill:
		t := s.edit(j)
		t.WasCancelled, t.CancelledBy = true, a.UID
		s.endPending(j, wire.BaseState_CANCELLED, "")
	case waits(st):
		return errPending
	case completing(st):
		return errTransition
	case kill:
		how := terminateGently
		if !req.Cancel {
			how = terminateNow
		}
		s.cancelRun(j, a, how)
	default:
		s.signalNodes(j, &wire.SignalOrder{
			Key: st.Key, Attempt: st.Attempt, Signal: req.Signal,
			Batch: req.BatchOnly, Full: req.Full, AllSteps: !req.BatchOnly && !req.Full,
		})
	}
	return nil
}

// cancelRun ends a running job on request.
func (s *State) cancelRun(j *job, a Actor, how howToEnd) {
	st := s.edit(j)
	st.WasCancelled, st.CancelledBy = true, a.UID
	s.endRun(j, wire.BaseState_CANCELLED, terminatedStatus, "", how)
}

// cancelRequeue ends a job that was given up to be tried again, while its
// nodes are still busy with the last attempt.
func (s *State) cancelRequeue(j *job, a Actor) {
	st := s.edit(j)
	st.WasCancelled, st.CancelledBy = true, a.UID
	st.State = wire.BaseState_CANCELLED
	st.Flags = uint32(wire.StateFlag_FLAG_COMPLETING)
	st.EndingAs = wire.BaseState_PENDING
	st.Reason, st.RequeueHoldAfter = "", false
}

// signalStep signals or ends one step.
func (s *State) signalStep(j *job, num int32, req *wire.SignalRequest, a Actor) *wire.Refusal {
	if !runs(j.st) {
		return errDone
	}
	sig := req.Signal
	if req.Cancel && sig == 0 {
		sig = sigkill
	}
	if num == int32(wire.StepNumber_STEP_BATCH) {
		s.signalNodes(j, &wire.SignalOrder{Key: j.st.Key, Attempt: j.st.Attempt, Batch: true, Signal: sig})
		return nil
	}
	step := j.steps[num]
	if step == nil || step.End != 0 {
		return errDone
	}
	if req.Cancel {
		s.editStep(j, num).KilledBy = a.UID
		s.endStepOnNodes(j, step)
		return nil
	}
	for _, al := range step.Alloc {
		if n := s.nodeBy[al.Node]; n != nil && n.session != 0 {
			o := &wire.SignalOrder{Key: j.st.Key, Attempt: j.st.Attempt, Step: num, Signal: sig}
			s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Signal{Signal: o}})
		}
	}
	return nil
}
