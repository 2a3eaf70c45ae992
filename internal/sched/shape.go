package sched

import (
	"fmt"
	"strings"

	"muster/internal/wire"
)

// shape is all of a job that decides whether it fits in a partition: jobs of
// one shape are decided once.
type shape struct {
	part                                      int
	uid                                       uint32 // only where users matter
	minNodes, maxNodes, tasks, cpt            uint32
	perNode, perCore, perGPU, cpusPerGPU      uint32
	sockets, cores, threads, minCPUs          uint32
	memKind                                   wire.MemKind
	mem, tmp                                  uint64
	exclusive                                 wire.Exclusive
	overcommit, contiguous, spread, few       bool
	constraint, nodelist, exclude, hint, gres string
	avoid                                     string
}

func shapeOf(j *Job, part int) shape {
	s := j.Spec
	k := shape{
		part: part, minNodes: s.MinNodes, maxNodes: s.MaxNodes, tasks: s.NumTasks, cpt: s.CpusPerTask,
		perNode: s.NtasksPerNode, perCore: s.NtasksPerCore, perGPU: s.NtasksPerGpu, cpusPerGPU: s.CpusPerGpu,
		sockets: s.SocketsPerNode, cores: s.CoresPerSocket, threads: s.ThreadsPerCore, minCPUs: s.MinCpus,
		memKind: s.MemKind, mem: s.Mem, tmp: s.TmpDisk, exclusive: s.Exclusive, overcommit: s.Overcommit,
		contiguous: s.Contiguous, spread: s.SpreadJob, few: s.UseMinNodes,
		constraint: s.Constraint, nodelist: s.Nodelist, exclude: s.Exclude, hint: s.Hint,
	}
	if s.Exclusive == wire.Exclusive_EXCL_USER {
		k.uid = s.Uid
	}
	if len(j.Avoid) > 0 {
		k.avoid = strings.Join(j.Avoid, ",")
	}
	if len(s.GresPerNode)+len(s.GresPerJob)+len(s.GresPerTask) > 0 {
		k.gres = gresShape(s.GresPerNode) + "/" + gresShape(s.GresPerJob) + "/" + gresShape(s.GresPerTask)
	}
	return k
}

func gresShape(list []*wire.GresRequest) string {
	var b strings.Builder
	for _, g := range list {
		fmt.Fprintf(&b, "%s:%s:%d,", g.Name, g.Type, g.Count)
	}
	return b.String()
}
