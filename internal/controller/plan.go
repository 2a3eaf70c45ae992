package controller

import (
	"slices"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// plan applies a part of a plan. A start whose job or nodes have changed since
// the snapshot is dropped; another pass will look.
func (s *State) plan(ev *PlanReady) {
	for i := range ev.Starts {
		if !s.start(&ev.Starts[i]) {
			s.wantPass()
		}
	}
	if ev.Last {
		for _, j := range s.touched {
			s.queue(j)
		}
		ev.reasons.add(s.passing.blocked, s.now)
		s.passing.reasons = ev.reasons
		s.out.reasons = ev.reasons
	}
}

// start lets a waiting job, or a task of an array, begin.
func (s *State) start(p *sched.Start) bool {
	head := s.jobs[p.Key]
	if head == nil || !waits(head.st) || head.pos < 0 {
		return false
	}
	if g := head.st.Generation; g != p.Generation && !(head.planned.from == p.Generation && head.planned.now == g) {
		return false
	}
	nodes := s.free(p, head)
	if nodes == nil {
		return false
	}
	if isArrayHead(head) && len(s.jobs) >= s.set.MaxJobCount && head.tasks.Count() > 1 {
		return false
	}
	j := s.takeTask(head)
	if j == nil {
		return false
	}
	if j != head {
		s.lookAtDeps(head) // fewer tasks are left to wait
		head.planned = planMark{p.Generation, head.st.Generation}
	}
	s.allocate(j, p, nodes)
	s.begin(j)
	return true
}

// free checks that everything that a start would hold is free, and gives its nodes.
func (s *State) free(p *sched.Start, j *job) []*node {
	sole := j.spec.Exclusive == wire.Exclusive_EXCL_NODE || soleIn(s.partBy[p.Partition])
	out := make([]*node, 0, len(p.Alloc))
	for _, a := range p.Alloc {
		n := s.nodeBy[a.Node]
		if n == nil || slices.Contains(out, n) {
			return nil
		}
		h := s.held(n)
		if !h.Usable || h.Sole || sole && h.Jobs > 0 {
			return nil
		}
		for _, c := range a.Core {
			if h.Held.Has(int(c)) || int(c) >= h.Sockets*h.CoresPerSocket {
				return nil
			}
		}
		if s.set.Pass.SelectMemory && h.HeldMem+a.Mem > h.Memory || !devicesFree(h.Gres, a.Gres) {
			return nil
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func devicesFree(sets []sched.Gres, want []*wire.GresAlloc) bool {
	for _, w := range want {
		i := slices.IndexFunc(sets, func(g sched.Gres) bool { return g.Name == w.Name && g.Type == w.Type })
		if i < 0 || sets[i].HeldCount+w.Count > sets[i].Count {
			return false
		}
		for _, idx := range w.Index {
			k := slices.Index(sets[i].Index, idx)
			if k < 0 || sets[i].Held[k] {
				return false
			}
		}
	}
	return true
}

// allocate gives the job what the plan says.
func (s *State) allocate(j *job, p *sched.Start, nodes []*node) {
	st := s.edit(j)
	j.copiedAll = s.seq
	st.Alloc = make([]*wire.NodeAlloc, len(p.Alloc))
	for i, a := range p.Alloc {
		st.Alloc[i] = cloneNodeAlloc(a)
	}
	j.nodes = nodes
	j.stage = make([]wire.RunStage, len(nodes))
	for _, n := range nodes {
		n.jobs = append(n.jobs, j)
		s.changedHold(n)
	}
	st.Partition = p.Partition
	st.NumCpus, st.NumNodes = p.NumCPUs, uint32(len(nodes))
	st.BatchHost = nodes[0].st.Name
	st.TresAlloc = s.tresAlloc(st.Alloc)
}

// changedHold has what is held on the node counted anew.
func (s *State) changedHold(n *node) {
	n.stale = true
	s.show(n)
}

// begin starts an attempt on the nodes that the job has been given.
func (s *State) begin(j *job) {
	s.dropDeps(j)
	st := s.edit(j)
	part := s.partBy[st.Partition]
	if j.spec.TimeLimit == 0 && part != nil && !st.PrioritySet {
		st.TimeLimit = limitIn(j.spec, part.info)
	}
	st.State = wire.BaseState_RUNNING
	st.Flags = uint32(wire.StateFlag_FLAG_CONFIGURING)
	st.Attempt++
	st.Start, st.End = s.now, s.expectedEnd(st, s.now)
	st.Reason, st.ReasonText, st.Dependency = "", "", ""
	st.ExitStatus, st.DerivedExitStatus = 0, 0
	st.SuspendedAt, st.SuspendedSecs, st.SignalSent = 0, 0, 0
	st.BatchEnded, st.BatchExitStatus, st.BatchStart, st.BatchEnd, st.Usage = false, 0, 0, 0, nil
	st.NextStep, st.EndedAt = 0, 0
	st.PrologStarted, st.PrologDone, st.EpilogPending = false, false, false
	j.arr.started()
	s.stats.Started++
	if s.set.HasPrologSlurmctld {
		st.PrologStarted = true
		s.effect(runHook{Hook{PrologSlurmctld, j.spec, st}})
	} else {
		s.launchAll(j)
	}
	s.mail(j, mailBegin)
	s.moved(j)
}

// expectedEnd is when the limit of a job that started then is used up.
func (s *State) expectedEnd(st *wire.JobState, start int64) int64 {
	if st.TimeLimit == Unlimited {
		return start + 365*86400
	}
	return start + int64(st.TimeLimit)*60 + st.SuspendedSecs
}

// launchAll sends the attempt to all of its nodes.
func (s *State) launchAll(j *job) {
	for i := range j.nodes {
		s.launch(j, i)
	}
}

// launch sends the attempt to its i-th node, unless it has it already. A node
// without a session is told when it registers.
func (s *State) launch(j *job, i int) {
	n := j.nodes[i]
	if n.session == 0 || j.stage[i] != wire.RunStage_STAGE_NONE {
		return
	}
	s.effect(sendLaunch{n.st.Name, n.session, s.runOrder(j, i)})
}

func (s *State) runOrder(j *job, i int) *wire.RunOrder {
	st := j.st
	n := j.nodes[i]
	return &wire.RunOrder{
		Key: st.Key, Attempt: st.Attempt, Restarts: st.Restarts, JobId: st.JobId,
		ArrayJobId: st.ArrayJobId, IsArrayTask: st.IsArrayTask, ArrayTaskId: st.ArrayTaskId,
		ArrayTaskCount: st.ArrayTaskCount, ArrayTaskMin: st.ArrayTaskMin,
		ArrayTaskMax: st.ArrayTaskMax, ArrayTaskStep: st.ArrayTaskStep,
		Spec: j.spec, Partition: st.Partition, Alloc: st.Alloc,
		Node: n.st.Name, NodeIndex: uint32(i), BatchHost: i == 0,
		Start: st.Start, End: st.End,
		RunProlog: i == 0 || s.set.PrologAlloc, Contain: s.set.Contain,
		ClusterName: s.set.ClusterName, CpusPerCore: n.conf.ThreadsPerCore,
		TimeLimit: int64(st.TimeLimit), Account: j.spec.Account, Qos: j.spec.Qos, Licenses: j.spec.Licenses,
	}
}

// hookDone goes on after a hook of the controller.
func (s *State) hookDone(ev *HookDone) {
	j := s.jobs[ev.Key]
	if j == nil || j.st.Attempt != ev.Attempt {
		return
	}
	switch ev.Kind {
	case PrologSlurmctld:
		if !j.st.PrologStarted || j.st.PrologDone || !runs(j.st) {
			return
		}
		if ev.Failed != "" {
			s.logf(levelWarn, "PrologSlurmctld failed", "job", model.JobID(j.st), "error", ev.Failed)
			s.requeueRun(j, requeueHow{hold: true, reason: model.ReasonLaunchFailedRequeue, as: wire.BaseState_PENDING})
			return
		}
		s.edit(j).PrologDone = true
		s.launchAll(j)
	case EpilogSlurmctld:
		if ev.Failed != "" {
			s.logf(levelWarn, "EpilogSlurmctld failed", "job", model.JobID(j.st), "error", ev.Failed)
		}
		if j.st.EpilogPending {
			s.edit(j).EpilogPending = false
			s.allGone(j)
		}
	}
}

// launchLost handles a launch that could not be made up: nothing went to the node.
func (s *State) launchLost(ev *LaunchLost) {
	j := s.jobs[ev.Key]
	if j == nil || j.st.Attempt != ev.Attempt || !runs(j.st) {
		return
	}
	s.logf(levelError, "launch could not be made up", "job", model.JobID(j.st), "node", ev.Node, "error", ev.Why)
	s.endRun(j, wire.BaseState_FAILED, launchFailedStatus, model.ReasonLaunchFailure, terminateNow)
}
