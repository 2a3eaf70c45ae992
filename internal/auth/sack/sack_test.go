package sack

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
	"muster/internal/auth/slurm"
)

func bind(b byte) []byte { return bytes.Repeat([]byte{b}, auth.BindingSize) }

type failing struct{}

func (failing) Issue(uint32, uint32, []byte) ([]byte, error) { return nil, errors.New("secret detail") }

// serve runs a token service until the test ends.
func serve(t testing.TB, issuer Issuer) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sack")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "s")
	listener, err := Listen(path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := &Server{Issuer: issuer, Log: slog.New(slog.DiscardHandler)}
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return path
}

func clusterPair(t testing.TB) (*slurm.Issuer, *slurm.Checker) {
	key, err := slurm.NewKey([]byte("a key of the test, long enough"))
	require.NoError(t, err)
	issuer, err := slurm.NewIssuer(key, "c1", 0)
	require.NoError(t, err)
	checker, err := slurm.NewChecker(key, "c1")
	require.NoError(t, err)
	return issuer, checker
}

func TestToken(t *testing.T) {
	issuer, checker := clusterPair(t)
	ctx := context.Background()
	path := serve(t, issuer)
	token, err := Prover{Sockets: []string{"/nonexistent/s", path}}.Prove(ctx, bind(1))
	require.NoError(t, err)
	id, err := checker.Check(ctx, token, bind(1))
	require.NoError(t, err)
	assert.EqualValues(t, os.Geteuid(), id.UID)
	assert.EqualValues(t, os.Getegid(), id.GID)
}

func TestNoService(t *testing.T) {
	_, err := Prover{Sockets: []string{"/nonexistent/s"}}.Prove(context.Background(), bind(1))
	assert.ErrorIs(t, err, ErrNoService)
	assert.ErrorContains(t, err, "start sackd (tried /nonexistent/s)")
	_, err = Prover{}.Prove(context.Background(), nil)
	assert.ErrorContains(t, err, "needs the binding")
}

func TestFailureStaysInTheLog(t *testing.T) {
	path := serve(t, failing{})
	_, err := Prover{Sockets: []string{path}}.Prove(context.Background(), bind(1))
	assert.ErrorContains(t, err, "its log says why")
	assert.NotContains(t, err.Error(), "secret detail")
}

func TestSilentService(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer listener.Close()
	start := time.Now()
	_, err = Prover{Sockets: []string{path}, Timeout: 50 * time.Millisecond}.Prove(context.Background(), bind(1))
	assert.ErrorContains(t, err, "no answer")
	assert.Less(t, time.Since(start), 3*time.Second)
}

func TestVersion(t *testing.T) {
	issuer, _ := clusterPair(t)
	conn, err := net.Dial("unix", serve(t, issuer))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write(append([]byte{9}, bind(1)...))
	require.NoError(t, err)
	_, err = readAnswer(conn)
	assert.ErrorContains(t, err, "another version")
}

func TestListen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	first, err := Listen(path)
	require.NoError(t, err)
	_, err = Listen(path)
	assert.ErrorContains(t, err, "another daemon serves "+path)
	first.SetUnlinkOnClose(false) // as after kill -9
	first.Close()
	second, err := Listen(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o666), info.Mode().Perm())
	second.Close()

	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	_, err = Listen(path)
	assert.ErrorContains(t, err, "is not a socket")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(content))
}

// TestOtherUsers runs the client in other processes: the token is for the user
// that the kernel sees, and the overflow uid gets none.
func TestOtherUsers(t *testing.T) {
	if path := os.Getenv("SACK_TEST_SOCKET"); path != "" {
		token, err := Prover{Sockets: []string{path}}.Prove(context.Background(), bind(7))
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(3)
		}
		os.Stdout.Write(token)
		os.Exit(0)
	}
	if os.Geteuid() != 0 {
		t.Skip("becoming other users needs root")
	}
	issuer, checker := clusterPair(t)
	path := serve(t, issuer)
	program := filepath.Join(filepath.Dir(path), "client") // where every user can run it
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, self, 0o755))
	run := func(attr *syscall.SysProcAttr) ([]byte, error) {
		cmd := exec.Command(program, "-test.run=^TestOtherUsers$")
		cmd.Dir = "/"
		cmd.Env = []string{"SACK_TEST_SOCKET=" + path}
		cmd.SysProcAttr = attr
		return cmd.Output()
	}

	token, err := run(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 54321}})
	require.NoError(t, err)
	id, err := checker.Check(context.Background(), token, bind(7))
	require.NoError(t, err)
	assert.EqualValues(t, 12345, id.UID)
	assert.EqualValues(t, 54321, id.GID)

	text, err := run(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	assert.Error(t, err)
	assert.Contains(t, string(text), "uid 65534 stands for users of a foreign user namespace")
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(answer(codeToken, []byte("x")))
	f.Add(answer(codeRefused, []byte("no")))
	f.Add([]byte{0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := readAnswer(bytes.NewReader(data))
		if err == nil && (data[0] != codeToken || len(body) > maxAnswer) {
			t.Fatal("took a refusal for a token")
		}
	})
}

func BenchmarkToken(b *testing.B) {
	issuer, _ := clusterPair(b)
	prover := Prover{Sockets: []string{serve(b, issuer)}}
	for b.Loop() {
		if _, err := prover.Prove(context.Background(), bind(1)); err != nil {
			b.Fatal(err)
		}
	}
}
