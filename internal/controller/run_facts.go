package controller

import (
	"fmt"
	"slices"

	"muster/internal/model"
	"muster/internal/wire"
)

// report takes a fact about a run or a step.
func (s *State) report(ev *NodeReport) {
	n := s.nodeBy[ev.Node]
	if n == nil || n.session != ev.Session {
		return
	}
	switch {
	case ev.Run != nil:
		s.runFact(n, ev.Run, s.notGiven(ev.Run.Key))
	case ev.Step != nil:
		s.stepReport(n, ev.Step)
	}
}

// runFact takes what a node says of a run. Facts may come twice and late; only
// those about a job's present attempt count. future tells that the tables may
// be older than the run.
func (s *State) runFact(n *node, f *wire.RunFact, future bool) {
	j, i := s.present(n, f.Key, f.Attempt)
	if j == nil {
		s.stray(n, f, future)
		return
	}
	began := j.stage[i] >= wire.RunStage_STAGE_RUNNING || f.BatchStart != 0
	if f.Stage > j.stage[i] {
		j.stage[i] = f.Stage
	}
	if f.Stage >= wire.RunStage_STAGE_RUNNING {
		s.running(j, n, i)
	}
	for _, sf := range f.Steps {
		s.stepFact(j, n, sf)
	}
	if i == 0 {
		s.batchFact(j, f)
	}
	s.troubles(j, n, f, began)
	if f.Stage == wire.RunStage_STAGE_GONE {
		s.gone(j, n, i)
	}
}

// present finds the job of an attempt that holds something on the node.
func (s *State) present(n *node, key model.JobKey, attempt uint32) (*job, int) {
	j := s.jobs[key]
	if j == nil || j.st.Attempt != attempt {
		return nil, 0
	}
	i := slices.Index(j.nodes, n)
	if i < 0 || j.st.Alloc[i].Released {
		return nil, 0
	}
	return j, i
}

// running notes that the run has got through its prolog there.
func (s *State) running(j *job, n *node, i int) {
	if n.st.LaunchFailures > 0 && j.stage[i] < wire.RunStage_STAGE_GONE {
		s.editNode(n).LaunchFailures = 0
	}
	if i == 0 && runs(j.st) && flag(j.st, wire.StateFlag_FLAG_CONFIGURING) {
		s.edit(j).Flags &^= uint32(wire.StateFlag_FLAG_CONFIGURING)
		s.editAlloc(j, i).Stage = wire.RunStage_STAGE_RUNNING
	}
}

// batchFact takes the batch script's start and end.
func (s *State) batchFact(j *job, f *wire.RunFact) {
	if f.BatchStart != 0 && j.st.BatchStart == 0 {
		s.edit(j).BatchStart = f.BatchStart
	}
	if !f.BatchEnded || j.st.BatchEnded {
		return
	}
	st := s.edit(j)
	st.BatchEnded, st.BatchExitStatus = true, f.BatchExitStatus
	st.BatchEnd, st.Usage = f.BatchEnd, f.BatchUsage
	if f.BatchEnd == 0 {
		st.BatchEnd = s.now
	}
	if !runs(st) || f.UserFailure || f.Failure != "" || f.PrologFailed {
		return
	}
	s.batchEnded(j, f)
}

// batchEnded ends the job as its script has ended.
func (s *State) batchEnded(j *job, f *wire.RunFact) {
	status := f.BatchExitStatus
	code, sig := model.ExitCode(status), model.ExitSignal(status)
	switch {
	case f.Oom:
		s.edit(j).BatchExitStatus = outOfMemoryStatus
		s.endRun(j, wire.BaseState_OUT_OF_MEMORY, outOfMemoryStatus, model.ReasonOutOfMemory, terminateNow)
	case status == 0:
		s.endRun(j, wire.BaseState_COMPLETED, 0, "", terminateNow)
	case sig == 0 && s.set.RequeueExit[code]:
		s.requeueRun(j, requeueHow{as: wire.BaseState_PENDING})
	case sig == 0 && s.set.RequeueExitHold[code]:
		s.requeueRun(j, requeueHow{as: wire.BaseState_PENDING, hold: true, byUser: true, special: true})
	case sig != 0:
		s.endRun(j, wire.BaseState_FAILED, status, raisedSignal(sig), terminateNow)
	default:
		s.endRun(j, wire.BaseState_FAILED, status, model.ReasonNonZeroExitCode, terminateNow)
	}
}

var signalNames = map[int]string{
	1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction", 6: "Aborted", 7: "Bus error",
	8: "Floating point exception", 9: "Killed", 10: "User defined signal 1", 11: "Segmentation fault",
	12: "User defined signal 2", 13: "Broken pipe", 14: "Alarm clock", 15: "Terminated",
	24: "CPU time limit exceeded", 25: "File size limit exceeded", 31: "Bad system call",
}

func raisedSignal(sig int) string {
	name := signalNames[sig]
	if name == "" {
		name = fmt.Sprintf("Unknown signal %d", sig)
	}
	return fmt.Sprintf("RaisedSignal:%d(%s)", sig, name)
}

// troubles takes what went wrong on the node. began tells that the run had
// been launched there before: then it is lost, and the launch did not fail.
func (s *State) troubles(j *job, n *node, f *wire.RunFact, began bool) {
	if f.EpilogFailed {
		s.drain(n, reasonEpilog)
	}
	if f.KillFailed {
		s.drain(n, reasonKill)
	}
	switch {
	case f.PrologFailed && runs(j.st):
		s.drain(n, reasonProlog)
		how := requeueHow{as: wire.BaseState_NODE_FAIL, fresh: true, reason: model.ReasonLaunchFailedRequeue}
		how.hold, how.byUser = !s.set.NoHoldOnPrologFail, true
		s.edit(j).LaunchFailures++
		if most := s.set.MaxBatchRequeue; !how.hold && most > 0 && j.st.LaunchFailures > most {
			how.hold, how.byUser, how.reason = true, false, model.ReasonHoldMaxRequeue
		}
		s.requeueRun(j, how)
	case f.PrologFailed:
		s.drain(n, reasonProlog)
	case f.Failure == "" && !f.UserFailure || !runs(j.st):
	case f.UserFailure:
		s.logf(levelInfo, "job could not start", "job", model.JobID(j.st), "node", n.st.Name, "error", f.Failure)
		st := s.edit(j)
		if st.BatchStart == 0 {
			st.BatchStart = s.now
		}
		st.BatchEnded, st.BatchExitStatus, st.BatchEnd = true, launchFailedStatus, s.now
		s.endRun(j, wire.BaseState_FAILED, launchFailedStatus, model.ReasonLaunchFailure, terminateNow)
	case began:
		s.logf(levelError, "run is lost", "job", model.JobID(j.st), "node", n.st.Name, "error", f.Failure)
		s.loseRun(j, n)
	default:
		s.launchFailed(j, n, f.Failure)
	}
}

// gone: nothing of the run is left on the node.
func (s *State) gone(j *job, n *node, i int) {
	attempt := j.st.Attempt
	if i < len(j.nodes) && !j.st.Alloc[i].Released {
		lost := runs(j.st)
		s.release(j, i)
		if lost {
			s.logf(levelError, "run is gone without having ended", "job", model.JobID(j.st), "node", n.st.Name)
			s.loseRun(j, n)
		} else {
			s.allGone(j)
		}
	}
	s.ack(n, j.st.Key, attempt)
}

// stray is a run on a node that the tables do not have there.
type stray struct {
	fact  *wire.RunFact
	alone bool // unknown: an administrator decides
}

// stray handles a run that should not be on the node, or that is over here.
func (s *State) stray(n *node, f *wire.RunFact, future bool) {
	known := slices.IndexFunc(n.strays, func(o stray) bool { return o.fact.Key == f.Key && o.fact.Attempt == f.Attempt })
	if f.Stage == wire.RunStage_STAGE_GONE {
		if known >= 0 {
			n.strays = slices.Delete(n.strays, known, known+1)
			s.show(n)
			s.wantPass()
		}
		s.ack(n, f.Key, f.Attempt)
		return
	}
	if known >= 0 {
		n.strays[known].fact = f
		return
	}
	j := s.jobs[f.Key]
	o := stray{f, future || j != nil && f.Attempt > j.st.Attempt}
	n.strays = append(n.strays, o)
	s.show(n)
	if o.alone {
		s.holdStarted(j, n)
		s.logf(levelError, "unknown run left alone on node: adopt or kill it", "node", n.st.Name, "key", f.Key, "job_id", f.JobId, "attempt", f.Attempt)
		return
	}
	s.kill(n, f)
}

// holdStarted keeps a job that waits here from being started a second time
// beside the run of it that an unknown past has left on a node. An
// administrator releases it once that run has been dealt with.
func (s *State) holdStarted(j *job, n *node) {
	if j == nil || !waits(j.st) || j.st.Priority == 0 {
		return
	}
	s.logf(levelError, "job held: a later attempt of it is on a node already", "job", model.JobID(j.st), "node", n.st.Name)
	s.setHold(s.edit(j), false)
	s.moved(j)
}

// kill ends a run that the tables say is over.
func (s *State) kill(n *node, f *wire.RunFact) {
	o := &wire.Terminate{Key: f.Key, Attempt: f.Attempt, JobId: f.JobId, Now: true}
	s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: o}})
}

// ack lets the node forget a run.
func (s *State) ack(n *node, key model.JobKey, attempt uint32) {
	s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_RunAck{RunAck: &wire.RunAck{Key: key, Attempt: attempt}}})
}

// ackLost lets a node forget a run whose end the database refuses to store, so
// that it is not reported for ever.
func (s *State) ackLost(name string, f *wire.RunFact, x *executor) {
	n := s.nodeBy[name]
	if n == nil || n.session == 0 || f.Stage != wire.RunStage_STAGE_GONE {
		return
	}
	o := &wire.NodeOrder{Body: &wire.NodeOrder_RunAck{RunAck: &wire.RunAck{Key: f.Key, Attempt: f.Attempt}}}
	x.out.Send(n.st.Name, n.session, o)
}
