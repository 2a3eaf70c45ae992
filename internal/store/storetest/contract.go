package storetest

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/wire"
)

// Store is what a controller needs of one.
type Store interface {
	Load(ctx context.Context) (*model.Tables, error)
	Commit(ctx context.Context, b *model.Batch) (model.Outcome, error)
	LastBatch(ctx context.Context) (uint64, error)
	Content(ctx context.Context, uid uint32, hash []byte) ([]byte, error)
	Request(ctx context.Context, id string, uid uint32) ([]byte, bool, error)
	History(ctx context.Context, q store.HistoryQuery, f func(*wire.RunRecord) error) error
}

// Cluster opens stores on the same tables. Each that is opened takes the lease
// over from the one before.
type Cluster func(holder string) Store

// Factory makes a cluster with empty tables.
type Factory func(t *testing.T) Cluster

// Run checks the contract.
func Run(t *testing.T, factory Factory) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Cluster)
	}{
		{"an empty cluster loads", loadsEmpty},
		{"what was committed is loaded", loadsCommitted},
		{"a later entry replaces an earlier one", laterReplaces},
		{"what leaves is gone whatever else the batch says", goneWins},
		{"a request that has not changed is kept", keepsSpec},
		{"batches are counted and a repeat is taken as done", countsBatches},
		{"a batch that skips or goes back is not written", refusesWrongNumber},
		{"a job against the state machine refuses the whole batch", refusesBadState},
		{"a job that is not known cannot change", refusesUnknownJob},
		{"an earlier attempt cannot come back", refusesEarlierAttempt},
		{"a job id is not given twice", refusesSecondID},
		{"the job key never goes back", refusesKeyBack},
		{"a request that names a missing script is refused", refusesMissingContent},
		{"a second answer to a request is refused", refusesSecondAnswer},
		{"a replaced leader writes nothing", fences},
		{"text may be any bytes", keepsBytes},
		{"the history finds what was asked for", findsHistory},
		{"a run may be written again", rewritesRun},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, factory(t)) })
	}
}

// Now is the time of the contract's jobs, in the middle of a month.
var Now = time.Date(2026, 8, 15, 12, 0, 0, 0, time.UTC).Unix()

// Job makes a pending job.
func Job(key int64) model.JobPut {
	return model.JobPut{
		Spec:  &wire.JobSpec{Name: "job", Uid: 1000, Gid: 100, Account: "physics", Partition: "main"},
		State: &wire.JobState{Key: key, JobId: uint32(key), State: wire.BaseState_PENDING, Submit: Now},
	}
}

// Running is the job's state after its start.
func Running(put model.JobPut) *wire.JobState {
	s := proto.Clone(put.State).(*wire.JobState)
	s.State, s.Attempt, s.Start, s.End = wire.BaseState_RUNNING, s.Attempt+1, Now+1, Now+3600
	s.Alloc = []*wire.NodeAlloc{{Node: "n1", Cpus: 2}}
	return s
}

// Ended is the record of its end.
func Ended(put model.JobPut) *wire.RunRecord {
	s := Running(put)
	s.State, s.End, s.NumCpus, s.NumNodes = wire.BaseState_COMPLETED, Now+60, 2, 1
	return &wire.RunRecord{Spec: put.Spec, State: s}
}

type world struct {
	t *testing.T
	Store
	next uint64
}

func enter(t *testing.T, s Store) *world {
	tables, err := s.Load(t.Context())
	require.NoError(t, err)
	return &world{t: t, Store: s, next: tables.LastBatch + 1}
}

func (w *world) commit(b *model.Batch) {
	w.t.Helper()
	b.Number = w.next
	o, err := w.Commit(w.t.Context(), b)
	require.NoError(w.t, err)
	require.Equal(w.t, model.Committed, o)
	w.next++
}

func (w *world) refused(b *model.Batch) {
	w.t.Helper()
	before := w.load()
	b.Number = w.next
	o, err := w.Commit(w.t.Context(), b)
	require.Error(w.t, err)
	require.Equal(w.t, model.Refused, o)
	after := w.load()
	after.Now = before.Now
	requireSame(w.t, before, after)
}

func (w *world) load() *model.Tables {
	w.t.Helper()
	tables, err := w.Load(w.t.Context())
	require.NoError(w.t, err)
	return tables
}

func requireSame(t *testing.T, want, got *model.Tables) {
	t.Helper()
	require.Equal(t, want.LastBatch, got.LastBatch)
	require.Equal(t, want.Counters, got.Counters)
	require.Len(t, got.Jobs, len(want.Jobs))
	for i := range want.Jobs {
		requireProto(t, want.Jobs[i].State, got.Jobs[i].State)
		requireProto(t, want.Jobs[i].Spec, got.Jobs[i].Spec)
	}
	require.Len(t, got.Steps, len(want.Steps))
	require.Len(t, got.Nodes, len(want.Nodes))
	require.Len(t, got.Partitions, len(want.Partitions))
	require.Equal(t, want.Requests, got.Requests)
}

func requireProto(t *testing.T, want, got proto.Message) {
	t.Helper()
	require.True(t, proto.Equal(want, got), "want %v\ngot  %v", want, got)
}

func script(uid uint32, data string) (model.Content, *wire.ContentRef) {
	c := model.Content{UID: uid, Hash: sha256.Sum256([]byte(data)), Data: []byte(data)}
	return c, &wire.ContentRef{Hash: c.Hash[:], Size: uint64(len(data))}
}
