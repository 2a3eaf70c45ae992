package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"muster/internal/wire"
)

// ArrayTask names a task of an array by its number.
type ArrayTask struct{ ArrayJobID, Task uint32 }

// Range bounds a number, both ends included; a Max of 0 is no bound.
type Range struct{ Min, Max uint32 }

// HistoryQuery says which runs are wanted. Lists are OR within and AND between
// (JobIDs and ArrayTasks together are one list); an empty one does not filter.
type HistoryQuery struct {
	JobIDs     []uint32 // of jobs, of arrays (all tasks), of tasks
	ArrayTasks []ArrayTask
	UIDs       []uint32
	GIDs       []uint32
	States     []wire.BaseState
	Flags      uint32 // of StateFlag: runs with one of these match States too
	Names      []string
	Accounts   []string
	Partitions []string
	QOS        []string
	WCKeys     []string
	Reasons    []string
	Nodes      []string // runs that had one of them

	// The window: runs that were eligible or running in part of it; with
	// EndedWithin those that ended in it. 0 = open.
	From, To    int64
	EndedWithin bool

	CPUs, NumNodes, TimeLimit Range

	// Duplicates wants all attempts of a job that match, not the newest alone.
	Duplicates bool
}

const (
	pageRows  = 500
	firstSpan = 1 << 14 // keys
	largeSpan = 1 << 22
	quickPage = 200 * time.Millisecond
)

// History streams the runs that match, in the order of their keys, and of
// attempts. It reads page by page, each a short statement over a bounded range
// of keys, and holds nothing in the database while f works. An error of f ends
// it. Runs that have not ended are not in it: they are in the live tables.
func (s *Store) History(ctx context.Context, q HistoryQuery, f func(*wire.RunRecord) error) error {
	select {
	case s.reports <- struct{}{}:
		defer func() { <-s.reports }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for another report: %w", ctx.Err())
	}
	r := &report{query: q, f: f, store: s, sql: query("history_newest")}
	if q.Duplicates {
		r.sql = query("history_all")
	}
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("reading the history: %w", hide(err, s.conn.Password))
	}
	return nil
}

type report struct {
	query   HistoryQuery
	f       func(*wire.RunRecord) error
	store   *Store
	sql     string
	filters []any
	tasks   map[ArrayTask]bool
	ids     map[uint32]bool
}

func (r *report) run(ctx context.Context) error {
	first, last := r.months()
	var low, high int64
	err := r.store.read(ctx, func() error {
		return r.store.pool.QueryRow(ctx, query("history_keys"), first, last).Scan(&low, &high)
	})
	if err != nil {
		return err
	}
	r.filters = r.query.filters()
	r.tasks, r.ids = set(r.query.ArrayTasks), set(r.query.JobIDs)
	span := int64(firstSpan)
	if len(r.tasks)+len(r.ids) > 0 {
		span = high - low + 1 // an index finds them
	}
	afterKey, afterAttempt := low-1, int64(math.MaxInt64)
	for afterKey < high {
		until := min(high, afterKey+span)
		began := time.Now()
		args := append([]any{first, last, afterKey, afterAttempt, until}, r.filters...)
		page, err := r.page(ctx, args)
		if err != nil {
			return err
		}
		if time.Since(began) < quickPage && span < largeSpan {
			span *= 2
		}
		if len(page) < pageRows {
			afterKey, afterAttempt = until, math.MaxInt64
		} else {
			end := page[len(page)-1]
			afterKey, afterAttempt = end.key, end.attempt
			if !r.query.Duplicates {
				afterAttempt = math.MaxInt64
			}
		}
		if err := r.hand(page); err != nil {
			return err
		}
	}
	return nil
}

type pageRow struct {
	key, attempt int64
	rec          []byte
}

func (r *report) page(ctx context.Context, args []any) (page []pageRow, err error) {
	args = append(args, pageRows)
	err = r.store.read(ctx, func() error {
		rows, err := r.store.pool.Query(ctx, r.sql, args...)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (pageRow, error) {
			var p pageRow
			err := row.Scan(&p.key, &p.attempt, &p.rec)
			return p, err
		})
		return err
	})
	return page, err
}

func (r *report) hand(page []pageRow) error {
	for _, p := range page {
		run := &wire.RunRecord{}
		if err := proto.Unmarshal(p.rec, run); err != nil {
			return fmt.Errorf("attempt %d of job key %d: %w", p.attempt, p.key, err)
		}
		if !r.named(run.GetState()) {
			continue
		}
		if err := r.f(run); err != nil {
			return err
		}
	}
	return nil
}

// named makes exact what SQL asked roughly: tasks of arrays by pairs.
func (r *report) named(s *wire.JobState) bool {
	if len(r.tasks)+len(r.ids) == 0 || r.ids[s.GetJobId()] || r.ids[s.GetArrayJobId()] {
		return true
	}
	return s.GetIsArrayTask() && r.tasks[ArrayTask{s.GetArrayJobId(), s.GetArrayTaskId()}]
}

// months are those in which a run that matches can have ended.
func (r *report) months() (first, last int) {
	first, last = 0, math.MaxInt32
	if r.query.From > 0 {
		first = monthOf(r.query.From)
	}
	if r.query.To > 0 && r.query.EndedWithin {
		last = monthOf(r.query.To)
	}
	return first, last
}

// filters are the parameters from $6 on; nil lists do not filter.
func (q *HistoryQuery) filters() []any {
	var ids, arrays, tasks []int64
	if len(q.JobIDs)+len(q.ArrayTasks) > 0 {
		ids, arrays, tasks = []int64{}, []int64{}, []int64{}
		for _, id := range q.JobIDs {
			ids = append(ids, int64(id))
		}
		for _, t := range q.ArrayTasks {
			arrays, tasks = append(arrays, int64(t.ArrayJobID)), append(tasks, int64(t.Task))
		}
	}
	var states []int16
	if len(q.States) > 0 || q.Flags != 0 {
		states = []int16{}
		for _, s := range q.States {
			states = append(states, int16(s))
		}
	}
	var nodes [][]byte
	for _, n := range q.Nodes {
		nodes = append(nodes, []byte("\x00"+n+"\x00"))
	}
	began, ended := q.To, int64(0)
	if q.EndedWithin {
		began, ended = 0, q.To
	}
	return []any{ids, arrays, tasks, widen(q.UIDs), widen(q.GIDs), states, int64(q.Flags),
		texts(q.Names), texts(q.Accounts), texts(q.Partitions), texts(q.QOS), texts(q.WCKeys), texts(q.Reasons), nodes,
		began, q.From, ended,
		int64(q.CPUs.Min), q.CPUs.top(), int64(q.NumNodes.Min), q.NumNodes.top(), int64(q.TimeLimit.Min), q.TimeLimit.top()}
}

func (r Range) top() int64 {
	if r.Max == 0 {
		return math.MaxInt64
	}
	return int64(r.Max)
}

func widen(list []uint32) []int64 {
	var wide []int64
	for _, v := range list {
		wide = append(wide, int64(v))
	}
	return wide
}

func texts(list []string) [][]byte {
	var all [][]byte
	for _, v := range list {
		all = append(all, []byte(v))
	}
	return all
}
