package controller

import (
	"math/bits"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// passState is the part of the state that passes look at, kept in the form in
// which they take it, so that a snapshot costs what has changed.
type passState struct {
	wanted  bool
	taken   uint64 // snapshots so far; marks pages that a pass may look at
	pages   []*pendPage
	free    []int32
	queued  int
	blocked map[model.JobKey]sched.Reason // waiting jobs that no pass sees, where the state does not say why
	nodes   []sched.Node
	parts   []sched.Partition
	reasons *reasons
}

const pendPageSize = 256

// pendPage holds waiting jobs; one that an earlier snapshot shares is copied
// before it is changed.
type pendPage struct {
	taken uint64
	used  [pendPageSize / 64]uint64
	jobs  [pendPageSize]sched.Job
}

// planMark lets the later tasks of an array start from a plan whose first
// start changed the array's record.
type planMark struct{ from, now uint64 }

// wantPass asks for a pass after this.
func (s *State) wantPass() { s.passing.wanted = true }

// PassWanted tells whether something has changed since the last snapshot that
// might let a job start.
func (s *State) PassWanted() bool { return s.passing.wanted }

// queue brings the job's entry for the pass up to date.
func (s *State) queue(j *job) {
	delete(s.passing.blocked, j.st.Key)
	if !waits(j.st) || ownReason(j.spec, j.st, s.now) != "" && s.corr(j) == nil {
		s.unqueue(j)
		return
	}
	entry, why := s.entry(j)
	if why.Code != "" {
		s.unqueue(j)
		s.passing.blocked[j.st.Key] = why
		return
	}
	ps := &s.passing
	if j.pos < 0 {
		if len(ps.free) == 0 {
			ps.grow()
		}
		j.pos = ps.free[len(ps.free)-1]
		ps.free = ps.free[:len(ps.free)-1]
		ps.queued++
		ps.wanted = true
	}
	p, i := ps.page(j.pos)
	p.jobs[i] = entry
	p.used[i/64] |= 1 << (i % 64)
}

// unqueue takes the job out of what passes see.
func (s *State) unqueue(j *job) {
	delete(s.passing.blocked, j.st.Key)
	if j.pos < 0 {
		return
	}
	ps := &s.passing
	p, i := ps.page(j.pos)
	p.jobs[i] = sched.Job{}
	p.used[i/64] &^= 1 << (i % 64)
	ps.free = append(ps.free, j.pos)
	ps.queued--
	j.pos = -1
}

func (ps *passState) grow() {
	base := int32(len(ps.pages) * pendPageSize)
	ps.pages = append(ps.pages, &pendPage{taken: ps.taken})
	for i := int32(pendPageSize) - 1; i >= 0; i-- {
		ps.free = append(ps.free, base+i)
	}
}

// page gives the page of a position to be changed.
func (ps *passState) page(pos int32) (*pendPage, int) {
	k := int(pos) / pendPageSize
	p := ps.pages[k]
	if p.taken != ps.taken {
		c := *p
		c.taken = ps.taken
		p = &c
		ps.pages[k] = p
	}
	return p, int(pos) % pendPageSize
}

// entry is the job as a pass sees it, or why it need not look.
func (s *State) entry(j *job) (sched.Job, sched.Reason) {
	st := j.st
	e := sched.Job{
		Key: st.Key, JobID: st.JobId, Spec: j.spec, Priority: st.Priority, Submit: st.Submit,
		TimeLimit: st.TimeLimit, Tasks: 1, Avoid: st.AvoidNodes, Generation: st.Generation,
	}
	if isArrayHead(j) {
		e.Tasks = j.tasks.Count()
		if c := s.corr(j); c != nil {
			if e.Tasks = s.corrTasks(j, c).Count(); e.Tasks == 0 {
				return e, sched.Reason{Code: model.ReasonDependency}
			}
		}
		if st.ArrayThrottle > 0 {
			e.Tasks = min(e.Tasks, int(st.ArrayThrottle)-j.arr.running)
		}
		if e.Tasks <= 0 {
			return e, sched.Reason{Code: model.ReasonArrayTaskLimit, Missing: "as many tasks of the array run as its limit allows"}
		}
	}
	var out sched.Reason
	for _, p := range j.parts {
		if why := keptOut(j.spec, p.info); why.Code != "" {
			out = why
			continue
		}
		limit := j.spec.TimeLimit
		if limit == 0 {
			limit = limitIn(j.spec, p.info)
		} else {
			limit = st.TimeLimit
		}
		if p.info.MaxTime == 0 || limit <= p.info.MaxTime {
			e.Partitions = append(e.Partitions, p.index)
		}
	}
	if len(e.Partitions) == 0 && out.Code != "" {
		return e, out
	}
	if len(e.Partitions) == 0 {
		return e, sched.Reason{Code: model.ReasonPartitionTimeLimit, Missing: "the time limit is above the partition's MaxTime"}
	}
	return e, sched.Reason{}
}

// Shot is a snapshot still in pages; Snapshot makes it whole, in the pass's goroutine.
type Shot struct {
	pages   []*pendPage
	queued  int
	snap    sched.Snapshot
	blocked map[model.JobKey]sched.Reason
	old     *reasons
}

// Shoot takes a snapshot of the newest state for a pass.
func (s *State) Shoot() *Shot {
	ps := &s.passing
	ps.wanted = false
	ps.taken++
	s.refreshNodes()
	shot := &Shot{pages: append([]*pendPage(nil), ps.pages...), queued: ps.queued, old: ps.reasons}
	shot.snap = sched.Snapshot{
		Now:   s.now,
		Nodes: append([]sched.Node(nil), ps.nodes...),
		Parts: ps.parts,
		Opts:  s.set.Pass,
	}
	shot.blocked = make(map[model.JobKey]sched.Reason, len(ps.blocked))
	for k, v := range ps.blocked {
		shot.blocked[k] = v
	}
	return shot
}

// Snapshot is the whole snapshot.
func (sh *Shot) Snapshot() *sched.Snapshot {
	snap := sh.snap
	snap.Jobs = make([]sched.Job, 0, sh.queued)
	for _, p := range sh.pages {
		for w, word := range p.used {
			for ; word != 0; word &= word - 1 {
				snap.Jobs = append(snap.Jobs, p.jobs[w*64+bits.TrailingZeros64(word)])
			}
		}
	}
	return &snap
}

// refreshNodes makes the pass's entries of changed nodes anew.
func (s *State) refreshNodes() {
	for _, n := range s.nodes {
		if !n.fresh {
			s.refreshNode(n)
			s.passing.nodes[n.pos] = n.pass
			n.fresh = true
		}
	}
}

// refreshNode computes what is held on the node, and whether it takes work.
// What an earlier snapshot looks at is not changed.
func (s *State) refreshNode(n *node) {
	p := emptyNode(n)
	p.Usable, p.Why = s.usable(n)
	for _, j := range n.jobs {
		for i, nd := range j.nodes {
			if nd == n && !j.st.Alloc[i].Released {
				p.Hold(j.st.Alloc[i], j.spec.Uid, s.sole(j))
			}
		}
	}
	n.pass = p
	n.stale = false
}

// held is the node with what is held on it now.
func (s *State) held(n *node) *sched.Node {
	if n.stale || !n.fresh {
		s.refreshNode(n)
		s.passing.nodes[n.pos] = n.pass
		n.fresh = true
	}
	return &n.pass
}

// sole tells whether the job has its nodes for itself.
func (s *State) sole(j *job) bool {
	return j.spec.Exclusive == wire.Exclusive_EXCL_NODE || soleIn(s.partBy[j.st.Partition])
}

func soleIn(p *part) bool {
	return p != nil && (p.info.Oversubscribe == "EXCLUSIVE" || p.info.Exclusive == "NODE")
}
