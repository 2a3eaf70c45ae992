package munge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// DefaultSocket is where munged listens unless AuthInfo=socket= says otherwise.
const DefaultSocket = "/run/munge/munge.socket.2"

// DefaultTimeout bounds one conversation with munged.
const DefaultTimeout = 5 * time.Second

// Client talks to the munged of this host. The zero value uses the defaults.
type Client struct {
	Socket  string
	TTL     time.Duration // life of credentials; munged's default if zero
	Timeout time.Duration
}

// Encode makes a credential for this process that carries the payload.
func (c Client) Encode(ctx context.Context, payload []byte) ([]byte, error) {
	body, err := c.ask(ctx, encodeRequest(payload, c.TTL), typeEncodeAnswer)
	if err != nil {
		return nil, err
	}
	return parseEncodeAnswer(body)
}

// Decode has munged check a credential. The same credential is refused the
// second time (CodeReplayed).
func (c Client) Decode(ctx context.Context, credential []byte) (*Credential, error) {
	// munged takes a C string and insists on its end.
	body, err := c.ask(ctx, decodeRequest(append(credential[:len(credential):len(credential)], 0)), typeDecodeAnswer)
	if err != nil {
		return nil, err
	}
	return parseDecodeAnswer(body)
}

func (c Client) ask(ctx context.Context, request []byte, answer uint8) ([]byte, error) {
	socket := c.Socket
	if socket == "" {
		socket = DefaultSocket
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := converse(ctx, socket, request, answer)
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("munged does not answer on %s within %s: %w", socket, timeout, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("munged does not run on this host (nothing listens on %s): start munge, or name its socket by AuthInfo=socket=: %w", socket, err)
	}
	return nil, fmt.Errorf("talking to munged on %s: %w", socket, err)
}

func converse(ctx context.Context, socket string, request []byte, answer uint8) ([]byte, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	body, err := readMessage(conn, answer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it closed the connection without an answer")
	}
	return body, err
}
