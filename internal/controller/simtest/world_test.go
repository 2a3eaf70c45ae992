package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// world is a cluster, its database and all that can go wrong.
type world struct {
	rnd      *rand.Rand
	faults   bool
	now      int64
	pump     *controller.Pump
	set      *controller.Settings
	nodes    []*simNode
	sessions uint64
	shot     *controller.Shot
	parts    []*controller.PlanReady
	ticket   uint64
	asked    map[uint64]*controller.Submit
	problem  string

	// The database.
	tables  *model.Tables
	jobs    map[int64]model.JobPut
	rows    map[string]*wire.NodeState
	history map[ref]*wire.RunRecord
	batch   *model.Batch // in flight
	waiting bool         // something without rows is in flight

	acked  map[int64]bool // job keys that a client was told
	starts map[ref]string // batch scripts that were started, and where
	replay []controller.Event
	hooks  []controller.Event // that will end

	launches []*wire.RunOrder // sent; an order carries its place here
}

func newWorld(seed uint64) *world {
	w := &world{
		rnd: rand.New(rand.NewPCG(seed, 1)), faults: true, now: 1000, asked: map[uint64]*controller.Submit{},
		jobs: map[int64]model.JobPut{}, rows: map[string]*wire.NodeState{}, history: map[ref]*wire.RunRecord{},
		acked: map[int64]bool{}, starts: map[ref]string{},
	}
	w.tables = &model.Tables{ClusterID: "id", Generation: 1}
	w.set = &controller.Settings{
		ClusterName: "sim", SlurmdTimeout: 60, MinJobAge: 100000, MaxJobCount: 10000, MaxArraySize: 1001, FirstJobID: 1,
		MaxJobID: 100000, KillWait: 5, JobRequeue: true, MaxBatchRequeue: 1000, ReturnToService: 2,
		HasEpilogSlurmctld: w.rnd.IntN(2) == 0, HasPrologSlurmctld: w.rnd.IntN(2) == 0,
	}
	w.set.Pass.SelectCores, w.set.Pass.SelectMemory, w.set.Pass.DefMemPerCPU = true, true, 100
	var names []string
	for i := range 2 + w.rnd.IntN(3) {
		name := fmt.Sprintf("n%d", i)
		names = append(names, name)
		w.set.Nodes = append(w.set.Nodes, controller.NodeSettings{
			Name: name, CPUs: 4, Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1, RealMemory: 1000, State: "UNKNOWN",
			Gres: "gpu:2", GresDevices: []controller.GresSettings{{Name: "gpu", Count: 2, Index: []uint32{0, 1}}},
		})
		w.nodes = append(w.nodes, &simNode{w: w, name: name, runs: map[ref]*simRun{}})
	}
	w.set.Partitions = []*wire.PartitionInfo{{Name: "p", IsDefault: true, State: "UP", NodeNames: names, MaxTime: controller.Unlimited, MaxNodes: controller.Unlimited}}
	w.boot()
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

// boot starts a controller from the tables; sessions and what was in memory are gone.
func (w *world) boot() {
	for _, n := range w.nodes {
		n.session, n.in, n.out = 0, nil, nil
	}
	w.batch, w.waiting, w.shot, w.parts, w.replay, w.hooks = nil, false, nil, nil, nil, nil
	clear(w.asked)
	p, err := controller.NewPump(w.set, w.load(), w.now)
	if err != nil {
		w.fail("load: %v", err)
		return
	}
	w.pump = p
}

func (w *world) load() *model.Tables {
	t := *w.tables
	t.Now = w.now
	for _, k := range sortedKeys(w.jobs) {
		t.Jobs = append(t.Jobs, w.jobs[k])
	}
	for _, n := range w.nodes {
		if st := w.rows[n.name]; st != nil {
			t.Nodes = append(t.Nodes, st)
		}
	}
	return &t
}

func sortedKeys(m map[int64]model.JobPut) []int64 {
	var out []int64
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// write is the database's part of a commit.
func (w *world) write(b *model.Batch) {
	if b.Number != w.tables.LastBatch+1 {
		w.fail("batch %d after %d", b.Number, w.tables.LastBatch)
	}
	w.tables.LastBatch = b.Number
	for _, j := range b.Jobs {
		old := w.jobs[j.State.Key]
		if j.Spec == nil {
			j.Spec = old.Spec
		}
		if j.Spec == nil {
			w.fail("job %d without a request", j.State.Key)
		}
		if old.State != nil && j.State.Attempt < old.State.Attempt {
			w.fail("job %d goes back to attempt %d", j.State.Key, j.State.Attempt)
		}
		if model.Ended(j.State.State) && j.State.End == 0 {
			w.fail("job %d ended without a time", j.State.Key)
		}
		w.jobs[j.State.Key] = j
	}
	for _, k := range b.Purged {
		delete(w.jobs, k)
	}
	for _, r := range b.Runs {
		w.history[ref{r.State.Key, r.State.Attempt}] = r
	}
	for _, n := range b.Nodes {
		w.rows[n.Name] = n
	}
	if b.Counters != (model.Counters{}) {
		w.tables.Counters = b.Counters
	}
}

// toController feeds an event, when the reducer takes one.
func (w *world) toController(ev controller.Event) {
	if len(w.replay) > 0 {
		w.replay = append(w.replay, ev) // behind what is repeated
		return
	}
	for w.pump.Full() {
		w.commit()
	}
	w.pump.Feed(ev, w.now)
}

// commit moves the batch in flight one step on, or puts one in flight.
func (w *world) commit() {
	if w.batch == nil && !w.waiting {
		b, ok := w.pump.Next()
		if !ok {
			w.repeat()
			return
		}
		w.batch, w.waiting = b, b == nil
	}
	if w.waiting {
		w.land()
		return
	}
	fate := 0
	if w.faults {
		fate = w.rnd.IntN(30)
	}
	switch {
	case fate == 1: // retry
	case fate == 2: // unknown, and not written: the lease row says so, it is sent again
	case fate == 3: // unknown, and written
		w.write(w.batch)
		w.land()
	case fate == 4: // refused
		w.refuse()
	default:
		w.write(w.batch)
		w.land()
	}
}

func (w *world) land() {
	w.batch, w.waiting = nil, false
	w.pump.Release(w, w.answered)
	w.repeat()
}

// refuse has the database refuse a batch; what it refuses alone it takes the next time.
func (w *world) refuse() {
	bad, later := w.pump.Refused()
	w.batch, w.shot, w.parts = nil, nil, nil
	if err := w.pump.Replace(w.load(), w.now); err != nil {
		w.fail("load after a refusal: %v", err)
	}
	var again []controller.Event
	for _, ev := range append(bad, later...) {
		if _, isPlan := ev.(*controller.PlanReady); !isPlan {
			again = append(again, ev)
		}
	}
	w.replay = append(again, w.replay...)
	w.repeat()
}

func (w *world) repeat() {
	if len(w.replay) > 0 && !w.pump.Full() && w.batch == nil {
		ev := w.replay[0]
		w.replay = w.replay[1:]
		w.pump.Feed(ev, w.now)
	}
}

// answered checks that a client is told only what is durable.
func (w *world) answered(ticket uint64, reply any) {
	if r, ok := reply.(*wire.SubmitReply); ok && r.Refusal == nil {
		if _, there := w.jobs[r.Key]; !there {
			w.fail("job %d was acknowledged and is not in the tables", r.Key)
		}
		w.acked[r.Key] = true
	}
}

func (w *world) node(name string) *simNode {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *simNode) bool { return n.name == name })]
}

// Send, Launch and the rest are the effects; each checks that what it stands
// on is in the tables.
func (w *world) Send(name string, session uint64, o *wire.NodeOrder) {
	if n := w.node(name); n.session == session {
		n.in = append(n.in, o)
	}
}

func (w *world) Launch(name string, session uint64, r *wire.RunOrder) {
	if j := w.jobs[r.Key]; j.State == nil || j.State.Attempt != r.Attempt {
		w.fail("launch of %d.%d before it is in the tables", r.Key, r.Attempt)
	}
	if n := w.node(name); n.session == session {
		n.in = append(n.in, &wire.NodeOrder{Order: w.keep(r)})
	}
}

func (w *world) Registered(string, uint64, string)           {}
func (w *world) Mail(controller.Mail)                        {}
func (w *world) CloseSession(n string, s uint64, why string) {}
func (w *world) RunHook(h controller.Hook) {
	w.later(&controller.HookDone{Kind: h.Kind, Key: h.State.Key, Attempt: h.State.Attempt})
}

// keep remembers a launch by the number that its order carries; in truth it is
// signed and opaque.
func (w *world) keep(r *wire.RunOrder) uint64 {
	w.launches = append(w.launches, r)
	return uint64(len(w.launches))
}

func (w *world) later(ev controller.Event) { w.hooks = append(w.hooks, ev) }

// begun checks that no script starts twice and nothing is held twice.
func (w *world) begun(n *simNode, o *wire.RunOrder) {
	k := ref{o.Key, o.Attempt}
	if o.BatchHost {
		if at, twice := w.starts[k]; twice {
			w.fail("script of %d.%d started twice: on %s and %s", k.key, k.attempt, at, n.name)
		}
		w.starts[k] = n.name
	}
	mine := allocOn(o, n.name)
	mem := mine.Mem
	for k, r := range n.runs {
		if k == (ref{o.Key, o.Attempt}) || r.fact.Stage == wire.RunStage_STAGE_GONE {
			continue
		}
		other := allocOn(r.order, n.name)
		mem += other.Mem
		for _, c := range mine.Core {
			if slices.Contains(other.Core, c) {
				w.fail("core %d of %s is held by %d.%d and %d.%d", c, n.name, o.Key, o.Attempt, k.key, k.attempt)
			}
		}
		for _, g := range mine.Gres {
			for _, h := range other.Gres {
				for _, i := range g.Index {
					if slices.Contains(h.Index, i) {
						w.fail("device %d of %s is held twice", i, n.name)
					}
				}
			}
		}
	}
	if mem > 1000 {
		w.fail("memory of %s is held twice: %d", n.name, mem)
	}
}

func allocOn(o *wire.RunOrder, node string) *wire.NodeAlloc {
	for _, a := range o.Alloc {
		if a.Node == node {
			return a
		}
	}
	return &wire.NodeAlloc{}
}

// pass takes a snapshot, or applies a part of the plan made from the last one.
func (w *world) pass() {
	switch {
	case len(w.parts) > 0:
		p := w.parts[0]
		w.parts = w.parts[1:]
		w.toController(p)
	case w.shot != nil:
		plan := sched.Run(w.shot.Snapshot())
		w.parts, w.shot = w.shot.Ready(plan), nil
	case w.pump.State().PassWanted() && len(w.replay) == 0:
		w.shot = w.pump.State().Shoot()
	}
}
