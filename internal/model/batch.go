package model

import "muster/internal/wire"

// JobKey is a job's number in the tables; it is never used again.
type JobKey = int64

// Batch is what one commit changes. The reducer fills it, the store writes it
// whole or not at all. A later entry for a key replaces an earlier one.
type Batch struct {
	// Number is one more than that of the batch before, within the cluster's
	// life; it is written into the lease row with the changes.
	Number uint64

	Jobs       []JobPut          // live jobs, new or changed
	Purged     []JobKey          // live jobs that leave the live tables
	Runs       []*wire.RunRecord // accounting, keyed by job key and attempt
	Steps      []*wire.StepState // live steps of live runs
	StepsGone  []StepRef         // steps that are part of a RunRecord now
	Nodes      []*wire.NodeState
	NodesGone  []string
	Partitions []*wire.PartitionState // changed by hand
	PartsGone  []string
	Contents   []Content
	Requests   []RequestResult
	Counters   Counters // zero fields: unchanged
}

// Rows counts the rows that the batch writes.
func (b *Batch) Rows() int {
	return len(b.Jobs) + len(b.Purged) + len(b.Runs) + len(b.Steps) + len(b.StepsGone) +
		len(b.Nodes) + len(b.NodesGone) + len(b.Partitions) + len(b.PartsGone) +
		len(b.Contents) + len(b.Requests)
}

// Empty tells that there is nothing to commit.
func (b *Batch) Empty() bool { return b.Rows() == 0 && b.Counters == Counters{} }

// JobPut is a live job's row. Spec is nil where the request has not changed
// since it was written.
type JobPut struct {
	Spec  *wire.JobSpec
	State *wire.JobState
}

// StepRef names a step of an attempt.
type StepRef struct {
	Key     JobKey
	Attempt uint32
	Step    int32
}

// Content is a script or an environment, kept once for an owner and hash.
type Content struct {
	UID  uint32
	Hash [32]byte // SHA-256 of Data
	Data []byte
}

// RequestResult is the answer that a repeat of a request gets, for an hour.
type RequestResult struct {
	ID    string // as the client made it
	UID   uint32
	At    int64
	Reply []byte // marshalled reply message
}

// Counters are the cluster's counter row.
type Counters struct {
	NextKey   JobKey
	NextJobID uint32
}

// Outcome is how a commit ended.
type Outcome int

const (
	// Committed: the changes are durable, effects may go out.
	Committed Outcome = iota
	// Retry: not committed; the same batch may be sent again.
	Retry
	// Unknown: the connection was lost with the answer. The batch number in the
	// lease row tells, once it can be read again.
	Unknown
	// Fenced: another leader holds a newer term; nothing was written.
	Fenced
	// Refused: the database took offence at the content (a constraint, bad
	// data); nothing was written and sending it again is useless.
	Refused
)

func (o Outcome) String() string {
	return [...]string{"committed", "retry", "unknown", "fenced", "refused"}[o]
}

// Tables is everything that a leader loads.
type Tables struct {
	ClusterID  string
	Generation uint64
	LastBatch  uint64
	Now        int64 // the database's clock
	Counters   Counters
	Jobs       []JobPut
	Steps      []*wire.StepState
	Nodes      []*wire.NodeState
	Partitions []*wire.PartitionState
	Requests   []RequestResult // recent ones
}
