package session

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"muster/internal/wire"
)

// controller is the other end: each session is handed to the test.
type controller struct {
	wire.DRPCNodeSessionUnimplementedServer
	sessions chan wire.DRPCNodeSession_SessionStream
}

func (c *controller) Session(s wire.DRPCNodeSession_SessionStream) error {
	c.sessions <- s
	<-s.Context().Done()
	return nil
}

// fakeNode notes what it is told.
type fakeNode struct {
	mu       sync.Mutex
	register *wire.Register
	refuse   error
	orders   chan *wire.NodeOrder
}

func (n *fakeNode) Register() *wire.Register {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.register
}
func (n *fakeNode) Registered(*wire.Registered) error { return n.refuse }
func (n *fakeNode) Order(o *wire.NodeOrder)           { n.orders <- o }
func (n *fakeNode) Load() *wire.NodeLoad              { return &wire.NodeLoad{CpuLoad: 7} }

type rig struct {
	t       *testing.T
	ctl     *controller
	node    *fakeNode
	session *Session
	conns   chan net.Conn // the node's ends, to be cut
}

func newRig(t *testing.T) *rig {
	r := &rig{
		t: t, ctl: &controller{sessions: make(chan wire.DRPCNodeSession_SessionStream, 4)},
		node:  &fakeNode{register: &wire.Register{Node: "n1"}, orders: make(chan *wire.NodeOrder, 16)},
		conns: make(chan net.Conn, 16),
	}
	mux := drpcmux.New()
	require.NoError(t, wire.DRPCRegisterNodeSession(mux, r.ctl))
	server := drpcserver.NewWithOptions(mux, drpcserver.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: MaxMessage},
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	dials := 0
	r.session = New(Config{
		Node: r.node, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond,
		Dial: func(ctx context.Context) (net.Conn, error) {
			if dials++; dials == 1 {
				return nil, errors.New("not yet")
			}
			ours, theirs := net.Pipe()
			work.Go(func() { _ = server.ServeOne(ctx, theirs) }) // cut by the test
			r.conns <- ours
			return ours, nil
		},
	})
	work.Go(func() { r.session.Run(ctx) })
	t.Cleanup(func() { cancel(); work.Wait() })
	return r
}

// accept takes the next session and answers its registration.
func (r *rig) accept(answer *wire.Registered) (wire.DRPCNodeSession_SessionStream, *wire.Register) {
	r.t.Helper()
	s := <-r.ctl.sessions
	first, err := s.Recv()
	require.NoError(r.t, err)
	require.NotNil(r.t, first.GetRegister())
	if answer != nil {
		err := s.Send(&wire.NodeOrder{Body: &wire.NodeOrder_Registered{Registered: answer}})
		if !errors.Is(err, context.Canceled) { // a node that refuses us may be gone by then
			require.NoError(r.t, err)
		}
	}
	return s, first.GetRegister()
}

// next is the next report that is not a heartbeat.
func (r *rig) next(s wire.DRPCNodeSession_SessionStream) *wire.NodeReport {
	r.t.Helper()
	for {
		report, err := s.Recv()
		require.NoError(r.t, err)
		if report.GetLoad() == nil {
			return report
		}
	}
}

var welcome = &wire.Registered{ClusterId: "c", Heartbeat: 1}

func TestRegistersReportsAndObeys(t *testing.T) {
	r := newRig(t)
	s, register := r.accept(welcome)
	assert.Equal(t, "n1", register.Node)
	assert.EqualValues(t, Protocol, register.Protocol)
	first, err := s.Recv()
	require.NoError(t, err)
	assert.EqualValues(t, 7, first.GetLoad().GetCpuLoad())

	r.session.RunFact(&wire.RunFact{Key: 1, Attempt: 1, Stage: wire.RunStage_STAGE_RUNNING})
	assert.EqualValues(t, 1, r.next(s).GetRun().Key)
	r.session.Ack(9, "no")
	assert.Equal(t, "no", r.next(s).GetAck().Error)
	require.NoError(t, s.Send(&wire.NodeOrder{Order: 3, Body: &wire.NodeOrder_RunAck{RunAck: &wire.RunAck{Key: 1}}}))
	assert.EqualValues(t, 3, (<-r.node.orders).Order)
	beat, err := s.Recv()
	require.NoError(t, err)
	assert.NotNil(t, beat.GetLoad(), "a heartbeat comes by itself")
}

func TestReconnectsWithEverything(t *testing.T) {
	r := newRig(t)
	s, _ := r.accept(welcome)
	r.session.Problem("spool full", false)
	assert.Equal(t, "spool full", r.next(s).GetProblem())
	r.node.mu.Lock()
	r.node.register = &wire.Register{Node: "n1", Runs: []*wire.RunFact{{Key: 5}}}
	r.node.mu.Unlock()
	(<-r.conns).Close()
	s, register := r.accept(welcome)
	require.Len(t, register.Runs, 1)
	assert.Equal(t, "spool full", r.next(s).GetProblem(), "a standing problem is told again")
	r.session.Problem("spool full", true)
	assert.True(t, r.next(s).GetProblemOver())
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	r.accept(&wire.Registered{Error: "another session"})
	r.node.refuse = errors.New("another cluster")
	r.accept(welcome)
	s, _ := r.accept(welcome) // it goes on trying
	_, err := s.Recv()
	assert.Error(t, err, "and tells a controller that it refuses nothing")
}

func TestFactsCoalesce(t *testing.T) {
	s := &Session{}
	s.out.init()
	s.RunFact(&wire.RunFact{Key: 1}) // no connection: the registration will say it
	s.out.clear()
	for i := range 1000 {
		s.RunFact(&wire.RunFact{Key: 1, Attempt: 1, BatchStart: int64(i)})
	}
	s.RunFact(&wire.RunFact{Key: 1, Attempt: 2})
	s.StepFact(1, 1, &wire.StepFact{Step: 0})
	reports, ok := s.out.take(context.Background(), nil)
	require.True(t, ok)
	require.Len(t, reports, 3)
	assert.EqualValues(t, 999, reports[0].GetRun().BatchStart)
}
