package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"storj.io/drpc/drpcconn"

	"muster/internal/auth"
	"muster/internal/auth/access"
	"muster/internal/auth/credential"
	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/users"
	"muster/internal/wire"
)

// Who asks in these tests.
const (
	root    = uint32(0)
	admin   = uint32(500) // SlurmUser
	owner   = uint32(1001)
	other   = uint32(1002)
	patient = 30 * time.Second
)

// memory is a store whose commits succeed at once and are forgotten.
type memory struct {
	mu       sync.Mutex
	tables   *model.Tables
	last     uint64
	runs     []*wire.RunRecord
	contents map[string][]byte
	answers  map[string][]byte
	fail     error // of reads
}

func (m *memory) Load(context.Context) (*model.Tables, error) { return m.tables, nil }

func (m *memory) Commit(_ context.Context, b *model.Batch) (model.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = b.Number
	return model.Committed, nil
}

func (m *memory) LastBatch(context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, nil
}

func (m *memory) History(_ context.Context, _ *wire.HistoryRequest, each func(*wire.RunRecord) error) error {
	for _, r := range m.runs {
		if err := each(r); err != nil {
			return err
		}
	}
	return m.fail
}

func (m *memory) Content(_ context.Context, uid uint32, hash []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	if data, ok := m.contents[fmt.Sprint(uid, string(hash))]; ok {
		return data, nil
	}
	return nil, ErrNoContent
}

func (m *memory) Request(_ context.Context, id string, uid uint32) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.answers[fmt.Sprint(uid, id)]
	return data, ok, m.fail
}

// process is the daemon around the server.
type process struct {
	mu       sync.Mutex
	shutdown bool
	reply    *wire.AdminReply
	err      error
}

func (p *process) Reconfigure(context.Context, controller.Actor, string) (*wire.AdminReply, error) {
	return p.reply, p.err
}

func (p *process) SetDebug(string) error { return nil }

func (p *process) Shutdown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shutdown = true
}

func (p *process) ShowConfig() (conf, cgroup []*wire.KeyValue) {
	return []*wire.KeyValue{{Key: "ClusterName", Value: "c"}}, nil
}

func (p *process) ConfFiles() (string, []*wire.ConfFile) {
	return "h1", []*wire.ConfFile{{Name: "slurm.conf"}}
}

// watched is the real controller; what is posted to it is seen by the test.
type watched struct {
	*controller.Loop
	posted chan controller.Event
}

func (w *watched) Post(ev controller.Event) {
	w.posted <- ev
	w.Loop.Post(ev)
}

// world is a server with a real controller on a store in memory.
type world struct {
	t       *testing.T
	srv     *Server
	core    *watched
	store   *memory
	process *process
	clock   atomic.Int64
	log     lockedBuffer
	ctx     context.Context
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const begin = int64(1_000_000)

func settings() *controller.Settings {
	set := &controller.Settings{
		ClusterName: "c", SlurmdTimeout: 300, MinJobAge: 3000, MaxJobCount: 100000, MaxArraySize: 1001,
		FirstJobID: 1, MaxJobID: 1000000, KillWait: 30, JobRequeue: true,
	}
	names := []string{"n1", "n2"}
	for _, name := range names {
		set.Nodes = append(set.Nodes, controller.NodeSettings{
			Name: name, Addr: name + ".example", Port: 6818, CPUs: 4, Boards: 1, Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1,
			RealMemory: 4000, State: "UNKNOWN", Weight: 1,
		})
	}
	set.Partitions = []*wire.PartitionInfo{
		{Name: "open", IsDefault: true, State: "UP", NodeNames: names, MaxTime: controller.Unlimited, MaxNodes: controller.Unlimited},
		{Name: "secret", Hidden: true, State: "UP", NodeNames: names, MaxTime: controller.Unlimited, MaxNodes: controller.Unlimited},
	}
	return set
}

// newWorld starts a controller with these jobs; change may alter the options.
func newWorld(t *testing.T, jobs []model.JobPut, change func(*Options)) *world {
	t.Helper()
	w := &world{
		t: t, process: &process{reply: &wire.AdminReply{}},
		store: &memory{contents: map[string][]byte{}, answers: map[string][]byte{},
			tables: &model.Tables{ClusterID: "id", Generation: 1, Now: begin, Jobs: jobs,
				Counters: model.Counters{NextKey: 1 << 20, NextJobID: 100_000}}},
	}
	w.clock.Store(begin)
	clock := func() time.Time { return time.Unix(w.clock.Load(), 0) }
	o := Options{
		Accounting: w.store, Process: w.process, Users: users.NewResolver(users.Options{}),
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Clock: clock,
		Sign: func(_ credential.Purpose, payload []byte) *wire.Signed {
			return &wire.Signed{Payload: payload, Signature: []byte("signed")}
		},
		IssueNode:   func(_ []byte, node string, _, _ uint32) ([]byte, error) { return []byte("cert of " + node), nil },
		ClusterName: "c", Controllers: []string{"ctl"}, Version: "1", Host: "ctl", ConfHash: func() string { return "h1" },
		Heartbeat: time.Hour, NodeTimeout: time.Minute, Rules: Rules{Policy: access.Policy{SlurmUser: admin}, MaxScript: 1000},
	}
	if change != nil {
		change(&o)
	}
	w.srv = New(o)
	loop := controller.NewLoop(controller.Options{
		Store: w.store, Effects: w.srv, Settings: settings(), Clock: clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Plan: func(*sched.Snapshot) *sched.Plan { return &sched.Plan{} },
	})
	w.core = &watched{loop, make(chan controller.Event, 1000)}
	w.srv.SetCore(w.core)
	w.srv.SetLead(7, "id")
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(w.ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		w.srv.conns.Wait()
		w.srv.Close()
	})
	_, err := loop.Next(w.ctx, nil)
	require.NoError(t, err)
	return w
}

// connect opens a connection that has proved to be this identity. The test's
// end of the pipe has no buffer: what is not read waits.
func (w *world) connect(id auth.Identity) *drpcconn.Conn {
	w.t.Helper()
	services, err := w.srv.services()
	require.NoError(w.t, err)
	here, there := net.Pipe()
	w.srv.conns.Go(func() { serveAs(w.ctx, services, there, id) })
	conn := drpcconn.New(here)
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// as is a client that runs as a user.
func (w *world) as(uid uint32) wire.DRPCCtldClient {
	return wire.NewDRPCCtldClient(w.connect(auth.Identity{UID: uid, GID: uid, Method: auth.MethodSlurm}))
}

// event waits for an event of a kind that was posted to the controller.
func event[T controller.Event](w *world) T {
	w.t.Helper()
	for end := time.After(patient); ; {
		select {
		case ev := <-w.core.posted:
			if e, ok := ev.(T); ok {
				return e
			}
		case <-end:
			w.t.Fatalf("no %T came", *new(T))
		}
	}
}

// a job of the tables.
func job(key int64, uid uint32, state wire.BaseState) model.JobPut {
	st := &wire.JobState{Key: key, JobId: uint32(key), State: state, Attempt: 1, Submit: begin - 1000, Eligible: begin - 1000, Partition: "open"}
	switch {
	case state == wire.BaseState_PENDING:
		st.Attempt, st.HeldByUser = 0, true
	case model.Ended(state):
		st.Start, st.End, st.EndedAt = begin-500, begin-100, begin-100
	}
	return model.JobPut{
		Spec:  &wire.JobSpec{Name: fmt.Sprintf("job%d", key), Uid: uid, UserName: fmt.Sprintf("u%d", uid), Partition: "open", Batch: true, MinNodes: 1, NumTasks: 1},
		State: st,
	}
}
