// Package commandtest runs a command inside of a test, against a controller
// that the test makes up.
package commandtest

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"muster/internal/auth"
	"muster/internal/command"
	"muster/internal/wire"
)

// Controller serves ctld on a socket beside a slurm.conf, which SLURM_CONF names
// for the rest of the test.
func Controller(t *testing.T, conf string, ctld wire.DRPCCtldServer) (dir string) {
	dir = t.TempDir()
	path := filepath.Join(dir, "slurm.conf")
	require.NoError(t, os.WriteFile(path, []byte("ClusterName=test\nSlurmctldHost=127.0.0.1\nMessageTimeout=2\n"+conf), 0o644))
	t.Setenv("SLURM_CONF", path)
	if ctld == nil {
		return dir
	}
	mux := drpcmux.New()
	require.NoError(t, wire.DRPCRegisterCtld(mux, ctld))
	listener, err := net.Listen("unix", filepath.Join(dir, "ctld.sock"))
	require.NoError(t, err)
	Serve(t, listener, auth.ServerConfig{}, mux)
	return dir
}

// Serve accepts connections until the test ends.
func Serve(t *testing.T, listener net.Listener, config auth.ServerConfig, mux *drpcmux.Mux) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				ready, _, err := auth.ServerConn(ctx, conn, config)
				if err == nil {
					_ = drpcserver.New(mux).ServeOne(ctx, ready)
				}
			}()
		}
	}()
}

// Run runs a command with these words and this standard input.
func Run(t *testing.T, run func(*command.Program) int, name, stdin string, args ...string) (stdout, stderr string, code int) {
	in := filepath.Join(t.TempDir(), "stdin")
	require.NoError(t, os.WriteFile(in, []byte(stdin), 0o600))
	file, err := os.Open(in)
	require.NoError(t, err)
	defer file.Close()
	var out, complaints buffer
	p := command.New(name, args)
	p.Stdin, p.Stdout, p.Stderr, p.Through = file, bufio.NewWriter(&out), &complaints, &out
	code = run(p)
	require.NoError(t, p.Stdout.Flush())
	return out.text(), complaints.text(), code
}

// buffer is written by several goroutines, as a terminal is.
type buffer struct {
	mu   sync.Mutex
	held bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.Write(data)
}

func (b *buffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held.String()
}
