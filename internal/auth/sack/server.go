package sack

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"muster/internal/auth"
)

const (
	version     = 1
	requestSize = 1 + auth.BindingSize
	maxAnswer   = 4 << 10

	codeToken   = 0
	codeRefused = 1

	conversation = 5 * time.Second // the longest one may take
	parallel     = 256             // conversations at a time; more wait in the listen queue
)

// Issuer makes tokens (slurm.Issuer).
type Issuer interface {
	Issue(uid, gid uint32, binding []byte) ([]byte, error)
}

// Server hands out tokens.
type Server struct {
	Issuer Issuer
	Log    *slog.Logger
}

// Serve answers until ctx is done, closes the listener, and returns when the
// last conversation has ended. It returns nil after an orderly end.
func (s *Server) Serve(ctx context.Context, listener *net.UnixListener) error {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, parallel)
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // out of file descriptors, mostly: go on when some are free
			s.Log.Warn("accepting a local user", "error", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s.converse(conn)
		})
	}
}

func (s *Server) converse(conn *net.UnixConn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(conversation))
	id, err := auth.Peer(conn)
	if err != nil {
		s.Log.Warn("refused a token", "error", err)
		_, _ = conn.Write(answer(codeRefused, []byte(err.Error())))
		return
	}
	var request [requestSize]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil {
		return // a probe, or a client that gave up
	}
	if request[0] != version {
		_, _ = conn.Write(answer(codeRefused, []byte("this token service speaks another version of the protocol")))
		return
	}
	token, err := s.Issuer.Issue(id.UID, id.GID, request[1:])
	if err != nil {
		s.Log.Error("making a token", "uid", id.UID, "error", err)
		_, _ = conn.Write(answer(codeRefused, []byte("the token service could not make a token; its log says why")))
		return
	}
	s.Log.Debug("token", "uid", id.UID, "gid", id.GID, "pid", id.PID)
	_, _ = conn.Write(answer(codeToken, token))
}

func answer(code uint8, body []byte) []byte {
	b := append(make([]byte, 0, 3+len(body)), code)
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	return append(b, body...)
}
