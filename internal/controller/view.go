package controller

import (
	"iter"

	"muster/internal/model"
	"muster/internal/wire"
)

// JobView is a job as last committed.
type JobView struct {
	Spec  *wire.JobSpec
	State *wire.JobState
}

// Step is a live step as last committed.
type Step = *wire.StepState

// NodeView is a node as last committed: what is configured, what it said, what
// is held on it.
type NodeView struct {
	Conf       *NodeSettings
	State      *wire.NodeState
	Partitions []string
	AllocCPUs  uint32
	AllocCores uint32
	AllocMem   uint64
	GresUsed   string // "gpu:tesla:2(IDX:0-1)"
	AllocTRES  string
	CfgTRES    string
	Completing bool
	Jobs       uint32
	Effective  uint32 // CPUs that jobs may have
}

// View is the cluster as last committed. It never changes.
type View struct {
	Now        int64  // of the newest event in it
	Number     uint64 // of the last batch in it
	Generation uint64 // of the cluster
	ClusterID  string

	Settings   *Settings
	Partitions []*wire.PartitionInfo // in the order of the configuration

	jobs    *trie[*JobView]          // by key
	byID    *trie[model.JobKey]      // by job id
	byArray *trie[*trie[struct{}]]   // array id → keys
	steps   *trie[[]*wire.StepState] // by key
	nodes   *trie[*NodeView]         // by position
	nodePos map[string]int           // shared; replaced at a reconfiguration
	derived *reasons
	stats   Stats
	next    chan struct{} // closed when a later view is there
}

// Stats counts what happened since the lead was taken.
type Stats struct {
	Submitted, Started, Completed, Canceled, Failed uint64
	Pending, Running                                int // now
	Commits, Rows                                   uint64
}

// Job finds a job by its key.
func (v *View) Job(key model.JobKey) (*JobView, bool) { return v.jobs.get(uint64(key)) }

// ByID finds the job that has the number now: a plain job, an array task by its
// own number, or what is left of an array.
func (v *View) ByID(id uint32) (*JobView, bool) {
	key, ok := v.byID.get(uint64(id))
	if !ok {
		return nil, false
	}
	return v.Job(key)
}

// Array yields all live records of an array in the order of their keys.
func (v *View) Array(id uint32) iter.Seq[*JobView] {
	return func(yield func(*JobView) bool) {
		keys, ok := v.byArray.get(uint64(id))
		if !ok {
			return
		}
		for key := range keys.all() {
			if j, ok := v.jobs.get(key); ok && !yield(j) {
				return
			}
		}
	}
}

// Lookup yields the jobs that an id names: all records of an array, or the one job.
func (v *View) Lookup(id uint32) iter.Seq[*JobView] {
	return func(yield func(*JobView) bool) {
		if _, ok := v.byArray.get(uint64(id)); ok {
			v.Array(id)(yield)
			return
		}
		if j, ok := v.ByID(id); ok {
			yield(j)
		}
	}
}

// Jobs yields all jobs in the order of their keys, from the one given on.
func (v *View) Jobs(from model.JobKey) iter.Seq2[model.JobKey, *JobView] {
	return func(yield func(model.JobKey, *JobView) bool) {
		for k, j := range v.jobs.from(uint64(from)) {
			if !yield(model.JobKey(k), j) {
				return
			}
		}
	}
}

// JobCount is the number of job records.
func (v *View) JobCount() int { return v.jobs.len() }

// Steps are the live steps of a job (the batch script is not among them).
func (v *View) Steps(key model.JobKey) []*wire.StepState {
	s, _ := v.steps.get(uint64(key))
	return s
}

// Nodes yields the nodes in the order of the configuration.
func (v *View) Nodes() iter.Seq[*NodeView] {
	return func(yield func(*NodeView) bool) {
		for _, n := range v.nodes.from(0) {
			if !yield(n) {
				return
			}
		}
	}
}

// Node finds a node by name.
func (v *View) Node(name string) (*NodeView, bool) {
	pos, ok := v.nodePos[name]
	if !ok {
		return nil, false
	}
	return v.nodes.get(uint64(pos))
}

// Partition finds a partition by name.
func (v *View) Partition(name string) (*wire.PartitionInfo, bool) {
	for _, p := range v.Partitions {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// Derived is why a pending job waits, as far as it is known now: what the job
// itself says (a hold, a dependency, its begin time), else what the last pass said.
func (v *View) Derived(j *JobView) *wire.Derived { return v.derived.of(j, v.Now) }

// Stats are the counters.
func (v *View) Stats() Stats { return v.stats }
