package controller

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// NewState builds the state from the tables. What was under way is taken up
// again: hooks are run anew, nodes are told what they have to do when they register.
func NewState(set *Settings, t *model.Tables, now int64) (*State, error) {
	s := &State{
		set: set, now: max(now, t.Now), clusterID: t.ClusterID, generation: t.Generation, seq: 1,
		nextKey: max(t.Counters.NextKey, 1), nextID: max(t.Counters.NextJobID, set.FirstJobID),
		jobs: map[model.JobKey]*job{}, byID: map[uint32]*job{}, arrays: map[uint32]*array{},
		recent: map[requestKey]*answer{},
		deps:   depIndex{map[uint32]map[model.JobKey]*job{}, map[nameKey]map[model.JobKey]*job{}},
		fits:   map[string]verdict{},
	}
	s.passing.blocked = map[model.JobKey]sched.Reason{}
	s.out = &Result{parts: map[string]*wire.PartitionState{}}
	s.build(t)
	for _, r := range t.Requests {
		k := requestKey{r.UID, r.ID}
		s.recent[k] = &answer{at: r.At, reply: r.Reply}
		s.expiry = append(s.expiry, k)
	}
	slices.SortStableFunc(s.expiry, func(a, b requestKey) int { return int(s.recent[a].at - s.recent[b].at) })
	for _, p := range t.Jobs {
		if err := s.loadJob(p); err != nil {
			return nil, err
		}
	}
	for _, st := range t.Steps {
		if j := s.jobs[st.JobKey]; j != nil && j.st.Attempt == st.Attempt {
			if j.steps == nil {
				j.steps = map[int32]*wire.StepState{}
			}
			j.steps[st.Step] = st
		}
	}
	s.loaded = s.firstChange()
	s.turn = 1
	for _, j := range inOrder(s.jobs) {
		s.takeUp(j)
	}
	for _, n := range s.nodes {
		n.silent = s.now
		s.rearmNode(n)
	}
	s.settle()
	s.wantPass()
	s.out.repart = true
	return s, nil
}

// build makes nodes and partitions of the settings and what the tables keep of them.
func (s *State) build(t *model.Tables) {
	s.nodeBy, s.partBy = map[string]*node{}, map[string]*part{}
	kept := map[string]*wire.NodeState{}
	for _, st := range t.Nodes {
		kept[st.Name] = st
	}
	for i := range s.set.Nodes {
		s.addNode(&s.set.Nodes[i], kept[s.set.Nodes[i].Name])
	}
	byHand := map[string]*wire.PartitionInfo{}
	for _, p := range t.Partitions {
		byHand[p.Name] = p.Info
	}
	for _, info := range s.set.Partitions {
		p := &part{info: info}
		if hand := byHand[info.Name]; hand != nil {
			p.info, p.byHand = hand, true
			delete(byHand, info.Name)
		}
		s.addPart(p)
	}
	s.indexParts()
}

func (s *State) addNode(c *NodeSettings, st *wire.NodeState) {
	if st == nil {
		st = &wire.NodeState{
			Name: c.Name, Base: wire.NodeBase_NODE_UNKNOWN, Weight: c.Weight, Addr: c.Addr, Hostname: c.Hostname,
		}
		s.configuredState(st, c)
	}
	for i := 0; i+1 < len(st.UnknownKeys); i += 2 {
		s.addUnknown(model.JobKey(st.UnknownKeys[i]), model.JobKey(st.UnknownKeys[i+1]))
	}
	n := &node{pos: len(s.nodes), conf: c, st: st}
	s.nodes = append(s.nodes, n)
	s.nodeBy[c.Name] = n
	s.passing.nodes = append(s.passing.nodes, sched.Node{})
	s.show(n)
}

// configuredState gives a new node the state that slurm.conf names.
func (s *State) configuredState(st *wire.NodeState, c *NodeSettings) {
	switch {
	case strings.HasPrefix(c.State, "DOWN"):
		st.Base = wire.NodeBase_NODE_DOWN
	case strings.HasPrefix(c.State, "DRAIN"):
		st.Flags |= uint32(wire.NodeFlag_NF_DRAIN)
	case strings.HasPrefix(c.State, "FAIL"):
		st.Flags |= uint32(wire.NodeFlag_NF_FAIL)
	case strings.HasPrefix(c.State, "FUTURE"):
		st.Base = wire.NodeBase_NODE_FUTURE
	case strings.HasPrefix(c.State, "CLOUD"):
		st.Flags |= uint32(wire.NodeFlag_NF_CLOUD)
	}
	if c.Reason != "" {
		st.Reason, st.ReasonTime, st.ReasonByAdmin = c.Reason, s.now, true
	}
}

func (s *State) addPart(p *part) {
	p.index = len(s.parts)
	s.parts = append(s.parts, p)
	s.partBy[p.info.Name] = p
}

// indexParts joins partitions and nodes, and makes the pass's list of them.
func (s *State) indexParts() {
	for _, n := range s.nodes {
		n.parts = nil
	}
	list := make([]sched.Partition, 0, len(s.parts))
	for i, p := range s.parts {
		p.index, p.nodes, p.widest = i, nil, 0
		var pos []int
		for _, name := range p.info.NodeNames {
			n := s.nodeBy[name]
			if n == nil || slices.Contains(n.parts, p) {
				continue
			}
			n.parts = append(n.parts, p)
			p.nodes = append(p.nodes, n)
			p.widest = max(p.widest, n.conf.CPUs)
			pos = append(pos, n.pos)
		}
		slices.Sort(pos)
		s.totals(p)
		list = append(list, schedPart(p, pos))
	}
	s.passing.parts = list
	clear(s.fits)
}

// totals fills in what a partition's nodes have together.
func (s *State) totals(p *part) {
	t := model.TRES{Nodes: uint64(len(p.nodes))}
	for _, n := range p.nodes {
		t.CPUs += uint64(n.conf.CPUs)
		t.Memory += n.conf.RealMemory
		for _, g := range n.conf.GresDevices {
			s.addGres(&t, g.Name, g.Type, g.Count)
		}
	}
	t.Billing = t.CPUs
	info := clonePart(p.info)
	info.TotalCpus, info.TotalNodes, info.TotalMem = uint32(t.CPUs), uint32(t.Nodes), uint32(t.Memory)
	info.Tres = t.String()
	p.info = info
}

func schedPart(p *part, pos []int) sched.Partition {
	e := sched.Partition{Name: p.info.Name, Nodes: pos, Info: p.info, Tier: p.info.PriorityTier, RootOnly: p.info.RootOnly}
	switch p.info.State {
	case "UP", "DRAIN", "":
		e.Up = true
	case "DOWN":
		e.Why = model.ReasonPartitionDown
	default:
		e.Why = model.ReasonPartitionInactive
	}
	return e
}

func (s *State) loadJob(p model.JobPut) error {
	j := &job{spec: p.Spec, st: p.State, pos: -1}
	st := p.State
	if j.spec == nil || st == nil {
		return fmt.Errorf("a job in the tables is incomplete: %v", p)
	}
	if st.ArrayPending != "" {
		tasks, _, err := model.ParseTasks(st.ArrayPending, ^uint32(0))
		if err != nil {
			return fmt.Errorf("job %d: array tasks %q: %w", st.JobId, st.ArrayPending, err)
		}
		j.tasks = tasks
	}
	j.parts, _ = s.partitions(j.spec.Partition)
	s.nextKey = max(s.nextKey, st.Key+1)
	s.enter(j)
	if isArrayHead(j) && model.Ended(st.State) {
		j.arr.pending = nil
	}
	j.arr.note(st)
	if s.set.PriorityBasic && st.Priority > 0 && !st.PrioritySet && (s.lowest == 0 || st.Priority < s.lowest) {
		s.lowest = st.Priority
	}
	if st.State != wire.BaseState_PENDING && !final(st) || completing(st) {
		s.loadRun(j)
	}
	return nil
}

// loadRun books what a live run holds.
func (s *State) loadRun(j *job) {
	j.nodes = make([]*node, len(j.st.Alloc))
	j.stage = make([]wire.RunStage, len(j.st.Alloc))
	for i, a := range j.st.Alloc {
		n := s.nodeBy[a.Node]
		if n == nil {
			n = s.lostNode(a.Node)
		}
		j.nodes[i], j.stage[i] = n, a.Stage
		if !a.Released {
			n.jobs = append(n.jobs, j)
			s.changedHold(n)
		}
	}
	if j.arr != nil {
		j.arr.running++
	}
}

// lostNode stands for a node that is in use and no longer configured.
func (s *State) lostNode(name string) *node {
	s.addNode(&NodeSettings{Name: name, CPUs: 1, Boards: 1, Sockets: 1, CoresPerSocket: 1, ThreadsPerCore: 1, State: "DOWN", Reason: "not in slurm.conf"}, nil)
	return s.nodes[len(s.nodes)-1]
}

// takeUp continues what was under way for a job.
func (s *State) takeUp(j *job) {
	st := j.st
	if waits(st) && st.Dependency != "" {
		if d, ok := parseDependency(st.Dependency); ok {
			s.addDeps(j, d)
			s.lookAtDeps(j)
		}
	}
	if runs(st) && st.PrologStarted && !st.PrologDone {
		s.effect(runHook{Hook{PrologSlurmctld, j.spec, st}})
	}
	if st.EpilogPending {
		s.effect(runHook{Hook{EpilogSlurmctld, j.spec, st}})
	} else {
		s.allGone(j)
	}
	for i, n := range j.nodes {
		// A node that was taken DOWN in the same breath as its last run.
		if n.st.Base == wire.NodeBase_NODE_DOWN && i < len(j.nodes) && !j.st.Alloc[i].Released {
			s.loseNode(j, n)
			break
		}
	}
	s.rearm(j)
	s.queue(j)
}
