package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const contentLife = 3600 // seconds that a content without a job is kept

// Sweep throws away what has had its time: answers to old requests, scripts
// and environments that no live job names, months of history beyond
// PurgeAfter; and makes the coming months. The leader calls it now and then; it
// works in small transactions beside the commits.
func (s *Store) Sweep(ctx context.Context, now time.Time) error {
	h := s.lease.Load()
	if h == nil {
		return ErrNotLeader
	}
	var batch int64
	err := s.pool.QueryRow(ctx, query("lease_batch"), int64(h.Term)).Scan(&batch)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrFenced
	}
	if err != nil {
		return fmt.Errorf("tidying the database: %w", hide(err, s.conn.Password))
	}
	at := now.Unix()
	err = errors.Join(
		s.sweepRequests(ctx, at-requestLife),
		s.sweepContents(ctx, at),
		s.sweepMonths(ctx, at))
	if err != nil {
		return fmt.Errorf("tidying the database: %w", hide(err, s.conn.Password))
	}
	return nil
}

func (s *Store) sweepRequests(ctx context.Context, before int64) error {
	for {
		tag, err := s.pool.Exec(ctx, query("sweep_requests"), before)
		if err != nil {
			return fmt.Errorf("old requests: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
	}
}

// sweepContents looks for candidates without any lock. One that a job has come
// to name since was touched by that commit, and is left alone.
func (s *Store) sweepContents(ctx context.Context, now int64) error {
	before := now - contentLife
	if s.cfg.KeepContents {
		if s.cfg.PurgeAfter == 0 {
			return nil
		}
		before = now - int64(s.cfg.PurgeAfter/time.Second)
	}
	for {
		rows, err := s.pool.Query(ctx, query("sweep_contents_find"), before)
		if err != nil {
			return fmt.Errorf("unused contents: %w", err)
		}
		var uids []int64
		var hashes [][]byte
		var uid int64
		var hash []byte
		_, err = pgx.ForEachRow(rows, []any{&uid, &hash}, func() error {
			uids, hashes = append(uids, uid), append(hashes, append([]byte(nil), hash...))
			return nil
		})
		if err != nil {
			return fmt.Errorf("unused contents: %w", err)
		}
		if len(uids) == 0 {
			return nil
		}
		tag, err := s.pool.Exec(ctx, query("sweep_contents_drop"), uids, hashes, before)
		if err != nil {
			return fmt.Errorf("unused contents: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil // all of them are in use again
		}
	}
}

func (s *Store) sweepMonths(ctx context.Context, now int64) error {
	caught, err := queryInts(ctx, s.pool, query("run_default_months"))
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	oldest := 0
	if s.cfg.PurgeAfter > 0 {
		oldest = monthOf(now - int64(s.cfg.PurgeAfter/time.Second)) // its end is younger
		if _, err := s.pool.Exec(ctx, query("run_default_purge"), oldest); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	for _, month := range append(caught, monthOf(now), monthOf(now)+1) {
		if month < oldest {
			continue
		}
		if _, err := s.pool.Exec(ctx, query("run_month_add"), month); err != nil {
			return fmt.Errorf("adding a month to the history: %w", err)
		}
	}
	if oldest == 0 {
		return nil
	}
	months, err := queryInts(ctx, s.pool, query("run_months"))
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for _, month := range months {
		if month >= oldest {
			continue
		}
		name := fmt.Sprintf("run_%d_%02d", month/12, month%12+1)
		if _, err := s.pool.Exec(ctx, "DROP TABLE "+name); err != nil {
			return fmt.Errorf("purging %s: %w", name, err)
		}
		s.mu.Lock()
		delete(s.months, month)
		s.mu.Unlock()
	}
	return nil
}
