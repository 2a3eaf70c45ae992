package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/store/embedded"
	"muster/internal/store/storetest"
)

func TestTermAndGenerationGrowAndTheClusterStays(t *testing.T) {
	url := storetest.Database(t)
	a, b := open(t, url), open(t, url)
	first, err := a.Acquire(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	require.Equal(t, uint64(1), first.Term)
	commit(t, a, &model.Batch{Number: next(t, a), Jobs: []model.JobPut{storetest.Job(1)}})
	again, err := a.Acquire(t.Context(), "a", time.Minute)
	require.NoError(t, err, "the holder itself does not wait")
	require.Equal(t, uint64(2), again.Term)
	require.Greater(t, again.Generation, first.Generation+1, "commits count")
	a.Close()
	second, err := b.Acquire(t.Context(), "b", time.Minute)
	require.NoError(t, err, "a lease that was given back is free at once")
	require.Equal(t, first.ClusterID, second.ClusterID)
	require.Equal(t, uint64(3), second.Term)
}

func TestWaitsForTheLeaseToExpire(t *testing.T) {
	url := storetest.Database(t)
	a, b := open(t, url), open(t, url)
	_, err := a.Acquire(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = b.Acquire(short, "b", time.Minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, a.Renew(t.Context()))
	require.ErrorIs(t, b.Renew(t.Context()), store.ErrNotLeader)

	expire(t, url)
	_, err = b.Acquire(t.Context(), "b", time.Minute)
	require.NoError(t, err)
	require.ErrorIs(t, a.Renew(t.Context()), store.ErrFenced)
	require.ErrorIs(t, a.Sweep(t.Context(), time.Now()), store.ErrFenced)
}

func TestASchemaOfANewerProgramIsRefused(t *testing.T) {
	url := storetest.Database(t)
	lead(t, url, "a").Close()
	storetest.Exec(t, url, "UPDATE muster.schema_version SET version = 1000")
	s := open(t, url)
	_, err := s.Acquire(t.Context(), "b", time.Minute)
	var newer *store.SchemaNewerError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, 1000, newer.Found)
}

// A second controller takes the lease over while the first commits as fast as
// it can: every batch number is acknowledged to one of them, none is missing.
func TestTakeoverUnderLoad(t *testing.T) {
	url := storetest.Database(t)
	old := open(t, url)
	_, err := old.Acquire(t.Context(), "old", time.Millisecond) // to each commit
	require.NoError(t, err)
	number := next(t, old)
	var acknowledged atomic.Uint64
	var wait sync.WaitGroup
	begun := make(chan struct{})
	wait.Go(func() {
		for n := number; ; n++ {
			o, err := old.Commit(context.Background(), &model.Batch{Number: n, Jobs: []model.JobPut{storetest.Job(int64(n))}})
			if o == model.Fenced {
				require.ErrorIs(t, err, store.ErrFenced)
				return
			}
			if !assertCommitted(t, o, err) {
				return
			}
			acknowledged.Store(n)
			if n == number+20 {
				close(begun)
			}
		}
	})
	<-begun
	s := open(t, url)
	_, err = s.Acquire(t.Context(), "new", time.Minute)
	require.NoError(t, err)
	wait.Wait()
	tables, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, acknowledged.Load()-number+1, uint64(len(tables.Jobs)))
	require.Equal(t, acknowledged.Load()+1, tables.LastBatch)
}

func assertCommitted(t *testing.T, o model.Outcome, err error) bool {
	if err != nil || o != model.Committed {
		t.Errorf("outcome %v: %v", o, err)
		return false
	}
	return true
}

func TestTimeNeverRunsBehindTheTables(t *testing.T) {
	s := lead(t, storetest.Database(t), "a")
	ahead := time.Now().Unix() + 5000 // the controller's clock was ahead of the database's
	job := storetest.Job(1)
	job.State.Submit = ahead
	commit(t, s, &model.Batch{Number: next(t, s), Jobs: []model.JobPut{job}})
	tables, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, ahead, tables.Now)
}

func TestARestoredBackupHasASmallerGenerationThanTheNodesRemember(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	commit(t, s, &model.Batch{Number: next(t, s), Jobs: []model.JobPut{storetest.Job(1)}})
	file := t.TempDir() + "/dump"
	require.NoError(t, embedded.Dump(t.Context(), url, "", file))
	for range 5 {
		commit(t, s, &model.Batch{Number: next(t, s), Counters: model.Counters{NextJobID: 5}})
	}
	remembered := next(t, s) - 1

	copied := storetest.Database(t)
	require.NoError(t, embedded.Restore(t.Context(), copied, "", file))
	r := open(t, copied)
	expire(t, copied)
	l, err := r.Acquire(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	require.Less(t, l.Generation, remembered)
	tables, err := r.Load(t.Context())
	require.NoError(t, err)
	require.Len(t, tables.Jobs, 1)
	require.Equal(t, l.Generation, tables.Generation)
}

func TestAStoreThatSeesTheDatabaseForgetSaysSo(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	n := next(t, s)
	commit(t, s, &model.Batch{Number: n, Counters: model.Counters{NextJobID: 5}})
	commit(t, s, &model.Batch{Number: n + 1, Counters: model.Counters{NextJobID: 6}})
	storetest.Exec(t, url, "UPDATE muster.lease SET batch = $1", int64(n))
	var lost *store.LostWorkError
	_, err := s.LastBatch(t.Context())
	require.ErrorAs(t, err, &lost)
	require.Equal(t, store.LostWorkError{Acknowledged: n + 1, Found: n}, *lost)
	o, err := s.Commit(t.Context(), &model.Batch{Number: n + 2, Counters: model.Counters{NextJobID: 7}})
	require.ErrorAs(t, err, &lost)
	require.Equal(t, model.Fenced, o)
	tables, err := s.Load(t.Context())
	require.NoError(t, err, "whoever reloads goes on")
	commit(t, s, &model.Batch{Number: tables.LastBatch + 1, Counters: model.Counters{NextJobID: 8}})
}

func backends(t *testing.T, url, sql string) int {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer c.Close(t.Context())
	var n int
	require.NoError(t, c.QueryRow(t.Context(), sql).Scan(&n))
	return n
}
