package controller

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/placement"
	"muster/internal/sched"
	"muster/internal/wire"
)

// verdict is what an empty cluster says to a shape; nil = a node can hold it.
type verdict = *wire.Refusal

// checkShape refuses what no node could hold: unknown features and devices,
// more of something than any node has. More nodes or tasks than there are is
// accepted and waits, as in Slurm.
// A job that cannot start at once (held, later, dependent) is not tried, as in
// Slurm: it waits with its reason.
func (s *State) checkShape(n *newJob) *wire.Refusal {
	if n.spec.Hold || n.spec.Begin > s.now || n.spec.Dependency != "" {
		if r := s.checkGres(n.spec); r != nil {
			return r
		}
		if !s.featuresKnown(n.spec.Constraint) {
			return errFeature
		}
		return nil
	}
	key := shapeKey(n.spec)
	v, known := s.fits[key]
	if !known {
		v = s.judgeShape(n)
		if len(s.fits) > 10000 {
			clear(s.fits)
		}
		s.fits[key] = v
	}
	switch v {
	case errMemory:
		n.messages = append(n.messages, "error: Memory specification can not be satisfied")
	case errCPUs:
		n.messages = append(n.messages, "error: CPU count per node can not be satisfied")
	}
	return v
}

func shapeKey(sp *wire.JobSpec) string {
	var b strings.Builder
	fmt.Fprint(&b, sp.Partition, "|", sp.CpusPerTask, "|", sp.NtasksPerNode, "|", sp.NtasksPerCore, "|", sp.NtasksPerSocket, "|",
		sp.MinCpus, "|", sp.SocketsPerNode, "|", sp.CoresPerSocket, "|", sp.ThreadsPerCore, "|", sp.MemKind, "|", sp.Mem, "|", sp.TmpDisk,
		"|", sp.CpusPerGpu, "|", sp.Constraint, "|", sp.Nodelist, "|", sp.MaxNodes, "|", sp.Exclude, "|", sp.Hint, "|", sp.Overcommit, "|", sp.NtasksPerGpu)
	for _, l := range [][]*wire.GresRequest{sp.GresPerNode, sp.GresPerTask, sp.GresPerJob, sp.GresPerSocket} {
		b.WriteByte('|')
		for _, g := range l {
			fmt.Fprint(&b, g.Name, ":", g.Type, ":", g.Count, ",")
		}
	}
	return b.String()
}

func (s *State) judgeShape(n *newJob) *wire.Refusal {
	if r := s.checkGres(n.spec); r != nil {
		return r
	}
	if !s.featuresKnown(n.spec.Constraint) {
		return errFeature
	}
	one := cloneJobSpec(n.spec)
	one.MinNodes, one.MaxNodes, one.Nodelist = 1, 1, ""
	one.NumTasks = max(one.NtasksPerNode, 1)
	one.GresPerJob = nil
	snap := &sched.Snapshot{Now: s.now, Nodes: s.emptied(), Parts: s.opened(n.parts), Opts: s.set.Pass}
	j := &sched.Job{Key: 1, Spec: one, Priority: 1, TimeLimit: 1, Tasks: 1, Partitions: partIndexes(n.parts)}
	if start, _ := sched.WillRun(snap, j); start != nil {
		if !s.namedFit(n.spec, snap, j) {
			return errNodeConfig
		}
		return nil
	}
	if one.Exclude != "" {
		one.Exclude = ""
		if start, _ := sched.WillRun(snap, j); start != nil {
			return errNodeConfig
		}
	}
	if s.memoryWantsCPUs(one, n.parts[0]) {
		return errCPUs
	}
	if one.Mem != 0 {
		one.MemKind, one.Mem = wire.MemKind_MEM_PER_NODE, 1
		if start, _ := sched.WillRun(snap, j); start != nil {
			return errMemory
		}
	}
	return errNodeConfig
}

// memoryWantsCPUs tells whether MaxMemPerCPU makes a job's memory cost more CPUs
// than any node of the partition has.
func (s *State) memoryWantsCPUs(sp *wire.JobSpec, p *part) bool {
	least := placement.NewRequest(sp, p.info, &s.set.Pass.Options).MinCPUs
	return least > max(1, int(sp.MinCpus)) && !slices.ContainsFunc(p.nodes, func(n *node) bool { return int(n.conf.CPUs) >= least })
}

// namedFit tells whether the nodes of --nodelist can hold the shape that j asks
// for: each of them, or one if they are more than the job may have.
func (s *State) namedFit(sp *wire.JobSpec, snap *sched.Snapshot, j *sched.Job) bool {
	names, err := hostlist.Expand(sp.Nodelist)
	if err != nil || len(names) == 0 {
		return true
	}
	fit := 0
	for _, name := range names {
		j.Spec.Nodelist = name
		if start, _ := sched.WillRun(snap, j); start != nil {
			fit++
		}
	}
	j.Spec.Nodelist = ""
	if sp.MaxNodes != 0 && len(names) > int(sp.MaxNodes) {
		return fit > 0
	}
	return fit == len(names)
}

func partIndexes(parts []*part) []int {
	var out []int
	for _, p := range parts {
		out = append(out, p.index)
	}
	return out
}

// emptied are all nodes with nothing held and in service.
func (s *State) emptied() []sched.Node {
	out := make([]sched.Node, len(s.nodes))
	for i, n := range s.nodes {
		out[i] = emptyNode(n)
		out[i].Usable = true
	}
	return out
}

// opened are the partitions with those asked for up and without bounds on nodes.
func (s *State) opened(parts []*part) []sched.Partition {
	out := slices.Clone(s.passing.parts)
	for _, p := range parts {
		out[p.index].Up = true
		info := clonePart(p.info)
		info.MinNodes, info.MaxNodes = 0, Unlimited
		out[p.index].Info = info
	}
	return out
}

// checkGres refuses names and types that no node has.
func (s *State) checkGres(sp *wire.JobSpec) *wire.Refusal {
	for _, l := range [][]*wire.GresRequest{sp.GresPerNode, sp.GresPerTask, sp.GresPerJob, sp.GresPerSocket} {
		for _, g := range l {
			if g.Count > 0 && !s.gresKnown(g) {
				return errGres
			}
		}
	}
	return nil
}

func (s *State) gresKnown(g *wire.GresRequest) bool {
	for _, n := range s.nodes {
		for _, d := range n.conf.GresDevices {
			if d.Name == g.Name && (g.Type == "" || g.Type == d.Type) {
				return true
			}
		}
	}
	return false
}

// featuresKnown tells whether every word of a constraint is a feature of some node.
func (s *State) featuresKnown(constraint string) bool {
	words := strings.FieldsFunc(constraint, func(r rune) bool { return strings.ContainsRune("&|[]()*!", r) })
	for _, w := range words {
		if strings.Trim(w, "0123456789") == "" {
			continue // a count
		}
		if !slices.ContainsFunc(s.nodes, func(n *node) bool { return slices.Contains(features(n), w) }) {
			return false
		}
	}
	return true
}

// testOnly answers --test-only: when and where the job would start.
func (s *State) testOnly(n *newJob, reply *wire.SubmitReply) {
	s.refreshNodes()
	j := &sched.Job{
		Key: 1, Spec: n.spec, Priority: 1, TimeLimit: n.limit, Tasks: 1, Partitions: partIndexes(n.parts),
	}
	snap := &sched.Snapshot{Now: s.now, Nodes: s.passing.nodes, Parts: s.passing.parts, Opts: s.set.Pass}
	start, _ := sched.WillRun(snap, j)
	at := max(s.now, n.spec.Begin)
	if start == nil {
		start, at = s.willRunLater(snap, j)
	}
	if start == nil {
		reply.Refusal = errNodeConfig
		return
	}
	reply.Start, reply.Cpus, reply.Partition = at, start.NumCPUs, start.Partition
	reply.JobId, _ = s.freeID()
	var names []string
	for _, a := range start.Alloc {
		names = append(names, a.Node)
	}
	reply.Nodes = hostlist.CompressSorted(names)
}

// willRunLater looks for the first end of a running job after which the job fits.
func (s *State) willRunLater(snap *sched.Snapshot, j *sched.Job) (*sched.Start, int64) {
	var running []*job
	for _, o := range inOrder(s.jobs) {
		if len(o.nodes) > 0 && !final(o.st) {
			running = append(running, o)
		}
	}
	slices.SortStableFunc(running, func(a, b *job) int { return int(a.st.End - b.st.End) })
	lo, hi := 0, len(running)
	fit := func(k int) *sched.Start {
		ended := map[*job]bool{}
		for _, o := range running[:k] {
			ended[o] = true
		}
		one := *snap
		one.Nodes = make([]sched.Node, len(s.nodes))
		for i, n := range s.nodes {
			p := emptyNode(n)
			p.Usable, p.Why = s.usable(n)
			for _, o := range n.jobs {
				if i := slices.Index(o.nodes, n); !ended[o] && !o.st.Alloc[i].Released {
					p.Hold(o.st.Alloc[i], o.spec.Uid, s.sole(o))
				}
			}
			one.Nodes[i] = p
		}
		start, _ := sched.WillRun(&one, j)
		return start
	}
	if len(running) == 0 || fit(hi) == nil {
		return nil, 0
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if fit(mid) != nil {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == 0 {
		return fit(0), s.now
	}
	return fit(lo), max(running[lo-1].st.End, s.now)
}
