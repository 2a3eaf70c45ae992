package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The history has a partition for each month. They are made ahead of time by
// Sweep, and before a commit that needs another; if even that fails, the
// default partition takes the rows until a later Sweep moves them.

func (s *Store) readMonths(ctx context.Context, c *pgx.Conn) error {
	found, err := queryInts(ctx, c, query("run_months"))
	if err != nil {
		return fmt.Errorf("listing the history's months: %w", err)
	}
	s.months = set(found)
	if s.months == nil {
		s.months = map[int]bool{}
	}
	var now int64
	if err := c.QueryRow(ctx, "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint").Scan(&now); err != nil {
		return fmt.Errorf("asking the database for the time: %w", err)
	}
	for _, month := range []int{monthOf(now), monthOf(now) + 1} {
		if s.months[month] {
			continue
		}
		if _, err := c.Exec(ctx, query("run_month_add"), month); err != nil {
			return fmt.Errorf("adding a month to the history: %w", err)
		}
		s.months[month] = true
	}
	return nil
}

// addMonths makes what a commit needs. It must not fail the commit.
func (s *Store) addMonths(ctx context.Context, months map[int]bool) {
	for month := range months {
		if s.months[month] {
			continue
		}
		if _, err := s.pool.Exec(ctx, query("run_month_add"), month); err != nil {
			s.log.Warn("the history's month could not be added; its rows go to run_default for now",
				"month", fmt.Sprintf("%d-%02d", month/12, month%12+1), "error", err)
		}
		s.months[month] = true // Sweep tries again
	}
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func queryInts(ctx context.Context, q querier, sql string, args ...any) ([]int, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}
