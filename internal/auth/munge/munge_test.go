package munge

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
)

// startMunged runs a munged of our own, as user munge, with its own key and
// socket, and ends it with the test.
func startMunged(t testing.TB) string {
	t.Helper()
	return startMungedWithKey(t, "a munge key of thirty-two bytes!")
}

func startMungedWithKey(t testing.TB, secret string) string {
	t.Helper()
	program, err := exec.LookPath("munged")
	if err != nil {
		if program = "/usr/sbin/munged"; os.Geteuid() != 0 || exec.Command(program, "--version").Run() != nil {
			t.Skip("munged is not installed (Debian: package munge) or not root")
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("starting munged as user munge needs root")
	}
	account, err := user.Lookup("munge")
	if err != nil {
		t.Skip("there is no user munge")
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	dir, err := os.MkdirTemp("", "munge") // short: a socket's path is at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	key := filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(key, []byte(secret), 0o600))
	require.NoError(t, os.Chown(key, uid, gid))
	require.NoError(t, os.Chown(dir, uid, gid))
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command(program, "--foreground", "--key-file="+key, "--socket="+socket,
		"--pid-file="+filepath.Join(dir, "pid"), "--log-file="+filepath.Join(dir, "log"), "--seed-file="+filepath.Join(dir, "seed"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGTERM}
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}, 10*time.Second, 5*time.Millisecond, "munged did not start")
	return socket
}

func bind(b byte) []byte { return bytes.Repeat([]byte{b}, auth.BindingSize) }

func TestWithMunged(t *testing.T) {
	ctx := context.Background()
	client := Client{Socket: startMunged(t), TTL: time.Minute}
	prover := Prover{client, "c1"}
	checker := Checker{client, "c1"}

	t.Run("round trip and replay", func(t *testing.T) {
		token, err := prover.Prove(ctx, bind(1))
		require.NoError(t, err)
		assert.Regexp(t, `^MUNGE:.*:$`, string(token))
		id, err := checker.Check(ctx, token, bind(1))
		require.NoError(t, err)
		assert.EqualValues(t, os.Geteuid(), id.UID)
		assert.EqualValues(t, os.Getegid(), id.GID)
		assert.Equal(t, auth.MethodMunge, id.Method)
		_, err = checker.Check(ctx, token, bind(1))
		assert.ErrorContains(t, err, "Replayed credential")
	})
	t.Run("another connection", func(t *testing.T) {
		token, err := prover.Prove(ctx, bind(1))
		require.NoError(t, err)
		_, err = checker.Check(ctx, token, bind(2))
		assert.ErrorContains(t, err, "another connection")
	})
	t.Run("another cluster", func(t *testing.T) {
		token, err := Prover{client, "c2"}.Prove(ctx, bind(1))
		require.NoError(t, err)
		_, err = checker.Check(ctx, token, bind(1))
		assert.ErrorContains(t, err, `for cluster "c2", this is "c1"`)
	})
	t.Run("another program", func(t *testing.T) {
		token, err := client.Encode(ctx, []byte("something"))
		require.NoError(t, err)
		_, err = checker.Check(ctx, token, bind(1))
		assert.ErrorContains(t, err, "another program")
	})
	t.Run("forged", func(t *testing.T) {
		token, err := prover.Prove(ctx, bind(1))
		require.NoError(t, err)
		token[len(token)/2] ^= 1
		_, err = checker.Check(ctx, token, bind(1))
		assert.ErrorContains(t, err, "munged: ")
		_, err = checker.Check(ctx, nil, bind(1))
		assert.Error(t, err)
	})
	t.Run("another munge key", func(t *testing.T) {
		token, err := prover.Prove(ctx, bind(1))
		require.NoError(t, err)
		other := startMungedWithKey(t, "another key of thirty-two bytes!")
		_, err = Checker{Client{Socket: other}, "c1"}.Check(ctx, token, bind(1))
		assert.ErrorContains(t, err, "Invalid credential")
	})
	t.Run("expired", func(t *testing.T) {
		short := client
		short.TTL = time.Second
		token, err := Prover{short, "c1"}.Prove(ctx, bind(1))
		require.NoError(t, err)
		// munged's clock cannot be set: its TTL of one second has to pass.
		require.Eventually(t, func() bool {
			probe, err := client.Decode(ctx, token)
			_ = probe
			var refusal *Error
			return assert.ErrorAs(t, orReplay(err), &refusal) && refusal.Code == CodeExpired
		}, 10*time.Second, 200*time.Millisecond)
	})
	t.Run("as another user", func(t *testing.T) {
		if _, err := exec.LookPath("munge"); err != nil {
			t.Skip("the munge command is not installed")
		}
		cmd := exec.Command("munge", "--socket="+client.Socket, "-s", "x")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 54321}}
		out, err := cmd.Output()
		require.NoError(t, err)
		cred, err := client.Decode(ctx, bytes.TrimSpace(out))
		require.NoError(t, err)
		assert.EqualValues(t, 12345, cred.UID)
		assert.EqualValues(t, 54321, cred.GID)
		assert.Equal(t, "x", string(bytes.TrimRight(cred.Payload, "\x00")))
	})
}

// orReplay stands for the first decode, which succeeds.
func orReplay(err error) error {
	if err == nil {
		return &Error{Code: CodeReplayed}
	}
	return err
}

func TestMungedAway(t *testing.T) {
	ctx := context.Background()
	_, err := Prover{Client{Socket: filepath.Join(t.TempDir(), "none")}, "c"}.Prove(ctx, bind(1))
	assert.ErrorContains(t, err, "munged does not run on this host")

	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path) // accepts in the kernel, never answers
	require.NoError(t, err)
	defer listener.Close()
	start := time.Now()
	_, err = Client{Socket: path, Timeout: 50 * time.Millisecond}.Encode(ctx, nil)
	assert.ErrorContains(t, err, "does not answer on "+path+" within 50ms")
	assert.Less(t, time.Since(start), 3*time.Second)
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 4, 'M', 'U', 'N', 0})
	f.Add([]byte{17, 8, 'R', 'e', 'p', 'l', 'a', 'y', 'e', 0})
	f.Add(append(make([]byte, 60), 1, 2, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		if cred, err := parseEncodeAnswer(data); err == nil && len(cred) > len(data) {
			t.Fatal("longer than its message")
		}
		if cred, err := parseDecodeAnswer(data); err == nil && len(cred.Payload) > len(data) {
			t.Fatal("longer than its message")
		}
		_, _ = readMessage(bytes.NewReader(data), typeDecodeAnswer)
	})
}

func BenchmarkMunge(b *testing.B) {
	client := Client{Socket: startMunged(b)}
	for b.Loop() {
		token, err := Prover{client, "c"}.Prove(context.Background(), bind(1))
		require.NoError(b, err)
		_, err = Checker{client, "c"}.Check(context.Background(), token, bind(1))
		require.NoError(b, err)
	}
}
