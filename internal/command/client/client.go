package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcwire"

	"muster/internal/auth"
	"muster/internal/wire"
)

// What a user is told when nobody answers: Slurm's words, which programs match.
var (
	ErrConnect = errors.New("Unable to contact slurm controller (connect failure)")
	ErrTimeout = errors.New("Socket timed out on send/recv operation")
	ErrStandby = errors.New("Slurm controller in standby mode, use alternate controller")
)

// maxMessage bounds a message: a script of 4 MiB, an environment of 2 MiB and a
// list of 32,000 hosts fit many times.
const maxMessage = 64 << 20

// Client speaks with the controller of one cluster.
type Client struct {
	Conf *Conf
	// Notice, if set, is told once that the controller asked to be asked again.
	Notice func()

	getenv func(string) string
	first  int // of the controllers, the one to try first
	conn   *drpcconn.Conn
	ctld   wire.DRPCCtldClient
}

// New reads the configuration; it does not connect yet.
func New(getenv func(string) string) (*Client, error) {
	conf, err := ReadConf(getenv)
	if err != nil {
		return nil, err
	}
	return &Client{Conf: conf, getenv: getenv}, nil
}

// Close ends the connection.
func (c *Client) Close() {
	if c.conn != nil {
		_ = c.conn.Close() // it is no longer needed, whatever became of it
		c.conn, c.ctld = nil, nil
	}
}

// RequestID makes the id under which a change may be asked for again.
func RequestID() []byte {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return id
}

const (
	firstPause = 50 * time.Millisecond
	longPause  = time.Second
	// A new leader needs a lease to run out and the tables to load.
	againLimit = 120 * time.Second
)

// Do calls the controller. It connects when needed, and calls again when the
// connection could not be made or was lost (for MessageTimeout) or when the
// controller asks for it, so a request that changes something must carry the
// same id each time. The error is ErrConnect, ErrTimeout or the call's own.
func (c *Client) Do(ctx context.Context, call func(context.Context, wire.DRPCCtldClient) error) error {
	begin, pause, noticed := time.Now(), firstPause, false
	for again := false; ; again = true {
		err := c.once(ctx, again, call)
		limit := c.Conf.MessageTimeout
		switch {
		case err == nil:
			return nil
		case drpcerr.Code(err) == uint64(wire.RpcCode_RPC_TRY_AGAIN):
			limit = againLimit
			c.Close()
			c.first++ // another may lead by now
			if !noticed && c.Notice != nil && time.Since(begin) > time.Second {
				noticed = true
				c.Notice()
			}
			err = ErrStandby
		case errors.Is(err, ErrConnect):
			c.Close()
		default:
			return err
		}
		if time.Since(begin)+pause > limit {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, longPause)
	}
}

// once makes one call under the message timeout. One that is made again says
// so: the controller may have answered the first.
func (c *Client) once(ctx context.Context, again bool, call func(context.Context, wire.DRPCCtldClient) error) error {
	ctx, cancel := withPatience(ctx, c.Conf.MessageTimeout)
	defer cancel()
	if err := c.connect(ctx); err != nil {
		return err
	}
	if again {
		ctx = wire.WithRetry(ctx)
	}
	err := call(ctx, c.ctld)
	if err != nil && errors.Is(context.Cause(ctx), ErrTimeout) {
		c.Close()
		return ErrTimeout
	}
	if err != nil && ctx.Err() == nil && c.broken() {
		return ErrConnect
	}
	return err
}

// Connect returns the services of a controller that answers, for calls that
// take as long as they take.
func (c *Client) Connect(ctx context.Context) (wire.DRPCCtldClient, error) {
	err := c.Do(ctx, func(context.Context, wire.DRPCCtldClient) error { return nil })
	return c.ctld, err
}

// lost tells whether a handshake failed because the peer went away.
func lost(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// broken tells whether the connection has ended under a call.
func (c *Client) broken() bool {
	select {
	case <-c.conn.Closed():
		return true
	default:
		return false
	}
}

func (c *Client) connect(ctx context.Context) error {
	if c.conn != nil {
		if !c.broken() {
			return nil
		}
		c.Close()
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	c.conn = drpcconn.NewWithOptions(conn, drpcconn.Options{Manager: managerOptions()})
	c.ctld = wire.NewDRPCCtldClient(c.conn)
	return nil
}

// managerOptions are what both ends of a connection of commands use.
func managerOptions() drpcmanager.Options {
	return drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: maxMessage}}
}

// dial tries the socket of a controller on this host, then each SlurmctldHost.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	socket, named := c.socket()
	if socket != "" {
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if err == nil {
			return c.handshake(ctx, conn, auth.ClientConfig{})
		}
		if named {
			return nil, ErrConnect
		}
	}
	config, err := c.remoteConfig()
	if err != nil {
		if socket != "" || errors.Is(err, fs.ErrNotExist) && c.Conf.here() {
			return nil, ErrConnect // this is its host, and it is away or was never started
		}
		return nil, err
	}
	hosts := c.Conf.Controllers
	for i := range hosts {
		ready, err := c.dialHost(ctx, hosts[(c.first+i)%len(hosts)].Addr, config)
		if err == nil || !errors.Is(err, ErrConnect) {
			return ready, err
		}
	}
	return nil, ErrConnect
}

// dialHost connects to one controller. One of several gets a part of the time
// only, so that one that hangs does not keep us from the others.
func (c *Client) dialHost(ctx context.Context, addr string, config auth.ClientConfig) (net.Conn, error) {
	if n := len(c.Conf.Controllers); n > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Conf.MessageTimeout/time.Duration(n+1))
		defer cancel()
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(addr, c.Conf.Port))
	if err != nil {
		return nil, ErrConnect
	}
	return c.handshake(ctx, conn, config)
}

// socket returns the controller's socket: MUSTER_SOCKET (named), or the one that
// lies beside slurm.conf.
func (c *Client) socket() (path string, named bool) {
	if path := c.getenv("MUSTER_SOCKET"); path != "" {
		return path, true
	}
	path = filepath.Join(filepath.Dir(c.Conf.Path), "ctld.sock")
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	return path, false
}

// handshake proves who asks. A peer that goes away counts as not reached; one
// that refuses us is the answer.
func (c *Client) handshake(ctx context.Context, conn net.Conn, config auth.ClientConfig) (net.Conn, error) {
	config.Timeout = c.Conf.MessageTimeout
	ready, err := auth.ClientConn(ctx, conn, config)
	var refused *auth.RefusedError
	switch {
	case err == nil:
		return ready, nil
	case errors.As(err, &refused):
		return nil, fmt.Errorf("Protocol authentication error (%w)", err)
	case lost(err):
		return nil, ErrConnect
	}
	return nil, err
}
