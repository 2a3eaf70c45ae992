// Package session keeps a node's one conversation with the controller: it
// dials, registers, hands orders on and carries reports, and begins anew
// whenever the connection is lost.
//
// It must not know what a run is made of or how the connection is secured:
// both are given to it, so that simulated nodes use it too. A report states a
// fact; a newer fact of the same run replaces one that is not yet sent, so
// what waits here is bounded by the number of runs.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcwire"

	"muster/internal/wire"
)

// Protocol is the version of the session.
const Protocol = 1

// MaxMessage bounds one message: a launch with its script and environment.
const MaxMessage = 64 << 20

// Node is the side of the session that acts.
type Node interface {
	// Register says everything that the node has or had and has not handed on.
	// It is asked anew for every connection.
	Register() *wire.Register
	// Registered hears the controller's answer. An error ends the connection:
	// this is not a controller to obey.
	Registered(*wire.Registered) error
	// Order obeys. It is called in the order of arrival and must return at once.
	Order(*wire.NodeOrder)
	// Load says how busy the node is.
	Load() *wire.NodeLoad
}

// Config is what a session needs.
type Config struct {
	// Dial connects to a controller, at each call to the next one. The
	// connection is ready for RPC.
	Dial func(context.Context) (net.Conn, error)
	Node Node
	Log  *slog.Logger
	// Wait bounds the random pause before another try; zero: one second at
	// first, up to 30.
	MinWait, MaxWait time.Duration
}

// Session is the conversation. Its methods may be called by many at once.
type Session struct {
	cfg Config
	out outbox
}

// New makes a session; Run holds it.
func New(cfg Config) *Session {
	if cfg.MinWait == 0 {
		cfg.MinWait, cfg.MaxWait = time.Second, 30*time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Session{cfg: cfg}
	s.out.init()
	return s
}

// errRefused marks an answer that trying again at once does not change.
var errRefused = errors.New("the controller refused the registration")

// Run holds the session until ctx is done.
func (s *Session) Run(ctx context.Context) {
	wait, last := s.cfg.MinWait, ""
	for ctx.Err() == nil {
		registered, err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if registered {
			wait, last = s.cfg.MinWait, ""
		}
		if cause := err.Error(); cause != last { // said once, not at every try
			s.cfg.Log.Warn("no session with the controller", "cause", err)
			last = cause
		}
		pause := wait/4 + time.Duration(rand.Int64N(int64(wait)))
		if errors.Is(err, errRefused) {
			pause = s.cfg.MaxWait/2 + time.Duration(rand.Int64N(int64(s.cfg.MaxWait)))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		wait = min(2*wait, s.cfg.MaxWait)
	}
}

// once holds one connection from its start to its end.
func (s *Session) once(ctx context.Context) (registered bool, err error) {
	raw, err := s.cfg.Dial(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := drpcconn.NewWithOptions(&timedConn{raw}, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: MaxMessage},
	}})
	defer conn.Close()
	stream, err := wire.NewDRPCNodeSessionClient(conn).Session(ctx)
	if err != nil {
		return false, fmt.Errorf("opening the session: %w", err)
	}
	defer stream.Close()

	s.out.clear() // the registration says it all
	register := s.cfg.Node.Register()
	register.Protocol = Protocol
	if err := stream.Send(&wire.NodeReport{Report: &wire.NodeReport_Register{Register: register}}); err != nil {
		return false, fmt.Errorf("registering: %w", err)
	}
	answer, err := firstAnswer(ctx, stream, raw)
	if err != nil {
		return false, err
	}
	if answer.Error != "" {
		return false, fmt.Errorf("%w: %s", errRefused, answer.Error)
	}
	if err := s.cfg.Node.Registered(answer); err != nil {
		return false, fmt.Errorf("%w: %w", errRefused, err)
	}
	s.out.open()
	defer s.out.shut()
	s.cfg.Log.Info("registered with the controller", "cluster", answer.ClusterName, "term", answer.Term)

	done := make(chan error, 1)
	go func() { done <- s.write(ctx, stream, answer) }()
	readErr := s.read(stream, raw, silenceLimit(answer))
	cancel()
	s.out.shut()
	writeErr := <-done
	if readErr == nil || errors.Is(readErr, context.Canceled) {
		readErr = writeErr
	}
	if errors.Is(readErr, io.EOF) {
		readErr = errors.New("the controller closed the session")
	}
	return true, readErr
}

// answerTimeout bounds the wait for the answer to a registration: a
// controller that has just started reads its tables first.
const answerTimeout = 60 * time.Second

func firstAnswer(ctx context.Context, stream wire.DRPCNodeSession_SessionClient, raw net.Conn) (*wire.Registered, error) {
	timer := time.AfterFunc(answerTimeout, func() { raw.Close() })
	defer timer.Stop()
	for {
		order, err := stream.Recv()
		if err != nil {
			return nil, fmt.Errorf("waiting for the answer to the registration: %w", err)
		}
		switch body := order.Body.(type) {
		case *wire.NodeOrder_Registered:
			return body.Registered, nil
		case *wire.NodeOrder_Ping:
		default:
			return nil, errors.New("the controller sent an order before it answered the registration")
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// silenceLimit is how long a controller may say nothing. It speaks at each
// beat; one that does not is stopped or cut off, and another may lead.
func silenceLimit(answer *wire.Registered) time.Duration {
	return 3*time.Duration(max(answer.Heartbeat, 1))*time.Second + 2*time.Second
}

func (s *Session) read(stream wire.DRPCNodeSession_SessionClient, raw net.Conn, limit time.Duration) error {
	var silent atomic.Bool
	timer := time.AfterFunc(limit, func() {
		silent.Store(true)
		raw.Close()
	})
	defer timer.Stop()
	for {
		order, err := stream.Recv()
		if silent.Load() {
			return fmt.Errorf("the controller has said nothing for %s", limit)
		}
		if err != nil {
			return err
		}
		timer.Reset(limit)
		switch order.Body.(type) {
		case *wire.NodeOrder_Ping:
			s.out.load(s.cfg.Node.Load())
		case *wire.NodeOrder_Registered: // said again after a change, e.g. of the term
			if err := s.cfg.Node.Registered(order.GetRegistered()); err != nil {
				return err
			}
		default:
			s.cfg.Node.Order(order)
		}
	}
}

func (s *Session) write(ctx context.Context, stream wire.DRPCNodeSession_SessionClient, answer *wire.Registered) error {
	interval := time.Duration(max(answer.Heartbeat, 1)) * time.Second
	beat := time.NewTicker(interval)
	defer beat.Stop()
	s.out.load(s.cfg.Node.Load())
	for {
		reports, ok := s.out.take(ctx, beat.C)
		if !ok {
			return ctx.Err()
		}
		if len(reports) == 0 {
			reports = append(reports, &wire.NodeReport{Report: &wire.NodeReport_Load{Load: s.cfg.Node.Load()}})
		}
		for _, report := range reports {
			if err := stream.Send(report); err != nil {
				return fmt.Errorf("reporting to the controller: %w", err)
			}
		}
	}
}

// writeTimeout is how long the controller may let a message wait.
const writeTimeout = 60 * time.Second

// timedConn fails writes that a peer holds up.
type timedConn struct{ net.Conn }

func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
