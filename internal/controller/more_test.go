package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/wire"
)

func TestArrayIsOneRecordUntilTasksStart(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(func(s *wire.JobSpec) { s.Array = "0-9%3" })
	require.Equal(t, 1, w.pump.View().JobCount())
	require.Equal(t, "1_[0-9%3]", model.JobID(w.job(id).State))
	w.pass()
	require.Equal(t, 4, w.pump.View().JobCount())
	require.Equal(t, "1_[3-9%3]", model.JobID(w.job(1).State))
	require.Equal(t, "1_0", model.JobID(w.job(2).State))
	require.Equal(t, "PENDING JobArrayTaskLimit", w.state(1))
	w.whole(2, 0)
	require.Equal(t, 1, len(w.pass().Starts))
	for range 20 {
		for j := range w.pump.View().Array(1) {
			if runs(j.State) {
				w.whole(j.State.JobId, 0)
			}
		}
		w.pass()
	}
	last := w.job(1) // the last task has the array's own number
	require.True(t, last.State.IsArrayTask)
	require.Equal(t, uint32(9), last.State.ArrayTaskId)
	require.Equal(t, "COMPLETED None", w.state(1))
	require.Len(t, w.runLog, 10)
	w.tick(1000)
	require.Zero(t, w.pump.View().JobCount())
	require.Empty(t, w.pump.state.arrays)
}

func TestCancelSomeTasks(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(func(s *wire.JobSpec) { s.Array = "0-9" })
	w.do(&Signal{Head: Head{Actor: owner}, Request: &wire.SignalRequest{Cancel: true,
		Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: id, Tasks: "3-5"}}}}})
	require.Equal(t, "1_[0-2,6-9]", model.JobID(w.job(id).State))
	require.Equal(t, "CANCELLED None", w.state(2))
	require.Equal(t, "1_3", model.JobID(w.job(2).State))
	w.cancel(id)
	require.Equal(t, "CANCELLED None", w.state(id))
	require.Empty(t, w.pass().Starts)
}

func TestDependencies(t *testing.T) {
	for _, c := range []struct {
		dep    string
		status int32
		before string // Dependency= before the end
		after  string
	}{
		{"afterok:1", 0, "afterok:1(unfulfilled)", "PENDING None"},
		{"afterok:1", 1 << 8, "afterok:1(unfulfilled)", "PENDING DependencyNeverSatisfied"},
		{"afternotok:1", 1 << 8, "afternotok:1(unfulfilled)", "PENDING None"},
		{"afternotok:1", 0, "afternotok:1(unfulfilled)", "PENDING DependencyNeverSatisfied"},
		{"afterany:1", 1 << 8, "afterany:1(unfulfilled)", "PENDING None"},
		{"1", 1 << 8, "afterany:1(unfulfilled)", "PENDING None"},
		{"afterok:99", 0, "", "PENDING None"},
		{"singleton", 0, "singleton(unfulfilled)", "PENDING None"},
		{"afterok:1?afternotok:1", 0, "afterok:1(unfulfilled)?afternotok:1(unfulfilled)", "PENDING None"},
		{"afterok:1,afternotok:1", 0, "afterok:1(unfulfilled),afternotok:1(unfulfilled)", "PENDING DependencyNeverSatisfied"},
	} {
		t.Run(c.dep, func(t *testing.T) {
			w := newWorld(t, testSettings(1))
			first := w.queued(nil)
			id := w.queued(func(s *wire.JobSpec) { s.Dependency = c.dep })
			require.Equal(t, c.before, w.job(id).State.Dependency)
			w.pass()
			if c.before != "" {
				require.Equal(t, "PENDING Dependency", w.state(id))
			} else {
				return
			}
			w.whole(first, c.status)
			require.Equal(t, c.after, w.state(id))
		})
	}
}

func TestAftercorrGoesTaskByTask(t *testing.T) {
	w := newWorld(t, testSettings(1))
	first := w.queued(func(s *wire.JobSpec) { s.Array = "0-2" })
	second := w.queued(func(s *wire.JobSpec) { s.Array, s.Dependency = "0-2", "aftercorr:1" })
	w.pass()
	require.Equal(t, "PENDING Dependency", w.state(second))
	for j := range w.pump.View().Array(first) {
		if j.State.ArrayTaskId == 1 {
			w.whole(j.State.JobId, 0)
		}
	}
	require.Len(t, w.pass().Starts, 1)
	require.Equal(t, "2_[0,2]", model.JobID(w.job(second).State))
}

func TestNodeGoesDownAndComesBack(t *testing.T) {
	set := testSettings(2)
	set.ReturnToService = 1
	w := newWorld(t, set)
	id := w.queued(nil)
	w.pass()
	w.running(id)
	w.feed(&NodeGone{Node: "n1", Session: w.session("n1"), Since: w.now})
	w.tick(299)
	require.Equal(t, "RUNNING None", w.state(id))
	n, _ := w.pump.View().Node("n1")
	require.True(t, nodeFlag(n.State, wire.NodeFlag_NF_NO_RESPOND))
	w.tick(1)
	require.Equal(t, "PENDING BeginTime", w.state(id))
	require.Equal(t, wire.BaseState_NODE_FAIL, w.runLog[0].State.State)
	n, _ = w.pump.View().Node("n1")
	require.Equal(t, wire.NodeBase_NODE_DOWN, n.State.Base)
	require.Equal(t, reasonNotResponding, n.State.Reason)
	w.tick(10)
	w.pass()
	require.Equal(t, "n2", w.job(id).State.BatchHost)
	// The old attempt is killed when the node is back; nothing starts beside it.
	w.register("n1", 9, "boot1", &wire.RunFact{Key: 1, Attempt: 1, JobId: id, Stage: wire.RunStage_STAGE_RUNNING})
	require.Contains(t, w.sent, "n1: terminate 1.1 now=true")
	ok, why := w.pump.state.usable(w.pump.state.nodeBy["n1"])
	require.False(t, ok)
	require.Equal(t, "CLEARING", why)
	w.fact("n1", &wire.RunFact{Key: 1, Attempt: 1, Stage: wire.RunStage_STAGE_GONE, BatchEnded: true})
	require.Contains(t, w.sent, "n1: ack 1.1")
	require.Equal(t, "RUNNING+CONFIGURING None", w.state(id))
	ok, _ = w.pump.state.usable(w.pump.state.nodeBy["n1"])
	require.True(t, ok)
}

func TestRegistrationReconciles(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(nil)
	w.pass()
	w.sent = nil
	// The launch was lost with the session: it is sent again.
	w.register("n1", 2, "boot1")
	require.Contains(t, w.sent, "n1: launch 1.1")
	// Acknowledged, and gone after: lost.
	w.running(id)
	w.register("n1", 3, "boot1")
	require.Equal(t, "PENDING BeginTime", w.state(id))
	require.Equal(t, "n1", w.job(id).State.FailedNode)
}

func TestRebootTakesTheNodeDown(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(nil)
	w.pass()
	w.running(id)
	w.register("n1", 2, "boot2")
	n, _ := w.pump.View().Node("n1")
	require.Equal(t, wire.NodeBase_NODE_DOWN, n.State.Base)
	require.Equal(t, reasonRebooted, n.State.Reason)
	require.Equal(t, "PENDING BeginTime", w.state(id))
}

func TestUnknownRunIsLeftAlone(t *testing.T) {
	w := newWorld(t, testSettings(1))
	w.sent = nil
	w.feed(&NodeRegister{Node: "n1", Session: 2, Register: &wire.Register{BootId: "boot1", HighestJob: 50, HighestJobId: 40,
		Runs: []*wire.RunFact{{Key: 50, Attempt: 1, JobId: 40, Stage: wire.RunStage_STAGE_RUNNING}}}})
	require.NotContains(t, w.sent, "n1: terminate 50.1 now=true")
	require.Equal(t, uint32(41), w.queued(nil), "numbers that the node has seen are not given again")
	require.Empty(t, w.pass().Starts, "what it holds is not given away")
	reply := w.do(&Adopt{Head: Head{Actor: root}, Argument: "kill n1 50"}).(*wire.AdminReply)
	require.Nil(t, reply.Refusal)
	require.Contains(t, w.sent, "n1: terminate 50.1 now=true")
}

// TestPendingJobThatRuns: tables from before a job's start must not start it twice.
func TestPendingJobThatRuns(t *testing.T) {
	w := newWorld(t, testSettings(2))
	id := w.queued(nil)
	key := w.job(id).State.Key
	w.sent = nil
	w.register("n1", 20, "boot1", &wire.RunFact{Key: int64(key), Attempt: 1, JobId: id, Stage: wire.RunStage_STAGE_RUNNING})
	require.Contains(t, w.state(id), "JobHeldAdmin")
	require.Empty(t, w.pass().Starts, "it runs already")
	for _, order := range w.sent {
		require.NotContains(t, order, "terminate")
	}
}

// TestUnknownRunsOfSeveralNodes: the node with the highest number registers
// first, and after it, and after a restart, one with a lower number.
func TestUnknownRunsOfSeveralNodes(t *testing.T) {
	w, session := newWorld(t, testSettings(2)), uint64(10)
	register := func(node string, key int64) {
		w.sent = nil
		session++
		w.feed(&NodeRegister{Node: node, Session: session, Register: &wire.Register{BootId: "boot1", HighestJob: uint64(key), HighestJobId: uint32(key),
			Runs: []*wire.RunFact{{Key: key, Attempt: 1, JobId: uint32(key), Stage: wire.RunStage_STAGE_RUNNING}}}})
		for _, order := range w.sent {
			require.NotContains(t, order, "terminate")
		}
	}
	register("n1", 50)
	id := w.queued(nil)
	require.Greater(t, w.job(id).State.Key, int64(60))
	register("n2", 40)
	register("n2", 40)
	require.Equal(t, id+1, w.queued(nil))
	reply := w.do(&Adopt{Head: Head{Actor: root}, Argument: "adopt"}).(*wire.AdminReply)
	require.Equal(t, []string{"Node=n1 Key=50 JobId=50 Attempt=1", "Node=n2 Key=40 JobId=40 Attempt=1"}, reply.Messages)
	n1, _ := w.pump.View().Node("n1")
	again, err := NewState(testSettings(2), &model.Tables{Nodes: []*wire.NodeState{n1.State}, Counters: model.Counters{NextKey: w.pump.State().nextKey}}, 0)
	require.NoError(t, err)
	require.True(t, again.notGiven(40))
	require.True(t, again.notGiven(50))
	require.False(t, again.notGiven(w.job(id).State.Key))
}

func TestLowResourcesDrain(t *testing.T) {
	set := testSettings(1)
	set.Nodes[0].RealMemory, set.Nodes[0].CPUs, set.Nodes[0].CoresPerSocket = 16000, 8, 8
	w := newWorld(t, set)
	n, _ := w.pump.View().Node("n1")
	require.Equal(t, "Low socket*core*thread count, Low CPUs, Low RealMemory (reported:4000 < 100.00% of configured:16000)", n.State.Reason)
	require.True(t, nodeFlag(n.State, wire.NodeFlag_NF_DRAIN))
	require.True(t, nodeFlag(n.State, wire.NodeFlag_NF_INVALID_REG))
}

func TestFailedLaunchGoesElsewhere(t *testing.T) {
	w := newWorld(t, testSettings(2))
	var ids []uint32
	for range 3 {
		ids = append(ids, w.queued(nil))
	}
	w.pass()
	for _, id := range ids {
		require.Equal(t, "n1", w.job(id).State.BatchHost)
		j := w.job(id).State
		w.fact("n1", &wire.RunFact{Key: j.Key, Attempt: j.Attempt, Stage: wire.RunStage_STAGE_GONE, Failure: "no space left on device"})
		require.Equal(t, "PENDING BeginTime", w.state(id))
	}
	n, _ := w.pump.View().Node("n1")
	require.Equal(t, "Launch failures: no space left on device", n.State.Reason)
	require.True(t, nodeFlag(n.State, wire.NodeFlag_NF_DRAIN))
	w.tick(5)
	w.pass()
	for _, id := range ids {
		require.Equal(t, "n2", w.job(id).State.BatchHost)
		require.Zero(t, w.job(id).State.Restarts)
	}
}

func TestPrologFailureHoldsTheJob(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(nil)
	w.pass()
	w.fact("n1", &wire.RunFact{Key: 1, Attempt: 1, Stage: wire.RunStage_STAGE_GONE, PrologFailed: true, Failure: "prolog"})
	require.Equal(t, "PENDING launch failed requeued held", w.state(id))
	n, _ := w.pump.View().Node("n1")
	require.Equal(t, reasonProlog, n.State.Reason)
	require.Nil(t, w.act(wire.JobVerb_VERB_RELEASE, id, owner))
}

func TestControllerHooks(t *testing.T) {
	set := testSettings(1)
	set.HasPrologSlurmctld, set.HasEpilogSlurmctld = true, true
	w := newWorld(t, set)
	id := w.queued(nil)
	w.pass()
	require.Len(t, w.hooks, 1)
	require.NotContains(t, w.sent, "n1: launch 1.1")
	w.feed(&HookDone{Kind: PrologSlurmctld, Key: 1, Attempt: 1})
	require.Contains(t, w.sent, "n1: launch 1.1")
	w.whole(id, 0)
	require.Len(t, w.hooks, 2)
	require.Equal(t, "COMPLETED+COMPLETING None", w.state(id))
	w.feed(&HookDone{Kind: EpilogSlurmctld, Key: 1, Attempt: 1})
	require.Equal(t, "COMPLETED None", w.state(id))
}

func TestSteps(t *testing.T) {
	w := newWorld(t, testSettings(2))
	id := w.queued(func(s *wire.JobSpec) { s.MinNodes, s.NumTasks, s.CpusPerTask = 2, 4, 1 })
	w.pass()
	w.running(id)
	step := func(change func(*wire.StepRequest)) *StepGrant {
		r := &wire.StepRequest{JobId: id, Name: "s", MemKind: wire.MemKind_MEM_PER_NODE}
		change(r)
		return w.do(&CreateStep{Head: Head{Actor: owner}, Request: r}).(*StepGrant)
	}
	whole := step(func(r *wire.StepRequest) { r.NumTasks = 4 })
	require.Nil(t, whole.Reply.Refusal)
	require.False(t, whole.Reply.Busy)
	require.Len(t, whole.Reply.Nodes, 2)
	require.Len(t, whole.Credential.Nodes, 2)
	require.True(t, step(func(r *wire.StepRequest) { r.NumTasks = 1 }).Reply.Busy)
	over := step(func(r *wire.StepRequest) { r.NumTasks, r.Overlap = 1, true })
	require.False(t, over.Reply.Busy)
	require.Equal(t, int32(1), over.Reply.Step)
	for i, n := range whole.Reply.Nodes {
		w.feed(&NodeReport{Node: n.Name, Session: w.session(n.Name), Step: &wire.StepReport{Key: 1, Attempt: 1,
			Step: &wire.StepFact{Step: 0, Ended: true, ExitStatus: int32(i) * 5 << 8}}})
	}
	steps := w.pump.View().Steps(1)
	require.Equal(t, wire.BaseState_FAILED, steps[0].State)
	require.Equal(t, int32(5<<8), w.job(id).State.DerivedExitStatus)
	exact := func() *StepGrant { return step(func(r *wire.StepRequest) { r.NumTasks, r.Exact = 1, true }) }
	for range 4 {
		g := exact()
		require.Nil(t, g.Reply.Refusal)
		require.False(t, g.Reply.Busy)
		require.Len(t, g.Credential.Nodes[0].Alloc.Core, 1)
	}
	require.True(t, exact().Reply.Busy)
	require.Equal(t, errStepCPUs.Message, step(func(r *wire.StepRequest) { r.NumTasks = 99 }).Reply.Refusal.Message)
	w.exit(id, 0)
	w.gone(id)
	require.Len(t, w.runLog[0].Steps, 7)
	require.Empty(t, w.pump.View().Steps(1))
}

func TestUpdates(t *testing.T) {
	w := newWorld(t, testSettings(2))
	id := w.queued(func(s *wire.JobSpec) { s.TimeLimit = 10 })
	set := func(a Actor, key, value string) *wire.Refusal {
		return w.do(&Update{Head: Head{Actor: a}, Request: &wire.UpdateRequest{Entity: "job", Target: "1",
			Fields: []*wire.FieldUpdate{{Key: key, Value: value}}}}).(*wire.UpdateReply).Refusal
	}
	require.Nil(t, set(owner, "TimeLimit", "5"))
	require.Nil(t, set(owner, "TimeLimit", "20"), "a waiting job's limit may be raised")
	require.Nil(t, set(owner, "TimeLimit", "5"))
	require.Nil(t, set(root, "TimeLimit", "+20"))
	require.Equal(t, uint32(25), w.job(id).State.TimeLimit)
	require.Nil(t, set(owner, "JobName", "new"))
	require.Equal(t, "new", w.job(id).Spec.Name)
	require.Nil(t, set(owner, "NumCPUs", "3"))
	require.Equal(t, uint32(3), w.job(id).State.NumCpus)
	require.Contains(t, set(owner, "MCSLabel", "x").Message, "not supported yet: MCSLabel")
	require.Nil(t, set(owner, "Switches", "1@5"))
	require.Equal(t, [2]uint32{1, 300}, [2]uint32{w.job(id).Spec.Switches, w.job(id).Spec.SwitchesWait})
	require.Nil(t, set(owner, "MailType", "END,FAIL"))
	require.Nil(t, set(owner, "TimeMin", "3"))
	require.NotNil(t, set(owner, "Contiguous", "yes"), "an operator's")
	require.Nil(t, set(owner, "MinTmpDiskNode", "1G"))
	require.Nil(t, set(owner, "ReqSockets", "1"))
	require.NotNil(t, set(owner, "CoreSpec", "1"), "an operator's")
	require.NotNil(t, set(owner, "MailType", "nosuch"))
	require.NotNil(t, set(owner, "DelayBoot", "x"))
	spec := w.job(id).Spec
	require.Equal(t, [4]uint32{6, 3, 1, 1024}, [4]uint32{spec.MailType, spec.TimeMin, spec.SocketsPerNode, uint32(spec.TmpDisk)})
	require.Nil(t, set(owner, "MinTmpDiskNode", "0"))
	require.Nil(t, set(owner, "ReqSockets", "0"))
	require.Nil(t, set(owner, "Partition", "short"))
	require.Nil(t, set(owner, "Priority", "0"))
	require.Equal(t, "PENDING JobHeldUser", w.state(id))

	node := func(fields ...*wire.FieldUpdate) *wire.Refusal {
		return w.do(&Update{Head: Head{Actor: root}, Request: &wire.UpdateRequest{Entity: "node", Target: "n[1-2]", Fields: fields}}).(*wire.UpdateReply).Refusal
	}
	require.NotNil(t, node(&wire.FieldUpdate{Key: "State", Value: "DRAIN"}))
	require.Nil(t, node(&wire.FieldUpdate{Key: "State", Value: "DRAIN"}, &wire.FieldUpdate{Key: "Reason", Value: "disk"}))
	n, _ := w.pump.View().Node("n2")
	require.Equal(t, "disk", n.State.Reason)
	w.pump.state.drain(w.pump.state.nodeBy["n2"], "automatic")
	require.Equal(t, "disk", w.pump.state.nodeBy["n2"].st.Reason)
	require.Nil(t, node(&wire.FieldUpdate{Key: "State", Value: "RESUME"}))
	n, _ = w.pump.View().Node("n2")
	require.Empty(t, n.State.Reason)

	r := w.do(&Update{Head: Head{Actor: root}, Request: &wire.UpdateRequest{Entity: "partition", Target: "short",
		Fields: []*wire.FieldUpdate{{Key: "State", Value: "DOWN"}}}}).(*wire.UpdateReply)
	require.Nil(t, r.Refusal)
	p, _ := w.pump.View().Partition("short")
	require.Equal(t, "DOWN", p.State)
	require.Equal(t, uint32(8), p.TotalCpus)
}

func TestReconfigureRefusesWhatIsInUse(t *testing.T) {
	w := newWorld(t, testSettings(2))
	w.queued(nil)
	w.pass()
	less := testSettings(2)
	less.Nodes = less.Nodes[1:]
	less.Partitions[0].NodeNames = []string{"n2"}
	less.Partitions[1].NodeNames = []string{"n2"}
	r := w.do(&Reconfigure{Head: Head{Actor: root}, Settings: less}).(*wire.AdminReply)
	require.Equal(t, "node n1 is in use by jobs 1", r.Refusal.Message)
	w.whole(1, 0)
	r = w.do(&Reconfigure{Head: Head{Actor: root}, Settings: less}).(*wire.AdminReply)
	require.Nil(t, r.Refusal)
	var names []string
	for n := range w.pump.View().Nodes() {
		names = append(names, n.Conf.Name)
	}
	require.Equal(t, []string{"n2"}, names)
	w.queued(nil)
	require.Len(t, w.pass().Starts, 1)
}
