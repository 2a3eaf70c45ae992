package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"muster/internal/model"
)

// SQLSTATEs of the fence.
const (
	stateFenced    = "MU001"
	stateCommitted = "MU002"
	stateLost      = "MU003"
)

// Commit writes a batch. The error says why the outcome is not Committed; with
// Fenced it may be a LostWorkError.
//
// After Unknown the same batch may be sent again, or LastBatch asked: either
// finds out. Within a batch a later entry for a key replaces an earlier one,
// and what is listed as purged or gone leaves, whatever else is listed.
func (s *Store) Commit(ctx context.Context, b *model.Batch) (model.Outcome, error) {
	r, err := encode(b)
	if err != nil {
		return model.Refused, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CommitTimeout)
	defer cancel()
	last, fresh, err := s.openWriter(ctx)
	if err != nil {
		return s.beforeSend(err)
	}
	if fresh && last == b.Number {
		return model.Committed, nil
	}
	s.addMonths(ctx, r.months)
	h := s.lease.Load()
	if h == nil {
		return model.Fenced, ErrNotLeader
	}
	return s.conclude(b.Number, s.w.send(ctx, h, r))
}

// beforeSend sorts errors that came before anything of the batch was sent.
func (s *Store) beforeSend(err error) (model.Outcome, error) {
	var lost *LostWorkError
	if errors.Is(err, ErrFenced) || errors.Is(err, ErrNotLeader) || errors.As(err, &lost) {
		s.dropWriter()
		return model.Fenced, err
	}
	return model.Retry, err
}

// conclude makes the outcome of what came back.
func (s *Store) conclude(number uint64, res result) (model.Outcome, error) {
	switch {
	case res.committed:
		if res.broken != nil {
			s.dropWriter()
		}
		s.acked = number
		return model.Committed, nil
	case res.refused != nil:
		return s.refusal(number, res.refused)
	case res.broken != nil && pgconn.SafeToRetry(res.broken):
		s.dropWriter()
		return model.Retry, fmt.Errorf("commit %d was not sent: %w", number, hide(res.broken, s.conn.Password))
	}
	s.dropWriter()
	if res.broken == nil {
		res.broken = errors.New("the answer to COMMIT is missing")
	}
	return model.Unknown, fmt.Errorf("commit %d: the connection was lost before the answer: %w", number, hide(res.broken, s.conn.Password))
}

// refusal sorts what PostgreSQL says with severity ERROR: nothing was written.
func (s *Store) refusal(number uint64, pg *pgconn.PgError) (model.Outcome, error) {
	switch pg.Code {
	case stateCommitted:
		s.acked = number
		return model.Committed, nil
	case stateFenced:
		s.dropWriter()
		return model.Fenced, fmt.Errorf("commit %d: %w (%s)", number, ErrFenced, pg.Message)
	case stateLost:
		s.dropWriter()
		return model.Fenced, &LostWorkError{Acknowledged: number - 1, Found: s.found()}
	}
	err := fmt.Errorf("commit %d: %w%s", number, pg, constraint(pg))
	if contentRefused(pg.Code) {
		return model.Refused, err
	}
	if strings.HasPrefix(pg.Code, "25") || strings.HasPrefix(pg.Code, "26") || strings.HasPrefix(pg.Code, "0A") {
		s.dropWriter() // a server that became read-only, statements that are gone: connect anew
	}
	return model.Retry, err
}

// found is for a report only: what the database holds.
func (s *Store) found() uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), s.conn.ConnectTimeout)
	defer cancel()
	var batch int64
	if err := s.pool.QueryRow(ctx, "SELECT batch FROM lease").Scan(&batch); err != nil {
		return 0
	}
	return uint64(batch)
}

// contentRefused tells errors that the same batch would meet again: data
// exceptions, constraints, limits of size, an unknown batch number.
func contentRefused(code string) bool {
	for _, class := range []string{"22", "23", "54", "MU"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// constraint names what was violated. The row itself, which the server sends
// too, is the user's and stays out of errors.
func constraint(pg *pgconn.PgError) string {
	if pg.ConstraintName == "" {
		return ""
	}
	return fmt.Sprintf(" [%s.%s]", pg.TableName, pg.ConstraintName)
}

// LastBatch reads the number of the last committed batch, to resolve Unknown.
// ErrFenced says that another leads, a LostWorkError that the database forgot
// something that it had acknowledged.
func (s *Store) LastBatch(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, fresh, err := s.openWriter(ctx)
	if err != nil {
		return last, err
	}
	if fresh {
		return last, nil
	}
	h := s.lease.Load()
	if h == nil {
		return 0, ErrNotLeader
	}
	last, err = s.w.lastBatch(ctx, h.Term)
	if err == nil {
		return last, s.checkLast(last)
	}
	if errors.Is(err, ErrFenced) {
		return 0, err
	}
	s.dropWriter() // it was broken and we did not know
	last, _, err = s.openWriter(ctx)
	return last, err
}
