package store_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/store/embedded"
	"muster/internal/store/storetest"
	"muster/internal/wire"
)

// own starts a server that the test may hurt.
func own(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	if _, err := embedded.Find(""); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{State: dir})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	return server
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The database is killed again and again while batches are committed. Whatever
// was acknowledged is there, each batch once, and the store recovers alone.
func TestKilledDatabaseLosesNothing(t *testing.T) {
	server := own(t, folder(t))
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { server.Watch(ctx) })
	defer watch.Wait()
	defer cancel()
	s := lead(t, server.URL(), "a")
	number := next(t, s)
	seen := map[model.Outcome]int{}
	for kill := range 3 {
		for i := range 30 {
			if i == 10+kill {
				require.NoError(t, syscall.Kill(server.Pid(), syscall.SIGKILL))
			}
			job := storetest.Job(int64(number))
			for done := false; !done; {
				o, err := s.Commit(ctx, &model.Batch{Number: number, Jobs: []model.JobPut{job}})
				seen[o]++
				switch o {
				case model.Committed:
					done = true
				case model.Retry:
					<-time.After(5 * time.Millisecond) // a controller pauses too
				case model.Unknown:
				default:
					require.NoError(t, err)
				}
			}
			number++
		}
	}
	var tables *model.Tables
	require.Eventually(t, func() bool { // the last kill may be noticed only now
		var err error
		tables, err = s.Load(t.Context())
		return err == nil
	}, 30*time.Second, 20*time.Millisecond)
	require.Len(t, tables.Jobs, 90)
	require.Equal(t, number-1, tables.LastBatch)
	require.Equal(t, 90, seen[model.Committed])
	require.NotZero(t, seen[model.Retry]+seen[model.Unknown])
}

// proxy stands between store and server and can cut the way back.
type proxy struct {
	net.Listener
	target string
	mu     sync.Mutex
	cut    bool // swallow what the server says, then close
	conns  []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, target: target}
	go p.serve() // ends with the listener
	t.Cleanup(func() { l.Close(); p.closeAll() })
	return p
}

func (p *proxy) serve() {
	for {
		in, err := p.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", p.target)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		go func() { _, _ = io.Copy(out, in); out.Close() }()
		go func() { p.back(in, out); in.Close() }()
	}
}

func (p *proxy) back(in, out net.Conn) {
	buf := make([]byte, 1<<16)
	for {
		n, err := out.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		cut := p.cut
		p.mu.Unlock()
		if cut {
			return
		}
		if _, err := in.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) setCut(v bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = v
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) url(direct string) string {
	addr := p.Addr().(*net.TCPAddr)
	return fmt.Sprintf("%s host=127.0.0.1 port=%d", direct, addr.Port)
}

func socketOf(url string) string {
	_, rest, _ := strings.Cut(url, "host='")
	dir, _, _ := strings.Cut(rest, "'")
	return dir + "/.s.PGSQL.5432"
}

func TestALostAnswerIsUnknownAndThenResolved(t *testing.T) {
	direct := storetest.Database(t)
	p := newProxy(t, socketOf(direct))
	s := lead(t, p.url(direct), "a")
	n := next(t, s)
	commit(t, s, &model.Batch{Number: n, Jobs: []model.JobPut{storetest.Job(1)}})

	p.setCut(true)
	b := &model.Batch{Number: n + 1, Jobs: []model.JobPut{storetest.Job(2)}}
	o, err := s.Commit(t.Context(), b)
	require.Error(t, err)
	require.Equal(t, model.Unknown, o)
	_, err = s.LastBatch(t.Context())
	require.Error(t, err, "still cut off")
	o, err = s.Commit(t.Context(), b)
	require.Error(t, err)
	require.Equal(t, model.Retry, o, "nothing of it was sent this time")

	p.setCut(false)
	last, err := s.LastBatch(t.Context())
	require.NoError(t, err)
	require.Equal(t, n+1, last, "only the answer was lost")
	commit(t, s, b)
	require.Equal(t, n+2, next(t, s))

	// A repeat without asking is taken as done as well.
	p.setCut(true)
	b = &model.Batch{Number: n + 2, Jobs: []model.JobPut{storetest.Job(3)}}
	o, _ = s.Commit(t.Context(), b)
	require.Equal(t, model.Unknown, o)
	p.setCut(false)
	commit(t, s, b)
	require.Equal(t, n+3, next(t, s))
}

func TestACommitWithoutAnswerEndsAsUnknownInTime(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a", func(c *store.Config) { c.CommitTimeout = 300 * time.Millisecond })
	n := next(t, s)
	commit(t, s, &model.Batch{Number: n, Jobs: []model.JobPut{storetest.Job(1)}})
	release := lockLease(t, url)
	o, err := s.Commit(t.Context(), &model.Batch{Number: n + 1, Jobs: []model.JobPut{storetest.Job(2)}})
	require.Error(t, err)
	require.Equal(t, model.Unknown, o)
	release()
	last, err := s.LastBatch(t.Context())
	require.NoError(t, err)
	o, err = s.Commit(t.Context(), &model.Batch{Number: n + 1, Jobs: []model.JobPut{storetest.Job(2)}})
	require.NoError(t, err)
	require.Equal(t, model.Committed, o)
	require.Contains(t, []uint64{n, n + 1}, last)
	require.Equal(t, n+2, next(t, s))
}

func TestAnOldConnectionCannotCommitLater(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	n := next(t, s)
	commit(t, s, &model.Batch{Number: n, Jobs: []model.JobPut{storetest.Job(1)}})
	// What a connection of ours that we gave up still sends:
	storetest.Exec(t, url, "UPDATE muster.lease SET writer = writer + 1")
	o, err := s.Commit(t.Context(), &model.Batch{Number: n + 1, Jobs: []model.JobPut{storetest.Job(2)}})
	require.ErrorIs(t, err, store.ErrFenced)
	require.Equal(t, model.Fenced, o)
	require.Equal(t, n+1, next(t, s))
}

func TestTerminatedConnectionsAreNotLost(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	n := next(t, s)
	for i := range uint64(5) {
		storetest.Exec(t, url, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'ctld' AND datname = current_database()")
		b := &model.Batch{Number: n + i, Jobs: []model.JobPut{storetest.Job(int64(i + 1))}}
		o, err := s.Commit(t.Context(), b)
		if o != model.Committed {
			require.Contains(t, []model.Outcome{model.Unknown, model.Retry}, o, "%v", err)
			commit(t, s, b)
		}
	}
	require.Equal(t, n+5, next(t, s))
	require.NoError(t, s.Renew(t.Context()))
}

func TestACancelledStatementIsRetried(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	n := next(t, s)
	job := storetest.Job(1)
	commit(t, s, &model.Batch{Number: n, Jobs: []model.JobPut{job}})
	release := hold(t, url, "LOCK TABLE muster.job IN ACCESS EXCLUSIVE MODE")
	done := make(chan struct{})
	go func() { // the server cancels what waits, as an administrator would
		defer close(done)
		for backends(t, url, "SELECT count(pg_cancel_backend(pid)) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") == 0 {
			<-time.After(10 * time.Millisecond)
		}
	}()
	b := &model.Batch{Number: n + 1, Jobs: []model.JobPut{{State: storetest.Running(job)}}}
	o, err := s.Commit(t.Context(), b)
	<-done
	require.Error(t, err)
	require.Equal(t, model.Retry, o)
	release()
	commit(t, s, b)
}

func dbname(url string) string { return url[strings.LastIndex(url, "=")+1:] }

func TestReadOnlyDatabaseIsRetriedAndNotRefused(t *testing.T) {
	url := storetest.Database(t)
	s := lead(t, url, "a")
	n := next(t, s)
	name := dbname(url)
	storetest.Exec(t, url, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	storetest.Exec(t, url+" options='-c default_transaction_read_only=off'", "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'ctld' AND datname = current_database()")
	b := &model.Batch{Number: n, Jobs: []model.JobPut{storetest.Job(1)}}
	for range 3 {
		o, err := s.Commit(t.Context(), b)
		require.Error(t, err)
		require.Contains(t, []model.Outcome{model.Unknown, model.Retry}, o, "%v", err)
	}
	storetest.Exec(t, url+" options='-c default_transaction_read_only=off'", "ALTER DATABASE "+name+" SET default_transaction_read_only = off")
	commit(t, s, b)
}

// The database's file system is full: nothing is lost, and once there is room
// the same batch passes.
func TestFullDiskIsRetriedUntilThereIsRoom(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := folder(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=150m,mode=755"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", "-l", dir).Run()) })
	server := own(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { server.Watch(ctx) })
	defer watch.Wait()
	defer cancel()
	s := lead(t, server.URL(), "a")
	n := next(t, s)
	commit(t, s, &model.Batch{Number: n, Jobs: []model.JobPut{storetest.Job(1)}})
	filler := filepath.Join(dir, "filler")
	require.NoError(t, fill(filler))

	big := strings.Repeat("x", 1000)
	var b *model.Batch
	var outcome model.Outcome
	for i := uint64(1); outcome == model.Committed; i++ {
		require.Less(t, i, uint64(200), "the disk does not fill")
		b = &model.Batch{Number: n + i}
		for k := range int64(100) {
			job := storetest.Job(int64(i)*1000 + k)
			job.State.Reason = big
			b.Jobs = append(b.Jobs, job)
		}
		var err error
		if outcome, err = s.Commit(ctx, b); err != nil {
			t.Log(err)
		}
	}
	require.Contains(t, []model.Outcome{model.Retry, model.Unknown}, outcome)
	require.NoError(t, os.Remove(filler))
	require.Eventually(t, func() bool {
		o, err := s.Commit(ctx, b)
		return err == nil && o == model.Committed
	}, 30*time.Second, 20*time.Millisecond)
	tables, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.Number, tables.LastBatch)
	require.Len(t, tables.Jobs, 1+100*int(b.Number-n))
}

// fill writes until there is no room.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			return nil
		}
	}
}

func TestARefusalNamesTheConstraintAndNotTheRow(t *testing.T) {
	s := lead(t, storetest.Database(t), "a")
	bad := storetest.Job(1)
	bad.State.State = wire.BaseState_RUNNING
	bad.State.Reason = "private text"
	o, err := s.Commit(t.Context(), &model.Batch{Number: next(t, s), Jobs: []model.JobPut{bad}})
	require.Equal(t, model.Refused, o)
	require.ErrorContains(t, err, "job_running_has_started")
	require.NotContains(t, err.Error(), "private")
}

func TestPasswordsStayOutOfErrorsAndLogs(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for name, cfg := range map[string]store.Config{
		"unreachable": {URL: "postgres://muster:topsecret@127.0.0.1:1/db"},
		"malformed":   {URL: "postgres://muster:top%zzsecret:topsecret@host:port/db"},
		"keywords":    {URL: "host=127.0.0.1 port=x password=topsecret"},
		"parts":       {Host: "127.0.0.1", Port: 1, User: "muster", Password: "topsecret", Database: "db"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Log = logger
			_, err := store.Open(t.Context(), cfg)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, fmt.Sprintf("%+v", err), "secret")
		})
	}
	require.NotContains(t, log.String(), "secret")
}

func TestAServerThatForgetsIsRefused(t *testing.T) {
	server := own(t, folder(t))
	for _, setting := range []string{"fsync", "full_page_writes"} {
		storetest.Exec(t, server.URL(), "ALTER SYSTEM SET "+setting+" = off")
		storetest.Exec(t, server.URL(), "SELECT pg_reload_conf()")
		require.Eventually(t, func() bool {
			_, err := store.Open(t.Context(), store.Config{URL: server.URL()})
			return err != nil && strings.Contains(err.Error(), "the database has "+setting+" off")
		}, 10*time.Second, 20*time.Millisecond)
		storetest.Exec(t, server.URL(), "ALTER SYSTEM RESET "+setting)
		storetest.Exec(t, server.URL(), "SELECT pg_reload_conf()")
	}
	// Others on the same server may do without: our sessions do not.
	storetest.Exec(t, server.URL(), "ALTER DATABASE muster SET synchronous_commit = off")
	require.Eventually(t, func() bool {
		s, err := store.Open(t.Context(), store.Config{URL: server.URL()})
		if err == nil {
			s.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond)
}
