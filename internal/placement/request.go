package placement

import (
	"slices"

	"muster/internal/wire"
)

// Infinite is "no limit" in 32 bits, as Slurm has it.
const Infinite = 0xffffffff

// Options are the cluster-wide rules of counting.
type Options struct {
	SelectCores   bool // CR_Core*: whole cores are allocated; else threads (CR_CPU)
	SelectMemory  bool // *_Memory: memory counts
	LLN           bool // least loaded nodes first
	PackNodes     bool
	DefMemPerCPU  uint64 // MiB, 0 = none
	DefMemPerNode uint64
	DefMemPerGPU  uint64
	MaxMemPerCPU  uint64
	MaxMemPerNode uint64
	DefCPUPerGPU  uint32
}

// Request is a job's request in the terms in which it is decided: the defaults
// of the partition and the cluster are filled in.
type Request struct {
	MinNodes, MaxNodes int
	Tasks              int // 0 = one a node
	CPUsPerTask        int
	TasksPerNode       int // most tasks on a node; 0 = no bound
	TasksPerCore       int // 0 = no bound
	ThreadsPerCore     int // threads used of each core; 0 = all
	MinCPUs            int // a node
	CPUsPerGPU         int

	MemKind wire.MemKind // MEM_NONE: memory does not count
	Mem     uint64       // MiB; 0 with MEM_PER_NODE = the whole node's

	PerNode, PerJob, PerTask []*wire.GresRequest

	Exclusive     bool // the node for itself
	ExclusiveUser bool
	UID           uint32
	Sockets       int // least geometry; 0 = any
	Cores         int
	Threads       int
	TmpDisk       uint64
	MaxCPUsNode   int // partition's MaxCPUsPerNode; 0 = no bound
	Overcommit    bool
	WholeCores    bool
	Contiguous    bool // nodes that follow one another
	Spread        bool // as many nodes as possible
	FewNodes      bool // of a range of nodes the fewest that suffice
	NodeRange     bool // a range of nodes was asked for
}

// NewRequest fills in what the job left to the partition and the cluster.
func NewRequest(spec *wire.JobSpec, part *wire.PartitionInfo, o *Options) *Request {
	r := &Request{
		MinNodes: max(1, int(spec.MinNodes)), MaxNodes: int(spec.MaxNodes),
		Tasks: int(spec.NumTasks), CPUsPerTask: max(1, int(spec.CpusPerTask)),
		TasksPerNode: int(spec.NtasksPerNode), TasksPerCore: int(spec.NtasksPerCore),
		MinCPUs: int(spec.MinCpus), CPUsPerGPU: int(spec.CpusPerGpu),
		PerNode: spec.GresPerNode, PerJob: spec.GresPerJob, PerTask: spec.GresPerTask,
		UID: spec.Uid, Sockets: int(spec.SocketsPerNode), Cores: int(spec.CoresPerSocket),
		Threads: int(spec.ThreadsPerCore), TmpDisk: spec.TmpDisk,
		Overcommit: spec.Overcommit, WholeCores: o.SelectCores,
		Contiguous: spec.Contiguous, Spread: spec.SpreadJob, FewNodes: spec.UseMinNodes,
		NodeRange: spec.MaxNodes > max(1, spec.MinNodes),
	}
	if spec.Hint == "nomultithread" {
		r.ThreadsPerCore = 1
	} else if spec.ThreadsPerCore > 0 {
		r.ThreadsPerCore = int(spec.ThreadsPerCore)
	}
	r.Exclusive = spec.Exclusive == wire.Exclusive_EXCL_NODE
	r.ExclusiveUser = spec.Exclusive == wire.Exclusive_EXCL_USER
	if part != nil {
		switch part.Exclusive {
		case "NODE":
			r.Exclusive = true
		case "USER":
			r.ExclusiveUser = true
		}
		if part.Oversubscribe == "EXCLUSIVE" {
			r.Exclusive = true
		}
		if part.MaxCpusPerNode != 0 && part.MaxCpusPerNode != Infinite {
			r.MaxCPUsNode = int(part.MaxCpusPerNode)
		}
	}
	if r.CPUsPerGPU == 0 && len(r.gpus()) > 0 && spec.CpusPerTask == 0 {
		r.CPUsPerGPU = int(firstSet(partCPUPerGPU(part), o.DefCPUPerGPU))
	}
	r.tasks(spec)
	r.memory(spec, part, o)
	return r
}

func partCPUPerGPU(p *wire.PartitionInfo) uint32 {
	if p == nil {
		return 0
	}
	return p.DefCpuPerGpu
}

func firstSet[T uint32 | uint64](values ...T) T {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}

// tasks settles the numbers of tasks and nodes (sbatch(1), --ntasks, --nodes).
func (r *Request) tasks(spec *wire.JobSpec) {
	gpus := sum(spec.GresPerJob, "gpu")
	if r.Tasks == 0 && gpus > 0 {
		if per := sum(spec.GresPerTask, "gpu"); per > 0 {
			r.Tasks = int(gpus / per)
		} else if spec.NtasksPerGpu > 0 {
			r.Tasks = int(gpus) * int(spec.NtasksPerGpu)
		}
	}
	if r.Tasks == 0 && r.TasksPerNode > 0 {
		r.Tasks = r.TasksPerNode * r.MinNodes
	}
	if r.Tasks > 0 && r.TasksPerNode > 0 && spec.MinNodes == 0 {
		r.MinNodes = max(r.MinNodes, (r.Tasks+r.TasksPerNode-1)/r.TasksPerNode)
	}
	if r.Tasks > 0 && r.Tasks < r.MinNodes {
		r.MinNodes = r.Tasks
	}
	if r.MaxNodes == 0 {
		if spec.MinNodes > 0 {
			r.MaxNodes = r.MinNodes
		} else {
			r.MaxNodes = Infinite
		}
	}
	r.MaxNodes = max(r.MaxNodes, r.MinNodes)
}

// memory settles what memory the job gets: as asked; else the partition's
// default, a GPU, a CPU or a node; else the cluster's; else all of the node's.
func (r *Request) memory(spec *wire.JobSpec, part *wire.PartitionInfo, o *Options) {
	if !o.SelectMemory {
		return
	}
	r.MemKind, r.Mem = spec.MemKind, spec.Mem
	if r.MemKind == wire.MemKind_MEM_NONE {
		r.MemKind, r.Mem = DefaultMemory(len(r.gpus()) > 0, part, o)
	}
	most := o.MaxMemPerCPU
	if part != nil && part.MaxMemKind == wire.MemKind_MEM_PER_CPU && part.MaxMem != 0 {
		most = part.MaxMem
	}
	if most == 0 || r.Mem == 0 {
		return
	}
	switch {
	case r.MemKind == wire.MemKind_MEM_PER_CPU && r.Mem > most:
		// So many times the CPUs for the same memory, as sbatch(1) has it under --mem-per-cpu.
		times := (r.Mem + most - 1) / most
		r.CPUsPerTask *= int(times)
		r.Mem = (r.Mem + times - 1) / times
	case r.MemKind == wire.MemKind_MEM_PER_NODE:
		r.MinCPUs = max(r.MinCPUs, int((r.Mem+most-1)/most))
	}
}

// DefaultMemory is what a job that asks for no memory gets: a default a GPU, the
// cluster's too, goes before any other. MEM_PER_NODE and 0 mean the whole node's.
func DefaultMemory(gpus bool, part *wire.PartitionInfo, o *Options) (wire.MemKind, uint64) {
	if part != nil {
		if gpus && part.DefMemPerGpu != 0 {
			return wire.MemKind_MEM_PER_GPU, part.DefMemPerGpu
		}
		if gpus && o.DefMemPerGPU != 0 {
			return wire.MemKind_MEM_PER_GPU, o.DefMemPerGPU
		}
		if part.DefMemKind != wire.MemKind_MEM_NONE && part.DefMem != 0 {
			return part.DefMemKind, part.DefMem
		}
	}
	switch {
	case gpus && o.DefMemPerGPU != 0:
		return wire.MemKind_MEM_PER_GPU, o.DefMemPerGPU
	case o.DefMemPerCPU != 0:
		return wire.MemKind_MEM_PER_CPU, o.DefMemPerCPU
	default:
		return wire.MemKind_MEM_PER_NODE, o.DefMemPerNode
	}
}

func (r *Request) gpus() []*wire.GresRequest {
	var out []*wire.GresRequest
	for _, list := range [][]*wire.GresRequest{r.PerNode, r.PerJob, r.PerTask} {
		for _, g := range list {
			if g.Name == "gpu" && g.Count > 0 {
				out = append(out, g)
			}
		}
	}
	return out
}

func sum(list []*wire.GresRequest, name string) uint64 {
	n := uint64(0)
	for _, g := range list {
		if g.Name == name {
			n += g.Count
		}
	}
	return n
}

// Wants lists the names of the generic resources that the request asks for.
func (r *Request) Wants() []string {
	var names []string
	for _, list := range [][]*wire.GresRequest{r.PerNode, r.PerJob, r.PerTask} {
		for _, g := range list {
			if !slices.Contains(names, g.Name) {
				names = append(names, g.Name)
			}
		}
	}
	return names
}
