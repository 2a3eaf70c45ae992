package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/wire"
)

func TestLifeOfAJob(t *testing.T) {
	w := newWorld(t, testSettings(2))
	id := w.queued(nil)
	require.Equal(t, uint32(1), id)
	require.Equal(t, "PENDING None", w.state(id))
	w.pass()
	require.Equal(t, "RUNNING+CONFIGURING None", w.state(id))
	require.Contains(t, w.sent, "n1: launch 1.1")
	w.running(id)
	require.Equal(t, "RUNNING None", w.state(id))
	w.exit(id, 0)
	require.Equal(t, "COMPLETED+COMPLETING None", w.state(id))
	require.Contains(t, w.sent, "n1: terminate 1.1 now=true")
	require.Empty(t, w.runLog)
	n, _ := w.pump.View().Node("n1")
	require.True(t, n.Completing)
	require.Zero(t, n.AllocCPUs, "what a completing job still holds is shown as COMPLETING alone")
	w.gone(id)
	require.Equal(t, "COMPLETED None", w.state(id))
	require.Contains(t, w.sent, "n1: ack 1.1")
	n, _ = w.pump.View().Node("n1")
	require.Zero(t, n.AllocCPUs)
	require.Len(t, w.runLog, 1)
	require.Len(t, w.runLog[0].Steps, 1)
	require.Equal(t, "batch", w.runLog[0].Steps[0].Name)
	w.tick(299)
	w.job(id)
	w.tick(1)
	_, ok := w.pump.View().ByID(id)
	require.False(t, ok)
	require.Zero(t, w.pump.View().JobCount())
}

func TestHowJobsEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    func(w *world, id uint32)
		state  string
		exit   string
		record string
		batch  string
	}{
		{"exit 3", func(w *world, id uint32) { w.exit(id, 3<<8) }, "FAILED NonZeroExitCode", "3:0", "3:0", "FAILED 3:0"},
		{"killed", func(w *world, id uint32) { w.exit(id, 9) }, "FAILED RaisedSignal:9(Killed)", "0:9", "0:9", "CANCELLED 0:9"},
		{"scancel", func(w *world, id uint32) { w.cancel(id); w.exit(id, 15) }, "CANCELLED None", "0:15", "0:0", "CANCELLED 0:15"},
		{"time limit", func(w *world, id uint32) { w.tick(600); w.exit(id, 15) }, "TIMEOUT TimeLimit", "0:15", "0:0", "CANCELLED 0:15"},
		{"output not writable", func(w *world, id uint32) {
			j := w.job(id)
			w.fact("n1", &wire.RunFact{Key: j.State.Key, Attempt: 1, Stage: wire.RunStage_STAGE_ENDED, Failure: "x", UserFailure: true})
		}, "FAILED JobLaunchFailure", "0:53", "0:53", "CANCELLED 0:53"},
		{"out of memory", func(w *world, id uint32) {
			j := w.job(id)
			w.fact("n1", &wire.RunFact{Key: j.State.Key, Attempt: 1, Stage: wire.RunStage_STAGE_ENDED, BatchEnded: true, BatchExitStatus: 9, Oom: true})
		}, "OUT_OF_MEMORY OutOfMemory", "0:125", "0:125", "OUT_OF_MEMORY 0:125"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, testSettings(1))
			id := w.queued(func(s *wire.JobSpec) { s.TimeLimit = 10 })
			w.pass()
			w.running(id)
			c.end(w, id)
			w.gone(id)
			require.Equal(t, c.state, w.state(id))
			require.Equal(t, c.exit, model.ExitText(w.job(id).State.ExitStatus))
			rec := w.runLog[len(w.runLog)-1]
			require.Equal(t, c.record, model.ExitText(rec.State.ExitStatus))
			b := rec.Steps[0]
			require.Equal(t, c.batch, model.BaseName(b.State).Long+" "+model.ExitText(b.ExitStatus))
		})
	}
}

func (w *world) cancel(id uint32) *wire.JobOutcomes {
	return w.do(&Signal{Head: Head{Actor: Actor{UID: 1000}}, Request: &wire.SignalRequest{
		Cancel: true, Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: id}}},
	}}).(*wire.JobOutcomes)
}

func (w *world) act(verb wire.JobVerb, id uint32, a Actor) *wire.Refusal {
	r := w.do(&JobAction{Head: Head{Actor: a}, Request: &wire.JobActionRequest{Verb: verb, Jobs: []*wire.JobRef{{JobId: id}}}}).(*wire.JobOutcomes)
	return r.Jobs[0].Refusal
}

var root = Actor{Operator: true, Admin: true}
var owner = Actor{UID: 1000}

func TestCancelPending(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(nil)
	require.Equal(t, errDenied.Message, w.do(&Signal{Head: Head{Actor: Actor{UID: 7}}, Request: &wire.SignalRequest{
		Cancel: true, Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: id}}}}}).(*wire.JobOutcomes).Jobs[0].Refusal.Message)
	w.cancel(id)
	require.Equal(t, "CANCELLED None", w.state(id))
	require.Equal(t, uint32(1000), w.runLog[0].State.CancelledBy)
	require.Zero(t, w.runLog[0].State.Start)
	require.Equal(t, errDone.Message, w.cancel(id).Jobs[0].Refusal.Message)
	require.Equal(t, errJobID.Message, w.cancel(77).Jobs[0].Refusal.Message)
}

func TestHoldAndRelease(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(func(s *wire.JobSpec) { s.Hold = true })
	require.Equal(t, "PENDING JobHeldUser", w.state(id))
	require.Empty(t, w.pass().Starts)
	require.Nil(t, w.act(wire.JobVerb_VERB_RELEASE, id, owner))
	require.Equal(t, "PENDING None", w.state(id))
	require.Nil(t, w.act(wire.JobVerb_VERB_HOLD, id, root))
	require.Equal(t, "PENDING JobHeldAdmin", w.state(id))
	require.Equal(t, errDenied.Message, w.act(wire.JobVerb_VERB_RELEASE, id, owner).Message)
	require.Nil(t, w.act(wire.JobVerb_VERB_RELEASE, id, root))
	require.Len(t, w.pass().Starts, 1)
}

func TestRequeue(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(nil)
	w.pass()
	w.running(id)
	require.Nil(t, w.act(wire.JobVerb_VERB_REQUEUE, id, owner))
	require.Equal(t, "PENDING+COMPLETING+REQUEUED None", w.state(id))
	require.Empty(t, w.pass().Starts)
	w.gone(id)
	require.Equal(t, "PENDING BeginTime", w.state(id))
	require.Len(t, w.runLog, 1)
	require.Equal(t, uint32(wire.StateFlag_FLAG_REQUEUED), w.runLog[0].State.Flags)
	w.tick(requeueDelay)
	w.pass()
	require.Equal(t, uint32(2), w.job(id).State.Attempt)
	require.Equal(t, uint32(1), w.job(id).State.Restarts)
	w.whole(id, 0)
	require.Equal(t, "COMPLETED None", w.state(id))
	require.Nil(t, w.act(wire.JobVerb_VERB_REQUEUE_HOLD, id, owner))
	require.Equal(t, "PENDING job requeued in held state", w.state(id))
}

func TestSuspendStopsTheClock(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(func(s *wire.JobSpec) { s.TimeLimit = 1 })
	w.pass()
	w.running(id)
	w.tick(30)
	require.Equal(t, errDenied.Message, w.act(wire.JobVerb_VERB_SUSPEND, id, owner).Message)
	require.Nil(t, w.act(wire.JobVerb_VERB_SUSPEND, id, root))
	w.tick(600)
	require.Equal(t, "SUSPENDED None", w.state(id))
	require.Nil(t, w.act(wire.JobVerb_VERB_RESUME, id, root))
	require.Equal(t, int64(600), w.job(id).State.SuspendedSecs)
	w.tick(29)
	require.Equal(t, "RUNNING None", w.state(id))
	w.tick(1)
	require.Equal(t, "TIMEOUT+COMPLETING TimeLimit", w.state(id))
}

func TestRepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	w := newWorld(t, testSettings(1))
	ask := func() *wire.SubmitReply {
		return w.do(&Submit{Head: Head{Actor: owner, ID: "abc"}, Spec: &wire.JobSpec{Name: "x", Uid: 1000, Batch: true}}).(*wire.SubmitReply)
	}
	require.Equal(t, ask().JobId, ask().JobId)
	require.Equal(t, 1, w.pump.View().JobCount())
}

func TestSubmitRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*wire.JobSpec)
		want   *wire.Refusal
	}{
		{"unknown partition", func(s *wire.JobSpec) { s.Partition = "nosuch" }, errPartition},
		{"array too large", func(s *wire.JobSpec) { s.Array = "0-1001" }, errArray},
		{"unknown node", func(s *wire.JobSpec) { s.Nodelist = "n7" }, errNodeName},
		{"bad dependency", func(s *wire.JobSpec) { s.Dependency = "foo:1" }, errDependency},
		{"more memory than a node has", func(s *wire.JobSpec) { s.MemKind, s.Mem = wire.MemKind_MEM_PER_NODE, 5000 }, errNodeConfig},
		{"more CPUs a task than a node has", func(s *wire.JobSpec) { s.CpusPerTask = 5 }, errNodeConfig},
		{"least time above the limit", func(s *wire.JobSpec) { s.TimeMin, s.TimeLimit = 10, 5 }, errTimeLimit},
		{"unknown device", func(s *wire.JobSpec) { s.GresPerNode = []*wire.GresRequest{{Name: "fpga", Count: 1}} }, errGres},
		{"unknown feature", func(s *wire.JobSpec) { s.Constraint = "fast" }, errFeature},
		{"more nodes than there are", func(s *wire.JobSpec) { s.MinNodes, s.NumTasks = 9, 9 }, nil},
		{"longer than the partition allows", func(s *wire.JobSpec) { s.Partition, s.TimeLimit = "short", 100 }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newWorld(t, testSettings(1)).submit(c.change)
			if c.want == nil {
				require.Nil(t, r.Refusal)
				return
			}
			require.NotNil(t, r.Refusal)
			require.Equal(t, c.want.Message, r.Refusal.Message)
		})
	}
}

func TestPartitionTimeLimitIsTold(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(func(s *wire.JobSpec) { s.Partition, s.TimeLimit = "short", 100 })
	w.pass()
	require.Equal(t, "PENDING PartitionTimeLimit", w.state(id))
}
