package sched

import (
	"muster/internal/gres"
	"muster/internal/placement"
	"muster/internal/wire"
)

// Snapshot is all that a pass looks at. The controller builds it from its
// newest state; the pass must not change it.
type Snapshot struct {
	Now   int64
	Nodes []Node // a node's position here is its number in Start.Nodes and bitmaps
	Parts []Partition
	Jobs  []Job // pending ones, in any order; arrays as one entry
	Opts  Options
}

// Options are the cluster-wide rules of a pass.
type Options struct {
	placement.Options
	MaxStarts int // starts in one plan; 0 = no bound
	MaxTest   int // jobs looked at; 0 = no bound
}

// Node, Gres and Cores are placement's; the snapshot is made of them.
type (
	Node  = placement.Node
	Gres  = gres.Set
	Cores = placement.Cores
)

// NewCores makes an empty set with room for n cores.
func NewCores(n int) Cores { return placement.NewCores(n) }

// Partition is a partition as the pass sees it.
type Partition struct {
	Name     string
	Up       bool // jobs may start
	Why      string
	Nodes    []int // numbers of its nodes, ascending
	Info     *wire.PartitionInfo
	Tier     uint32
	RootOnly bool
}

// Job is a pending job, or the unstarted tasks of an array.
type Job struct {
	Key        int64
	JobID      uint32
	Spec       *wire.JobSpec
	Partitions []int // as asked, numbers into Snapshot.Parts
	Priority   uint32
	Submit     int64
	TimeLimit  uint32 // minutes; 0xffffffff = unlimited
	Tasks      int    // unstarted array tasks that may start now; 1 for a plain job
	Avoid      []string
	Generation uint64 // of the record; handed back in Start
	// Blocked is not empty for a job that the controller knows cannot start
	// (held, dependency, begin time, array limit): its reason. The pass leaves it.
	Blocked string
}

// Plan is what a pass decided.
type Plan struct {
	Starts  []Start
	Reasons map[int64]Reason // by key, for every job that was looked at and not (wholly) started
	Looked  int
}

// Start is one job, or one task of an array, that starts now.
type Start struct {
	Key        int64
	Generation uint64
	Partition  string
	Alloc      []*wire.NodeAlloc // in the job's node order
	NumCPUs    uint32
	NumTasks   uint32
}

// Reason says why a job is not started.
type Reason struct {
	Code    string // Slurm's
	Missing string // in plain words
	Nodes   string // nodes that it names, for ReqNodeNotAvail
}
