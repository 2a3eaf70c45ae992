package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/wire"
)

const (
	requestLife  = 3600    // seconds for which a repeat gets the first answer
	requestsKept = 100_000 // that Load hands over; Request finds the others
)

// Load reads everything that a leader needs, at one point in time. Whatever
// was under way on an older connection is finished or shut out before.
func (s *Store) Load(ctx context.Context) (*model.Tables, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost *LostWorkError
	if _, _, err := s.openWriter(ctx); errors.As(err, &lost) {
		s.log.Error("going on from what the database holds", "error", err)
	} else if err != nil {
		return nil, fmt.Errorf("loading the tables: %w", err)
	}
	h := s.lease.Load()
	if h == nil {
		return nil, ErrNotLeader
	}
	var t *model.Tables
	err := s.read(ctx, func() error {
		t = &model.Tables{}
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error { return loadAll(ctx, tx, h.Term, t) })
	})
	if err != nil {
		return nil, fmt.Errorf("loading the tables: %w", hide(err, s.conn.Password))
	}
	s.acked = t.LastBatch
	return t, nil
}

func loadAll(ctx context.Context, tx pgx.Tx, term uint64, t *model.Tables) error {
	if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
		return err
	}
	var batch, nextKey, nextID int64
	err := tx.QueryRow(ctx, query("lease_load"), int64(term)).Scan(&t.ClusterID, &batch, &t.Now)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrFenced
	}
	if err != nil {
		return err
	}
	t.LastBatch, t.Generation = uint64(batch), uint64(batch)
	if err := tx.QueryRow(ctx, query("load_counters")).Scan(&nextKey, &nextID); err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	t.Counters = model.Counters{NextKey: nextKey, NextJobID: uint32(nextID)}
	if err := loadJobs(ctx, tx, t); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	if t.Steps, err = loadMessages(ctx, tx, "load_steps", func() *wire.StepState { return &wire.StepState{} }); err != nil {
		return fmt.Errorf("steps: %w", err)
	}
	if t.Nodes, err = loadMessages(ctx, tx, "load_nodes", func() *wire.NodeState { return &wire.NodeState{} }); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if t.Partitions, err = loadMessages(ctx, tx, "load_partitions", func() *wire.PartitionState { return &wire.PartitionState{} }); err != nil {
		return fmt.Errorf("partitions: %w", err)
	}
	if t.Requests, err = loadRequests(ctx, tx, t.Now-requestLife); err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	return nil
}

func loadJobs(ctx context.Context, tx pgx.Tx, t *model.Tables) error {
	rows, err := tx.Query(ctx, query("load_jobs"))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var state, spec pgRaw
		if err := rows.Scan(&key, &state, &spec); err != nil {
			return err
		}
		if spec == nil {
			return fmt.Errorf("the job with key %d has no row in job_request: the database is damaged", key)
		}
		put := model.JobPut{Spec: &wire.JobSpec{}, State: &wire.JobState{}}
		if err := proto.Unmarshal(state, put.State); err != nil {
			return fmt.Errorf("the state of the job with key %d: %w", key, err)
		}
		if err := proto.Unmarshal(spec, put.Spec); err != nil {
			return fmt.Errorf("the request of the job with key %d: %w", key, err)
		}
		t.Jobs = append(t.Jobs, put)
	}
	return rows.Err()
}

// pgRaw scans a bytea without copying; it is good until the next row.
type pgRaw = pgtype.DriverBytes

func loadMessages[M proto.Message](ctx context.Context, tx pgx.Tx, name string, fresh func() M) ([]M, error) {
	rows, err := tx.Query(ctx, query(name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []M
	for rows.Next() {
		var raw pgRaw
		if err := rows.Scan(&raw); err != nil {
			return nil, err
		}
		m := fresh()
		if err := proto.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

func loadRequests(ctx context.Context, tx pgx.Tx, since int64) ([]model.RequestResult, error) {
	rows, err := tx.Query(ctx, query("load_requests"), since, requestsKept)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (model.RequestResult, error) {
		var r model.RequestResult
		var id []byte
		var uid int64
		err := row.Scan(&id, &uid, &r.At, &r.Reply)
		r.ID, r.UID = string(id), uint32(uid)
		return r, err
	})
}
