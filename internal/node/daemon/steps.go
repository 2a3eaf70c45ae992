package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"muster/internal/auth"
	"muster/internal/auth/pki"
	"muster/internal/conf"
	"muster/internal/node/session"
	"muster/internal/wire"
)

// listen opens the node's port: on every address of the host, but only on the
// given one where that is a loopback address.
func (d *daemon) listen(n *conf.NodeConf) (net.Listener, error) {
	host := ""
	if ip := net.ParseIP(n.Addr); ip != nil && ip.IsLoopback() {
		host = n.Addr
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n.Port)))
	if err != nil {
		return nil, fmt.Errorf("node %s, Port=%d: %w", n.Name, n.Port, err)
	}
	return l, nil
}

// serveSteps serves srun.
func (d *daemon) serveSteps(ctx context.Context, l net.Listener) {
	mux := drpcmux.New()
	if err := wire.DRPCRegisterNodeSteps(mux, d.node); err != nil {
		d.log.Error("the step service cannot start", "error", err)
		return
	}
	server := drpcserver.NewWithOptions(mux, drpcserver.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: session.MaxMessage},
	}})
	cfg := auth.ServerConfig{
		TLS:         &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: d.serverTLS},
		Checkers:    []auth.Checker{d.auth.Checker},
		Certificate: pki.NodeIdentity,
	}
	var work sync.WaitGroup
	defer work.Wait()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if err != nil {
			d.log.Warn("accepting a step's connection", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		work.Go(func() {
			ready, id, err := auth.ServerConn(ctx, conn, cfg)
			if err != nil {
				d.log.Warn("a connection to the step service was refused", "error", err)
				return
			}
			defer context.AfterFunc(ctx, func() { ready.Close() })()
			_ = server.ServeOne(auth.NewContext(ctx, id), ready) // how srun went away is its own affair
		})
	}
}

func (d *daemon) serverTLS(*tls.ClientHelloInfo) (*tls.Config, error) {
	key := d.dialer.Key()
	if key == nil {
		return nil, errors.New("this node has no certificate yet: it waits for the controller")
	}
	return key.ServerTLS(d.public), nil
}
