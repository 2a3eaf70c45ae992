package sack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"muster/internal/auth"
)

// ErrNoService says that no token service runs on this host.
var ErrNoService = errors.New("no token service runs on this host")

// Prover gets tokens from the token service of this host.
type Prover struct {
	Sockets []string // DefaultSockets if empty
	Timeout time.Duration
}

// Method says that the tokens are of auth/slurm.
func (Prover) Method() auth.Method { return auth.MethodSlurm }

// Prove gets a token for this process on the connection with this binding.
func (p Prover) Prove(ctx context.Context, binding []byte) ([]byte, error) {
	if len(binding) != auth.BindingSize {
		return nil, errors.New("a token needs the binding of its connection")
	}
	timeout := p.Timeout
	if timeout <= 0 {
		timeout = conversation
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sockets := p.Sockets
	if len(sockets) == 0 {
		sockets = DefaultSockets
	}
	for _, socket := range sockets {
		token, err := ask(ctx, socket, binding)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("token service on %s: %w", socket, err)
		}
		return token, nil
	}
	return nil, fmt.Errorf("%w: start sackd (tried %s)", ErrNoService, strings.Join(sockets, ", "))
}

func ask(ctx context.Context, socket string, binding []byte) ([]byte, error) {
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
	// The answer may be a refusal that came before the request was read, so a
	// failed write is not the last word.
	_, writeErr := conn.Write(append([]byte{version}, binding...))
	token, err := readAnswer(conn)
	if errors.Is(err, io.EOF) && writeErr != nil {
		err = writeErr
	}
	return token, err
}

func readAnswer(r io.Reader) ([]byte, error) {
	var header [3]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	size := int(binary.BigEndian.Uint16(header[1:]))
	if size > maxAnswer {
		return nil, fmt.Errorf("an answer of %d bytes is too long", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("an answer cut short: %w", err)
	}
	switch header[0] {
	case codeToken:
		return body, nil
	case codeRefused:
		return nil, &auth.RefusedError{Reason: fmt.Sprintf("%q", body)}
	}
	return nil, fmt.Errorf("unknown answer %d", header[0])
}
