package controller

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// world is a small cluster in which every commit succeeds at once.
type world struct {
	t      testing.TB
	pump   *Pump
	now    int64
	sent   []string // orders, as text
	runs   map[string]map[runRef]*wire.RunOrder
	reply  map[uint64]any
	ticket uint64
	runLog []*wire.RunRecord
	hooks  []Hook
	mails  []Mail
	logs   []string
	batch  []*model.Batch
}

func testSettings(nodes int) *Settings {
	set := &Settings{
		ClusterName: "c", SlurmdTimeout: 300, MinJobAge: 300, MaxJobCount: 100000, MaxArraySize: 1001,
		FirstJobID: 1, MaxJobID: 1000000, KillWait: 30, JobRequeue: true, MaxBatchRequeue: 5,
		TRESGres: []string{"gpu"},
	}
	set.Pass.SelectCores, set.Pass.SelectMemory = true, true
	set.Pass.DefMemPerCPU = 100
	var names []string
	for i := range nodes {
		name := fmt.Sprintf("n%d", i+1)
		names = append(names, name)
		set.Nodes = append(set.Nodes, NodeSettings{
			Name: name, CPUs: 4, Boards: 1, Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1, RealMemory: 4000,
			Gres: "gpu:2", GresDevices: []GresSettings{{Name: "gpu", Count: 2, Index: []uint32{0, 1}}}, State: "UNKNOWN", Weight: 1,
		})
	}
	set.Partitions = []*wire.PartitionInfo{
		{Name: "debug", IsDefault: true, State: "UP", NodeNames: names, MaxTime: Unlimited, MaxNodes: Unlimited, PriorityTier: 1},
		{Name: "short", State: "UP", NodeNames: names, MaxTime: 60, MaxNodes: Unlimited, PriorityTier: 1},
	}
	return set
}

func newWorld(t testing.TB, set *Settings) *world {
	w := &world{t: t, now: 1000, runs: map[string]map[runRef]*wire.RunOrder{}, reply: map[uint64]any{}}
	var err error
	w.pump, err = NewPump(set, &model.Tables{ClusterID: "id", Generation: 1, Now: 1000}, w.now)
	require.NoError(t, err)
	w.flush()
	for i := range set.Nodes {
		w.register(set.Nodes[i].Name, uint64(i+1), "boot1")
	}
	return w
}

func (w *world) Send(node string, _ uint64, o *wire.NodeOrder) {
	var text string
	switch b := o.Body.(type) {
	case *wire.NodeOrder_Terminate:
		text = fmt.Sprintf("terminate %d.%d now=%v", b.Terminate.Key, b.Terminate.Attempt, b.Terminate.Now)
	case *wire.NodeOrder_RunAck:
		text = fmt.Sprintf("ack %d.%d", b.RunAck.Key, b.RunAck.Attempt)
	case *wire.NodeOrder_Signal:
		text = fmt.Sprintf("signal %d %d batch=%v", b.Signal.Key, b.Signal.Signal, b.Signal.Batch)
	case *wire.NodeOrder_Suspend:
		text = fmt.Sprintf("suspend %d resume=%v", b.Suspend.Key, b.Suspend.Resume)
	case *wire.NodeOrder_StepAck:
		text = fmt.Sprintf("stepack %d.%d", b.StepAck.Key, b.StepAck.Step)
	}
	w.sent = append(w.sent, node+": "+text)
}

func (w *world) Launch(node string, _ uint64, o *wire.RunOrder) {
	if w.runs[node] == nil {
		w.runs[node] = map[runRef]*wire.RunOrder{}
	}
	w.runs[node][runRef{o.Key, o.Attempt}] = o
	w.sent = append(w.sent, fmt.Sprintf("%s: launch %d.%d", node, o.Key, o.Attempt))
}

func (w *world) Registered(node string, _ uint64, why string) {
	if why != "" {
		w.sent = append(w.sent, node+": refused "+why)
	}
}
func (w *world) CloseSession(node string, _ uint64, why string) {
	w.sent = append(w.sent, node+": close "+why)
}
func (w *world) RunHook(h Hook) { w.hooks = append(w.hooks, h) }
func (w *world) Mail(m Mail)    { w.mails = append(w.mails, m) }

// feed applies an event and lets all that follows happen, passes left out.
func (w *world) feed(ev Event) {
	w.pump.Feed(ev, w.now)
	w.flush()
}

func (w *world) flush() {
	x := &executor{out: w, answer: func(t uint64, r any) { w.reply[t] = r }, log: func(l logLine) { w.logs = append(w.logs, l.msg) }}
	for {
		b, ok := w.pump.Next()
		if !ok {
			return
		}
		if b != nil {
			w.batch = append(w.batch, b)
			w.runLog = append(w.runLog, b.Runs...)
			for _, r := range b.Runs {
				require.NotZero(w.t, r.State.End)
			}
		}
		for _, e := range w.pump.Committed() {
			e.do(x)
		}
		w.pump.wake()
	}
}

// pass runs one pass and applies its plan.
func (w *world) pass() *sched.Plan {
	shot := w.pump.State().Shoot()
	plan := sched.Run(shot.Snapshot())
	w.feed(&PlanReady{Starts: plan.Starts, Last: true, reasons: newReasons(shot.old, plan, shot.blocked, w.now)})
	return plan
}

func (w *world) do(ev Event) any {
	w.ticket++
	ev.(request).head().ticket = w.ticket
	w.feed(ev)
	return w.reply[w.ticket]
}

func (w *world) submit(change func(*wire.JobSpec)) *wire.SubmitReply {
	spec := &wire.JobSpec{Name: "job", Uid: 1000, Batch: true, NumTasks: 1}
	if change != nil {
		change(spec)
	}
	return w.do(&Submit{Head: Head{Actor: Actor{UID: spec.Uid}}, Spec: spec}).(*wire.SubmitReply)
}

// queued submits a job that must be accepted.
func (w *world) queued(change func(*wire.JobSpec)) uint32 {
	r := w.submit(change)
	require.Nil(w.t, r.Refusal)
	return r.JobId
}

func (w *world) register(node string, session uint64, boot string, runs ...*wire.RunFact) {
	w.feed(&NodeRegister{Node: node, Session: session, Register: &wire.Register{
		Node: node, BootId: boot, Runs: runs, Addr: node + ":6818",
		Inventory: &wire.Inventory{
			Cpus: 4, Boards: 1, Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1, RealMemory: 4000,
			Gres: []*wire.GresDevice{{Name: "gpu", Index: 0}, {Name: "gpu", Index: 1}},
		},
	}})
}

func (w *world) session(node string) uint64 { return w.pump.State().nodeBy[node].session }

func (w *world) fact(node string, f *wire.RunFact) {
	w.feed(&NodeReport{Node: node, Session: w.session(node), Run: f})
}

func (w *world) job(id uint32) *JobView {
	j, ok := w.pump.View().ByID(id)
	require.True(w.t, ok, "job %d", id)
	return j
}

// state is the job's state with its flags and reason, for comparison.
func (w *world) state(id uint32) string {
	j := w.job(id)
	s := model.BaseName(j.State.State).Long
	for _, f := range []string{"COMPLETING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"} {
		if fl, _ := model.FlagOf(f); flag(j.State, fl) {
			s += "+" + f
		}
	}
	return s + " " + w.pump.View().Derived(j).Reason
}

// run lets a started job get to its script.
func (w *world) running(id uint32) {
	j := w.job(id)
	for _, a := range j.State.Alloc {
		w.fact(a.Node, &wire.RunFact{Key: j.State.Key, Attempt: j.State.Attempt, Stage: wire.RunStage_STAGE_RUNNING, BatchStart: w.now})
	}
}

// exit ends the job's script with a wait status.
func (w *world) exit(id uint32, status int32) {
	j := w.job(id)
	w.fact(j.State.BatchHost, &wire.RunFact{
		Key: j.State.Key, Attempt: j.State.Attempt, Stage: wire.RunStage_STAGE_ENDED,
		BatchEnded: true, BatchExitStatus: status, BatchStart: w.now, BatchEnd: w.now,
	})
}

// gone has every node of the job say that nothing is left.
func (w *world) gone(id uint32) {
	j := w.job(id)
	for _, a := range j.State.Alloc {
		w.fact(a.Node, &wire.RunFact{Key: j.State.Key, Attempt: j.State.Attempt, Stage: wire.RunStage_STAGE_GONE})
	}
}

func (w *world) tick(secs int64) {
	w.now += secs
	w.feed(&Tick{})
}

// whole runs a job to its end.
func (w *world) whole(id uint32, status int32) {
	w.running(id)
	w.exit(id, status)
	w.gone(id)
}

func TestClonesHaveEveryField(t *testing.T) {
	for _, m := range []proto.Message{&wire.JobState{}, &wire.JobSpec{}, &wire.NodeAlloc{}, &wire.StepState{}, &wire.NodeState{}, &wire.PartitionInfo{}} {
		fillMessage(m.ProtoReflect())
		var c proto.Message
		switch m := m.(type) {
		case *wire.JobState:
			c = cloneJobState(m)
		case *wire.JobSpec:
			c = cloneJobSpec(m)
		case *wire.NodeAlloc:
			c = cloneNodeAlloc(m)
		case *wire.StepState:
			c = cloneStepState(m)
		case *wire.NodeState:
			c = cloneNodeState(m)
		case *wire.PartitionInfo:
			c = clonePart(m)
		}
		require.True(t, proto.Equal(m, c), "%T", m)
	}
}
