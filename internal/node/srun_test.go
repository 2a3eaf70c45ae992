package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"muster/internal/auth"
	"muster/internal/node/session"
	"muster/internal/wire"
)

// fakeSrun is the other end of a step's connection.
type fakeSrun struct {
	t      testing.TB
	stream wire.DRPCNodeSteps_RunClient
	close  func()
	out    map[string]string // by "stream/task"
	exits  map[uint32]int32
	text   string
	acked  map[uint32]uint64
}

func (n *testNode) connect(uid uint32) *fakeSrun {
	ours, theirs := net.Pipe()
	mux := drpcmux.New()
	require.NoError(n.t, wire.DRPCRegisterNodeSteps(mux, n.Node))
	opts := drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: session.MaxMessage}}
	server := drpcserver.NewWithOptions(mux, drpcserver.Options{Manager: opts})
	ctx, cancel := context.WithCancel(auth.NewContext(context.Background(), auth.Identity{UID: uid, Method: auth.MethodPeer}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeOne(ctx, theirs) // the test closes it
	}()
	conn := drpcconn.NewWithOptions(ours, drpcconn.Options{Manager: opts})
	stream, err := wire.NewDRPCNodeStepsClient(conn).Run(context.Background())
	require.NoError(n.t, err)
	s := &fakeSrun{t: n.t, stream: stream, out: map[string]string{}, exits: map[uint32]int32{}, acked: map[uint32]uint64{}}
	s.close = func() { conn.Close(); cancel(); <-done }
	n.t.Cleanup(s.close)
	return s
}

func (s *fakeSrun) send(in *wire.StepIn) { require.NoError(s.t, s.stream.Send(in)) }

// hear takes messages until one for which until holds, or the end.
func (s *fakeSrun) hear(ack bool, until func(*wire.StepOut) bool) {
	s.t.Helper()
	for {
		out, err := s.stream.Recv()
		require.NoError(s.t, err)
		switch body := out.Body.(type) {
		case *wire.StepOut_Data:
			d := body.Data
			key := fmt.Sprintf("%d/%d", d.Stream, d.Task)
			have := uint64(len(s.out[key]))
			require.LessOrEqual(s.t, d.Offset, have, "bytes are missing")
			if end := d.Offset + uint64(len(d.Data)); end > have {
				s.out[key] += string(d.Data[have-d.Offset:])
			}
			if ack {
				s.send(&wire.StepIn{Body: &wire.StepIn_Ack{Ack: &wire.StepFrameAck{Stream: d.Stream, Task: d.Task, Offset: uint64(len(s.out[key]))}}})
			}
		case *wire.StepOut_Exit:
			s.exits[body.Exit.Task] = body.Exit.ExitStatus
		case *wire.StepOut_Error:
			s.text += body.Error
		case *wire.StepOut_Ack:
			s.acked[body.Ack.Task] = body.Ack.Offset
		}
		if until != nil && until(out) {
			return
		}
		if out.GetDone() {
			return
		}
	}
}

func (n *testNode) stepLaunch(key int64, step int32, ranks []uint32, argv ...string) *wire.StepLaunch {
	uid, gid := testUID()
	cred, err := proto.Marshal(&wire.StepCredential{
		ClusterId: testCluster, Key: key, Attempt: 1, Step: step, JobId: uint32(key), Uid: uid, Gid: gid, NumTasks: uint32(len(ranks)),
		Expires: time.Now().Add(time.Minute).Unix(),
		Nodes:   []*wire.StepNode2{{Node: "node1", Alloc: &wire.NodeAlloc{Node: "node1", Cpus: 2}, Ranks: ranks}},
	})
	require.NoError(n.t, err)
	return &wire.StepLaunch{
		Credential: &wire.Signed{Payload: cred}, Node: "node1", Argv: argv, WorkDir: n.work, Umask: 0o22,
		Environment: []string{"PATH=/usr/bin:/bin", "X=y"},
	}
}

// startHolder runs a job whose script waits for the file "go".
func (n *testNode) startHolder(key int64) {
	n.send(n.order(key, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\n"))
	n.waitStage(n.t, key, wire.RunStage_STAGE_RUNNING)
}

func (n *testNode) launchStep(launch *wire.StepLaunch) *fakeSrun {
	uid, _ := testUID()
	s := n.connect(uid)
	s.send(&wire.StepIn{Body: &wire.StepIn_Launch{Launch: launch}})
	return s
}

func TestStep(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			n.startHolder(1)
			s := n.launchStep(n.stepLaunch(1, 0, []uint32{4, 7}, "sh", "-c", "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_GTIDS $SLURM_STEP_ID $X; id -u; echo err >&2; cat; exit $SLURM_PROCID"))
			s.send(&wire.StepIn{Body: &wire.StepIn_Data{Data: &wire.StepFrame{Task: 4, Data: []byte("to four\n"), Eof: true}}})
			s.send(&wire.StepIn{Body: &wire.StepIn_StdinClose{StdinClose: true}})
			s.hear(true, nil)
			uid, _ := testUID()
			assert.Equal(t, map[string]string{
				"1/4": fmt.Sprintf("4 0 4,7 0 y\n%d\nto four\n", uid), "2/4": "err\n",
				"1/7": fmt.Sprintf("7 1 4,7 0 y\n%d\n", uid), "2/7": "err\n",
			}, s.out)
			assert.Equal(t, map[uint32]int32{4: 4 << 8, 7: 7 << 8}, s.exits)
			n.wait(t, "the step's end", func() bool {
				last := n.steps[len(n.steps)-1]
				return last.Ended && last.ExitStatus == 7<<8
			})
			require.NoError(t, os.WriteFile(filepath.Join(n.work, "go"), nil, 0o644))
			n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
		})
	}
}

// TestStepInputWindow passes more through a task than any buffer holds.
func TestStepInputWindow(t *testing.T) {
	n := startNode(t, openDir(t))
	n.startHolder(1)
	s := n.launchStep(n.stepLaunch(1, 0, []uint32{0}, "cat"))
	s.hear(true, func(o *wire.StepOut) bool { return o.GetStarted() != nil })
	piece := strings.Repeat("0123456789abcde\n", 4<<10)
	const pieces, window = 80, 512 << 10
	sent := 0
	for sent < pieces*len(piece) || s.acked[0] < uint64(sent) {
		for sent < pieces*len(piece) && uint64(sent+len(piece))-s.acked[0] <= window {
			s.send(&wire.StepIn{Body: &wire.StepIn_Data{Data: &wire.StepFrame{Offset: uint64(sent), Data: []byte(piece)}}})
			sent += len(piece)
		}
		before := s.acked[0]
		s.hear(true, func(*wire.StepOut) bool { return s.acked[0] > before })
	}
	s.send(&wire.StepIn{Body: &wire.StepIn_Data{Data: &wire.StepFrame{Offset: uint64(sent), Eof: true}}})
	s.hear(true, nil)
	assert.True(t, s.out["1/0"] == strings.Repeat(piece, pieces), "%d bytes came back of %d", len(s.out["1/0"]), sent)
	assert.Zero(t, s.exits[0])
}

// TestReattach cuts the connection in the middle: no byte is lost or doubled.
func TestReattach(t *testing.T) {
	n := startNode(t, openDir(t), withSettings(func(s *Settings) { s.ReattachWait = time.Minute }))
	n.startHolder(1)
	launch := n.stepLaunch(1, 0, []uint32{0}, "sh", "-c", "seq 1 200000; exit 9")
	s := n.launchStep(launch)
	for range 3 {
		frames := 0
		s.hear(frames%2 == 0, func(o *wire.StepOut) bool { frames++; return frames > 6 })
		out := s.out
		s.close()
		again := proto.Clone(launch).(*wire.StepLaunch)
		again.Reattach = true
		s = n.launchStep(again)
		s.out = out
	}
	s.hear(true, nil)
	var want strings.Builder
	for i := 1; i <= 200000; i++ {
		fmt.Fprintln(&want, i)
	}
	assert.True(t, want.String() == s.out["1/0"], "%d bytes instead of %d", len(s.out["1/0"]), want.Len())
	assert.EqualValues(t, 9<<8, s.exits[0])
}

func TestStepWithoutSrunEnds(t *testing.T) {
	n := startNode(t, openDir(t), withSettings(func(s *Settings) { s.ReattachWait = 100 * time.Millisecond }))
	n.startHolder(1)
	s := n.launchStep(n.stepLaunch(1, 0, []uint32{0}, "sh", "-c", "yes"))
	s.hear(false, func(o *wire.StepOut) bool { return o.GetStarted() != nil })
	s.close()
	n.wait(t, "the step's end", func() bool { return len(n.steps) > 0 && n.steps[len(n.steps)-1].Ended })
	assert.EqualValues(t, 15, n.steps[len(n.steps)-1].ExitStatus)
}

// TestEndedStepDoesNotWaitForItsSrun: an srun that was ended with the job is not
// waited for as one that lost its connection.
func TestEndedStepDoesNotWaitForItsSrun(t *testing.T) {
	n := startNode(t, openDir(t), withSettings(func(s *Settings) { s.ReattachWait = time.Hour }))
	n.startHolder(1)
	s := n.launchStep(n.stepLaunch(1, 0, []uint32{0}, "sh", "-c", "yes"))
	s.hear(false, func(o *wire.StepOut) bool { return o.GetStarted() != nil })
	s.close()
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, KillWait: 30}}})
	n.wait(t, "the step's end", func() bool { return len(n.steps) > 0 && n.steps[len(n.steps)-1].Ended })
	assert.EqualValues(t, 15, n.steps[len(n.steps)-1].ExitStatus)
}

// TestGivenUpStepIsReported: a step that its srun gave up before it came here is
// over at once, and does not begin later.
func TestGivenUpStepIsReported(t *testing.T) {
	n := startNode(t, openDir(t))
	n.startHolder(1)
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, OneStep: true, Step: 0}}})
	n.wait(t, "the step's end", func() bool { return len(n.steps) > 0 && n.steps[len(n.steps)-1].Ended })
	s := n.launchStep(n.stepLaunch(1, 0, []uint32{0}, "true"))
	s.hear(true, nil)
	assert.Contains(t, s.text, "given up")
}

func TestStepSignalsAndTermination(t *testing.T) {
	n := startNode(t, openDir(t))
	n.startHolder(1)
	s := n.launchStep(n.stepLaunch(1, 0, []uint32{0}, "sh", "-c", "trap 'echo usr1' USR1; echo ready; while :; do sleep 0.02; done"))
	s.hear(true, func(*wire.StepOut) bool { return s.out["1/0"] == "ready\n" })
	s.send(&wire.StepIn{Body: &wire.StepIn_Signal{Signal: 10}})
	s.hear(true, func(*wire.StepOut) bool { return strings.Contains(s.out["1/0"], "usr1\n") })
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, OneStep: true, Step: 0, KillWait: 1, Message: "CANCELLED AT 2026-11-30T21:35:53"}}})
	s.hear(true, nil)
	assert.Equal(t, "slurmstepd: error: *** STEP 1.0 ON node1 CANCELLED AT 2026-11-30T21:35:53 ***\n", s.text)
	assert.EqualValues(t, 15, s.exits[0])
	assert.Equal(t, wire.RunStage_STAGE_RUNNING, n.find(n.only()).fact.Stage, "the job goes on")
}

func TestStepRefusals(t *testing.T) {
	n := startNode(t, openDir(t))
	n.startHolder(1)
	uid, _ := testUID()
	for _, c := range []struct {
		name   string
		uid    uint32
		change func(*wire.StepLaunch, *wire.StepCredential)
		want   string
	}{
		{"another user", uid + 7, nil, "permission denied"},
		{"expired", uid, func(_ *wire.StepLaunch, c *wire.StepCredential) { c.Expires = 1 }, "expired"},
		{"another cluster", uid, func(_ *wire.StepLaunch, c *wire.StepCredential) { c.ClusterId = "x" }, "another cluster"},
		{"another node", uid, func(_ *wire.StepLaunch, c *wire.StepCredential) { c.Nodes[0].Node = "x" }, "not for this node"},
		{"no such attempt", uid, func(_ *wire.StepLaunch, c *wire.StepCredential) { c.Attempt = 2 }, "does not run here"},
		{"pty", uid, func(l *wire.StepLaunch, _ *wire.StepCredential) { l.Pty = true }, "not supported yet: --pty"},
		{"gone step", uid, func(l *wire.StepLaunch, c *wire.StepCredential) { l.Reattach, c.Step = true, 44 }, "not here any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			launch := n.stepLaunch(1, 5, []uint32{0}, "true")
			cred := new(wire.StepCredential)
			require.NoError(t, proto.Unmarshal(launch.Credential.Payload, cred))
			if c.change != nil {
				c.change(launch, cred)
			}
			var err error
			launch.Credential.Payload, err = proto.Marshal(cred)
			require.NoError(t, err)
			s := n.connect(c.uid)
			s.send(&wire.StepIn{Body: &wire.StepIn_Launch{Launch: launch}})
			s.hear(true, nil)
			assert.Contains(t, s.text, c.want)
		})
	}
	assert.Empty(t, n.steps)
}

func TestStepFailures(t *testing.T) {
	n := startNode(t, openDir(t))
	n.startHolder(1)
	s := n.launchStep(n.stepLaunch(1, 0, []uint32{0, 1}, "nosuchcmd"))
	s.hear(true, nil)
	line := "slurmstepd: error: execve(): nosuchcmd: No such file or directory\n"
	assert.Equal(t, line+line, s.text)
	assert.Equal(t, map[uint32]int32{0: 2 << 8, 1: 2 << 8}, s.exits)

	launch := n.stepLaunch(1, 1, []uint32{0, 1}, "sh", "-c", "echo $SLURM_PROCID")
	launch.StdOut = "s-%t-%s-%J"
	s = n.launchStep(launch)
	s.hear(true, nil)
	assert.Equal(t, "0\n", n.output("s-0-1-1.1"))
	assert.Equal(t, "1\n", n.output("s-1-1-1.1"))

	launch = n.stepLaunch(1, 2, []uint32{0}, "true")
	launch.StdOut = "/proc/nope/%t"
	s = n.launchStep(launch)
	s.hear(true, nil)
	assert.Contains(t, s.text, "/proc/nope/0")
	assert.EqualValues(t, 53, s.exits[0])
}
