package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"muster/internal/node/stepd"
	"muster/internal/node/steplink"
	"muster/internal/wire"
)

// relay carries frames between one srun and the shepherd of its step. It keeps
// nothing: what is not acknowledged stays with the shepherd, and srun comes
// back for it.
type relay struct {
	node  *Node
	step  *stepHandle
	srun  wire.DRPCNodeSteps_RunStream
	ranks []uint32

	mu     sync.Mutex // one sender to the shepherd at a time
	sock   net.Conn
	exited map[uint32]bool // tasks whose end was told; of the receiver alone
}

func (y *relay) run(launch *wire.StepLaunch) error {
	n, h := y.node, y.step
	h.joined()
	defer h.left()
	ctx := y.srun.Context()
	select {
	case <-h.started:
	case <-n.ctx.Done():
		return errors.New("noded is ending")
	case <-ctx.Done():
		return ctx.Err()
	}
	started := &wire.StepStarted{Pids: h.pids, Node: n.cfg.Name}
	if err := y.srun.Send(&wire.StepOut{Body: &wire.StepOut_Started{Started: started}}); err != nil {
		return err
	}
	sock, err := dialStep(h.dir, h.name)
	if err != nil { // it has ended already
		return y.farewell(ctx)
	}
	y.sock = sock
	defer sock.Close()
	defer context.AfterFunc(n.ctx, func() { sock.Close() })()
	// drpc ends the stream's context when srun is gone.
	defer context.AfterFunc(ctx, func() { sock.Close() })()
	if err := y.send(steplink.KindHello, y.hello(launch)); err != nil {
		return y.farewell(ctx)
	}
	go y.fromSrun()
	done, err := y.toSrun()
	switch {
	case err != nil || done:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case n.ctx.Err() != nil:
		return errors.New("noded is ending")
	}
	return y.farewell(ctx)
}

func (y *relay) hello(launch *wire.StepLaunch) steplink.Hello {
	hello := steplink.Hello{Protocol: steplink.Protocol, Reader: true}
	if launch.StdoutOffset == 0 && launch.StderrOffset == 0 {
		return hello // from what was last acknowledged
	}
	for _, rank := range y.ranks {
		hello.From = append(hello.From,
			steplink.Offset{Stream: 1, Task: rank, Offset: launch.StdoutOffset},
			steplink.Offset{Stream: 2, Task: rank, Offset: launch.StderrOffset})
	}
	return hello
}

func (y *relay) send(kind steplink.Kind, body any) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	return steplink.WriteFrame(y.sock, kind, steplink.Marshal(body))
}

// fromSrun hands on input, acknowledgements and signals until srun is gone.
func (y *relay) fromSrun() {
	defer y.sock.Close()
	for {
		in, err := y.srun.Recv()
		if err != nil {
			return
		}
		switch body := in.Body.(type) {
		case *wire.StepIn_Data:
			d := body.Data
			err = y.send(steplink.KindInput, steplink.Data{Task: d.Task, Offset: d.Offset, Bytes: d.Data, EOF: d.Eof})
		case *wire.StepIn_StdinClose:
			err = y.send(steplink.KindInput, steplink.Data{Task: stepd.AllTasks, EOF: true})
		case *wire.StepIn_Ack:
			err = y.send(steplink.KindTaken, steplink.Data{Stream: body.Ack.Stream, Task: body.Ack.Task, Offset: body.Ack.Offset})
		case *wire.StepIn_Signal:
			// By the step's own connection: it must not wait behind input.
			y.step.signal(steplink.Signal{Signal: body.Signal, All: true})
		}
		if err != nil {
			return
		}
	}
}

// toSrun hands on what the shepherd says; done: the step has ended and srun
// knows it.
func (y *relay) toSrun() (done bool, err error) {
	in := bufio.NewReader(y.sock)
	for {
		kind, body, err := steplink.ReadFrame(in)
		if err != nil {
			return false, nil //nolint:nilerr // the caller finds out who is gone
		}
		out, data, err := y.translate(kind, body)
		if err != nil {
			return false, err
		}
		if kind == steplink.KindDone {
			end := new(steplink.End)
			if err := steplink.Unmarshal(body, end); err != nil {
				return false, err
			}
			return true, y.sendEnd(end)
		}
		if out == nil {
			continue
		}
		if err := y.srun.Send(out); err != nil {
			return false, err
		}
		if data != nil && data.EOF {
			_ = y.send(steplink.KindTaken, steplink.Data{Stream: data.Stream, Task: data.Task, EOF: true}) // the next read tells
		}
	}
}

// translate turns a shepherd's frame into a message for srun.
func (y *relay) translate(kind steplink.Kind, body []byte) (*wire.StepOut, *steplink.Data, error) {
	switch kind {
	case steplink.KindOutput:
		d := new(steplink.Data)
		if err := steplink.Unmarshal(body, d); err != nil {
			return nil, nil, err
		}
		return &wire.StepOut{Body: &wire.StepOut_Data{Data: &wire.StepFrame{
			Stream: d.Stream, Task: d.Task, Offset: d.Offset, Data: d.Bytes, Eof: d.EOF,
		}}}, d, nil
	case steplink.KindInputTaken:
		d := new(steplink.Data)
		if err := steplink.Unmarshal(body, d); err != nil {
			return nil, nil, err
		}
		return &wire.StepOut{Body: &wire.StepOut_Ack{Ack: &wire.StepFrameAck{Task: d.Task, Offset: d.Offset}}}, nil, nil
	case steplink.KindExit:
		e := new(steplink.Exit)
		if err := steplink.Unmarshal(body, e); err != nil {
			return nil, nil, err
		}
		if y.exited[e.Task] {
			return nil, nil, nil
		}
		y.exited[e.Task] = true
		return &wire.StepOut{Body: &wire.StepOut_Exit{Exit: &wire.TaskExit{Task: e.Task, ExitStatus: e.Status, Oom: e.OOM}}}, nil, nil
	case steplink.KindText:
		return &wire.StepOut{Body: &wire.StepOut_Error{Error: string(body)}}, nil, nil
	}
	return nil, nil, nil
}

// farewell tells srun how a step ended whose shepherd is gone.
func (y *relay) farewell(ctx context.Context) error {
	select {
	case <-y.step.done:
	case <-y.node.ctx.Done():
		return errors.New("noded is ending")
	case <-ctx.Done():
		return ctx.Err()
	}
	return y.sendEnd(y.step.end)
}

// sendEnd ends the conversation. Tasks whose end was not told share the step's.
func (y *relay) sendEnd(end *steplink.End) error {
	if end.Failure != "" {
		text := fmt.Sprintf("%s: error: %s\n", y.node.cfg.LogName, end.Failure)
		if err := y.srun.Send(&wire.StepOut{Body: &wire.StepOut_Error{Error: text}}); err != nil {
			return err
		}
	}
	for _, rank := range y.ranks {
		if y.exited[rank] {
			continue
		}
		exit := &wire.TaskExit{Task: rank, ExitStatus: exitStatus(end), Message: end.Failure, Oom: end.OOM}
		if exit.ExitStatus == 0 && end.Failure != "" {
			exit.ExitStatus = 1 << 8
		}
		if err := y.srun.Send(&wire.StepOut{Body: &wire.StepOut_Exit{Exit: exit}}); err != nil {
			return err
		}
	}
	return y.srun.Send(&wire.StepOut{Body: &wire.StepOut_Done{Done: true}})
}
