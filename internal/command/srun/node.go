package srun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcwire"

	"muster/internal/auth"
	"muster/internal/wire"
)

// maxFrame bounds what a node may send at once.
const maxFrame = 16 << 20

// Patience with a node that cannot be reached: before its tasks run, and after
// they were seen running (its daemon may be restarting).
const (
	launchPatience = 20 * time.Second
	lostPatience   = 120 * time.Second
	dialTimeout    = 10 * time.Second
)

// events is what a node's connection tells the step.
type events interface {
	started(node *node)
	data(node *node, frame *wire.StepFrame)
	exit(node *node, exit *wire.TaskExit)
	text(node *node, line string)
	inputTaken(task uint32, offset uint64)
}

// node is srun's side of one node of the step.
type node struct {
	name   string
	addr   string
	ranks  []uint32
	launch *wire.StepLaunch
	auth   func() (auth.ClientConfig, error)

	mu     sync.Mutex // of stream: one sender at a time
	stream wire.DRPCNodeSteps_RunClient
	seen   bool             // the node has answered: a new connection joins what runs
	early  []uint32         // signals that came before the node's tasks ran
	have   map[place]uint64 // how much of each stream has been received
}

var errRefused = errors.New("the node refused the step")

// run carries the step on this node to its end.
func (n *node) run(ctx context.Context, e events) error {
	var failing time.Time
	for {
		err := n.once(ctx, e)
		if err == nil || errors.Is(err, errRefused) || ctx.Err() != nil {
			return err
		}
		patience := launchPatience
		if n.seen {
			patience = lostPatience
		}
		if n.progressed() || failing.IsZero() {
			failing = time.Now()
		}
		if time.Since(failing) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// progressed tells, once, whether the last connection brought anything.
func (n *node) progressed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.stream != nil
	n.stream = nil
	return was
}

// once connects, launches or joins, and hears the node out.
func (n *node) once(ctx context.Context, e events) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := n.dial(ctx)
	if err != nil {
		return err
	}
	rpc := drpcconn.NewWithOptions(conn, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: maxFrame},
	}})
	defer rpc.Close()
	stream, err := wire.NewDRPCNodeStepsClient(rpc).Run(ctx)
	if err != nil {
		return fmt.Errorf("opening a stream to %s: %w", n.name, err)
	}
	launch := proto.Clone(n.launch).(*wire.StepLaunch)
	launch.Reattach = n.seen
	if err := stream.Send(&wire.StepIn{Body: &wire.StepIn_Launch{Launch: launch}}); err != nil {
		return fmt.Errorf("sending the launch to %s: %w", n.name, err)
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("connection to %s lost: %w", n.name, err)
		}
		if done, err := n.hear(e, stream, message); done || err != nil {
			return err
		}
	}
}

func (n *node) dial(ctx context.Context) (net.Conn, error) {
	config, err := n.auth()
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", n.addr)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", n.name, err)
	}
	ready, err := auth.ClientConn(ctx, conn, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", n.name, err)
	}
	return ready, nil
}

// hear takes one message; done says that the step has ended on this node.
func (n *node) hear(e events, stream wire.DRPCNodeSteps_RunClient, message *wire.StepOut) (done bool, err error) {
	switch body := message.Body.(type) {
	case *wire.StepOut_Started:
		n.begin(stream)
		e.started(n)
	case *wire.StepOut_Data:
		return false, n.receive(e, stream, body.Data)
	case *wire.StepOut_Exit:
		e.exit(n, body.Exit)
	case *wire.StepOut_Error:
		e.text(n, body.Error)
	case *wire.StepOut_Ack:
		if body.Ack.GetStream() == streamStdin {
			e.inputTaken(body.Ack.GetTask(), body.Ack.GetOffset())
		}
	case *wire.StepOut_Done:
		return true, nil
	}
	return false, nil
}

// receive takes a piece of output once, whatever is sent again after a
// reconnection, and tells the node how far it got.
func (n *node) receive(e events, stream wire.DRPCNodeSteps_RunClient, frame *wire.StepFrame) error {
	at := place{frame.Stream, frame.Task}
	have := n.have[at]
	end := frame.Offset + uint64(len(frame.Data))
	switch {
	case frame.Offset > have:
		return fmt.Errorf("%s left out %d bytes of the output of task %d", n.name, frame.Offset-have, frame.Task)
	case end > have || frame.Eof:
		frame.Data = frame.Data[min(have-frame.Offset, uint64(len(frame.Data))):]
		e.data(n, frame)
		n.have[at] = max(have, end)
	}
	return n.sendOn(stream, &wire.StepIn{Body: &wire.StepIn_Ack{Ack: &wire.StepFrameAck{
		Stream: frame.Stream, Task: frame.Task, Offset: n.have[at],
	}}})
}

func (n *node) sendOn(stream wire.DRPCNodeSteps_RunClient, message *wire.StepIn) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return stream.Send(message)
}

// send says something to the node, if it is there: input is not kept for a
// node that has gone.
func (n *node) send(message *wire.StepIn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil {
		_ = n.stream.Send(message) // a broken stream is noticed by its receiver
	}
}

// begin notes that the node's tasks run, and hands on the signals that they
// have missed.
func (n *node) begin(stream wire.DRPCNodeSteps_RunClient) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stream, n.seen = stream, true
	for _, signal := range n.early {
		_ = stream.Send(signalMessage(signal)) // a broken stream is noticed by its receiver
	}
	n.early = nil
}

// signal sends a signal to the node's tasks, at once or when they run.
func (n *node) signal(signal uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.stream != nil:
		_ = n.stream.Send(signalMessage(signal))
	case !n.seen:
		n.early = append(n.early, signal)
	}
}

func signalMessage(signal uint32) *wire.StepIn {
	return &wire.StepIn{Body: &wire.StepIn_Signal{Signal: signal}}
}
