package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// state makes a StateSaveLocation that the database's user can reach; a short
// path, so that the socket lies in it.
func state(t *testing.T) string {
	t.Helper()
	if _, err := Find(""); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "pg")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, Config{State: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, s.Stop(ctx))
	})
	return s
}

func value(t *testing.T, s *Server, sql string) string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URL())
	require.NoError(t, err)
	defer c.Close(t.Context())
	var v string
	require.NoError(t, c.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

func TestStartsWithDurabilityAndAUnixSocketAlone(t *testing.T) {
	s := start(t, state(t))
	for setting, want := range map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
		"data_checksums": "on", "listen_addresses": "", "log_statement": "none"} {
		require.Equal(t, want, value(t, s, "SHOW "+setting), setting)
	}
	info, err := os.Stat(s.socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	session, err := unix.Getsid(s.Pid())
	require.NoError(t, err)
	require.Equal(t, s.Pid(), session, "the server leads its own session")
}

func TestAdoptsALiveServerAndStopsIt(t *testing.T) {
	dir := state(t)
	first := start(t, dir)
	second := start(t, dir)
	require.Equal(t, first.Pid(), second.Pid())
	require.NoError(t, second.Stop(t.Context()))
	require.False(t, alive(first.Pid()))
	third := start(t, dir)
	require.NotEqual(t, first.Pid(), third.Pid())
}

func TestWatchStartsItAgainAfterKill(t *testing.T) {
	dir := state(t)
	own := start(t, dir)
	adopted := start(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	for _, s := range []*Server{own, adopted} {
		go func() { s.Watch(ctx); done <- struct{}{} }()
	}
	was := own.Pid()
	require.NoError(t, syscall.Kill(was, syscall.SIGKILL))
	for _, s := range []*Server{own, adopted} {
		require.Eventually(t, func() bool {
			pid := s.Pid()
			return pid != was && pid != 0 && s.ping(t.Context()) == nil
		}, 30*time.Second, 20*time.Millisecond)
	}
	require.Equal(t, own.Pid(), adopted.Pid())
	cancel()
	<-done
	<-done
}

func TestAnotherMajorVersionIsRefusedWithTheWayToUpgrade(t *testing.T) {
	dir := state(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "postgres"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres", "PG_VERSION"), []byte("12\n"), 0o600))
	_, err := Start(t.Context(), Config{State: dir})
	var version *VersionError
	require.ErrorAs(t, err, &version)
	require.Equal(t, 12, version.Wrote)
	require.Contains(t, err.Error(), "ctld --dump")
	require.Contains(t, err.Error(), "ctld --restore")
}

func TestAnUnfinishedInitdbIsDoneAgain(t *testing.T) {
	dir := state(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "postgres.new", "base"), 0o700))
	s := start(t, dir)
	require.Equal(t, "1", value(t, s, "SELECT '1'"))
	require.NoDirExists(t, filepath.Join(dir, "postgres.new"))
}

func TestALongStateFolderGetsAShortSocketFolder(t *testing.T) {
	long := filepath.Join("/var/spool", strings.Repeat("long/", 30))
	require.LessOrEqual(t, len(socketFolder(long)), socketMax)
	require.NotEqual(t, socketFolder(long), socketFolder(long+"2"))
	require.Equal(t, "/var/spool/slurmctld/pg", socketFolder("/var/spool/slurmctld"))
}

func TestAFolderAboveThatCannotBeEnteredIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts the server as another user")
	}
	dir := state(t)
	require.NoError(t, os.Chmod(dir, 0o700))
	inner := filepath.Join(dir, "state")
	require.NoError(t, os.Mkdir(inner, 0o700))
	_, err := Start(t.Context(), Config{State: inner})
	require.ErrorContains(t, err, "chmod o+x "+dir)
}

func TestDumpAndRestore(t *testing.T) {
	from, to := start(t, state(t)), start(t, state(t))
	c, err := pgx.Connect(t.Context(), from.URL())
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), "CREATE SCHEMA muster; CREATE TABLE muster.t AS SELECT 42 AS n")
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))

	file := filepath.Join(t.TempDir(), "dump")
	require.NoError(t, Dump(t.Context(), from.URL(), "", file))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, Restore(t.Context(), to.URL(), "", file))
	require.Equal(t, "42", value(t, to, "SELECT n::text FROM muster.t"))
	require.ErrorContains(t, Restore(t.Context(), to.URL(), "", file), "already holds a cluster")
}

func TestADumpThatFailsLeavesNoFileAndNoPassword(t *testing.T) {
	state(t)
	file := filepath.Join(t.TempDir(), "dump")
	err := Dump(t.Context(), "postgres://u:topsecret@127.0.0.1:1/x", "", file)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "topsecret")
	require.NoFileExists(t, file)
	require.NoFileExists(t, file+".new")
}

// TestAServerThatIsNotYetReaped: its lock file names a process that exists for
// a moment longer; the start waits for it.
func TestAServerThatIsNotYetReaped(t *testing.T) {
	dir := state(t)
	s := start(t, dir)
	require.NoError(t, s.Stop(t.Context()))
	dead := exec.Command("true")
	dead.SysProcAttr, dead.Dir = s.owner.attributes(), "/"
	require.NoError(t, dead.Start())
	require.Eventually(t, func() bool { return !alive(dead.Process.Pid) }, 10*time.Second, 5*time.Millisecond)
	lock := fmt.Sprintf("%d\n%s\n0\n%d\n%s\n", dead.Process.Pid, s.data, port, s.socket)
	require.NoError(t, os.WriteFile(filepath.Join(s.data, "postmaster.pid"), []byte(lock), 0o600))
	require.NoError(t, os.Chown(filepath.Join(s.data, "postmaster.pid"), s.owner.uid, s.owner.gid))
	before := strings.Count(string(must(os.ReadFile(s.logPath))), "already exists")
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for strings.Count(string(must(os.ReadFile(s.logPath))), "already exists") == before {
			<-tick.C
		}
		_ = dead.Wait()
	}()
	again := start(t, dir)
	<-reaped
	require.Equal(t, "1", value(t, again, "SELECT 1"))
}

func must(text []byte, _ error) []byte { return text }
