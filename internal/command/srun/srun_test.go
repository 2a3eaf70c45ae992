package srun

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcmux"

	"muster/internal/auth"
	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
	"muster/internal/command"
	"muster/internal/command/commandtest"
	"muster/internal/command/option"
	"muster/internal/wire"
)

// world is a controller and nodes that the test makes up.
type world struct {
	wire.DRPCCtldUnimplementedServer
	mu      sync.Mutex
	reply   *wire.StepReply
	busy    int
	steps   []*wire.StepRequest
	ended   []*wire.StepEndRequest
	onEnd   func()
	handler func(t *task)
	launch  map[string]*wire.StepLaunch
}

func (w *world) CreateStep(_ context.Context, r *wire.StepRequest) (*wire.StepReply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, r)
	if len(w.steps) <= w.busy {
		return &wire.StepReply{Busy: true}, nil
	}
	return w.reply, nil
}

func (w *world) EndStep(_ context.Context, r *wire.StepEndRequest) (*wire.UpdateReply, error) {
	w.mu.Lock()
	w.ended = append(w.ended, r)
	w.mu.Unlock()
	if w.onEnd != nil {
		w.onEnd()
	}
	return &wire.UpdateReply{}, nil
}

// task is what a made-up node does for one rank.
type task struct {
	rank   uint32
	launch *wire.StepLaunch
	send   func(*wire.StepOut)
	input  chan *wire.StepIn
	sent   [3]uint64
}

func (t *task) write(stream uint32, text string) {
	t.send(&wire.StepOut{Body: &wire.StepOut_Data{Data: &wire.StepFrame{Stream: stream, Task: t.rank, Offset: t.sent[stream], Data: []byte(text)}}})
	t.sent[stream] += uint64(len(text))
}

func (t *task) exit(status int32) {
	for _, stream := range []uint32{streamStdout, streamStderr} {
		t.send(&wire.StepOut{Body: &wire.StepOut_Data{Data: &wire.StepFrame{Stream: stream, Task: t.rank, Offset: t.sent[stream], Eof: true}}})
	}
	t.send(&wire.StepOut{Body: &wire.StepOut_Exit{Exit: &wire.TaskExit{Task: t.rank, ExitStatus: status}}})
}

// stepServer is the step service of one node.
type stepServer struct {
	world *world
	name  string
	ranks []uint32
}

func (n *stepServer) Run(stream wire.DRPCNodeSteps_RunStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	launch := first.GetLaunch()
	n.world.mu.Lock()
	n.world.launch[n.name] = launch
	n.world.mu.Unlock()
	var mu sync.Mutex
	send := func(m *wire.StepOut) {
		mu.Lock()
		defer mu.Unlock()
		_ = stream.Send(m)
	}
	send(&wire.StepOut{Body: &wire.StepOut_Started{Started: &wire.StepStarted{Node: n.name}}})
	tasks := map[uint32]*task{}
	var work sync.WaitGroup
	for _, rank := range n.ranks {
		t := &task{rank: rank, launch: launch, send: send, input: make(chan *wire.StepIn, 1000)}
		tasks[rank] = t
		work.Go(func() { n.world.handler(t) })
	}
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			for _, t := range tasks {
				if d := m.GetData(); d == nil || d.Task == t.rank {
					t.input <- m
				}
			}
		}
	}()
	work.Wait()
	send(&wire.StepOut{Body: &wire.StepOut_Done{Done: true}})
	return nil
}

// start brings up a controller and nodes with so many tasks each.
func start(t *testing.T, handler func(*task), counts ...int) *world {
	w := &world{handler: handler, launch: map[string]*wire.StepLaunch{}}
	dir := commandtest.Controller(t, "AuthType=auth/slurm\nSlurmUser="+strconv.Itoa(os.Getuid())+"\nKillWait=1\n", w)
	t.Setenv("SLURM_JOB_ID", "12")
	t.Setenv("MUSTER_SACK_SOCKET", filepath.Join(dir, "none.sock"))
	for _, name := range []string{"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_EXPORT_ENV"} {
		t.Setenv(name, "") // which restores it
		os.Unsetenv(name)
	}
	keyFile := filepath.Join(dir, slurm.KeyFile)
	require.NoError(t, slurm.CreateKey(keyFile, os.Getuid(), os.Getgid()))
	key, err := slurm.LoadKey(keyFile, uint32(os.Getuid()))
	require.NoError(t, err)
	controller, err := pki.OpenController(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, controller.WritePublic(dir))
	public, err := pki.LoadPublic(filepath.Join(dir, pki.PublicFile))
	require.NoError(t, err)
	credential, err := proto.Marshal(&wire.Signed{Payload: []byte("x")})
	require.NoError(t, err)
	w.reply = &wire.StepReply{
		Step: 0, Key: 5, Attempt: 1, Credential: credential,
		Job: &wire.JobInfo{State: &wire.JobState{JobId: 12}, Spec: &wire.JobSpec{Name: "job", UserName: "u"}},
	}
	rank := uint32(0)
	for i, count := range counts {
		name := "node" + strconv.Itoa(i+1)
		n := &stepServer{world: w, name: name}
		for range count {
			n.ranks = append(n.ranks, rank)
			rank++
		}
		request, err := pki.NewNodeRequest(name)
		require.NoError(t, err)
		answer, err := controller.IssueNode(request.Text, name, 0, 0)
		require.NoError(t, err)
		nodeKey, err := request.Accept(answer, public, t.TempDir())
		require.NoError(t, err)
		checker, err := slurm.NewChecker(key, "test")
		require.NoError(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		mux := drpcmux.New()
		require.NoError(t, wire.DRPCRegisterNodeSteps(mux, n))
		commandtest.Serve(t, listener, auth.ServerConfig{TLS: nodeKey.ServerTLS(public), Checkers: []auth.Checker{checker}}, mux)
		w.reply.Nodes = append(w.reply.Nodes, &wire.StepNode{Name: name, Addr: listener.Addr().String(), Ranks: n.ranks, Tasks: uint32(count)})
	}
	return w
}

func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	return commandtest.Run(t, Run, "srun", stdin, args...)
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func TestOutput(t *testing.T) {
	w := start(t, func(task *task) {
		task.write(streamStdout, "hel")
		task.write(streamStdout, "lo\nsecond\nno end")
		task.write(streamStderr, "oops\n")
		task.exit(0)
	}, 2, 1)
	stdout, stderr, code := run(t, "", "-n3", "a", "b c", "-x")
	assert.Zero(t, code)
	assert.Equal(t, 3, strings.Count(stdout, "hello\nsecond\n"))
	assert.Equal(t, "oops\noops\noops\n", stderr)
	assert.Empty(t, w.ended, "a step that ended by itself needs no end")
	l := w.launch["node2"]
	assert.Equal(t, []string{"a", "b c", "-x"}, l.Argv)
	assert.Equal(t, "node2", l.Node)
	assert.Equal(t, "x", string(l.Credential.Payload))
	assert.Equal(t, "a", w.steps[0].Name)
	assert.EqualValues(t, 12, w.steps[0].JobId)
	assert.EqualValues(t, 3, w.steps[0].NumTasks)
	assert.Contains(t, l.Environment, "SLURM_JOB_ID=12")

	stdout, _, _ = run(t, "", "-l", "a")
	assert.ElementsMatch(t, []string{"0: hello", "0: second", "0: no end", "1: hello", "1: second", "1: no end", "2: hello", "2: second", "2: no end"}, lines(stdout))
}

func TestLabelsAreRightJustified(t *testing.T) {
	start(t, func(task *task) { task.write(streamStdout, "x\n"); task.exit(0) }, 11)
	stdout, _, _ := run(t, "", "-l", "a")
	assert.Contains(t, lines(stdout), " 3: x")
	assert.Contains(t, lines(stdout), "10: x")
}

func TestExitCodes(t *testing.T) {
	w := start(t, func(task *task) { task.exit(int32(task.rank) << 8) }, 2, 1)
	_, stderr, code := run(t, "", "a")
	assert.Equal(t, 2, code)
	assert.ElementsMatch(t, []string{"srun: error: node1: task 1: Exited with exit code 1", "srun: error: node2: task 2: Exited with exit code 2"}, lines(stderr))

	w.handler = func(task *task) { task.exit(9) }
	_, stderr, code = run(t, "", "a")
	assert.Equal(t, 137, code)
	got := lines(stderr)
	assert.ElementsMatch(t, []string{"srun: error: node1: tasks 0-1: Killed", "srun: error: node2: task 2: Killed", "srun: Force Terminated StepId=12.0"}, got)
	assert.Equal(t, "srun: Force Terminated StepId=12.0", got[2])
}

func TestKillOnBadExit(t *testing.T) {
	stop := make(chan struct{})
	w := start(t, func(task *task) {
		if task.rank == 1 {
			task.exit(3 << 8)
			return
		}
		<-stop
		task.exit(15)
	}, 2, 1)
	w.onEnd = func() { close(stop) }
	_, stderr, code := run(t, "", "-K", "a")
	assert.Equal(t, 143, code)
	got := lines(stderr)
	assert.Equal(t, []string{"srun: error: node1: task 1: Exited with exit code 3", "srun: launch/slurm: _step_signal: Terminating StepId=12.0"}, got[:2])
	assert.ElementsMatch(t, []string{"srun: error: node1: task 0: Terminated", "srun: error: node2: task 2: Terminated", "srun: Force Terminated StepId=12.0"}, got[2:])
}

func TestWait(t *testing.T) {
	start(t, func(task *task) {
		if task.rank == 1 {
			task.exit(3 << 8)
			return
		}
		for m := range task.input {
			if m.GetSignal() == 9 {
				task.exit(9)
				return
			}
		}
	}, 2, 1)
	_, stderr, code := run(t, "", "--wait=1", "a")
	assert.Equal(t, 137, code)
	assert.Equal(t, []string{
		"srun: error: node1: task 1: Exited with exit code 3",
		"srun: First task exited 1s ago",
		"srun: StepId=12.0 tasks 0,2: running",
		"srun: StepId=12.0 task 1: exited abnormally",
		"srun: launch/slurm: _step_signal: Terminating StepId=12.0",
		"srun: Job step aborted: Waiting up to 3 seconds for job step to finish.",
	}, lines(stderr)[:6])
	assert.NotContains(t, stderr, "Force Terminated")
}

// cat gives back its input and acknowledges it piece by piece.
func cat(task *task) {
	for m := range task.input {
		d := m.GetData()
		if d == nil {
			continue
		}
		if len(d.Data) > 0 {
			task.write(streamStdout, string(d.Data))
		}
		task.send(&wire.StepOut{Body: &wire.StepOut_Ack{Ack: &wire.StepFrameAck{Stream: streamStdin, Task: task.rank, Offset: d.Offset + uint64(len(d.Data))}}})
		if d.Eof {
			task.exit(0)
			return
		}
	}
}

func TestInput(t *testing.T) {
	start(t, cat, 1, 1)
	stdout, _, code := run(t, "hi\n", "-l", "cat")
	assert.Zero(t, code)
	assert.ElementsMatch(t, []string{"0: hi", "1: hi"}, lines(stdout))

	big := strings.Repeat("0123456789abcde\n", 200_000) // far beyond the window
	stdout, _, code = run(t, big, "cat")
	assert.Zero(t, code)
	assert.Len(t, stdout, 2*len(big))
}

func TestInputOfOneTaskAndNone(t *testing.T) {
	w := start(t, func(task *task) {
		if task.launch.StdinNone || task.launch.StdinOne && task.launch.StdinTask != task.rank {
			task.exit(0)
			return
		}
		cat(task)
	}, 2)
	stdout, _, code := run(t, "hi\n", "-i", "1", "-l", "cat")
	assert.Zero(t, code)
	assert.Equal(t, "1: hi\n", stdout)
	_, _, code = run(t, "hi\n", "--input", "none", "cat")
	assert.Zero(t, code)
	assert.True(t, w.launch["node1"].StdinNone)
	_, stderr, code := run(t, "", "-i", "/nonexist", "cat")
	assert.Equal(t, "srun: error: Could not open stdin file: No such file or directory\n", stderr)
	assert.Equal(t, 1, code)
	assert.Len(t, w.ended, 1, "the step that was made is given back")
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	w := start(t, func(task *task) {
		task.write(streamStdout, "out\n")
		task.write(streamStderr, "err\n")
		task.exit(0)
	}, 1)
	stdout, stderr, code := run(t, "", "-D", dir, "-o", "new/o-%j.%s-%5A-%x-%u-%%", "a")
	assert.Zero(t, code)
	assert.Empty(t, stdout+stderr)
	text, err := os.ReadFile(filepath.Join(dir, "new/o-12.0-00012-job-u-%"))
	require.NoError(t, err)
	assert.Equal(t, "out\nerr\n", string(text))

	_, _, code = run(t, "", "-D", dir, "-o", "o", "-e", "e", "a")
	assert.Zero(t, code)
	text, _ = os.ReadFile(filepath.Join(dir, "e"))
	assert.Equal(t, "err\n", string(text))
	_, _, _ = run(t, "", "-D", dir, "-o", "o", "-e", "e", "--open-mode=append", "a")
	text, _ = os.ReadFile(filepath.Join(dir, "o"))
	assert.Equal(t, "out\nout\n", string(text))

	_, _, code = run(t, "", "-D", dir, "-o", "%j_%t.out", "-e", "/x/%N.err", "a")
	assert.Zero(t, code)
	l := w.launch["node1"]
	assert.Equal(t, filepath.Join(dir, "%j_%t.out"), l.StdOut, "names that differ between tasks are opened on the node")
	assert.Equal(t, "/x/%N.err", l.StdErr)
	_, stderr, code = run(t, "", "-o", "/proc/nonexist/x", "a")
	assert.Contains(t, stderr, "srun: error: Could not open stdout file: ")
	assert.Equal(t, 1, code)
}

func TestBusy(t *testing.T) {
	w := start(t, func(task *task) { task.exit(0) }, 1)
	w.busy = 9
	_, stderr, code := run(t, "", "a")
	assert.Zero(t, code)
	assert.Equal(t, "srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)\nsrun: Step created for StepId=12.0\n", stderr)
	assert.NotEqual(t, w.steps[0].RequestId, w.steps[1].RequestId)
	w.steps, w.busy = nil, 1
	_, stderr, _ = run(t, "", "a")
	assert.Empty(t, stderr, "a moment is nothing to speak of")
	w.steps, w.busy = nil, 1
	_, stderr, code = run(t, "", "-I", "a")
	assert.Equal(t, "srun: error: Unable to create step for job 12: Requested nodes are busy\n", stderr)
	assert.Equal(t, 1, code)
}

func TestRefusals(t *testing.T) {
	w := start(t, nil)
	w.reply = &wire.StepReply{Refusal: &wire.Refusal{Code: 2017, Message: "Invalid job id specified"}}
	_, stderr, code := run(t, "", "--jobid=99999", "true")
	assert.Equal(t, "srun: error: Unable to confirm allocation for job 99999: Invalid job id specified\nsrun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999\n", stderr)
	assert.Equal(t, 1, code)
	w.reply = &wire.StepReply{Refusal: &wire.Refusal{Code: 2014, Message: "Requested node configuration is not available"}}
	_, stderr, _ = run(t, "", "true")
	assert.Equal(t, "srun: error: Unable to create step for job 12: Requested node configuration is not available\n", stderr)
	for args, want := range map[string]string{
		"":                            "srun: fatal: No command given to execute.\n",
		"--foo true":                  "srun: unrecognized option '--foo'\nTry \"srun --help\" for more information\n",
		"--pty bash":                  "srun: error: not supported yet: --pty\n",
		"--multi-prog /nonexist":      "srun: error: Could not open multi_prog config file /nonexist\n",
		"--het-group=1 true":          "srun: error: not supported yet: --het-group=1\n",
		"--cpu-bind=foo -n1 true":     "srun: error: unrecognized --cpu-bind argument \"foo\"\nsrun: fatal: Failed to parse --cpu-bind= values.\n",
		"--mpi=foo true":              "srun: error: Invalid MPI type 'foo', --mpi=list for acceptable types\n",
		"--jobid=foo true":            "srun: error: Invalid numeric value \"foo\" for --jobid.\n",
		"--container-image=x.sqsh ls": "srun: unrecognized option '--container-image=x.sqsh'\nTry \"srun --help\" for more information\n",
	} {
		_, stderr, code := run(t, "", strings.Fields(args)...)
		assert.Equal(t, want, stderr, args)
		assert.NotZero(t, code)
	}
	t.Setenv("SLURM_JOB_NUM_NODES", "2")
	_, stderr, code = run(t, "", "-N4", "true")
	assert.Equal(t, "srun: error: Only allocated 2 nodes asked for 4\n", stderr)
	assert.Equal(t, 1, code)
	os.Unsetenv("SLURM_JOB_NUM_NODES")
	stdout, _, code := run(t, "", "--mpi=list")
	assert.Equal(t, "MPI plugin types are...\n\tnone\n", stdout)
	assert.Zero(t, code)
	t.Setenv("SLURM_JOB_ID", "")
	_, stderr, code = run(t, "", "true")
	assert.Equal(t, "srun: error: not supported yet: srun outside of an allocation\n", stderr)
	assert.Equal(t, 1, code)
}

func TestCPUBindWithoutAPlugin(t *testing.T) {
	start(t, func(task *task) { task.exit(0) }, 1)
	_, stderr, code := run(t, "", "-n1", "--cpu-bind=q", "true")
	assert.Equal(t, "srun: cluster configuration lacks support for cpu binding\n", stderr)
	assert.Zero(t, code)
}

func TestMultiProg(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "m.conf")
	require.NoError(t, os.WriteFile(conf, []byte("0 echo zero\n1 echo one\n"), 0o600))
	w := start(t, func(task *task) { task.exit(0) }, 2)
	_, stderr, code := run(t, "", "--multi-prog", conf)
	assert.Empty(t, stderr)
	assert.Zero(t, code)
	assert.True(t, w.launch["node1"].MultiProg)
	assert.Equal(t, "0 echo zero\n1 echo one\n", string(w.launch["node1"].MultiProgConf))
	w = start(t, func(task *task) { task.exit(0) }, 3)
	_, stderr, code = run(t, "", "--multi-prog", conf)
	assert.Equal(t, "srun: error: Configuration file "+conf+" invalid, no record for task id 2\n", stderr)
	assert.Equal(t, 1, code)
	assert.Len(t, w.ended, 1)
}

func TestNodeThatNeverRanItsTasks(t *testing.T) {
	start(t, func(task *task) {
		task.send(&wire.StepOut{Body: &wire.StepOut_Error{Error: "slurmstepd-node1: error: no such thing"}})
	}, 1)
	_, stderr, code := run(t, "", "a")
	assert.Equal(t, "slurmstepd-node1: error: no such thing\n", stderr)
	assert.Equal(t, 1, code)
}

func TestRepeatedOutputIsWrittenOnce(t *testing.T) {
	start(t, func(task *task) {
		task.write(streamStdout, "one\n")
		task.sent[streamStdout] = 0
		task.write(streamStdout, "one\ntwo\n")
		task.exit(0)
	}, 1)
	stdout, _, code := run(t, "", "a")
	assert.Equal(t, "one\ntwo\n", stdout)
	assert.Zero(t, code)
}

func TestRanges(t *testing.T) {
	assert.Equal(t, "0-2,5,7-8", ranges([]uint32{8, 7, 0, 2, 1, 5}))
	assert.Equal(t, "3", ranges([]uint32{3}))
}

func TestLongLinesAreNotKept(t *testing.T) {
	var to bytes.Buffer
	o := newOutput(&to, &to, 1)
	require.NoError(t, o.take(streamStdout, 0, bytes.Repeat([]byte("x"), longestLine), false))
	assert.Equal(t, longestLine, to.Len())
}

// caught waits for a signal to arrive at a task.
func caught(task *task) uint32 {
	for m := range task.input {
		if n := m.GetSignal(); n != 0 {
			return n
		}
	}
	return 0
}

func TestSignalsAreHandedOn(t *testing.T) {
	var got []uint32
	start(t, func(task *task) {
		_ = unix.Kill(os.Getpid(), unix.SIGUSR1)
		got = append(got, caught(task))
		task.exit(0)
	}, 1)
	_, stderr, code := run(t, "", "a")
	assert.Equal(t, []uint32{uint32(unix.SIGUSR1)}, got)
	assert.Empty(t, stderr)
	assert.Zero(t, code)
}

func TestInterrupts(t *testing.T) {
	o := option.New(option.Srun, time.Now())
	var told bytes.Buffer
	p := command.New("srun", nil)
	p.Stderr = &told
	s := &step{p: p, id: "12.0", tasks: 3, exits: newExits(p.Error), end: func() {}}
	s.exits.ended[1] = 0
	signals := &signals{}
	signals.interrupt(s)
	assert.Equal(t, "srun: interrupt (one more within 1 sec to abort)\nsrun: StepId=12.0 tasks 0,2: running\nsrun: StepId=12.0 task 1: exited\n", told.String())
	told.Reset()
	signals.interrupt(s)
	assert.Equal(t, "srun: sending Ctrl-C to StepId=12.0\n", told.String())
	told.Reset()
	signals.interrupt(s)
	assert.Contains(t, told.String(), "srun: forcing job termination\nsrun: Job step aborted: Waiting up to ")
	s.ending.Wait()
	signals.last = time.Now().Add(-2 * second)
	told.Reset()
	signals.interrupt(s)
	assert.Contains(t, told.String(), "interrupt (one more within 1 sec to abort)", "the count begins anew")

	o.Step.DisableStatus = true
	quick := newSignals(o)
	defer quick.stop()
	told.Reset()
	quick.interrupt(s)
	assert.Equal(t, "srun: sending Ctrl-C to StepId=12.0\n", told.String())
}
