package store_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func open(t testing.TB, url string, change ...func(*store.Config)) *store.Store {
	t.Helper()
	cfg := store.Config{URL: url, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	s, err := store.Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// lead opens a store that takes the lease over.
func lead(t testing.TB, url, holder string, change ...func(*store.Config)) *store.Store {
	t.Helper()
	s := open(t, url, change...)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := s.Acquire(ctx, holder, 20*time.Second)
	require.NoError(t, err)
	return s
}

func expire(t testing.TB, url string) {
	storetest.Exec(t, url, `DO $$ BEGIN IF to_regclass('muster.lease') IS NOT NULL THEN
		UPDATE muster.lease SET expires = '-infinity'; END IF; END $$`)
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Cluster {
		url := storetest.Database(t)
		return func(holder string) storetest.Store {
			expire(t, url)
			return lead(t, url, holder)
		}
	})
}

// next loads the number that the next batch has.
func next(t testing.TB, s *store.Store) uint64 {
	t.Helper()
	tables, err := s.Load(context.Background())
	require.NoError(t, err)
	return tables.LastBatch + 1
}

func commit(t testing.TB, s *store.Store, b *model.Batch) {
	t.Helper()
	o, err := s.Commit(context.Background(), b)
	require.NoError(t, err)
	require.Equal(t, model.Committed, o)
}
