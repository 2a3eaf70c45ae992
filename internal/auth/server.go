package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ServerConfig is what a server needs to accept connections.
type ServerConfig struct {
	// TLS is used on every connection that is not a unix socket.
	TLS *tls.Config
	// Checkers verify tokens, one for each method that is accepted. Peer
	// credentials of unix sockets are always accepted.
	Checkers []Checker
	// Certificate turns a verified client certificate into the node it was
	// issued to (pki.NodeIdentity). Nil: certificates are no proof here.
	Certificate func(tls.ConnectionState) (Identity, error)
	Timeout     time.Duration // DefaultTimeout if zero
}

// ServerConn authenticates a connection just accepted, and returns the one to
// use from then on with the identity of the peer. If it fails, the peer has
// been told and conn is closed. It blocks for as long as the time limit when a
// peer is silent, so each connection needs its own goroutine.
func ServerConn(ctx context.Context, conn net.Conn, cfg ServerConfig) (net.Conn, Identity, error) {
	done := limit(ctx, conn, cfg.Timeout)
	ready, id, err := serverHandshake(ctx, conn, cfg)
	expired := done()
	if err != nil {
		if expired != nil {
			err = fmt.Errorf("%w (%w)", err, expired)
		}
		conn.Close()
		return nil, Identity{}, err
	}
	return ready, id, nil
}

func serverHandshake(ctx context.Context, conn net.Conn, cfg ServerConfig) (net.Conn, Identity, error) {
	local, isLocal := conn.(*net.UnixConn)
	if !isLocal {
		if cfg.TLS == nil {
			return nil, Identity{}, errors.New("a connection from another host, and no TLS settings to serve it with")
		}
		secured := tls.Server(conn, cfg.TLS)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, Identity{}, fmt.Errorf("TLS with %s: %w", conn.RemoteAddr(), err)
		}
		conn = secured
	}
	method, token, err := readHello(conn)
	if err != nil {
		return nil, Identity{}, fmt.Errorf("reading the authentication of %s: %w", remote(conn), err)
	}
	var id Identity
	if isLocal {
		id, err = checkLocal(local, method, token)
	} else {
		id, err = cfg.checkRemote(ctx, conn.(*tls.Conn), method, token)
	}
	if err != nil {
		refuseConn(conn, err)
		return nil, Identity{}, fmt.Errorf("refused %s: %w", remote(conn), err)
	}
	if _, err := conn.Write(appendFrame(nil, answerWelcome, nil)); err != nil {
		return nil, Identity{}, fmt.Errorf("answering %s: %w", remote(conn), err)
	}
	return conn, id, nil
}

func checkLocal(conn *net.UnixConn, method Method, token []byte) (Identity, error) {
	if method != MethodPeer || len(token) != 0 {
		return Identity{}, Refuse("a unix socket is authenticated by its peer credentials, not by %s", method)
	}
	return Peer(conn)
}

func (cfg ServerConfig) checkRemote(ctx context.Context, conn *tls.Conn, method Method, token []byte) (Identity, error) {
	switch method {
	case MethodNone, MethodPeer:
		return Identity{}, Refuse("no credentials were sent (%s)", method)
	case MethodCertificate:
		if cfg.Certificate == nil || len(token) != 0 {
			return Identity{}, Refuse("a node certificate is not accepted here")
		}
		return cfg.Certificate(conn.ConnectionState())
	}
	for _, checker := range cfg.Checkers {
		if checker.Method() != method {
			continue
		}
		binding, err := Binding(conn)
		if err != nil {
			return Identity{}, err
		}
		id, err := checker.Check(ctx, token, binding)
		id.Method = method
		return id, err
	}
	return Identity{}, Refuse("%s is not this cluster's AuthType", method)
}

// lingerBytes and lingerTime bound how long a refused peer is listened to.
const (
	lingerBytes = 64 << 10
	lingerTime  = 500 * time.Millisecond
)

// refuseConn tells the peer why. A peer that has sent more than its hello would
// get a reset instead of the answer if the connection were closed at once, so
// what it sends is read and dropped for a moment.
func refuseConn(conn net.Conn, reason error) {
	_ = conn.SetDeadline(time.Now().Add(lingerTime))
	if _, err := conn.Write(refusal(publicText(reason))); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.CopyN(io.Discard, conn, lingerBytes)
}

// remote names the peer for the log; a unix client's address is empty.
func remote(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil && addr.String() != "" && addr.String() != "@" {
		return addr.String()
	}
	return "a local process"
}
