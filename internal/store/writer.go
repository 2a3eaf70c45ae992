package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// writer is the one connection that commits. Its plans are made once and go
// through indexes whatever the statistics say: every row is named by its key.
type writer struct {
	conn *pgx.Conn
	id   int64 // as the lease row knows it
}

var writerParams = map[string]string{
	"plan_cache_mode":  "force_generic_plan",
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
}

// openWriter connects the writer if it is not. It returns the number of the
// last committed batch if it did: from then on nothing of an older connection
// can be committed any more.
func (s *Store) openWriter(ctx context.Context) (last uint64, fresh bool, err error) {
	h := s.lease.Load()
	if h == nil {
		return 0, false, ErrNotLeader
	}
	if s.w != nil && !s.w.conn.IsClosed() {
		return 0, false, nil
	}
	s.dropWriter()
	c, err := s.connect(ctx, writerParams)
	if err != nil {
		return 0, false, fmt.Errorf("connecting to the database: %w", err)
	}
	w := &writer{conn: c}
	var batch int64
	err = c.QueryRow(ctx, query("lease_write"), int64(h.Term)).Scan(&w.id, &batch)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrFenced
	}
	if err == nil {
		err = w.prepare(ctx)
	}
	if err != nil {
		closeConn(c)
		return 0, false, fmt.Errorf("preparing the writing connection: %w", err)
	}
	s.w = w
	return uint64(batch), true, s.checkLast(uint64(batch))
}

// checkLast compares what the database holds with what it acknowledged.
func (s *Store) checkLast(last uint64) error {
	if last < s.acked {
		return &LostWorkError{Acknowledged: s.acked, Found: last}
	}
	s.acked = last
	return nil
}

func (s *Store) dropWriter() {
	if s.w != nil {
		closeConn(s.w.conn)
		s.w = nil
	}
}

// prepare prepares all statements in one round trip.
func (w *writer) prepare(ctx context.Context) error {
	p := w.conn.PgConn().StartPipeline(ctx)
	for _, name := range writes {
		p.SendPrepare(name, query(name), nil)
	}
	if err := p.Sync(); err != nil {
		_ = p.Close()
		return err
	}
	return p.Close()
}

// result is how a pipeline ended.
type result struct {
	committed bool // COMMIT was answered
	refused   *pgconn.PgError
	broken    error // anything else
}

// send is the round trip of a commit.
func (w *writer) send(ctx context.Context, h *held, r *rows) result {
	pg := w.conn.PgConn()
	p := pg.StartPipeline(ctx)
	p.SendQueryParams("BEGIN", nil, nil, nil, nil)
	p.SendQueryPrepared("fence", w.fence(h, r), binaryFormat, nil)
	for _, s := range r.statements {
		p.SendQueryPrepared(s.name, s.params, binaryFormat, nil)
	}
	p.SendQueryParams("COMMIT", nil, nil, nil, nil)
	var res result
	if err := p.Sync(); err != nil {
		res.broken = err
	} else {
		res.collect(p)
	}
	if err := p.Close(); err != nil && res.refused == nil && res.broken == nil {
		res.broken = err
	}
	if !pg.IsClosed() && pg.TxStatus() == 'E' {
		if _, err := pg.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
			closeConn(w.conn)
		}
	}
	return res
}

var binaryFormat = []int16{1}

func (r *result) collect(p *pgconn.Pipeline) {
	for {
		next, err := p.GetResults()
		if reader, ok := next.(*pgconn.ResultReader); ok && err == nil {
			var tag pgconn.CommandTag
			if tag, err = reader.Close(); err == nil {
				r.committed = r.committed || tag.String() == "COMMIT"
			}
		}
		var pg *pgconn.PgError
		switch {
		case err == nil:
		case errors.As(err, &pg) && severity(pg) == "ERROR":
			r.refused = pg
		default:
			r.broken = err
			return
		}
		if _, end := next.(*pgconn.PipelineSync); end || (next == nil && err == nil) {
			return
		}
	}
}

func severity(pg *pgconn.PgError) string {
	if pg.SeverityUnlocalized != "" {
		return pg.SeverityUnlocalized
	}
	return pg.Severity
}

func (w *writer) fence(h *held, r *rows) [][]byte {
	ttl := binary.BigEndian.AppendUint64(nil, math.Float64bits(h.ttl.Seconds()))
	return [][]byte{int8Param(int64(h.Term)), int8Param(w.id), int8Param(int64(r.number)), ttl,
		int8Param(r.newest), int8Param(r.counters.NextKey), int8Param(int64(r.counters.NextJobID))}
}

// lastBatch asks the open connection.
func (w *writer) lastBatch(ctx context.Context, term uint64) (uint64, error) {
	results := w.conn.PgConn().ExecParams(ctx, query("lease_batch"), [][]byte{int8Param(int64(term))}, nil, binaryFormat, nil).Read()
	if results.Err != nil {
		return 0, results.Err
	}
	if len(results.Rows) == 0 {
		return 0, ErrFenced
	}
	return strconv.ParseUint(string(results.Rows[0][0]), 10, 64)
}
