package controller

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// change is what a batch shows once it is committed.
type change struct {
	now      int64
	jobs     []*JobView
	purged   []*JobView
	steps    []stepsOf
	nodes    []*NodeView
	nodeAt   []int
	nodePos  map[string]int // not nil: new nodes
	settings *Settings      // not nil: new settings or partitions
	parts    []*wire.PartitionInfo
	reasons  *reasons
	stats    Stats
	dropped  int // nodes from this position on are gone
}

type stepsOf struct {
	key   model.JobKey
	steps []*wire.StepState
}

// change collects what the batch being sealed shows.
func (s *State) change() *change {
	o := s.out
	c := &change{now: s.now, reasons: o.reasons, dropped: -1}
	stepped := map[*job]bool{}
	for _, j := range o.jobs {
		if j.gone {
			continue
		}
		c.jobs = append(c.jobs, &JobView{j.spec, j.st})
	}
	for _, j := range o.purged {
		c.purged = append(c.purged, &JobView{j.spec, j.st})
		if j.steps != nil {
			stepped[j] = true
		}
	}
	for _, r := range o.steps {
		stepped[r.j] = true
	}
	for j := range stepped {
		c.steps = append(c.steps, stepsOf{j.st.Key, stepList(j)})
	}
	for _, ref := range o.stepsGone {
		if j := s.jobs[ref.Key]; j == nil || !stepped[j] {
			c.steps = append(c.steps, stepsOf{ref.Key, nil})
		}
	}
	for _, n := range o.shown {
		if n.pos < len(s.nodes) && s.nodes[n.pos] == n {
			c.nodes = append(c.nodes, s.nodeView(n))
			c.nodeAt = append(c.nodeAt, n.pos)
		}
	}
	if o.repart {
		s.showParts(c)
	}
	c.stats = s.stats
	c.stats.Pending, c.stats.Running = s.passing.queued+len(s.passing.blocked), 0
	return c
}

func (s *State) showParts(c *change) {
	c.settings = s.set
	for _, p := range s.parts {
		c.parts = append(c.parts, p.info)
	}
	c.nodePos = make(map[string]int, len(s.nodes))
	for _, n := range s.nodes {
		c.nodePos[n.conf.Name] = n.pos
	}
	c.dropped = len(s.nodes)
}

// firstChange shows the whole state as it was loaded.
func (s *State) firstChange() *change {
	c := &change{now: s.now, dropped: -1, stats: s.stats}
	for _, j := range inOrder(s.jobs) {
		c.jobs = append(c.jobs, &JobView{j.spec, j.st})
		if len(j.steps) > 0 {
			c.steps = append(c.steps, stepsOf{j.st.Key, stepList(j)})
		}
	}
	for _, n := range s.nodes {
		c.nodes = append(c.nodes, s.nodeView(n))
		c.nodeAt = append(c.nodeAt, n.pos)
	}
	s.showParts(c)
	return c
}

func stepList(j *job) []*wire.StepState {
	var out []*wire.StepState
	for _, n := range stepOrder(j.steps) {
		out = append(out, j.steps[n])
	}
	return out
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// publisher makes views. It owns the tries; a view has copies of their handles.
type publisher struct {
	owner   uint64
	jobs    trie[*JobView]
	byID    trie[model.JobKey]
	byArray trie[*trie[struct{}]]
	steps   trie[[]*wire.StepState]
	nodes   trie[*NodeView]
	last    *View
	stats   Stats
	running int
}

func newPublisher(s *State, t *model.Tables) *publisher {
	return &publisher{last: &View{Generation: t.Generation, ClusterID: t.ClusterID, next: make(chan struct{})}}
}

// publish makes the view that comes after a change.
func (p *publisher) publish(c *change, number uint64) *View {
	p.owner++
	for _, j := range c.jobs {
		p.putJob(j)
	}
	for _, j := range c.purged {
		p.dropJob(j)
	}
	for _, st := range c.steps {
		if len(st.steps) == 0 {
			p.steps.delete(p.owner, uint64(st.key))
		} else {
			p.steps.set(p.owner, uint64(st.key), st.steps)
		}
	}
	for i, n := range c.nodes {
		p.nodes.set(p.owner, uint64(c.nodeAt[i]), n)
	}
	for at := c.dropped; at >= 0 && at < p.nodes.n; {
		p.nodes.delete(p.owner, uint64(p.nodes.n-1))
	}
	old := p.last
	v := &View{
		Now: max(c.now, old.Now), Number: number, Generation: old.Generation, ClusterID: old.ClusterID,
		Settings: old.Settings, Partitions: old.Partitions, nodePos: old.nodePos, derived: old.derived,
		stats: c.stats, next: make(chan struct{}),
	}
	if c.settings != nil {
		v.Settings, v.Partitions, v.nodePos = c.settings, c.parts, c.nodePos
	}
	if c.reasons != nil {
		v.derived = c.reasons
	}
	v.stats.Commits, v.stats.Rows = p.stats.Commits, p.stats.Rows
	v.stats.Running = p.running
	jobs, byID, byArray, steps, nodes := p.jobs, p.byID, p.byArray, p.steps, p.nodes
	v.jobs, v.byID, v.byArray, v.steps, v.nodes = &jobs, &byID, &byArray, &steps, &nodes
	p.last = v
	return v
}

func (p *publisher) putJob(j *JobView) {
	st := j.State
	key := uint64(st.Key)
	if old, ok := p.jobs.get(key); ok {
		if active(old.State) {
			p.running--
		}
	} else {
		p.byID.set(p.owner, uint64(st.JobId), st.Key)
		if st.ArrayJobId != 0 {
			members := &trie[struct{}]{}
			if had, ok := p.byArray.get(uint64(st.ArrayJobId)); ok {
				*members = *had
			}
			members.set(p.owner, key, struct{}{})
			p.byArray.set(p.owner, uint64(st.ArrayJobId), members)
		}
	}
	if active(st) {
		p.running++
	}
	p.jobs.set(p.owner, key, j)
}

func active(st *wire.JobState) bool { return runs(st) }

func (p *publisher) dropJob(j *JobView) {
	st := j.State
	key := uint64(st.Key)
	if old, ok := p.jobs.get(key); ok && active(old.State) {
		p.running--
	}
	p.jobs.delete(p.owner, key)
	if at, ok := p.byID.get(uint64(st.JobId)); ok && at == st.Key {
		p.byID.delete(p.owner, uint64(st.JobId))
	}
	if had, ok := p.byArray.get(uint64(st.ArrayJobId)); ok && st.ArrayJobId != 0 {
		members := *had
		members.delete(p.owner, key)
		if members.n == 0 {
			p.byArray.delete(p.owner, uint64(st.ArrayJobId))
		} else {
			p.byArray.set(p.owner, uint64(st.ArrayJobId), &members)
		}
	}
}

// nodeView is the node as queries show it.
func (s *State) nodeView(n *node) *NodeView {
	h := s.held(n)
	v := &NodeView{Conf: n.conf, State: n.st, Jobs: uint32(len(n.jobs))}
	for _, p := range n.parts {
		v.Partitions = append(v.Partitions, p.info.Name)
	}
	alloc := model.TRES{}
	for _, j := range n.jobs {
		for i, m := range j.nodes {
			if m != n || j.st.Alloc[i].Released {
				continue
			}
			if completing(j.st) {
				v.Completing = true // what it still holds is shown as this alone
				continue
			}
			a := j.st.Alloc[i]
			v.AllocCPUs += a.Cpus
			v.AllocMem += a.Mem
			for _, g := range a.Gres {
				s.addGres(&alloc, g.Name, g.Type, g.Count)
			}
		}
	}
	v.AllocCores = uint32(h.Held.Count())
	alloc.CPUs, alloc.Memory = uint64(v.AllocCPUs), v.AllocMem
	v.AllocTRES = alloc.String()
	cfg := model.TRES{CPUs: uint64(n.conf.CPUs), Memory: n.conf.RealMemory, Billing: uint64(n.conf.CPUs)}
	for _, g := range n.conf.GresDevices {
		s.addGres(&cfg, g.Name, g.Type, g.Count)
	}
	v.CfgTRES = cfg.String()
	spec := h.SpecCores.Count() * h.ThreadsPerCore
	v.Effective = n.conf.CPUs - uint32(min(spec, int(n.conf.CPUs)))
	v.GresUsed = gresUsed(n, h.Gres)
	return v
}

// gresUsed is GresUsed= of scontrol: "gpu:tesla:2(IDX:0-1)".
func gresUsed(n *node, sets []sched.Gres) string {
	var out []string
	for i := range sets {
		g := &sets[i]
		text := g.Name
		if g.Type != "" {
			text += ":" + g.Type
		}
		text += ":" + strconv.FormatUint(g.HeldCount, 10)
		if len(g.Index) > 0 {
			text += "(IDX:" + indexRanges(g) + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ",")
}

// indexRanges are the held device numbers as ranges, N/A for none.
func indexRanges(g *sched.Gres) string {
	var ids []uint32
	for i, held := range g.Held {
		if held {
			ids = append(ids, g.Index[i])
		}
	}
	if len(ids) == 0 {
		return "N/A"
	}
	return model.NumberRanges(ids)
}
