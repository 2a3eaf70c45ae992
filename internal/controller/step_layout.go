package controller

import (
	"slices"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/wire"
)

// stepLayout is where the tasks of a step go and what it gets there.
type stepLayout struct {
	name     string
	tasks    uint32
	alloc    []*wire.NodeAlloc
	ranks    [][]uint32 // beside alloc
	gres     bool       // devices of its own were asked for
	messages []string
}

// room is what a step may have on one of its job's nodes.
type room struct {
	alloc *wire.NodeAlloc
	cores []uint32 // free for it
	mem   uint64
	cpus  uint32 // CPUs that the free cores stand for
	gres  []*wire.GresAlloc
	count uint32 // tasks placed here
}

// layStep finds room for a step; nil without a refusal means: not now.
func (s *State) layStep(j *job, req *wire.StepRequest) (*stepLayout, *wire.Refusal) {
	allowed, r := s.stepNodes(j, req)
	if r != nil {
		return nil, r
	}
	cpt := max(req.CpusPerTask, 1)
	exact := req.Exact || req.Exclusive || req.CpusPerTask > 0 && !req.Whole
	want, tasks, r := stepCounts(req, len(allowed))
	if r != nil {
		return nil, r
	}
	full := s.rooms(j, req, allowed, true)
	if stepGresShort(full, req) {
		return &stepLayout{}, errGres
	}
	if !fits(full, want, tasks, cpt, req) {
		messages, r := whyNot(full, want, tasks, cpt, req)
		return &stepLayout{messages: messages}, r
	}
	free := s.rooms(j, req, allowed, false)
	if !exact && !req.Overlap {
		for i := range free {
			if len(free[i].cores) < len(free[i].alloc.Core) {
				free[i].cores, free[i].cpus = nil, 0 // somebody is there: not the whole node's CPUs
			}
		}
	}
	rooms := pickRooms(free, want, tasks, cpt, req)
	if rooms == nil {
		return nil, nil
	}
	spread(rooms, tasks, cpt, req)
	lay := &stepLayout{tasks: tasks}
	for i := range rooms {
		a := s.stepAlloc(j, &rooms[i], req, exact, cpt)
		if a == nil {
			return nil, nil
		}
		lay.alloc = append(lay.alloc, a)
	}
	lay.gres = len(req.GresPerNode)+len(req.GresPerTask)+len(req.GresPerStep) > 0
	lay.name, lay.ranks = rankTasks(rooms, req)
	return lay, nil
}

// stepNodes are the positions of the job's nodes that the request allows.
func (s *State) stepNodes(j *job, req *wire.StepRequest) ([]int, *wire.Refusal) {
	want, err := hostlist.Expand(req.Nodelist)
	if err != nil {
		return nil, errNodeName
	}
	without, err := hostlist.Expand(req.Exclude)
	if err != nil {
		return nil, errNodeName
	}
	for _, name := range want {
		if !slices.ContainsFunc(j.st.Alloc, func(a *wire.NodeAlloc) bool { return a.Node == name }) {
			return nil, errNodeConfig
		}
	}
	var out []int
	for i, a := range j.st.Alloc {
		switch {
		case a.Released || slices.Contains(without, a.Node):
		case len(want) > 0 && !slices.Contains(want, a.Node) && (req.MinNodes == 0 || int(req.MinNodes) <= len(want)):
		case req.Relative > 0 && i < int(req.Relative):
		default:
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, errNodeConfig
	}
	// Named nodes come first.
	slices.SortStableFunc(out, func(a, b int) int {
		x, y := slices.Contains(want, j.st.Alloc[a].Node), slices.Contains(want, j.st.Alloc[b].Node)
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return out, nil
}

// stepCounts settles the numbers of nodes and tasks.
func stepCounts(req *wire.StepRequest, have int) (nodes int, tasks uint32, r *wire.Refusal) {
	tasks = req.NumTasks
	nodes = int(req.MinNodes)
	if nodes == 0 {
		nodes = have
		if tasks > 0 {
			nodes = min(nodes, int(tasks))
		}
		if req.MaxNodes > 0 {
			nodes = min(nodes, int(req.MaxNodes))
		}
	}
	if tasks == 0 {
		tasks = uint32(nodes) * max(req.NtasksPerNode, 1)
	}
	if int(tasks) < nodes {
		nodes = int(tasks)
	}
	if nodes > have {
		return 0, 0, errNodeConfig
	}
	return nodes, tasks, nil
}

// rooms lists what the step may have on each node: all of the job's, or what
// other steps leave.
func (s *State) rooms(j *job, req *wire.StepRequest, at []int, all bool) []room {
	out := make([]room, 0, len(at))
	for _, i := range at {
		a := j.st.Alloc[i]
		rm := room{alloc: a, cores: a.Core, mem: a.Mem, gres: a.Gres}
		if !all && !req.Overlap {
			s.leave(j, &rm)
		}
		rm.cpus = cpusOf(a, len(rm.cores))
		out = append(out, rm)
	}
	return out
}

// leave takes off what the live steps that do not overlap hold.
func (s *State) leave(j *job, rm *room) {
	rm.cores = slices.Clone(rm.cores)
	for _, num := range stepOrder(j.steps) {
		step := j.steps[num]
		if step.End != 0 || step.Overlap || num < 0 || stepEndedOn(step, rm.alloc.Node) {
			continue
		}
		for _, sa := range step.Alloc {
			if sa.Node != rm.alloc.Node {
				continue
			}
			rm.cores = slices.DeleteFunc(rm.cores, func(c uint32) bool { return slices.Contains(sa.Core, c) })
			rm.mem -= min(rm.mem, sa.Mem)
			if j.stepGres[num] {
				rm.gres = lessGres(rm.gres, sa.Gres)
			}
		}
	}
}

// cpusOf is how many CPUs of an allocation that many of its cores are.
func cpusOf(a *wire.NodeAlloc, cores int) uint32 {
	if len(a.Core) == 0 || cores == len(a.Core) {
		return a.Cpus
	}
	return uint32(cores) * a.Cpus / uint32(len(a.Core))
}

func lessGres(have, taken []*wire.GresAlloc) []*wire.GresAlloc {
	out := make([]*wire.GresAlloc, 0, len(have))
	for _, h := range have {
		g := &wire.GresAlloc{Name: h.Name, Type: h.Type, Count: h.Count, Index: slices.Clone(h.Index)}
		for _, t := range taken {
			if t.Name == g.Name && t.Type == g.Type {
				g.Count -= min(g.Count, t.Count)
				g.Index = slices.DeleteFunc(g.Index, func(i uint32) bool { return slices.Contains(t.Index, i) })
			}
		}
		out = append(out, g)
	}
	return out
}

// capacity is how many tasks of the step a room takes.
func (rm *room) capacity(cpt uint32, req *wire.StepRequest) uint32 {
	n := rm.cpus / cpt
	if req.Overcommit && rm.cpus > 0 {
		n = Unlimited
	}
	if req.NtasksPerNode > 0 {
		n = min(n, req.NtasksPerNode)
	}
	for _, g := range req.GresPerNode {
		if countGres(rm.gres, g) < g.Count {
			return 0
		}
	}
	for _, g := range req.GresPerTask {
		if g.Count > 0 {
			n = min(n, uint32(countGres(rm.gres, g)/g.Count))
		}
	}
	if req.MemKind == wire.MemKind_MEM_PER_NODE && req.Mem > rm.mem {
		return 0
	}
	if req.MemKind == wire.MemKind_MEM_PER_CPU && req.Mem > 0 {
		n = min(n, uint32(rm.mem/(req.Mem*uint64(cpt))))
	}
	return n
}

func countGres(have []*wire.GresAlloc, want *wire.GresRequest) uint64 {
	n := uint64(0)
	for _, h := range have {
		if h.Name == want.Name && (want.Type == "" || want.Type == h.Type) {
			n += h.Count
		}
	}
	return n
}

func fits(rooms []room, nodes int, tasks, cpt uint32, req *wire.StepRequest) bool {
	return pickRooms(slices.Clone(rooms), nodes, tasks, cpt, req) != nil
}

// pickRooms takes the first nodes that hold the step.
func pickRooms(rooms []room, nodes int, tasks, cpt uint32, req *wire.StepRequest) []room {
	usable := slices.DeleteFunc(rooms, func(rm room) bool { return rm.capacity(cpt, req) == 0 })
	if len(usable) < nodes {
		return nil
	}
	most := len(usable)
	if req.MaxNodes > 0 {
		most = min(most, int(req.MaxNodes))
	} else if req.MinNodes > 0 {
		most = nodes
	}
	for n := nodes; n <= most; n++ {
		total := uint64(0)
		for i := range usable[:n] {
			total += uint64(usable[i].capacity(cpt, req))
		}
		if total >= uint64(tasks) {
			return usable[:n]
		}
	}
	return nil
}

// spread settles how many tasks go to each node: they are dealt out in turns as
// far as the nodes have CPUs, whatever the distribution; what is beyond that
// (--overcommit) in turns as well.
func spread(rooms []room, tasks, cpt uint32, req *wire.StepRequest) {
	left := deal(rooms, tasks, func(rm *room) uint32 {
		n := rm.capacity(cpt, req)
		if req.Overcommit {
			n = min(n, max(rm.cpus/cpt, 1))
		}
		return n
	})
	deal(rooms, left, func(rm *room) uint32 { return rm.capacity(cpt, req) })
}

// deal gives each room a task in turns, up to its limit; it returns how many
// are left.
func deal(rooms []room, tasks uint32, limit func(*room) uint32) uint32 {
	for tasks > 0 {
		before := tasks
		for i := range rooms {
			if tasks > 0 && rooms[i].count < limit(&rooms[i]) {
				rooms[i].count++
				tasks--
			}
		}
		if tasks == before {
			break
		}
	}
	return tasks
}

// cyclic tells whether tasks are dealt in turns: when asked for, or by default
// when there are no more tasks than nodes.
func cyclic(req *wire.StepRequest, tasks uint32, nodes int) bool {
	first, _, _ := strings.Cut(req.Distribution, ":")
	first, _, _ = strings.Cut(first, ",")
	switch strings.ToLower(first) {
	case "cyclic":
		return true
	case "block":
		return false
	case "plane":
		return true
	}
	return int(tasks) <= nodes
}

// rankTasks numbers the tasks.
func rankTasks(rooms []room, req *wire.StepRequest) (name string, ranks [][]uint32) {
	ranks = make([][]uint32, len(rooms))
	total := uint32(0)
	for i := range rooms {
		total += rooms[i].count
	}
	if !cyclic(req, total, len(rooms)) {
		next := uint32(0)
		for i := range rooms {
			for range rooms[i].count {
				ranks[i] = append(ranks[i], next)
				next++
			}
		}
		return "Block", ranks
	}
	plane := max(req.PlaneSize, 1)
	for next := uint32(0); next < total; {
		for i := range rooms {
			for range plane {
				if uint32(len(ranks[i])) < rooms[i].count {
					ranks[i] = append(ranks[i], next)
					next++
				}
			}
		}
	}
	if req.PlaneSize > 1 {
		return "Plane", ranks
	}
	return "Cyclic", ranks
}

// stepAlloc is what the step gets on one node, nil if memory or devices are in use.
func (s *State) stepAlloc(j *job, rm *room, req *wire.StepRequest, exact bool, cpt uint32) *wire.NodeAlloc {
	a := &wire.NodeAlloc{Node: rm.alloc.Node, Tasks: rm.count, Core: rm.cores, Cpus: rm.cpus}
	if exact && !req.Overcommit {
		perCore := max(rm.alloc.Cpus/uint32(max(len(rm.alloc.Core), 1)), 1)
		need := int((rm.count*cpt + perCore - 1) / perCore)
		if need < len(rm.cores) {
			a.Core = rm.cores[:need]
			a.Cpus = cpusOf(rm.alloc, need)
		}
	}
	switch {
	case !s.set.Pass.SelectMemory || req.Overlap && req.MemKind == wire.MemKind_MEM_NONE:
		if req.Overlap {
			a.Mem = rm.alloc.Mem
		}
	case req.MemKind == wire.MemKind_MEM_PER_NODE:
		a.Mem = req.Mem // 0: all of the job's, and none of it taken from others
	case req.MemKind == wire.MemKind_MEM_PER_CPU:
		a.Mem = req.Mem * uint64(a.Cpus)
	case j.spec.MemKind == wire.MemKind_MEM_PER_CPU:
		a.Mem = j.spec.Mem * uint64(a.Cpus)
	default:
		if rm.mem < rm.alloc.Mem {
			return nil
		}
		a.Mem = rm.alloc.Mem
	}
	if a.Mem > rm.mem && !req.Overlap {
		return nil
	}
	if req.GresNone {
		return a
	}
	if len(req.GresPerNode)+len(req.GresPerTask)+len(req.GresPerStep) == 0 {
		a.Gres = rm.alloc.Gres
		return a
	}
	free := rm.gres
	take := func(list []*wire.GresRequest, times uint64) bool {
		for _, g := range list {
			got := takeGres(free, g, g.Count*times)
			if got == nil && g.Count > 0 {
				return false
			}
			a.Gres = append(a.Gres, got...)
			free = lessGres(free, got)
		}
		return true
	}
	if !take(req.GresPerNode, 1) || !take(req.GresPerTask, uint64(rm.count)) || !take(req.GresPerStep, 1) {
		return nil
	}
	return a
}

// takeGres picks n devices of a request out of what is free; nil if there are too few.
func takeGres(free []*wire.GresAlloc, want *wire.GresRequest, n uint64) []*wire.GresAlloc {
	var out []*wire.GresAlloc
	for _, f := range free {
		if f.Name != want.Name || want.Type != "" && want.Type != f.Type || n == 0 {
			continue
		}
		k := min(n, f.Count)
		g := &wire.GresAlloc{Name: f.Name, Type: f.Type, Count: k}
		if len(f.Index) > 0 {
			g.Index = f.Index[:min(int(k), len(f.Index))]
		}
		if k > 0 {
			out = append(out, g)
		}
		n -= k
	}
	if n > 0 {
		return nil
	}
	return out
}
