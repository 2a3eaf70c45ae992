// Package storetest is for tests: a real PostgreSQL that a test binary starts
// once (Main, Database), and the contract that every store keeps, the real one
// and a simulated one (Run).
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"muster/internal/store/embedded"
)

var shared struct {
	once   sync.Once
	dir    string
	server *embedded.Server
	guard  io.Closer
	err    error
	next   int
	mu     sync.Mutex
}

// Main runs a package's tests and stops the server that they started:
//
//	func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.server.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if shared.guard != nil {
		_ = shared.guard.Close()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	return code
}

// Database makes an empty database and returns its URL. The test is skipped
// where PostgreSQL is not installed. The package's TestMain must call Main.
func Database(t testing.TB) string {
	t.Helper()
	shared.once.Do(startShared)
	if errors.Is(shared.err, embedded.ErrNotInstalled) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	shared.mu.Lock()
	shared.next++
	name := fmt.Sprintf("test%d", shared.next)
	shared.mu.Unlock()
	Exec(t, shared.server.URL(), "CREATE DATABASE "+name)
	return shared.server.URL() + " dbname=" + name // the later one counts
}

func startShared() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, shared.err = embedded.Find(""); shared.err != nil {
		return
	}
	if shared.dir, shared.err = os.MkdirTemp("", "pg"); shared.err != nil {
		return
	}
	if shared.err = os.Chmod(shared.dir, 0o755); shared.err != nil {
		return
	}
	if shared.server, shared.err = embedded.Start(ctx, embedded.Config{State: shared.dir}); shared.err == nil {
		shared.guard, shared.err = guard(shared.server.Pid(), shared.dir)
	}
}

// guard stops the server when this process is gone, however it went: a test
// binary that runs into its time limit does not get to do it.
func guard(pid int, dir string) (io.Closer, error) {
	const script = `read -r _
[ "$(readlink "/proc/$1/cwd")" = "$2/postgres" ] || exit 0
kill -INT "$1"
while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
rm -rf "$2"`
	cmd := exec.Command("sh", "-c", script, "guard", strconv.Itoa(pid), dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return in, cmd.Start()
}

// Exec runs SQL behind a store's back.
func Exec(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
