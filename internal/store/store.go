package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	defaultPool          = 8
	defaultCommitTimeout = 30 * time.Second
	reportsAtOnce        = 2 // of the pool's connections, for History
)

// ErrFenced says that another process leads now.
var ErrFenced = errors.New("another controller has taken over")

// ErrNotLeader says that Acquire has not given us the lease.
var ErrNotLeader = errors.New("this controller does not hold the lease")

// LostWorkError says that the database has forgotten acknowledged commits: it
// was restored, or failed over to a copy that lagged behind.
type LostWorkError struct{ Acknowledged, Found uint64 }

func (e *LostWorkError) Error() string {
	return fmt.Sprintf("the database LOST ACKNOWLEDGED WORK: it holds commits up to %d, and %d was acknowledged", e.Found, e.Acknowledged)
}

// Store is a connection to the cluster's tables. Commit, Load and LastBatch are
// for one caller at a time (they wait for one another), the rest for any.
type Store struct {
	cfg     Config
	conn    *pgx.ConnConfig
	pool    *pgxpool.Pool
	log     *slog.Logger
	reports chan struct{}
	lease   atomic.Pointer[held]

	mu     sync.Mutex // guards what follows
	w      *writer    // nil: to be connected
	acked  uint64     // highest batch known to be committed
	months map[int]bool

	keepMu sync.Mutex
	keeper *pgx.Conn // renews the lease
}

// Open connects to the database, once, to see that it is fit.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.PoolSize <= 0 {
		cfg.PoolSize = defaultPool
	}
	if cfg.CommitTimeout <= 0 {
		cfg.CommitTimeout = defaultCommitTimeout
	}
	conn, err := cfg.connConfig()
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, conn: conn, log: cfg.Log, months: map[int]bool{},
		reports: make(chan struct{}, min(reportsAtOnce, cfg.PoolSize))}
	if s.pool, err = s.newPool(ctx); err != nil {
		return nil, fmt.Errorf("opening the database: %w", hide(err, conn.Password))
	}
	if err := s.pool.Ping(ctx); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("opening the database: %w", hide(err, conn.Password))
	}
	return s, nil
}

func (s *Store) newPool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig("sslmode=disable") // replaced by ours
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig = s.conn.Copy()
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "20s"
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	cfg.MaxConns = int32(s.cfg.PoolSize)
	cfg.MaxConnIdleTime = 5 * time.Minute
	return pgxpool.NewWithConfig(ctx, cfg)
}

// connect makes a connection apart from the pool.
func (s *Store) connect(ctx context.Context, params map[string]string) (*pgx.Conn, error) {
	cfg := s.conn.Copy()
	for name, value := range params {
		cfg.RuntimeParams[name] = value
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, hide(err, s.conn.Password)
	}
	return c, nil
}

// Close gives the lease back, if we have it, and closes the connections.
func (s *Store) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s.mu.Lock()
	if h := s.lease.Swap(nil); h != nil {
		if _, err := s.pool.Exec(ctx, query("lease_release"), int64(h.Term)); err != nil {
			s.log.Warn("the lease was not given back; it will expire", "error", hide(err, s.conn.Password))
		}
	}
	s.dropWriter()
	s.mu.Unlock()
	s.keepMu.Lock()
	s.dropKeeper()
	s.keepMu.Unlock()
	s.pool.Close()
}

func closeConn(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx) // it may be broken
}
