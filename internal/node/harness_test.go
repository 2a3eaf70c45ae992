package node

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"muster/internal/node/cgroup"
	"muster/internal/node/journal"
	"muster/internal/wire"
)

// stepdPath is the shepherd, built once for all tests.
var stepdPath string

func TestMain(m *testing.M) {
	if os.Getenv("NODE_TEST_DAEMON") != "" {
		daemonMain()
		return
	}
	dir, err := os.MkdirTemp("", "node-test")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	stepdPath = filepath.Join(dir, "stepd")
	if err == nil {
		build := exec.Command("go", "build", "-o", stepdPath, "muster/cmd/stepd")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is installed: it starts sooner
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building stepd:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const testCluster = "cluster-1"

// unsigned takes a payload for signed; signatures have tests of their own.
func unsigned(s *wire.Signed) ([]byte, error) { return s.Payload, nil }

// ledger collects reports as a controller would.
type ledger struct {
	mu       sync.Mutex
	changed  *sync.Cond
	runs     map[string]*wire.RunFact
	history  []*wire.RunFact
	steps    []*wire.StepFact
	acks     map[uint64]string
	problems []string
}

func newLedger() *ledger {
	l := &ledger{runs: make(map[string]*wire.RunFact), acks: make(map[uint64]string)}
	l.changed = sync.NewCond(&l.mu)
	return l
}

func (l *ledger) RunFact(f *wire.RunFact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[fmt.Sprint(f.Key, ".", f.Attempt)] = f
	l.history = append(l.history, f)
	l.changed.Broadcast()
}

func (l *ledger) StepFact(_ int64, _ uint32, f *wire.StepFact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, f)
	l.changed.Broadcast()
}

func (l *ledger) Ack(order uint64, failure string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks[order] = failure
	l.changed.Broadcast()
}

func (l *ledger) Problem(text string, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !over {
		l.problems = append(l.problems, text)
	}
	l.changed.Broadcast()
}

// wait waits for a condition on the reports; the mutex is held inside.
func (l *ledger) wait(t testing.TB, what string, condition func() bool) {
	t.Helper()
	timedOut := false
	timer := time.AfterFunc(20*time.Second, func() {
		l.mu.Lock()
		timedOut = true
		l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !condition() {
		if timedOut {
			var last []string
			for id, f := range l.runs {
				last = append(last, id+" "+f.Stage.String()+" "+f.Failure)
			}
			t.Fatalf("timed out waiting for: %s; runs: %v, problems: %v", what, last, l.problems)
		}
		l.changed.Wait()
	}
}

func (l *ledger) waitRun(t testing.TB, key int64, attempt uint32, what string, condition func(*wire.RunFact) bool) *wire.RunFact {
	t.Helper()
	id := fmt.Sprint(key, ".", attempt)
	l.wait(t, what, func() bool { f := l.runs[id]; return f != nil && condition(f) })
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[id]
}

func (l *ledger) waitStage(t testing.TB, key int64, stage wire.RunStage) *wire.RunFact {
	t.Helper()
	return l.waitRun(t, key, 1, stage.String(), func(f *wire.RunFact) bool { return f.Stage == stage })
}

// testNode is a node with its reports.
type testNode struct {
	*Node
	*ledger
	t    testing.TB
	work string // a folder where the test's user may write
}

type option func(*Config)

func withCgroups(t testing.TB) option {
	return func(c *Config) {
		if os.Getuid() != 0 {
			t.Skip("cgroups need root")
		}
		m, err := cgroup.New(cgroup.Options{Name: fmt.Sprintf("muster_test_%d_%s", os.Getpid(), filepath.Base(t.TempDir()))})
		if err != nil {
			t.Skip("no cgroups here: ", err)
		}
		t.Cleanup(m.Close)
		c.Cgroups = m
	}
}

func baseConfig(t testing.TB, spool string) Config {
	cfg := Config{
		Name: "node1", Hostname: "host1", SpoolDir: spool, Stepd: stepdPath,
		Privileged: os.Getuid() == 0, BootID: "boot-1",
		VerifyLaunch: unsigned, VerifyStep: unsigned,
		Settings: Settings{KillWait: time.Second, UnkillableTimeout: time.Minute, PrologTimeout: 20 * time.Second, EpilogTimeout: 20 * time.Second},
	}
	if os.Getenv("NODE_TEST_DAEMON") == "" && testing.Verbose() {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return cfg
}

// openDir makes a folder that the jobs' user can reach.
func openDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "nt")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o777))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func startNode(t testing.TB, spool string, options ...option) *testNode {
	t.Helper()
	cfg := baseConfig(t, spool)
	for _, o := range options {
		o(&cfg)
	}
	n, err := New(cfg)
	require.NoError(t, err)
	l := newLedger()
	require.NoError(t, n.Registered(&wire.Registered{ClusterId: testCluster, Term: 1}))
	require.NoError(t, n.Start(l))
	tn := &testNode{n, l, t, openDir(t)}
	t.Cleanup(tn.end)
	return tn
}

// end leaves no process of a test behind.
func (n *testNode) end() {
	for _, f := range n.Register().Runs {
		n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: f.Key, Attempt: f.Attempt, Now: true}}})
	}
	for _, f := range n.Register().Runs {
		n.waitRun(n.t, f.Key, f.Attempt, "the end of the test's jobs", func(f *wire.RunFact) bool { return f.Stage == wire.RunStage_STAGE_GONE })
	}
	n.Stop()
}

// testUID is the user of the tests' jobs.
func testUID() (uid, gid uint32) {
	if os.Getuid() == 0 {
		return 65533, 65532 // need no entry anywhere
	}
	return uint32(os.Getuid()), uint32(os.Getgid())
}

func (n *testNode) order(key int64, script string) *wire.RunOrder {
	uid, gid := testUID()
	return &wire.RunOrder{
		ClusterId: testCluster, ClusterName: "test", Key: key, Attempt: 1, JobId: uint32(key), Node: n.cfg.Name, BatchHost: true, Partition: "debug",
		Spec: &wire.JobSpec{
			Name: "job", Uid: uid, Gid: gid, Gids: []uint32{gid}, UserName: "tester", Batch: true,
			WorkDir: n.work, StdOut: "out-%j", Umask: 0o22, StdIn: "",
		},
		Alloc:  []*wire.NodeAlloc{{Node: n.cfg.Name, Cpus: 2, Tasks: 1}},
		Script: []byte(script), Environment: []byte("PATH=/usr/bin:/bin\x00HOME=/tmp\x00FROM_USER=a b\nc"),
	}
}

func (n *testNode) send(order *wire.RunOrder) {
	payload, err := proto.Marshal(order)
	require.NoError(n.t, err)
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Launch{Launch: &wire.Signed{Payload: payload}}})
}

func (n *testNode) output(name string) string {
	data, err := os.ReadFile(filepath.Join(n.work, name))
	require.NoError(n.t, err)
	return string(data)
}

// runJob runs a script to its end.
func (n *testNode) runJob(key int64, script string, change ...func(*wire.RunOrder)) *wire.RunFact {
	n.t.Helper()
	order := n.order(key, script)
	for _, c := range change {
		c(order)
	}
	n.send(order)
	return n.waitStage(n.t, key, wire.RunStage_STAGE_GONE)
}

// only is the one run of the node.
func (n *testNode) only() journal.ID {
	n.Node.mu.Lock()
	defer n.Node.mu.Unlock()
	for id := range n.Node.runs {
		return id
	}
	return journal.ID{}
}
