package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"storj.io/drpc/drpcconn"

	"muster/internal/auth"
	"muster/internal/auth/pki"
	"muster/internal/conf"
	"muster/internal/wire"
)

// Dialer connects to the controllers of a cluster, one after the other, as a
// node that proves itself.
type Dialer struct {
	Conf   func() *conf.Config
	Node   string
	Spool  string
	Public *pki.Public
	Prover auth.Prover
	Log    *slog.Logger

	enrolling sync.Mutex // one request for a certificate at a time

	mu   sync.Mutex
	next int
	key  *pki.NodeKey
	last string
}

// Key is the node's certificate, nil as long as it has none.
func (d *Dialer) Key() *pki.NodeKey {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.key
}

// Controller is where the last connection went, host:port.
func (d *Dialer) Controller() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

const dialTimeout = 10 * time.Second

// Dial connects to the next controller, after it got a certificate if there is
// none (or its time has come).
func (d *Dialer) Dial(ctx context.Context) (net.Conn, error) {
	if err := d.ensureKey(ctx); err != nil {
		return nil, err
	}
	d.advance()
	return d.connect(ctx, auth.ClientConfig{TLS: d.Key().ClientTLS(d.Public)})
}

// DialLocal connects over the controller's unix socket only, without a
// certificate.
func (d *Dialer) DialLocal(ctx context.Context) (net.Conn, error) {
	conn, err := dialSocket(ctx, d.Conf())
	if err != nil {
		return nil, err
	}
	return auth.ClientConn(ctx, conn, auth.ClientConfig{})
}

func (d *Dialer) advance() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
}

// ensureKey gets a certificate over a connection that proves who this daemon
// runs as.
func (d *Dialer) ensureKey(ctx context.Context) error {
	d.enrolling.Lock()
	defer d.enrolling.Unlock()
	if key := d.Key(); key != nil && time.Now().Before(key.RenewAt()) {
		return nil
	}
	if d.Key() == nil {
		key, err := pki.LoadNodeKey(d.Spool, d.Node, d.Public)
		if err == nil && time.Now().Before(key.RenewAt()) {
			d.setKey(key)
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.Log.Warn("the node's certificate is not usable; asking for another", "error", err)
		}
	}
	d.advance()
	conn, err := d.connect(ctx, auth.ClientConfig{TLS: d.Public.ClientTLS(pki.ControllerName), Prover: d.Prover})
	if err != nil {
		return err
	}
	key, err := d.enrol(ctx, conn)
	if err != nil {
		return fmt.Errorf("getting a certificate for node %s: %w", d.Node, err)
	}
	d.setKey(key)
	return nil
}

func (d *Dialer) setKey(key *pki.NodeKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.key = key
}

func (d *Dialer) enrol(ctx context.Context, conn net.Conn) (*pki.NodeKey, error) {
	request, err := pki.NewNodeRequest(d.Node)
	if err != nil {
		conn.Close()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	rpc := drpcconn.New(conn)
	defer rpc.Close()
	reply, err := wire.NewDRPCNodeSessionClient(rpc).Certificate(ctx, &wire.CertRequest{Node: d.Node, Csr: request.Text})
	if err != nil {
		return nil, err
	}
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return request.Accept(reply.Certificate, d.Public, d.Spool)
}

// connect goes to the unix socket of a controller on this host, if it answers,
// else to the next controller's ports.
func (d *Dialer) connect(ctx context.Context, cfg auth.ClientConfig) (net.Conn, error) {
	c := d.Conf()
	if len(c.SlurmctldHosts) == 1 {
		if conn, err := dialSocket(ctx, c); err == nil {
			d.note(c.SlurmctldHosts[0].Addr, c.SlurmctldPorts[0])
			return auth.ClientConn(ctx, conn, cfg)
		}
	}
	d.mu.Lock()
	host := c.SlurmctldHosts[d.next%len(c.SlurmctldHosts)]
	port := c.SlurmctldPorts[d.next/len(c.SlurmctldHosts)%len(c.SlurmctldPorts)]
	d.mu.Unlock()
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host.Addr, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", host.Name, err)
	}
	limitSilence(conn)
	d.note(host.Addr, port)
	return auth.ClientConn(ctx, conn, cfg)
}

func (d *Dialer) note(host string, port int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = net.JoinHostPort(host, strconv.Itoa(port))
}

// limitSilence lets the kernel end a connection whose peer has vanished.
func limitSilence(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	const millis = 60_000
	_ = raw.Control(func(fd uintptr) { // without it the end is only noticed later
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, millis)
	})
}

// dialSocket connects to the socket that a controller opens beside slurm.conf,
// or in /run/slurm where it cannot.
func dialSocket(ctx context.Context, c *conf.Config) (net.Conn, error) {
	var dialer net.Dialer
	for _, path := range []string{filepath.Join(c.Dir(), "ctld.sock"), filepath.Join("/run/slurm", c.ClusterName+".sock")} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
			return conn, nil
		}
	}
	return nil, errors.New("no controller's socket on this host")
}
