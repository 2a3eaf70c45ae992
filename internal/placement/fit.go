package placement

import (
	"muster/internal/gres"
	"muster/internal/wire"
)

// fit is what a job could have on one node.
type fit struct {
	node  int // number of the node
	n     *Node
	tasks int // most tasks
}

// threads is the number of CPUs a core gives to the job.
func (r *Request) threads(n *Node) int {
	t := max(1, n.ThreadsPerCore)
	if r.ThreadsPerCore > 0 {
		t = min(t, r.ThreadsPerCore)
	}
	return t
}

// suits tells whether the node's kind suits the request at all.
func (r *Request) suits(n *Node) bool {
	return n.Sockets >= r.Sockets && n.CoresPerSocket >= r.Cores &&
		n.ThreadsPerCore >= r.Threads && n.TmpDisk >= r.TmpDisk
}

// shareable tells whether others on the node leave room for this job.
func (r *Request) shareable(n *Node) bool {
	if n.Sole || (r.Exclusive && n.Jobs > 0) {
		return false
	}
	if r.ExclusiveUser {
		for _, u := range n.Users {
			if u != r.UID {
				return false
			}
		}
	}
	return true
}

// most counts the tasks that the node can take, at most limit; 0 = none.
func (r *Request) most(n *Node, limit int) int {
	if !r.suits(n) || !r.shareable(n) {
		return 0
	}
	if r.TasksPerNode > 0 {
		limit = min(limit, r.TasksPerNode)
	}
	// The need grows with the tasks: search by halving.
	lo, hi := 0, limit
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if r.holds(n, mid, nil) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// cpus is the number of CPUs that tasks tasks and gpus GPUs take on the node,
// whole cores included, and the number of cores.
func (r *Request) cpus(n *Node, tasks int, gpus uint64) (cpus, cores int) {
	per := r.threads(n)
	need := tasks * r.CPUsPerTask
	if r.Overcommit {
		need = 1
	}
	need = max(need, r.MinCPUs, r.CPUsPerGPU*int(gpus))
	if r.TasksPerCore > 0 {
		byCore := (tasks + r.TasksPerCore - 1) / r.TasksPerCore
		cores = max(byCore, (need+per-1)/per)
	} else {
		cores = (need + per - 1) / per
	}
	return cores * per, cores
}

// memoryOn is what the job holds on the node, MiB.
func (r *Request) memoryOn(n *Node, cpus int, gpus uint64) uint64 {
	switch r.MemKind {
	case wire.MemKind_MEM_PER_NODE:
		if r.Mem == 0 {
			return n.Memory
		}
		return r.Mem
	case wire.MemKind_MEM_PER_CPU:
		return r.Mem * uint64(cpus)
	case wire.MemKind_MEM_PER_GPU:
		return r.Mem * gpus
	default:
		return 0
	}
}

// gresOn lists the devices that tasks tasks take on a node, share being those
// of the job-wide requests that fall to it.
func (r *Request) gresOn(tasks int, share []uint64) []*wire.GresRequest {
	if len(r.PerNode)+len(r.PerTask)+len(share) == 0 {
		return nil
	}
	out := append([]*wire.GresRequest(nil), r.PerNode...)
	for _, g := range r.PerTask {
		if len(r.PerJob) > 0 {
			break // --gpus with --gpus-per-task: the total says it all
		}
		out = append(out, &wire.GresRequest{Name: g.Name, Type: g.Type, Count: g.Count * uint64(tasks)})
	}
	for i, c := range share {
		if c > 0 {
			out = append(out, &wire.GresRequest{Name: r.PerJob[i].Name, Type: r.PerJob[i].Type, Count: c})
		}
	}
	return out
}

// holds tells whether the node can take tasks tasks now.
func (r *Request) holds(n *Node, tasks int, share []uint64) bool {
	list := r.gresOn(tasks, share)
	gpus := sum(list, "gpu")
	cpus, cores := r.cpus(n, tasks, gpus)
	if cores > n.FreeCores() || (r.MaxCPUsNode > 0 && cpus > r.MaxCPUsNode) {
		return false
	}
	if r.Exclusive {
		cpus = n.NumCores() * max(1, n.ThreadsPerCore)
	}
	if r.memoryOn(n, cpus, gpus) > n.FreeMem() {
		return false
	}
	if len(list) == 0 {
		return true
	}
	_, ok := gres.Pick(n.Gres, list)
	return ok
}

// alloc makes the allocation of tasks tasks on the node; holds said yes.
func (r *Request) alloc(n *Node, tasks int, share []uint64) *wire.NodeAlloc {
	list := r.gresOn(tasks, share)
	a := &wire.NodeAlloc{Node: n.Name, Tasks: uint32(tasks)}
	a.Gres, _ = gres.Pick(n.Gres, list)
	cpus, cores := r.cpus(n, tasks, sum(list, "gpu"))
	if r.Exclusive {
		cores = n.FreeCores()
		cpus = cores * max(1, n.ThreadsPerCore)
		a.Gres = gres.All(n.Gres)
	}
	a.Cpus, a.Core = uint32(cpus), n.pickCores(cores)
	a.Mem = r.memoryOn(n, cpus, sum(list, "gpu"))
	return a
}
