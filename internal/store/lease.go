package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Lease is the right to lead.
type Lease struct {
	Term       uint64 // one more with each takeover
	ClusterID  string // made with the tables
	Generation uint64 // see the package's comment
}

type held struct {
	Lease
	ttl time.Duration
}

var errHeldByOther = errors.New("another controller holds the lease")

// Acquire waits until the lease is ours, brings the tables to this program's
// schema, and returns. It goes on through outages of the database, and returns
// early on what waiting does not mend: a schema of a newer program, a server
// that is not durable, a password that is refused.
//
// The holder's own name takes the lease over at once: it is how a controller
// that was killed and started again does not wait for its former self. Two
// processes must not use one name.
func (s *Store) Acquire(ctx context.Context, holder string, ttl time.Duration) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWriter()
	s.lease.Store(nil)
	tick := time.NewTicker(min(max(ttl/10, 50*time.Millisecond), time.Second))
	defer tick.Stop()
	said := ""
	for {
		l, err := s.acquireOnce(ctx, holder, ttl)
		if err == nil {
			return l, nil
		}
		if ctx.Err() != nil {
			return Lease{}, fmt.Errorf("waiting for the lease: %w", ctx.Err())
		}
		if permanent(err) {
			return Lease{}, err
		}
		if err.Error() != said {
			said = err.Error()
			s.log.Info("waiting for the lease", "because", err)
		}
		select {
		case <-ctx.Done():
			return Lease{}, fmt.Errorf("waiting for the lease: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *Store) acquireOnce(ctx context.Context, holder string, ttl time.Duration) (Lease, error) {
	c, err := s.connect(ctx, map[string]string{"statement_timeout": "0"})
	if err != nil {
		return Lease{}, fmt.Errorf("connecting to the database: %w", err)
	}
	defer closeConn(c)
	if err := bootstrap(ctx, c); err != nil {
		return Lease{}, fmt.Errorf("making the lease table: %w", err)
	}
	if err := checkSchema(ctx, c); err != nil {
		return Lease{}, err
	}
	var term, batch int64
	h := held{ttl: ttl}
	err = c.QueryRow(ctx, query("lease_take"), []byte(holder), ttl.Seconds()).Scan(&term, &batch, &h.ClusterID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Lease{}, errHeldByOther
	}
	if err != nil {
		return Lease{}, fmt.Errorf("taking the lease: %w", err)
	}
	h.Term, h.Generation = uint64(term), uint64(batch)
	s.lease.Store(&h)
	if err := s.prepareTables(ctx, c); err != nil {
		s.lease.Store(nil)
		_, _ = c.Exec(ctx, query("lease_release"), term) // else it expires
		return Lease{}, err
	}
	if s.acked >= h.Generation {
		s.log.Error("going on from what the database holds", "error", &LostWorkError{Acknowledged: s.acked, Found: h.Generation - 1})
	}
	s.acked = h.Generation
	return h.Lease, nil
}

// prepareTables migrates under the lease, which it renews meanwhile.
func (s *Store) prepareTables(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(s.lease.Load().ttl / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := s.Renew(ctx); errors.Is(err, ErrFenced) {
					cancel(err)
				}
			}
		}
	}()
	err := migrate(ctx, c)
	if err == nil {
		err = s.readMonths(ctx, c)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	<-done
	return err
}

func bootstrap(ctx context.Context, c *pgx.Conn) error {
	var there bool
	err := c.QueryRow(ctx, "SELECT to_regclass('muster.lease') IS NOT NULL").Scan(&there)
	if err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(8317412562)"); err != nil {
			return err
		}
		_, err := tx.Conn().PgConn().Exec(ctx, query("bootstrap")).ReadAll()
		return err
	})
}

// Renew moves the lease's expiry. ErrFenced says that the lease is another's;
// any other error that it was not possible to tell.
func (s *Store) Renew(ctx context.Context) error {
	h := s.lease.Load()
	if h == nil {
		return ErrNotLeader
	}
	s.keepMu.Lock()
	defer s.keepMu.Unlock()
	if s.keeper == nil {
		c, err := s.connect(ctx, nil)
		if err != nil {
			return fmt.Errorf("renewing the lease: %w", err)
		}
		s.keeper = c
	}
	tag, err := s.keeper.Exec(ctx, query("lease_renew"), int64(h.Term), h.ttl.Seconds())
	if err != nil {
		s.dropKeeper()
		return fmt.Errorf("renewing the lease: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return ErrFenced
	}
	return nil
}

func (s *Store) dropKeeper() {
	if s.keeper != nil {
		closeConn(s.keeper)
		s.keeper = nil
	}
}

// permanent tells what a person has to mend.
func permanent(err error) bool {
	var newer *SchemaNewerError
	var durable *NotDurableError
	if errors.As(err, &newer) || errors.As(err, &durable) || errors.Is(err, ErrServerTooOld) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, class := range []string{"28", "3D", "42", "0A", "22", "23"} {
		if strings.HasPrefix(pg.Code, class) {
			return true
		}
	}
	return false
}
