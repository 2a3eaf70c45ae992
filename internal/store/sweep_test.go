package store_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/store/storetest"
	"muster/internal/wire"
)

func TestSweepDropsOldAnswers(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	now := time.Now()
	commit(t, s, &model.Batch{Number: next(t, s), Requests: []model.RequestResult{
		{ID: "old", At: now.Unix() - 3601}, {ID: "new", At: now.Unix() - 3500}}})
	require.NoError(t, s.Sweep(t.Context(), now))
	_, found, err := s.Request(t.Context(), "old", 0)
	require.NoError(t, err)
	require.False(t, found)
	_, found, err = s.Request(t.Context(), "new", 0)
	require.NoError(t, err)
	require.True(t, found)
}

func TestSweepKeepsContentsThatJobsName(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	var contents []model.Content
	var refs []*wire.ContentRef
	for _, text := range []string{"script", "environment", "unused"} {
		c := model.Content{UID: 1000, Hash: sha256.Sum256([]byte(text)), Data: []byte(text)}
		contents = append(contents, c)
		refs = append(refs, &wire.ContentRef{Hash: c.Hash[:]})
	}
	job := storetest.Job(1)
	job.Spec.Script, job.Spec.Environment = refs[0], refs[1]
	commit(t, s, &model.Batch{Number: next(t, s), Contents: contents, Jobs: []model.JobPut{job}})
	kept := func() (texts []string) {
		for _, c := range contents {
			if data, err := s.Content(t.Context(), 1000, c.Hash[:]); err == nil {
				texts = append(texts, string(data))
			} else {
				require.ErrorIs(t, err, store.ErrNoContent)
			}
		}
		return texts
	}
	require.NoError(t, s.Sweep(t.Context(), time.Now()))
	require.Len(t, kept(), 3, "an hour has not passed")
	require.NoError(t, s.Sweep(t.Context(), time.Now().Add(2*time.Hour)))
	require.Equal(t, []string{"script", "environment"}, kept())

	// A job that names an old content makes it new again.
	storetest.Exec(t, url, "UPDATE muster.content SET last_used = last_used - 10000")
	second := storetest.Job(2)
	second.Spec.Script = refs[0]
	commit(t, s, &model.Batch{Number: next(t, s), Jobs: []model.JobPut{second}, Purged: []model.JobKey{1}})
	require.NoError(t, s.Sweep(t.Context(), time.Now()))
	require.Equal(t, []string{"script"}, kept())
	commit(t, s, &model.Batch{Number: next(t, s), Purged: []model.JobKey{2}})
	require.NoError(t, s.Sweep(t.Context(), time.Now().Add(2*time.Hour)))
	require.Empty(t, kept())
}

func TestHistoryIsPartitionedByMonthAndPurged(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a", func(c *store.Config) { c.PurgeAfter = 90 * 24 * time.Hour })
	now := time.Date(2026, 8, 15, 0, 0, 0, 0, time.UTC)
	var runs []*wire.RunRecord
	for month := range 12 {
		run := storetest.Ended(storetest.Job(int64(month + 1)))
		run.State.End = now.AddDate(0, -month, 0).Unix()
		runs = append(runs, run)
	}
	commit(t, s, &model.Batch{Number: next(t, s), Runs: runs})
	require.Zero(t, backends(t, url, "SELECT count(*) FROM muster.run_default"))
	require.NoError(t, s.Sweep(t.Context(), now))
	var left []int64
	require.NoError(t, s.History(t.Context(), store.HistoryQuery{}, func(r *wire.RunRecord) error {
		left = append(left, r.State.Key)
		return nil
	}))
	require.Equal(t, []int64{1, 2, 3, 4}, left)
	commit(t, s, &model.Batch{Number: next(t, s), Runs: runs[11:]}) // its month is made again
	require.Zero(t, backends(t, url, "SELECT count(*) FROM muster.run_default"))
}

func TestSweepMovesWhatTheDefaultPartitionCaught(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	run := storetest.Ended(storetest.Job(1))
	run.State.End = time.Date(2020, 5, 5, 0, 0, 0, 0, time.UTC).Unix()
	commit(t, s, &model.Batch{Number: next(t, s), Runs: []*wire.RunRecord{run}})
	storetest.Exec(t, url, "SET search_path = muster; DROP TABLE run_2020_05")
	commit(t, s, &model.Batch{Number: next(t, s), Runs: []*wire.RunRecord{run}})
	require.Equal(t, 1, backends(t, url, "SELECT count(*) FROM muster.run_default"))
	require.NoError(t, s.Sweep(t.Context(), time.Now()))
	require.Zero(t, backends(t, url, "SELECT count(*) FROM muster.run_default"))
	require.Equal(t, 1, backends(t, url, "SELECT count(*) FROM muster.run_2020_05"))
}

func TestHistoryPagesThroughManyRuns(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	var runs []*wire.RunRecord
	for key := range int64(1200) {
		for attempt := range uint32(2) {
			run := storetest.Ended(storetest.Job(1 + key*7))
			run.State.Attempt = attempt + 1
			runs = append(runs, run)
		}
	}
	runs = append(runs, storetest.Ended(storetest.Job(1<<31)))
	commit(t, s, &model.Batch{Number: next(t, s), Runs: runs})
	for duplicates, want := range map[bool]int{true: 2401, false: 1201} {
		n, before := 0, [2]int64{}
		require.NoError(t, s.History(t.Context(), store.HistoryQuery{Duplicates: duplicates}, func(r *wire.RunRecord) error {
			at := [2]int64{r.State.Key, int64(r.State.Attempt)}
			require.True(t, at[0] > before[0] || at[0] == before[0] && at[1] > before[1], "%v after %v", at, before)
			before = at
			n++
			return nil
		}))
		require.Equal(t, want, n)
	}
	require.Len(t, manyIDs(t, s), 1000)
}

func manyIDs(t *testing.T, s *store.Store) (found []int64) {
	q := store.HistoryQuery{}
	for i := range uint32(1000) {
		q.JobIDs = append(q.JobIDs, 1+i*7)
	}
	require.NoError(t, s.History(t.Context(), q, func(r *wire.RunRecord) error {
		found = append(found, r.State.Key)
		return nil
	}))
	return found
}
