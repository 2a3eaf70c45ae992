package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/controller"
	"muster/internal/wire"
)

const (
	// outboxSize is how many orders may wait for a node. A full one closes the
	// session; the registration that follows brings everything up again.
	outboxSize = 2048
	// registerTime is how long a new session may take to say who it is.
	registerTime = 30 * time.Second
	// probeTime is how long an old session of a node may take to show life when a
	// second one comes in.
	probeTime = 2 * time.Second
)

// sessions are the live node sessions.
type sessions struct {
	mu     sync.Mutex
	byNode map[string]*session
	gone   map[string]nodeLoad // of nodes without a session
	last   uint64
}

// nodeLoad is what stands beside the reducer: live figures of a node.
type nodeLoad struct {
	load  *wire.NodeLoad
	heard int64
}

// session is one node's connection. Its sender goroutine owns the stream's
// sending side and ends with the session.
type session struct {
	node    string
	number  uint64
	addr    string // where its step service listens
	orders  chan outgoing
	cancel  context.CancelCauseFunc
	heard   atomic.Int64 // seconds
	silent  bool         // guarded by sessions.mu
	load    atomic.Pointer[wire.NodeLoad]
	stirred chan struct{} // one token when something was heard
}

// outgoing is an order, or a launch that is still to be completed.
type outgoing struct {
	order *wire.NodeOrder
	run   *wire.RunOrder
}

var errSecondSession = errors.New("another session of this node is alive")

// Session serves one node from its registration to its end.
func (s *Server) Session(stream wire.DRPCNodeSession_SessionStream) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	reg, err := receiveRegister(ctx, stream, cancel)
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		s.Log.Warn("node session refused", "node", reg.Node, "from", caller(ctx).ID.String(), "why", why)
		return stream.Send(&wire.NodeOrder{Body: &wire.NodeOrder_Registered{Registered: &wire.Registered{Error: why}}})
	}
	if !s.rules().Policy.MayServeNode(caller(ctx), reg.Node) {
		return refuse("this identity may not serve node " + reg.Node)
	}
	if _, ok := s.Core.View().Node(reg.Node); !ok {
		return refuse("node " + reg.Node + " is not in slurm.conf")
	}
	ses, err := s.open(ctx, reg, cancel)
	if err != nil {
		return refuse(err.Error())
	}
	var sender sync.WaitGroup
	sender.Go(func() { s.send(ctx, ses, stream) })
	s.Core.Post(&controller.NodeRegister{Node: ses.node, Session: ses.number, Register: reg})
	err = s.receive(ctx, ses, stream)
	cancel(err)
	sender.Wait()
	s.Log.Info("node session ended", "node", ses.node, "why", context.Cause(ctx))
	s.close(ses)
	return err
}

// receiveRegister waits for the first message, which says who it is.
func receiveRegister(ctx context.Context, stream wire.DRPCNodeSession_SessionStream, cancel context.CancelCauseFunc) (*wire.Register, error) {
	timer := time.AfterFunc(registerTime, func() { hangUp(ctx) })
	first, err := stream.Recv()
	if !timer.Stop() {
		cancel(fmt.Errorf("no registration within %s", registerTime))
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	reg := first.GetRegister()
	if reg == nil {
		return nil, errors.New("a node session begins with a registration")
	}
	return reg, nil
}

// open makes the session the node's live one. A node that has one already is
// asked whether it is still there; only a dead one is replaced.
func (s *Server) open(ctx context.Context, reg *wire.Register, cancel context.CancelCauseFunc) (*session, error) {
	if old := s.sessions.of(reg.Node); old != nil {
		if old.alive(ctx) {
			return nil, errSecondSession
		}
		old.cancel(errors.New("replaced: it no longer answered when the node came anew"))
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	s.sessions.last++
	ses := &session{
		node: reg.Node, number: s.sessions.last, addr: reg.Addr, cancel: cancel,
		orders: make(chan outgoing, outboxSize), stirred: make(chan struct{}, 1),
	}
	ses.heard.Store(s.Clock().Unix())
	s.sessions.byNode[reg.Node] = ses
	return ses, nil
}

// alive asks an open session for a sign of life.
func (ses *session) alive(ctx context.Context) bool {
	select {
	case <-ses.stirred:
	default:
	}
	select {
	case ses.orders <- outgoing{order: &wire.NodeOrder{Body: &wire.NodeOrder_Ping{Ping: true}}}:
	default:
		return false
	}
	select {
	case <-ses.stirred:
		return true
	case <-time.After(probeTime):
		return false
	case <-ctx.Done():
		return true
	}
}

// close takes the session out, unless a later one has its place.
func (s *Server) close(ses *session) {
	s.sessions.mu.Lock()
	if s.sessions.byNode[ses.node] == ses {
		delete(s.sessions.byNode, ses.node)
		if s.sessions.gone == nil {
			s.sessions.gone = map[string]nodeLoad{}
		}
		s.sessions.gone[ses.node] = nodeLoad{ses.load.Load(), ses.heard.Load()}
	}
	s.sessions.mu.Unlock()
	s.Core.Post(&controller.NodeGone{Node: ses.node, Session: ses.number, Since: ses.heard.Load()})
}

// receive turns reports into events until the stream ends.
func (s *Server) receive(ctx context.Context, ses *session, stream wire.DRPCNodeSession_SessionStream) error {
	stop := context.AfterFunc(ctx, func() { hangUp(ctx) })
	defer stop()
	for {
		msg, err := stream.Recv()
		if err != nil {
			return err
		}
		s.heardFrom(ses)
		switch r := msg.Report.(type) {
		case *wire.NodeReport_Run:
			s.Core.Post(&controller.NodeReport{Node: ses.node, Session: ses.number, Run: r.Run})
		case *wire.NodeReport_Step:
			s.Core.Post(&controller.NodeReport{Node: ses.node, Session: ses.number, Step: r.Step})
		case *wire.NodeReport_Load:
			ses.load.Store(r.Load)
		case *wire.NodeReport_Register:
			s.Core.Post(&controller.NodeRegister{Node: ses.node, Session: ses.number, Register: r.Register})
		case *wire.NodeReport_Problem:
			s.Log.Error("node reports a problem", "node", ses.node, "problem", r.Problem)
		case *wire.NodeReport_ProblemOver:
			s.Log.Info("node's problem is over", "node", ses.node)
		case *wire.NodeReport_Ack:
			if r.Ack.Error != "" {
				s.Log.Warn("node could not carry out an order", "node", ses.node, "why", r.Ack.Error)
			}
		}
	}
}

// heardFrom notes a sign of life, and tells the reducer when the node was
// thought to be silent.
func (s *Server) heardFrom(ses *session) {
	ses.heard.Store(s.Clock().Unix())
	select {
	case ses.stirred <- struct{}{}:
	default:
	}
	s.sessions.mu.Lock()
	was := ses.silent
	ses.silent = false
	s.sessions.mu.Unlock()
	if was {
		s.Core.Post(&controller.NodeHeard{Node: ses.node, Session: ses.number})
	}
}

// send writes what is in the outbox until the session ends, and something at
// each beat: a node goes to another controller when this one is silent.
func (s *Server) send(ctx context.Context, ses *session, stream wire.DRPCNodeSession_SessionStream) {
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if err := stream.Send(&wire.NodeOrder{Body: &wire.NodeOrder_Ping{Ping: true}}); err != nil {
				ses.cancel(fmt.Errorf("send: %w", err))
				return
			}
		case out := <-ses.orders:
			order := out.order
			if out.run != nil {
				if order = s.completeLaunch(ctx, ses, out.run); order == nil {
					continue
				}
			}
			if err := stream.Send(order); err != nil {
				ses.cancel(fmt.Errorf("send: %w", err))
				return
			}
		}
	}
}

// Watch tells the reducer about nodes that have gone silent, until ctx ends.
func (s *Server) Watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.Clock().Unix()
		for _, ses := range s.sessions.silentSince(now - int64(s.NodeTimeout/time.Second)) {
			s.Core.Post(&controller.NodeSilent{Node: ses.node, Session: ses.number, Since: ses.heard.Load()})
		}
	}
}

// silentSince lists sessions that were last heard before limit, once each.
func (t *sessions) silentSince(limit int64) []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*session
	for _, ses := range t.byNode {
		if !ses.silent && ses.heard.Load() < limit {
			ses.silent = true
			out = append(out, ses)
		}
	}
	return out
}

func (t *sessions) of(node string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byNode[node]
}

// load is a node's live figures.
func (t *sessions) load(node string) (load *wire.NodeLoad, heard int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ses := t.byNode[node]; ses != nil {
		return ses.load.Load(), ses.heard.Load(), true
	}
	g, ok := t.gone[node]
	return g.load, g.heard, ok
}

func (t *sessions) broadcast(order *wire.NodeOrder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ses := range t.byNode {
		ses.put(outgoing{order: order})
	}
}

// put queues an order; a full outbox ends the session.
func (ses *session) put(out outgoing) {
	select {
	case ses.orders <- out:
	default:
		ses.cancel(fmt.Errorf("%d orders wait for the node: its outbox is full", outboxSize))
	}
}

// live finds the session that an effect is for.
func (t *sessions) live(node string, number uint64) *session {
	ses := t.of(node)
	if ses == nil || ses.number != number {
		return nil
	}
	return ses
}
