package controller

import (
	"fmt"
	"slices"
	"time"

	"muster/internal/model"
	"muster/internal/wire"
)

// Wait statuses that stand for what no process did: Slurm shows 0:53 for a
// launch that failed, 0:125 for memory that ran out, 0:15 for a job that was ended.
const (
	launchFailedStatus = 53
	outOfMemoryStatus  = 125
	terminatedStatus   = 15
)

// howToEnd is how a run's processes are ended on its nodes.
type howToEnd int

const (
	terminateNow    howToEnd = iota // SIGKILL
	terminateGently                 // SIGTERM, KillWait, SIGKILL
)

// endRun ends an attempt: its base state is settled, its nodes are told, it is
// COMPLETING until nothing of it is left.
func (s *State) endRun(j *job, as wire.BaseState, status int32, reason string, how howToEnd) {
	st := s.edit(j)
	s.stopClock(st)
	st.State = as
	st.Flags = st.Flags&^uint32(wire.StateFlag_FLAG_CONFIGURING|wire.StateFlag_FLAG_STOPPED) | uint32(wire.StateFlag_FLAG_COMPLETING)
	st.End = s.now
	st.ExitStatus = status
	if reason != "" || st.Priority != 0 { // a hold that was put on a running job stays to be seen
		st.Reason, st.ReasonText = reason, ""
	}
	s.clearNodes(j, how)
}

// stopClock ends a suspension for the accounts.
func (s *State) stopClock(st *wire.JobState) {
	if st.SuspendedAt != 0 {
		st.SuspendedSecs += s.now - st.SuspendedAt
		st.SuspendedAt = 0
	}
}

// clearNodes has every node of the job rid itself of the attempt. Nodes that
// were told nothing yet, or are DOWN, are free at once.
func (s *State) clearNodes(j *job, how howToEnd) {
	unsent := j.st.PrologStarted && !j.st.PrologDone
	for i, n := range j.nodes {
		s.show(n) // COMPLETING
		switch {
		case j.st.Alloc[i].Released:
		case unsent || n.st.Base == wire.NodeBase_NODE_DOWN || j.stage[i] == wire.RunStage_STAGE_GONE:
			s.release(j, i)
		default:
			s.terminate(j, i, how)
		}
	}
	s.allGone(j)
}

// terminate tells one node to end the attempt; a node without a session is
// told when it registers.
func (s *State) terminate(j *job, i int, how howToEnd) {
	n := j.nodes[i]
	if n.session == 0 {
		return
	}
	o := &wire.Terminate{
		Key: j.st.Key, Attempt: j.st.Attempt, JobId: j.st.JobId,
		Now: how == terminateNow, KillWait: s.set.KillWait,
		ExitStatus: j.st.ExitStatus, DerivedExitStatus: j.st.DerivedExitStatus,
	}
	if how == terminateGently && i == 0 {
		o.Message = s.lastWords(j)
	}
	s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: o}})
}

func (s *State) send(n *node, o *wire.NodeOrder) {
	s.effect(sendOrder{n.st.Name, n.session, o})
}

// lastWords is the line that a job that is ended finds in its error output.
func (s *State) lastWords(j *job) string {
	why := ""
	switch {
	case j.st.State == wire.BaseState_TIMEOUT:
		why = " DUE TO TIME LIMIT"
	case j.st.State == wire.BaseState_NODE_FAIL:
		why = " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
	case j.st.State == wire.BaseState_PENDING:
		why = " DUE TO JOB REQUEUE"
	}
	return fmt.Sprintf("JOB %d ON %s CANCELLED AT %s%s", j.st.JobId, j.st.BatchHost,
		time.Unix(s.now, 0).Format("2006-01-02T15:04:05"), why)
}

// release frees what the job holds on its i-th node.
func (s *State) release(j *job, i int) {
	a := s.editAlloc(j, i)
	a.Released, a.Stage = true, wire.RunStage_STAGE_GONE
	j.stage[i] = wire.RunStage_STAGE_GONE
	n := j.nodes[i]
	if k := slices.Index(n.jobs, j); k >= 0 {
		n.jobs = slices.Delete(n.jobs, k, k+1)
	}
	if len(n.jobs) == 0 {
		s.editNode(n).LastBusy = s.now
	}
	s.changedHold(n)
	s.wantPass()
}

// allGone goes on once no node has anything left of the attempt.
func (s *State) allGone(j *job) {
	st := j.st
	if !completing(st) || slices.ContainsFunc(st.Alloc, func(a *wire.NodeAlloc) bool { return !a.Released }) {
		return
	}
	if s.set.HasEpilogSlurmctld && st.EndedAt < st.Start {
		// Once an attempt: EndedAt tells that the hook was started.
		st = s.edit(j)
		st.EndedAt = s.now
		st.EpilogPending = true
		s.effect(runHook{Hook{EpilogSlurmctld, j.spec, st}})
	}
	if st.EpilogPending {
		return
	}
	if flag(st, wire.StateFlag_FLAG_REQUEUED) {
		s.requeued(j)
		return
	}
	s.finish(j)
}

// finish makes an ended job final and accounts for it.
func (s *State) finish(j *job) {
	st := s.edit(j)
	st.Flags &^= uint32(wire.StateFlag_FLAG_COMPLETING | wire.StateFlag_FLAG_CONFIGURING)
	st.EndedAt = s.now
	s.account(j, st.State, st.Flags)
	j.arr.ended(st)
	s.count(st.State)
	s.mailEnd(j)
	s.moved(j)
	if j.arr != nil && j.arr.pending != nil {
		s.queue(j.arr.pending)
	}
}

func (s *State) count(as wire.BaseState) {
	switch as {
	case wire.BaseState_COMPLETED:
		s.stats.Completed++
	case wire.BaseState_CANCELLED:
		s.stats.Canceled++
	default:
		s.stats.Failed++
	}
}

// account writes the record of the attempt and ends its live steps.
func (s *State) account(j *job, as wire.BaseState, flags uint32) {
	st := cloneJobState(j.st)
	st.State, st.Flags = as, flags
	if st.WasCancelled || as == wire.BaseState_TIMEOUT || as == wire.BaseState_DEADLINE {
		st.ExitStatus = 0 // as sacct has it
	}
	rec := &wire.RunRecord{Spec: j.spec, State: st}
	if st.Attempt > 0 && (st.BatchStart != 0 || st.BatchEnded) && j.spec.Batch {
		rec.Steps = append(rec.Steps, batchStep(j.spec, st))
	}
	for _, n := range stepOrder(j.steps) {
		step := j.steps[n]
		if step.End == 0 {
			step = cloneStepState(step)
			step.End = s.now
			step.State = wire.BaseState_CANCELLED
			if step.ExitStatus == 0 {
				step.ExitStatus = int32(model.SignaledStatus(9))
			}
		}
		rec.Steps = append(rec.Steps, step)
		s.out.stepsGone = append(s.out.stepsGone, model.StepRef{Key: st.Key, Attempt: st.Attempt, Step: n})
	}
	j.steps, j.stepU, j.stepGres, j.stepEnd = nil, nil, nil, nil
	s.out.runs = append(s.out.runs, rec)
}

func stepOrder(m map[int32]*wire.StepState) []int32 {
	out := make([]int32, 0, len(m))
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// batchStep is the batch script as a step.
func batchStep(spec *wire.JobSpec, st *wire.JobState) *wire.StepState {
	b := &wire.StepState{
		JobKey: st.Key, Attempt: st.Attempt, Step: int32(wire.StepNumber_STEP_BATCH), Name: "batch",
		Start: st.BatchStart, End: st.BatchEnd, NumTasks: 1, ExitStatus: st.BatchExitStatus, Usage: st.Usage,
		SubmitLine: spec.SubmitLine,
	}
	if b.Start == 0 {
		b.Start = st.Start
	}
	if b.End == 0 {
		b.End = st.End
	}
	if len(st.Alloc) > 0 {
		b.Alloc = st.Alloc[:1]
		t := model.TRES{CPUs: uint64(st.Alloc[0].Cpus), Memory: st.Alloc[0].Mem, Nodes: 1}
		b.TresAlloc = t.String()
	}
	b.State = stepEndState(b.ExitStatus, st.State == wire.BaseState_OUT_OF_MEMORY)
	return b
}

// stepEndState is the state of a step that ended with the wait status.
func stepEndState(status int32, oom bool) wire.BaseState {
	switch {
	case oom:
		return wire.BaseState_OUT_OF_MEMORY
	case status == 0:
		return wire.BaseState_COMPLETED
	case model.ExitSignal(status) != 0:
		return wire.BaseState_CANCELLED
	}
	return wire.BaseState_FAILED
}

// endPending ends a job, or the unstarted tasks of an array, that never started.
func (s *State) endPending(j *job, as wire.BaseState, reason string) {
	s.dropDeps(j)
	st := s.edit(j)
	st.State = as
	if st.Start > s.now || st.Attempt == 0 {
		st.Start = 0
	}
	st.End, st.EndedAt = s.now, s.now
	if reason != "" {
		st.Reason = reason
	}
	st.Flags = 0
	s.account(j, as, 0)
	j.arr.note(st)
	if isArrayHead(j) && j.arr.pending == j {
		j.arr.pending = nil
	}
	s.count(as)
	s.mailEnd(j)
	s.moved(j)
}

// timeOut ends a job whose time is up.
func (s *State) timeOut(j *job) {
	as, reason := wire.BaseState_TIMEOUT, model.ReasonTimeLimit
	if j.spec.Deadline > 0 && s.now >= j.spec.Deadline {
		as, reason = wire.BaseState_DEADLINE, model.ReasonDeadLine
	}
	s.endRun(j, as, terminatedStatus, reason, terminateGently)
}

// warn sends the signal of --signal.
func (s *State) warn(j *job) {
	s.edit(j).SignalSent = s.now
	o := &wire.SignalOrder{Key: j.st.Key, Attempt: j.st.Attempt, Signal: j.spec.Signal}
	if j.spec.SignalBatchOnly {
		o.Batch = true
	} else {
		o.AllSteps = true
	}
	s.signalNodes(j, o)
}

// signalNodes sends a signal to the nodes that it concerns.
func (s *State) signalNodes(j *job, o *wire.SignalOrder) {
	for i, n := range j.nodes {
		if i > 0 && o.Batch {
			return
		}
		if n.session != 0 && !j.st.Alloc[i].Released {
			s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Signal{Signal: o}})
		}
	}
}
