package controller

import (
	"strings"

	"muster/internal/model"
	"muster/internal/wire"
)

// estimate fills in what a waiting job is shown with: CPUs, nodes, TRES.
func (s *State) estimate(j *job) {
	sp := j.spec
	nodes := max(sp.MinNodes, 1)
	per := max(sp.CpusPerTask, 1)
	tasks := sp.NumTasks
	if tasks == 0 {
		tasks = nodes * max(sp.NtasksPerNode, 1)
	}
	cpus := tasks * per
	if sp.NumTasks == 0 && sp.NtasksPerNode == 0 && sp.MaxNodes > sp.MinNodes {
		cpus = per // of a range of nodes only the first is sure
	}
	if sp.Overcommit {
		cpus = nodes
	}
	if j.copied != 0 && j.copied != s.seq {
		s.edit(j)
	}
	j.st.NumCpus, j.st.NumNodes = cpus, expectedNodes(j, nodes)
	t := model.TRES{CPUs: uint64(cpus), Nodes: uint64(nodes), Billing: uint64(cpus), Memory: s.wantedMemory(j, cpus, nodes)}
	add := func(list []*wire.GresRequest, times uint64) {
		for _, g := range list {
			s.addGres(&t, g.Name, g.Type, g.Count*times)
		}
	}
	add(sp.GresPerNode, uint64(nodes))
	add(sp.GresPerJob, 1)
	add(sp.GresPerTask, uint64(tasks))
	j.st.TresReq = t.String()
}

// expectedNodes is the number of nodes that a waiting job is shown with: at least
// those it asks for, more where its tasks are too many for nodes of its partition.
// It says nothing of what the job will hold.
func expectedNodes(j *job, least uint32) uint32 {
	sp := j.spec
	switch {
	case len(j.parts) == 0 || sp.NumTasks == 0:
		return least
	case sp.MinNodes == 0 && sp.NtasksPerNode > 0:
		return max(sp.NumTasks/sp.NtasksPerNode, 1)
	}
	room := j.parts[0].widest / max(sp.CpusPerTask, 1)
	if room == 0 {
		return least
	}
	nodes := sp.NumTasks / room
	if sp.CpusPerTask > 1 && sp.MinNodes == 0 {
		nodes = max(nodes, 1) // and one more for a rest: so Slurm counts tasks of several CPUs
	}
	if sp.NumTasks%room != 0 {
		nodes++
	}
	if sp.MaxNodes > 0 {
		nodes = min(nodes, sp.MaxNodes)
	}
	return max(nodes, least)
}

// wantedMemory is the memory of a waiting job in MiB, 0 where it is not known yet.
func (s *State) wantedMemory(j *job, cpus, nodes uint32) uint64 {
	if !s.set.Pass.SelectMemory {
		return 0
	}
	kind, mem := j.spec.MemKind, j.spec.Mem
	if kind == wire.MemKind_MEM_NONE && len(j.parts) > 0 {
		p := j.parts[0].info
		o := &s.set.Pass
		switch {
		case p.DefMemKind != wire.MemKind_MEM_NONE && p.DefMem != 0:
			kind, mem = p.DefMemKind, p.DefMem
		case o.DefMemPerCPU != 0:
			kind, mem = wire.MemKind_MEM_PER_CPU, o.DefMemPerCPU
		default:
			kind, mem = wire.MemKind_MEM_PER_NODE, o.DefMemPerNode
		}
	}
	switch kind {
	case wire.MemKind_MEM_PER_CPU:
		return mem * uint64(cpus)
	case wire.MemKind_MEM_PER_NODE:
		if mem == 0 && len(j.parts) > 0 && len(j.parts[0].nodes) > 0 {
			mem = j.parts[0].nodes[0].conf.RealMemory
		}
		return mem * uint64(nodes)
	case wire.MemKind_MEM_PER_GPU:
		gpus := uint64(0)
		for _, g := range j.spec.GresPerNode {
			gpus += g.Count * uint64(nodes)
		}
		for _, g := range j.spec.GresPerJob {
			gpus += g.Count
		}
		return mem * gpus
	}
	return 0
}

// tresAlloc is what an allocation holds, as text.
func (s *State) tresAlloc(alloc []*wire.NodeAlloc) string {
	t := model.TRES{Nodes: uint64(len(alloc))}
	for _, a := range alloc {
		t.CPUs += uint64(a.Cpus)
		if s.set.Pass.SelectMemory {
			t.Memory += a.Mem
		}
		for _, g := range a.Gres {
			s.addGres(&t, g.Name, g.Type, g.Count)
		}
	}
	t.Billing = t.CPUs
	return t.String()
}

// addGres counts a generic resource under the names that TRES texts have for it.
func (s *State) addGres(t *model.TRES, name, typ string, n uint64) {
	for _, known := range s.set.TRESGres {
		kn, kt, _ := strings.Cut(known, ":")
		if kn != name || kt != "" && kt != typ {
			continue
		}
		found := false
		for i := range t.Gres {
			if t.Gres[i].Name == kn && t.Gres[i].Type == kt {
				t.Gres[i].Count += n
				found = true
			}
		}
		if !found {
			t.Gres = append(t.Gres, model.Gres{Name: kn, Type: kt, Count: n})
		}
	}
}
