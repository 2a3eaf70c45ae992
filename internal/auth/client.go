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

// DefaultTimeout bounds a preamble, TLS handshake included.
const DefaultTimeout = 10 * time.Second

// ClientConfig is what a client needs to open connections.
type ClientConfig struct {
	// TLS verifies the server on every connection that is not a unix socket
	// (pki.ClientTLS makes it). A certificate in it proves a node.
	TLS *tls.Config
	// Prover makes the token for connections over TLS. Without one the client
	// certificate in TLS is the proof.
	Prover  Prover
	Timeout time.Duration // DefaultTimeout if zero
}

// ClientConn authenticates a fresh connection and returns the one to use from
// then on: conn itself for a unix socket, else conn inside TLS. If it fails, conn
// is closed. A refusal by the server is a *RefusedError.
func ClientConn(ctx context.Context, conn net.Conn, cfg ClientConfig) (net.Conn, error) {
	done := limit(ctx, conn, cfg.Timeout)
	ready, err := clientHandshake(ctx, conn, cfg)
	if expired := done(); expired != nil && err != nil {
		err = fmt.Errorf("%w (%w)", err, expired)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return ready, nil
}

func clientHandshake(ctx context.Context, conn net.Conn, cfg ClientConfig) (net.Conn, error) {
	method, token := MethodPeer, []byte(nil)
	if _, local := conn.(*net.UnixConn); !local {
		if cfg.TLS == nil {
			return nil, errors.New("connecting to another host needs the cluster's public key (muster.pub) to verify it, and none was given")
		}
		secured := tls.Client(conn, cfg.TLS)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("verifying the server: %w", err)
		}
		conn = secured
		var err error
		if method, token, err = prove(ctx, secured, cfg); err != nil {
			return nil, err
		}
	}
	if _, err := conn.Write(appendFrame(make([]byte, 0, headerSize+len(token)), uint8(method), token)); err != nil {
		return nil, fmt.Errorf("sending the authentication: %w", err)
	}
	if err := readAnswer(conn); err != nil {
		var refused *RefusedError
		if errors.As(err, &refused) {
			return nil, refused
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the server closed the connection during authentication")
		}
		return nil, fmt.Errorf("waiting for the answer to the authentication: %w", err)
	}
	return conn, nil
}

func prove(ctx context.Context, conn *tls.Conn, cfg ClientConfig) (Method, []byte, error) {
	if cfg.Prover == nil {
		return MethodCertificate, nil, nil
	}
	binding, err := Binding(conn)
	if err != nil {
		return MethodNone, nil, err
	}
	token, err := cfg.Prover.Prove(ctx, binding)
	if err != nil {
		return MethodNone, nil, fmt.Errorf("proving who we are by %s: %w", cfg.Prover.Method(), err)
	}
	if len(token) > maxToken {
		return MethodNone, nil, fmt.Errorf("proving who we are by %s: the token has %d bytes, at most %d are allowed", cfg.Prover.Method(), len(token), maxToken)
	}
	return cfg.Prover.Method(), token, nil
}

// limit makes every operation on conn fail at the time limit and when ctx is
// done. The function it returns lifts the limit and reports whether, and why,
// it was reached.
func limit(ctx context.Context, conn net.Conn, timeout time.Duration) func() error {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	deadline := time.Now().Add(timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	_ = conn.SetDeadline(deadline) // a closed conn fails at its next use
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0))
		close(fired)
	})
	return func() error {
		if !stop() {
			<-fired
		}
		_ = conn.SetDeadline(time.Time{})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("no answer within %s", timeout)
		}
		return nil
	}
}
