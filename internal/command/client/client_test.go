package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"muster/internal/auth"
	"muster/internal/wire"
)

func confFile(t *testing.T, text string) (dir string, getenv func(string) string) {
	dir = t.TempDir()
	path := filepath.Join(dir, "slurm.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return dir, func(key string) string {
		if key == "SLURM_CONF" {
			return path
		}
		return ""
	}
}

func TestReadConf(t *testing.T) {
	dir, getenv := confFile(t, `# a comment
ClusterName=c1 # another
slurmctldHOST=head(10.0.0.1)
SlurmctldHost=spare
SlurmctldPort=7002-7005
AuthInfo="socket=/run/x.sock,ttl=5"
Include more.conf
NodeName=n[1-4] SlurmctldPort=1
AuthType=\
auth/slurm
`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "more.conf"), []byte("MessageTimeout = 3  SlurmUser=slurm\n"), 0o644))
	c, err := ReadConf(getenv)
	require.NoError(t, err)
	assert.Equal(t, "c1", c.Cluster)
	assert.Equal(t, []Host{{Name: "head", Addr: "10.0.0.1"}, {Name: "spare", Addr: "spare"}}, c.Controllers)
	assert.Equal(t, "7002", c.Port)
	assert.Equal(t, "socket=/run/x.sock,ttl=5", c.AuthInfo)
	assert.Equal(t, "auth/slurm", c.AuthType)
	assert.Equal(t, "slurm", c.SlurmUser)
	assert.Equal(t, "slurm", c.Get("slurmuser"))
	assert.Equal(t, 3*time.Second, c.MessageTimeout)
}

func TestIncludeOfItselfEnds(t *testing.T) {
	_, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=x\nInclude slurm.conf\n")
	_, err := ReadConf(getenv)
	assert.ErrorContains(t, err, "included more than")
}

type server struct {
	wire.DRPCCtldUnimplementedServer
	submit func() (*wire.SubmitReply, error)
}

func (s *server) Submit(context.Context, *wire.SubmitRequest) (*wire.SubmitReply, error) {
	return s.submit()
}

// serve accepts commands on the socket beside slurm.conf until the test ends.
func serve(t *testing.T, dir string, s *server) {
	mux := drpcmux.New()
	require.NoError(t, wire.DRPCRegisterCtld(mux, s))
	listener, err := net.Listen("unix", filepath.Join(dir, "ctld.sock"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				ready, _, err := auth.ServerConn(ctx, conn, auth.ServerConfig{})
				if err == nil {
					_ = drpcserver.New(mux).ServeOne(ctx, ready)
				}
			}()
		}
	}()
}

func submit(c *Client) (reply *wire.SubmitReply, err error) {
	err = c.Do(context.Background(), func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		reply, err = ctld.Submit(ctx, &wire.SubmitRequest{RequestId: RequestID()})
		return err
	})
	return reply, err
}

func TestCallsAgainWhenAsked(t *testing.T) {
	dir, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=127.0.0.1\n")
	var calls atomic.Int32
	serve(t, dir, &server{submit: func() (*wire.SubmitReply, error) {
		if calls.Add(1) < 3 {
			return nil, drpcerr.WithCode(errors.New("not the leader"), uint64(wire.RpcCode_RPC_TRY_AGAIN))
		}
		return &wire.SubmitReply{JobId: 7}, nil
	}})
	c, err := New(getenv)
	require.NoError(t, err)
	defer c.Close()
	reply, err := submit(c)
	require.NoError(t, err)
	assert.EqualValues(t, 7, reply.JobId)
	assert.EqualValues(t, 3, calls.Load())
}

func TestOtherErrorsAreNotRepeated(t *testing.T) {
	dir, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=127.0.0.1\n")
	var calls atomic.Int32
	serve(t, dir, &server{submit: func() (*wire.SubmitReply, error) {
		calls.Add(1)
		return nil, fmt.Errorf("broken")
	}})
	c, err := New(getenv)
	require.NoError(t, err)
	defer c.Close()
	_, err = submit(c)
	assert.EqualError(t, err, "broken")
	assert.EqualValues(t, 1, calls.Load())
}

func TestNobodyAnswers(t *testing.T) {
	dir, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=127.0.0.1\nMessageTimeout=1\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ctld.sock"), nil, 0o600))
	c, err := New(getenv)
	require.NoError(t, err)
	begin := time.Now()
	_, err = submit(c)
	assert.ErrorIs(t, err, ErrConnect)
	assert.Less(t, time.Since(begin), 3*time.Second)
}

func TestSilentController(t *testing.T) {
	dir, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=127.0.0.1\nMessageTimeout=1\n")
	stop := make(chan struct{})
	serve(t, dir, &server{submit: func() (*wire.SubmitReply, error) { <-stop; return nil, errors.New("too late") }})
	defer close(stop)
	c, err := New(getenv)
	require.NoError(t, err)
	_, err = submit(c)
	assert.ErrorIs(t, err, ErrTimeout)
}

func TestLostConnectionIsRepeated(t *testing.T) {
	dir, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=127.0.0.1\n")
	var calls atomic.Int32
	c, err := New(getenv)
	require.NoError(t, err)
	defer c.Close()
	serve(t, dir, &server{submit: func() (*wire.SubmitReply, error) {
		if calls.Add(1) == 1 {
			_ = c.conn.Transport().Close() // as if the controller had been killed
			return nil, errors.New("nobody hears this")
		}
		return &wire.SubmitReply{JobId: 8}, nil
	}})
	reply, err := submit(c)
	require.NoError(t, err)
	assert.EqualValues(t, 8, reply.JobId)
}

func TestRefusedProof(t *testing.T) {
	dir, getenv := confFile(t, "ClusterName=c\nSlurmctldHost=127.0.0.1\nMessageTimeout=2\n")
	listener, err := net.Listen("unix", filepath.Join(dir, "ctld.sock"))
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Write(append([]byte("MUSTER1\x01\x00\x00\x00\x02"), "no"...))
		}
	}()
	c, err := New(getenv)
	require.NoError(t, err)
	_, err = submit(c)
	assert.ErrorContains(t, err, "Protocol authentication error")
	assert.ErrorContains(t, err, "no")
}
