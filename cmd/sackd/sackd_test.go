package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"muster/internal/auth"
	"muster/internal/auth/pki"
	"muster/internal/auth/sack"
	"muster/internal/auth/setup"
	"muster/internal/auth/slurm"
	"muster/internal/wire"
)

// TestMain lets the test binary be sackd itself.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_SACKD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func sackd(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "RUN_SACKD=1")
	return cmd
}

// cluster is a folder with slurm.conf, slurm.key and muster.pub.
func cluster(t *testing.T) (dir string, controller *pki.Controller) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sackd")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	state := t.TempDir()
	require.NoError(t, setup.Cluster(dir, state, os.Geteuid(), os.Getegid()))
	controller, err = pki.OpenController(state)
	require.NoError(t, err)
	controller.Cluster = "c1"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "slurm.conf"), []byte(confText), 0o644))
	return dir, controller
}

const confText = "ClusterName=c1\nSlurmctldHost=localhost\nAuthType=auth/slurm\nSlurmUser=root\n"

func checker(t *testing.T, dir string) *slurm.Checker {
	key, err := slurm.LoadKey(filepath.Join(dir, slurm.KeyFile), uint32(os.Geteuid()))
	require.NoError(t, err)
	c, err := slurm.NewChecker(key, "c1")
	require.NoError(t, err)
	return c
}

// start runs sackd in the foreground until it serves.
func startSackd(t *testing.T, socket string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := sackd(append([]string{"-Dv", "--socket", socket}, args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 20*time.Second, 5*time.Millisecond)
	return cmd, &log
}

func TestTokensAndTheEnd(t *testing.T) {
	dir, _ := cluster(t)
	socket := filepath.Join(dir, "run", "s")
	cmd, log := startSackd(t, socket, "-f", filepath.Join(dir, "slurm.conf"))
	binding := bytes.Repeat([]byte{1}, auth.BindingSize)
	token, err := sack.Prover{Sockets: []string{socket}}.Prove(context.Background(), binding)
	require.NoError(t, err)
	id, err := checker(t, dir).Check(context.Background(), token, binding)
	require.NoError(t, err)
	assert.EqualValues(t, os.Geteuid(), id.UID)

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), log.String())
	assert.Contains(t, log.String(), "msg=ended")
	assert.NoFileExists(t, socket)
}

func TestWhatKeepsItFromStarting(t *testing.T) {
	dir, _ := cluster(t)
	conf := filepath.Join(dir, "slurm.conf")
	mungeConf := filepath.Join(dir, "munge.conf")
	require.NoError(t, os.WriteFile(mungeConf, []byte(strings.Replace(confText, "auth/slurm", "auth/munge", 1)), 0o644))
	open := filepath.Join(dir, "open.key")
	require.NoError(t, os.WriteFile(open, bytes.Repeat([]byte("x"), 64), 0o644))
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no configuration": {[]string{"-D", "-f", filepath.Join(dir, "none")}, "no such file"},
		"munge":            {[]string{"-D", "-f", mungeConf}, "AuthType=auth/munge needs no sackd"},
		"readable key":     {[]string{"-D", "-f", conf, "--key", open}, "chmod 0600 " + open},
		"two sources":      {[]string{"-D", "-f", conf, "--conf-server", "x"}, "exclude each other"},
		"argument":         {[]string{"-D", "x"}, `unexpected argument "x"`},
		"unknown option":   {[]string{"-D", "--nonsense"}, "flag provided but not defined: -nonsense"},
		"port":             {[]string{"-D", "--port", "1"}, "not supported yet: --port"},
		"no public key":    {[]string{"-D", "--conf-server", "x", "--key", filepath.Join(dir, "no", "slurm.key")}, "copy muster.pub from the controller"},
		"in background":    {[]string{"-f", conf, "--key", open}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := sackd(test.args...).CombinedOutput()
			assert.Error(t, err)
			assert.Contains(t, string(out), "sackd: fatal: ")
			assert.Contains(t, string(out), test.want)
		})
	}
}

func TestVersion(t *testing.T) {
	for _, flag := range []string{"--version", "-V"} {
		out, err := sackd(flag).Output()
		require.NoError(t, err)
		assert.Regexp(t, `^slurm 26\.05\.0\nmuster .+\n$`, string(out))
	}
}

// confServer answers ConfFiles as a controller does.
type confServer struct {
	wire.DRPCCtldUnimplementedServer
	asked chan auth.Identity
	hash  string
}

func (s *confServer) ConfFiles(ctx context.Context, in *wire.ConfFilesRequest) (*wire.ConfFilesReply, error) {
	id, ok := auth.FromContext(ctx)
	if !ok {
		return nil, fmt.Errorf("no identity")
	}
	s.asked <- id
	if in.Hash == s.hash {
		return &wire.ConfFilesReply{Hash: s.hash}, nil
	}
	return &wire.ConfFilesReply{Hash: s.hash, Files: []*wire.ConfFile{
		{Name: "slurm.conf", Content: []byte(confText)},
		{Name: pki.PublicFile, Content: []byte("an impostor's key")},
	}}, nil
}

func TestConfigless(t *testing.T) {
	dir, controller := cluster(t)
	serverTLS, err := controller.ServerTLS()
	require.NoError(t, err)
	service := &confServer{asked: make(chan auth.Identity, 8), hash: "h1"}
	mux := drpcmux.New()
	require.NoError(t, wire.DRPCRegisterCtld(mux, service))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := auth.ServerConfig{TLS: serverTLS, Checkers: []auth.Checker{checker(t, dir)}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			conn, id, err := auth.ServerConn(context.Background(), raw, config)
			if err != nil {
				continue
			}
			_ = drpcserver.New(mux).ServeOne(auth.NewContext(context.Background(), id), conn)
		}
	}()
	defer func() { listener.Close(); <-done }()

	socket, copyDir := filepath.Join(dir, "s"), filepath.Join(dir, "run", "conf")
	cmd, _ := startSackd(t, socket, "--conf-server", listener.Addr().String(), "--conf-dir", copyDir, "--key", filepath.Join(dir, slurm.KeyFile))
	id := <-service.asked
	assert.Equal(t, auth.MethodSlurm, id.Method)
	text, err := os.ReadFile(filepath.Join(copyDir, "slurm.conf"))
	require.NoError(t, err)
	assert.Equal(t, confText, string(text))
	public, err := os.ReadFile(filepath.Join(copyDir, pki.PublicFile))
	require.NoError(t, err)
	assert.Equal(t, string(controller.Public()), string(public), "the pinned key, not the one sent")
	assert.NoFileExists(t, filepath.Join(copyDir, slurm.KeyFile))

	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	<-service.asked // asks again, with the hash
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, cmd.Wait())
}
