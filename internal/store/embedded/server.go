package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

const (
	superuser    = "postgres"
	databaseName = "muster"
)

// Config says where the server lives.
type Config struct {
	State  string // StateSaveLocation; it must exist
	User   string // SlurmUser, of use only to root
	BinDir string // the server's programs; empty = search
	Log    *slog.Logger
}

// Server is a PostgreSQL that is running, started or adopted by us.
type Server struct {
	binaries Binaries
	owner    owner
	data     string
	socket   string
	logPath  string
	log      *slog.Logger
	mu       sync.Mutex
	pid      int
	exited   chan struct{} // closed when a child of ours has been reaped; nil for an adopted one
	stopping bool
}

// Start makes sure that the server runs and that the database exists. It waits
// for crash recovery, as long as ctx allows.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.ensure(ctx); err != nil {
		return nil, err
	}
	if err := s.createDatabase(ctx); err != nil {
		return nil, fmt.Errorf("creating the database: %w", err)
	}
	return s, nil
}

func prepare(cfg Config) (*Server, error) {
	state, err := filepath.Abs(cfg.State)
	if err != nil {
		return nil, fmt.Errorf("StateSaveLocation %s: %w", cfg.State, err)
	}
	if state, err = filepath.EvalSymlinks(state); err != nil {
		return nil, fmt.Errorf("StateSaveLocation %s: %w", cfg.State, err)
	}
	found, err := Find(cfg.BinDir)
	if err != nil {
		return nil, err
	}
	s := &Server{data: filepath.Join(state, "postgres"), socket: socketFolder(state),
		logPath: filepath.Join(state, "postgres.log"), log: cfg.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.binaries, err = choose(found, s.data); err != nil {
		return nil, err
	}
	if s.owner, err = findOwner(cfg.User); err != nil {
		return nil, err
	}
	if err := s.owner.checkReach(state); err != nil {
		return nil, err
	}
	return s, nil
}

// URL is how the store reaches the database.
func (s *Server) URL() string { return s.urlOf(databaseName) }

func (s *Server) urlOf(database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", quote(s.socket), port, superuser, database)
}

// Pid is the postmaster's process id, 0 when it is down.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// ensure adopts the live server of the data folder or starts one. A lock keeps
// two controllers from doing it at once.
func (s *Server) ensure(ctx context.Context) error {
	unlock, err := lockFile(ctx, s.data+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.initialise(ctx); err != nil {
		return err
	}
	if pm, ok := livePostmaster(s.data); ok {
		return s.adopt(ctx, pm)
	}
	return s.launch(ctx)
}

func (s *Server) adopt(ctx context.Context, pm postmaster) error {
	s.socket = pm.socket
	s.set(pm.pid, nil)
	if err := s.waitReady(ctx, pm.pid, nil); err != nil {
		return fmt.Errorf("the database server that runs in %s (process %d) does not answer: %w", s.data, pm.pid, err)
	}
	s.log.Info("adopted the running database server", "pid", pm.pid)
	return nil
}

func (s *Server) set(pid int, exited chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid, s.exited = pid, exited
}

// waitReady waits for an answer on the socket while the process lives.
func (s *Server) waitReady(ctx context.Context, pid int, exited <-chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last answer: %w)", ctx.Err(), err)
		case <-exited:
			return errors.New(s.lastWords())
		case <-tick.C:
		}
		if exited == nil && !alive(pid) {
			return errors.New("it has ended")
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	return s.query(ctx, "postgres", func(c *pgx.Conn) error {
		var data string
		if err := c.QueryRow(ctx, "SHOW data_directory").Scan(&data); err != nil {
			return err
		}
		if data != s.data {
			return fmt.Errorf("the server on the socket in %s serves %s, not %s", s.socket, data, s.data)
		}
		return nil
	})
}

func (s *Server) createDatabase(ctx context.Context) error {
	return s.query(ctx, "postgres", func(c *pgx.Conn) error {
		var there bool
		err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", databaseName).Scan(&there)
		if err != nil || there {
			return err
		}
		_, err = c.Exec(ctx, "CREATE DATABASE "+databaseName)
		return err
	})
}

func (s *Server) query(ctx context.Context, database string, f func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.urlOf(database))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return f(c)
}

func lockFile(ctx context.Context, path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the database's folder: %w", err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for another controller that starts the database of %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}
