package sched

import (
	"cmp"
	"slices"

	"muster/internal/hostlist"
	"muster/internal/placement"
	"muster/internal/wire"
)

// Run walks the queue once in order of partition tier, priority, submission
// and id, and starts what fits. It makes no reservations: a later job may use
// what an earlier one cannot. The snapshot is left as it was.
func Run(s *Snapshot) *Plan {
	p := &pass{
		snap:     s,
		nodes:    slices.Clone(s.Nodes),
		cloned:   make([]bool, len(s.Nodes)),
		plan:     &Plan{Reasons: map[int64]Reason{}},
		failed:   map[shape]Reason{},
		requests: map[shape]*placement.Request{},
		cursors:  map[cursorKey]int{},
		windows:  map[windowKey]*windowOf{},
		first:    map[int]bool{},
	}
	for _, j := range order(s) {
		if s.Opts.MaxTest > 0 && p.plan.Looked >= s.Opts.MaxTest || p.full() {
			break
		}
		p.job(&s.Jobs[j])
	}
	return p.plan
}

// pass is one walk of the queue.
type pass struct {
	snap     *Snapshot
	nodes    []Node // cloned one by one as they are held
	cloned   []bool
	plan     *Plan
	failed   map[shape]Reason // shapes that did not fit; nothing is freed within a pass
	requests map[shape]*placement.Request
	cursors  map[cursorKey]int // where the search for a shape goes on
	windows  map[windowKey]*windowOf
	names    map[string]int // made when the first job names a node
	first    map[int]bool   // partitions whose first waiting job was met
}

type cursorKey struct {
	shape shape
	alt   int
}

// windowKey is all that decides where a job may go in a partition.
type windowKey struct {
	part                                 int
	most                                 uint32
	constraint, nodelist, exclude, avoid string
}

type windowOf struct {
	w   *window
	why Reason
}

// byName finds a node's number.
func (p *pass) byName(name string) (int, bool) {
	if p.names == nil {
		p.names = make(map[string]int, len(p.nodes))
		for i := range p.nodes {
			p.names[p.nodes[i].Name] = i
		}
	}
	i, ok := p.names[name]
	return i, ok
}

func (p *pass) full() bool {
	return p.snap.Opts.MaxStarts > 0 && len(p.plan.Starts) >= p.snap.Opts.MaxStarts
}

// order sorts the jobs without moving them.
func order(s *Snapshot) []int32 {
	idx := make([]int32, len(s.Jobs))
	tier := make([]uint32, len(s.Jobs))
	for i := range s.Jobs {
		idx[i] = int32(i)
		for _, q := range s.Jobs[i].Partitions {
			tier[i] = max(tier[i], s.Parts[q].Tier)
		}
	}
	slices.SortFunc(idx, func(x, y int32) int {
		a, b := &s.Jobs[x], &s.Jobs[y]
		return cmp.Or(
			cmp.Compare(tier[y], tier[x]),
			cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(a.Submit, b.Submit),
			cmp.Compare(a.JobID, b.JobID),
			cmp.Compare(a.Key, b.Key))
	})
	return idx
}

// job tries the job's partitions, the higher tiers first, and starts as many
// of its tasks as fit.
func (p *pass) job(j *Job) {
	if j.Blocked != "" {
		return
	}
	p.plan.Looked++
	parts := j.Partitions
	if len(parts) > 1 {
		parts = slices.Clone(parts)
		slices.SortStableFunc(parts, func(a, b int) int {
			return cmp.Compare(p.snap.Parts[b].Tier, p.snap.Parts[a].Tier)
		})
	}
	left := max(1, j.Tasks)
	var why Reason
	for _, q := range parts {
		for left > 0 && !p.full() {
			reason, ok := p.try(j, q)
			if !ok {
				if why.Code == "" {
					why = reason
				}
				break
			}
			left--
		}
	}
	if left > 0 && why.Code != "" {
		p.plan.Reasons[j.Key] = p.rank(why, parts)
	}
}

// rank turns Resources into Priority for all but the first that wait for a
// partition's resources.
func (p *pass) rank(why Reason, parts []int) Reason {
	if why.Code != "Resources" {
		return why
	}
	behind := true
	for _, q := range parts {
		behind = behind && p.first[q]
		p.first[q] = true
	}
	if behind {
		why.Code = "Priority"
	}
	return why
}

// try starts one task of the job in a partition if it fits there now.
func (p *pass) try(j *Job, q int) (Reason, bool) {
	part := &p.snap.Parts[q]
	if !part.Up {
		return Reason{Code: part.Why, Missing: "partition " + part.Name + " does not start jobs"}, false
	}
	key := shapeOf(j, q)
	if why, known := p.failed[key]; known {
		return why, false
	}
	req := p.request(j, part, key)
	why, alloc := p.place(j, part, req, key)
	if alloc == nil {
		p.failed[key] = why
		return why, false
	}
	p.start(j, part, alloc, req.Exclusive)
	return Reason{}, true
}

// request is the job's request in this partition, made once for a shape.
func (p *pass) request(j *Job, part *Partition, key shape) *placement.Request {
	req := p.requests[key]
	if req != nil {
		return req
	}
	req = placement.NewRequest(j.Spec, part.Info, &p.snap.Opts.Options)
	if most := part.Info.MaxNodes; most != 0 && most != placement.Infinite {
		req.MaxNodes = min(req.MaxNodes, int(most))
	}
	p.requests[key] = req
	return req
}

func (p *pass) start(j *Job, part *Partition, alloc []*wire.NodeAlloc, sole bool) {
	s := Start{Key: j.Key, Generation: j.Generation, Partition: part.Name, Alloc: alloc}
	for _, a := range alloc {
		i, _ := p.byName(a.Node)
		if !p.cloned[i] {
			p.nodes[i], p.cloned[i] = p.nodes[i].Clone(), true
		}
		p.nodes[i].Hold(a, j.Spec.Uid, sole)
		s.NumCPUs += a.Cpus
		s.NumTasks += a.Tasks
	}
	p.plan.Starts = append(p.plan.Starts, s)
}

// place looks for room in one partition, and says what is missing.
func (p *pass) place(j *Job, part *Partition, req *placement.Request, key shape) (Reason, []*wire.NodeAlloc) {
	w, why := p.windowFor(j, part, key)
	if why.Code != "" {
		return why, nil
	}
	opts := &p.snap.Opts.Options
	if req.MinNodes > len(part.Nodes) {
		return Reason{Code: "PartitionNodeLimit", Missing: "more nodes than the partition has"}, nil
	}
	if most := part.Info.MaxNodes; most != 0 && most != placement.Infinite && req.MinNodes > int(most) {
		return Reason{Code: "PartitionNodeLimit", Missing: "more nodes than the partition allows"}, nil
	}
	req.MinNodes = max(req.MinNodes, int(part.Info.MinNodes))
	req.MaxNodes = max(req.MaxNodes, req.MinNodes)
	for i, alt := range w.alternatives {
		if a := p.firstAlone(req, alt.usable, w.must, cursorKey{key, i}); a != nil {
			return Reason{}, a
		}
		if req.Single(w.must, opts) && !req.Divisible() {
			continue
		}
		if a := placement.Place(req, p.nodes, alt.usable, w.must, opts); a != nil {
			return Reason{}, a
		}
	}
	return p.explain(req, w), nil
}

// firstAlone is the first node that suffices alone, searched from where the last
// job of that shape found its own.
func (p *pass) firstAlone(req *placement.Request, usable, must []int, key cursorKey) []*wire.NodeAlloc {
	if !req.Single(must, &p.snap.Opts.Options) {
		return nil
	}
	a, next := placement.PlaceOne(req, p.nodes, usable, p.cursors[key])
	p.cursors[key] = next
	return a
}

// windowFor is window, made once for jobs that may go to the same places.
func (p *pass) windowFor(j *Job, part *Partition, key shape) (*window, Reason) {
	k := windowKey{part: key.part, constraint: key.constraint, nodelist: key.nodelist, exclude: key.exclude, avoid: key.avoid}
	if key.nodelist != "" {
		k.most = key.maxNodes
	}
	known := p.windows[k]
	if known == nil {
		w, why := p.window(j, part)
		known = &windowOf{w, why}
		p.windows[k] = known
	}
	return known.w, known.why
}

// window is where a job may go in a partition.
type window struct {
	must         []int // nodes asked for by name
	alternatives []nodeSets
}

// nodeSets are the nodes that satisfy one alternative of the constraint.
type nodeSets struct{ all, usable []int }

func (p *pass) window(j *Job, part *Partition) (*window, Reason) {
	w := &window{}
	exclude := map[string]bool{}
	for _, list := range []string{j.Spec.Exclude} {
		names, err := hostlist.Expand(list)
		if err != nil {
			return nil, Reason{Code: "BadConstraints", Missing: err.Error()}
		}
		for _, n := range names {
			exclude[n] = true
		}
	}
	names, err := hostlist.Expand(j.Spec.Nodelist)
	if err != nil {
		return nil, Reason{Code: "BadConstraints", Missing: err.Error()}
	}
	var away []string
	for _, n := range names {
		i, known := p.byName(n)
		if !known || !slices.Contains(part.Nodes, i) {
			return nil, Reason{Code: "BadConstraints", Missing: "node " + n + " is not in partition " + part.Name}
		}
		if !p.nodes[i].Usable {
			away = append(away, n)
		}
		if !slices.Contains(w.must, i) {
			w.must = append(w.must, i)
		}
	}
	if len(away) > 0 {
		list := hostlist.Compress(away)
		return nil, Reason{Code: "ReqNodeNotAvail", Nodes: list, Missing: "node " + list + " is not available"}
	}
	var only []int
	if j.Spec.MaxNodes > 0 && len(w.must) > int(j.Spec.MaxNodes) {
		only, w.must = w.must, nil // a list to choose from (since 23.02)
	}
	constraint, err := placement.ParseConstraint(j.Spec.Constraint)
	if err != nil {
		return nil, Reason{Code: "BadConstraints", Missing: err.Error()}
	}
	for _, alt := range constraint.Alternatives {
		var set nodeSets
		for _, i := range part.Nodes {
			n := &p.nodes[i]
			if exclude[n.Name] || !alt.Holds(n.Features) || only != nil && !slices.Contains(only, i) {
				continue
			}
			set.all = append(set.all, i)
			if n.Usable && !slices.Contains(j.Avoid, n.Name) {
				set.usable = append(set.usable, i)
			}
		}
		slices.SortStableFunc(set.usable, func(a, b int) int {
			return cmp.Compare(p.nodes[a].Weight, p.nodes[b].Weight)
		})
		w.alternatives = append(w.alternatives, set)
	}
	return w, Reason{}
}

// downText is what Slurm says of a job whose nodes are away.
const downText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"

// explain tells "not now" from "not while these nodes are away" from "never".
func (p *pass) explain(req *placement.Request, w *window) Reason {
	usable := func(n nodeSets) []int { return n.usable }
	all := func(n nodeSets) []int { return n.all }
	bare := *req
	bare.MemKind, bare.Mem, bare.PerNode, bare.PerJob, bare.PerTask = wire.MemKind_MEM_NONE, 0, nil, nil, nil
	switch {
	case p.fitsEmpty(req, w, usable):
		return Reason{Code: "Resources", Missing: "waiting for nodes, cores, memory or devices in use"}
	case p.fitsEmpty(req, w, all):
		return Reason{Code: downText, Missing: "nodes that could hold it are down or drained"}
	case len(w.must) == 0 && hasAny(w) && !p.fitsEmpty(&bare, w, all):
		return Reason{Code: "PartitionConfig", Missing: "the partition's nodes have too few CPUs for it"}
	default:
		return Reason{Code: "BadConstraints", Missing: "no set of the partition's nodes can ever hold it"}
	}
}

func hasAny(w *window) bool {
	return slices.ContainsFunc(w.alternatives, func(n nodeSets) bool { return len(n.all) > 0 })
}

// fitsEmpty tells whether the request would fit if nothing were held on the
// nodes that pick names.
func (p *pass) fitsEmpty(req *placement.Request, w *window, pick func(nodeSets) []int) bool {
	for _, alt := range w.alternatives {
		set := pick(alt)
		if len(set)+len(w.must) == 0 {
			continue
		}
		empty := make([]Node, len(p.nodes))
		for _, i := range append(slices.Clone(set), w.must...) {
			empty[i] = p.nodes[i].Empty()
		}
		if placement.Place(req, empty, set, w.must, &p.snap.Opts.Options) != nil {
			return true
		}
	}
	return false
}

// WillRun answers "when could this job start" for --test-only: now, in the
// given snapshot, or never. The job need not be in the snapshot.
func WillRun(s *Snapshot, j *Job) (*Start, Reason) {
	one := *s
	one.Jobs = []Job{*j}
	plan := Run(&one)
	if len(plan.Starts) > 0 {
		return &plan.Starts[0], Reason{}
	}
	return nil, plan.Reasons[j.Key]
}
