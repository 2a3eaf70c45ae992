package controller

import (
	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// State is everything that the reducer knows. It is used by one goroutine.
type State struct {
	set        *Settings
	now        int64
	clusterID  string
	generation uint64

	seq     uint64 // of the batch being filled; marks what was copied for it
	turn    uint64 // of the event being applied
	out     *Result
	touched []*job // jobs changed by this event

	nextKey model.JobKey
	nextID  uint32
	unknown []keyRange // keys given out by tables that were lost

	jobs    map[model.JobKey]*job
	byID    map[uint32]*job
	arrays  map[uint32]*array
	nodes   []*node
	nodeBy  map[string]*node
	parts   []*part
	partBy  map[string]*part
	recent  map[requestKey]*answer
	expiry  []requestKey // of recent, oldest first
	deps    depIndex
	alarms  alarmHeap
	passing passState
	lowest  uint32 // lowest priority given out (priority/basic)
	stats   Stats
	loaded  *change            // what the tables hold, to be shown first
	fits    map[string]verdict // what an empty cluster says to a shape
}

// Result is what the events of one batch changed and what follows from it.
type Result struct {
	jobs       []*job
	purged     []*job
	nodes      []*node // rows
	shown      []*node // views
	parts      map[string]*wire.PartitionState
	partsGone  []string
	nodesGone  []string
	runs       []*wire.RunRecord
	steps      []stepRef
	stepsGone  []model.StepRef
	contents   []model.Content
	requests   []model.RequestResult
	counted    bool // counters changed
	effects    []effect
	reasons    *reasons // not nil: a pass has ended
	repart     bool     // partitions or settings changed
	eventCount int
}

type stepRef struct {
	j    *job
	step int32
}

// job is a live record: a job, an array task, or the unstarted tasks of an array.
type job struct {
	spec *wire.JobSpec
	st   *wire.JobState

	copied    uint64 // batch for which st was copied
	copiedAll uint64 // batch for which st.Alloc was copied
	turn      uint64
	newSpec   bool // spec is to be written
	gone      bool // purged
	planned   planMark
	alarm     alarm
	pos       int32 // place in the pass's pages, -1 = none

	tasks model.TaskSet // parsed st.ArrayPending
	arr   *array
	deps  *dependency
	parts []*part

	nodes []*node         // beside st.Alloc
	stage []wire.RunStage // beside st.Alloc; newer than the row's
	steps map[int32]*wire.StepState
	stepU map[int32]uint64 // batch for which a step was copied

	stepGres map[int32]bool  // steps that asked for devices of their own
	stepEnd  map[int32]int64 // when a given-up step is taken as ended
}

// node is a configured node.
type node struct {
	pos     int
	conf    *NodeSettings
	st      *wire.NodeState
	copied  uint64
	shown   uint64
	session uint64 // 0 = none registered
	silent  int64  // since when nothing was heard; 0 = it answers
	alarm   alarm
	parts   []*part

	jobs   []*job // that hold something here
	strays []stray
	pass   sched.Node // as a pass sees it, what is held included
	stale  bool       // pass.Held is to be made anew
	fresh  bool       // pass was not changed since the last snapshot
}

// part is a configured partition.
type part struct {
	info   *wire.PartitionInfo
	nodes  []*node
	byHand bool
	index  int
	widest uint32 // CPUs of the largest node
}

// array ties the records of an array together.
type array struct {
	id      uint32
	members map[model.JobKey]*job
	pending *job // the record of the unstarted tasks
	running int  // tasks that count against the throttle
	failed  bool // a task ended otherwise than COMPLETED
}

func flag(st *wire.JobState, f wire.StateFlag) bool { return st.Flags&uint32(f) != 0 }

func completing(st *wire.JobState) bool { return flag(st, wire.StateFlag_FLAG_COMPLETING) }

// waits tells whether the job is in the queue: pending and nothing of an
// earlier attempt left.
func waits(st *wire.JobState) bool { return st.State == wire.BaseState_PENDING && !completing(st) }

// runs tells whether an attempt is on its nodes and not being ended.
func runs(st *wire.JobState) bool {
	return (st.State == wire.BaseState_RUNNING || st.State == wire.BaseState_SUSPENDED) && !completing(st)
}

// final tells whether the job has ended and nothing of it is left anywhere.
func final(st *wire.JobState) bool { return model.Ended(st.State) && !completing(st) }

// edit gives the job's state to be changed: a copy that belongs to this batch.
func (s *State) edit(j *job) *wire.JobState {
	if j.copied != s.seq {
		j.st = cloneJobState(j.st)
		s.list(j)
	}
	if j.turn != s.turn {
		j.turn = s.turn
		s.touched = append(s.touched, j)
		j.st.Generation++
	}
	return j.st
}

// list puts the job into the batch.
func (s *State) list(j *job) {
	j.copied = s.seq
	s.out.jobs = append(s.out.jobs, j)
}

// editAlloc gives what the job holds on its i-th node to be changed.
func (s *State) editAlloc(j *job, i int) *wire.NodeAlloc {
	st := s.edit(j)
	if j.copiedAll != s.seq {
		j.copiedAll = s.seq
		st.Alloc = append([]*wire.NodeAlloc(nil), st.Alloc...)
	}
	st.Alloc[i] = cloneNodeAlloc(st.Alloc[i])
	return st.Alloc[i]
}

// editSpec gives the request to be changed.
func (s *State) editSpec(j *job) *wire.JobSpec {
	s.edit(j)
	j.spec = cloneJobSpec(j.spec)
	j.newSpec = true
	return j.spec
}

// editNode gives the node's state to be changed.
func (s *State) editNode(n *node) *wire.NodeState {
	if n.copied != s.seq {
		n.st = cloneNodeState(n.st)
		n.copied = s.seq
		s.out.nodes = append(s.out.nodes, n)
	}
	s.show(n)
	return n.st
}

// show has the node's view made anew, and its entry for the pass.
func (s *State) show(n *node) {
	n.fresh = false
	if n.shown != s.seq {
		n.shown = s.seq
		s.out.shown = append(s.out.shown, n)
	}
}

// editStep gives a live step to be changed.
func (s *State) editStep(j *job, step int32) *wire.StepState {
	if j.stepU == nil {
		j.stepU = map[int32]uint64{}
	}
	if j.stepU[step] != s.seq {
		j.steps[step] = cloneStepState(j.steps[step])
		j.stepU[step] = s.seq
		s.out.steps = append(s.out.steps, stepRef{j, step})
	}
	return j.steps[step]
}

// addStep enters a new live step.
func (s *State) addStep(j *job, step *wire.StepState) {
	if j.steps == nil {
		j.steps = map[int32]*wire.StepState{}
	}
	if j.stepU == nil {
		j.stepU = map[int32]uint64{}
	}
	j.steps[step.Step] = step
	j.stepU[step.Step] = s.seq
	s.out.steps = append(s.out.steps, stepRef{j, step.Step})
}

func (s *State) effect(e effect) { s.out.effects = append(s.out.effects, e) }

// Apply changes the state by one event. What follows is collected in the
// batch being filled.
func (s *State) Apply(ev Event, now int64) {
	s.now = max(s.now, now)
	s.turn++
	s.touched = s.touched[:0]
	s.out.eventCount++
	if r, ok := ev.(request); ok {
		s.request(r)
	} else {
		s.fact(ev)
	}
	s.settle()
}

func (s *State) fact(ev Event) {
	switch ev := ev.(type) {
	case *NodeRegister:
		s.register(ev)
	case *NodeReport:
		s.report(ev)
	case *NodeGone:
		s.nodeGone(ev)
	case *NodeSilent:
		s.nodeSilent(ev)
	case *NodeHeard:
		s.nodeHeard(ev)
	case *HookDone:
		s.hookDone(ev)
	case *LaunchLost:
		s.launchLost(ev)
	case *PlanReady:
		s.plan(ev)
	case *Tick:
	}
	s.timers()
}

// settle brings what is derived from the touched jobs up to date.
func (s *State) settle() {
	for i := 0; i < len(s.touched); i++ { // settling may touch more
		j := s.touched[i]
		if !j.gone {
			s.rearm(j)
			s.queue(j)
		}
	}
}
