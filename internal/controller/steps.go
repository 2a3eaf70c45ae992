package controller

import (
	"slices"

	"muster/internal/model"
	"muster/internal/wire"
)

// createStep gives an srun resources within its job.
func (s *State) createStep(ev *CreateStep) *StepGrant {
	req := ev.Request
	refuse := func(r *wire.Refusal) *StepGrant { return &StepGrant{Reply: &wire.StepReply{Refusal: r}} }
	j := s.stepJob(req)
	switch {
	case j == nil:
		return refuse(errJobID)
	case !ev.Actor.may(j.spec.Uid):
		return refuse(errDenied)
	case j.st.State == wire.BaseState_PENDING:
		return refuse(errPending)
	case !runs(j.st):
		return refuse(errDone)
	case j.st.State == wire.BaseState_SUSPENDED:
		return &StepGrant{Reply: &wire.StepReply{Busy: true}}
	}
	lay, r := s.layStep(j, req)
	if r != nil {
		grant := refuse(r)
		if lay != nil {
			grant.Reply.Messages = lay.messages
		}
		return grant
	}
	if lay == nil {
		return &StepGrant{Reply: &wire.StepReply{Busy: true}}
	}
	step := s.grantStep(j, req, lay)
	return s.grant(j, step, lay.ranks, lay.messages)
}

func (s *State) stepJob(req *wire.StepRequest) *job {
	if req.ArrayTaskSet {
		if a := s.arrays[req.JobId]; a != nil {
			return a.task(req.ArrayTask)
		}
		return nil
	}
	return s.byID[req.JobId]
}

// grantStep enters the step into the tables.
func (s *State) grantStep(j *job, req *wire.StepRequest, lay *stepLayout) *wire.StepState {
	st := s.edit(j)
	step := &wire.StepState{
		JobKey: st.Key, Attempt: st.Attempt, Step: int32(st.NextStep), Name: req.Name,
		State: wire.BaseState_RUNNING, Start: s.now, NumTasks: lay.tasks, Alloc: lay.alloc,
		SubmitLine: req.SubmitLine, Overlap: req.Overlap, TimeLimit: req.TimeLimit,
		CpusPerTask: req.CpusPerTask, Layout: lay.name, StdOut: req.StdOut, StdErr: req.StdErr,
		StdIn: req.StdIn, WorkDir: req.WorkDir, Host: req.Host, Pid: req.Pid,
	}
	if step.TimeLimit == 0 {
		step.TimeLimit = Unlimited
	}
	st.NextStep++
	t := model.TRES{Nodes: uint64(len(lay.alloc))}
	for _, a := range lay.alloc {
		t.CPUs += uint64(a.Cpus)
		t.Memory += a.Mem
		for _, g := range a.Gres {
			s.addGres(&t, g.Name, g.Type, g.Count)
		}
	}
	step.TresAlloc = t.String()
	s.addStep(j, step)
	if lay.gres {
		if j.stepGres == nil {
			j.stepGres = map[int32]bool{}
		}
		j.stepGres[step.Step] = true
	}
	return step
}

// grant makes the reply and the content of the credential.
func (s *State) grant(j *job, step *wire.StepState, ranks [][]uint32, messages []string) *StepGrant {
	reply := &wire.StepReply{
		Step: step.Step, Key: step.JobKey, Attempt: step.Attempt, Cluster: s.set.ClusterName,
		Job: &wire.JobInfo{Spec: j.spec, State: j.st}, Messages: messages,
	}
	cred := &wire.StepCredential{
		ClusterId: s.clusterID, Key: step.JobKey, Attempt: step.Attempt, Step: step.Step,
		JobId: j.st.JobId, Uid: j.spec.Uid, Gid: j.spec.Gid, Gids: j.spec.Gids, UserName: j.spec.UserName,
		NumTasks: step.NumTasks, ArrayJobId: j.st.ArrayJobId, IsArrayTask: j.st.IsArrayTask,
		ArrayTaskId: j.st.ArrayTaskId, StepName: step.Name, WorkDir: step.WorkDir, CpusPerTask: step.CpusPerTask,
	}
	for i, a := range step.Alloc {
		addr := ""
		if n := s.nodeBy[a.Node]; n != nil {
			addr = n.st.Addr
		}
		reply.Nodes = append(reply.Nodes, &wire.StepNode{Name: a.Node, Addr: addr, Tasks: a.Tasks, Ranks: ranks[i], Cpus: a.Cpus})
		cred.Nodes = append(cred.Nodes, &wire.StepNode2{Node: a.Node, Alloc: a, Ranks: ranks[i]})
	}
	return &StepGrant{Reply: reply, Credential: cred}
}

// regrant answers a repeat: the credential is made again while the step lives.
func (s *State) regrant(reply *wire.StepReply) *StepGrant {
	j := s.jobs[reply.Key]
	if j == nil || j.st.Attempt != reply.Attempt || j.steps[reply.Step] == nil {
		return &StepGrant{Reply: reply}
	}
	ranks := make([][]uint32, len(reply.Nodes))
	for i, n := range reply.Nodes {
		ranks[i] = n.Ranks
	}
	return s.grant(j, j.steps[reply.Step], ranks, reply.Messages)
}

// endStep ends a step that its srun has seen end or gives up.
func (s *State) endStep(ev *EndStep) *wire.UpdateReply {
	req := ev.Request
	j := s.jobs[req.Key]
	if j == nil || j.st.Attempt != req.Attempt || j.steps[req.Step] == nil {
		return &wire.UpdateReply{}
	}
	if !ev.Actor.may(j.spec.Uid) {
		return &wire.UpdateReply{Refusal: errDenied}
	}
	if step := j.steps[req.Step]; step.End == 0 {
		s.endStepOnNodes(j, step)
		if j.stepEnd == nil {
			j.stepEnd = map[int32]int64{}
		}
		j.stepEnd[req.Step] = s.now + int64(s.set.KillWait) + stepPatience
		s.rearm(j)
	}
	return &wire.UpdateReply{}
}

// endStepOnNodes has the nodes end what is left of a step.
func (s *State) endStepOnNodes(j *job, step *wire.StepState) {
	for _, a := range step.Alloc {
		n := s.nodeBy[a.Node]
		if n == nil || n.session == 0 || stepEndedOn(step, a.Node) {
			continue
		}
		o := &wire.Terminate{Key: j.st.Key, Attempt: j.st.Attempt, JobId: j.st.JobId, Step: step.Step, OneStep: true, KillWait: s.set.KillWait}
		s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: o}})
	}
}

func stepEndedOn(step *wire.StepState, node string) bool {
	return slices.ContainsFunc(step.NodeEnds, func(e *wire.StepNodeEnd) bool { return e.Node == node })
}

// stepPatience is how long after KillWait the nodes may take to report the end
// of a step that its srun has given up; one that no node has heard of would
// never be reported.
const stepPatience = 10

// stepsOverdue ends the given-up steps that nobody has reported in time.
func (s *State) stepsOverdue(j *job) {
	for _, num := range stepOrder(j.steps) {
		if at := j.stepEnd[num]; at == 0 || s.now < at {
			continue
		}
		delete(j.stepEnd, num)
		for _, a := range j.steps[num].Alloc {
			if n := s.nodeBy[a.Node]; n != nil && !stepEndedOn(j.steps[num], a.Node) {
				s.stepFact(j, n, &wire.StepFact{Step: num, Ended: true, End: s.now})
			}
		}
	}
}

// stepReport takes a report about one step and lets the node forget it.
func (s *State) stepReport(n *node, r *wire.StepReport) {
	if r.Step == nil {
		return
	}
	if j, _ := s.present(n, r.Key, r.Attempt); j != nil {
		s.stepFact(j, n, r.Step)
	}
	if r.Step.Ended {
		ack := &wire.StepAck{Key: r.Key, Attempt: r.Attempt, Step: r.Step.Step}
		s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_StepAck{StepAck: ack}})
	}
}

// stepFact takes what a node says of a step.
func (s *State) stepFact(j *job, n *node, f *wire.StepFact) {
	step := j.steps[f.Step]
	if step == nil {
		if f.Step != int32(wire.StepNumber_STEP_EXTERN) {
			return
		}
		step = s.externStep(j, f)
	}
	if step.End != 0 || stepEndedOn(step, n.st.Name) || !f.Ended {
		return
	}
	step = s.editStep(j, f.Step)
	step.Usage = addUsage(step.Usage, f.Usage)
	if f.Start != 0 && f.Start < step.Start {
		step.Start = f.Start
	}
	step.NodeEnds = append(slices.Clone(step.NodeEnds), &wire.StepNodeEnd{Node: n.st.Name, ExitStatus: f.ExitStatus})
	step.ExitStatus = worse(step.ExitStatus, f.ExitStatus)
	if f.Oom {
		step.ExitStatus = outOfMemoryStatus
	}
	if len(step.NodeEnds) < len(step.Alloc) {
		return
	}
	delete(j.stepEnd, step.Step)
	step.End = s.now
	if f.End != 0 {
		step.End = f.End
	}
	step.State = stepEndState(step.ExitStatus, step.ExitStatus == outOfMemoryStatus)
	if step.KilledBy != 0 {
		step.State = wire.BaseState_CANCELLED
	}
	if step.Step >= 0 && worse(j.st.DerivedExitStatus, step.ExitStatus) != j.st.DerivedExitStatus {
		s.edit(j).DerivedExitStatus = step.ExitStatus
	}
}

// externStep is the step that holds what runs outside of steps (PrologFlags=Contain).
func (s *State) externStep(j *job, f *wire.StepFact) *wire.StepState {
	step := &wire.StepState{
		JobKey: j.st.Key, Attempt: j.st.Attempt, Step: f.Step, Name: "extern", State: wire.BaseState_RUNNING,
		Start: f.Start, NumTasks: uint32(len(j.st.Alloc)), Alloc: j.st.Alloc, TresAlloc: j.st.TresAlloc, Overlap: true,
	}
	if step.Start == 0 {
		step.Start = j.st.Start
	}
	s.addStep(j, step)
	return step
}

// worse is the status that stands for both: the higher exit code, signals last.
func worse(a, b int32) int32 {
	if model.ShellCode(b) > model.ShellCode(a) {
		return b
	}
	return a
}

// addUsage joins what several nodes measured of one step.
func addUsage(a, b *wire.Usage) *wire.Usage {
	switch {
	case b == nil:
		return a
	case a == nil:
		return b
	}
	out := &wire.Usage{
		UserUsec: a.UserUsec + b.UserUsec, SystemUsec: a.SystemUsec + b.SystemUsec,
		MaxRss: max(a.MaxRss, b.MaxRss), MaxVmsize: max(a.MaxVmsize, b.MaxVmsize), MaxPages: max(a.MaxPages, b.MaxPages),
		MaxDiskRead: max(a.MaxDiskRead, b.MaxDiskRead), MaxDiskWrite: max(a.MaxDiskWrite, b.MaxDiskWrite),
		MaxRssNode: a.MaxRssNode, MaxRssTask: a.MaxRssTask,
		MinCpuUsec: a.MinCpuUsec, MinCpuNode: a.MinCpuNode, MinCpuTask: a.MinCpuTask,
		Tasks: a.Tasks + b.Tasks,
	}
	if b.MaxRss > a.MaxRss {
		out.MaxRssNode, out.MaxRssTask = b.MaxRssNode, b.MaxRssTask
	}
	if b.MinCpuUsec < a.MinCpuUsec {
		out.MinCpuUsec, out.MinCpuNode, out.MinCpuTask = b.MinCpuUsec, b.MinCpuNode, b.MinCpuTask
	}
	if n := uint64(out.Tasks); n > 0 {
		out.AveRss = (a.AveRss*uint64(a.Tasks) + b.AveRss*uint64(b.Tasks)) / n
		out.AveVmsize = (a.AveVmsize*uint64(a.Tasks) + b.AveVmsize*uint64(b.Tasks)) / n
		out.AveCpuUsec = (a.AveCpuUsec*uint64(a.Tasks) + b.AveCpuUsec*uint64(b.Tasks)) / n
	}
	return out
}
