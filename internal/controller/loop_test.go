package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// memStore is a store in memory whose commits end as the test says.
type memStore struct {
	mu     sync.Mutex
	tables *model.Tables
	fate   func(b *model.Batch) model.Outcome
	jobs   map[model.JobKey]model.JobPut
	nodes  map[string]*wire.NodeState
	runs   int
}

func newMemStore() *memStore {
	return &memStore{tables: &model.Tables{ClusterID: "id", Generation: 1}, jobs: map[model.JobKey]model.JobPut{}, nodes: map[string]*wire.NodeState{}}
}

func (m *memStore) Load(context.Context) (*model.Tables, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := *m.tables
	t.Jobs, t.Nodes = nil, nil
	for _, j := range m.jobs {
		t.Jobs = append(t.Jobs, j)
	}
	for _, n := range m.nodes {
		t.Nodes = append(t.Nodes, n)
	}
	return &t, nil
}

func (m *memStore) Commit(_ context.Context, b *model.Batch) (model.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fate != nil {
		if o := m.fate(b); o != model.Committed {
			return o, fmt.Errorf("made up: %v", o)
		}
	}
	m.write(b)
	return model.Committed, nil
}

func (m *memStore) write(b *model.Batch) {
	for _, j := range b.Jobs {
		if j.Spec == nil {
			j.Spec = m.jobs[j.State.Key].Spec
		}
		m.jobs[j.State.Key] = j
	}
	for _, k := range b.Purged {
		delete(m.jobs, k)
	}
	for _, n := range b.Nodes {
		m.nodes[n.Name] = n
	}
	if b.Counters != (model.Counters{}) {
		m.tables.Counters = b.Counters
	}
	m.runs += len(b.Runs)
	m.tables.LastBatch = b.Number
}

func (m *memStore) LastBatch(context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tables.LastBatch, nil
}

// hollow answers launches as nodes would, at once.
type hollow struct {
	loop *Loop
	ch   chan Event
}

func newHollow() *hollow { return &hollow{ch: make(chan Event, 1<<20)} }

func (h *hollow) drive(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case ev := <-h.ch:
			h.loop.Post(ev)
		}
	}
}

func (h *hollow) say(node string, session uint64, f *wire.RunFact) {
	h.ch <- &NodeReport{Node: node, Session: session, Run: f}
}

func (h *hollow) Send(node string, session uint64, o *wire.NodeOrder) {
	if t := o.GetTerminate(); t != nil {
		h.say(node, session, &wire.RunFact{Key: t.Key, Attempt: t.Attempt, Stage: wire.RunStage_STAGE_GONE, BatchEnded: true})
	}
}

func (h *hollow) Launch(node string, session uint64, r *wire.RunOrder) {
	h.say(node, session, &wire.RunFact{Key: r.Key, Attempt: r.Attempt, Stage: wire.RunStage_STAGE_RUNNING, BatchStart: r.Start})
	h.say(node, session, &wire.RunFact{Key: r.Key, Attempt: r.Attempt, Stage: wire.RunStage_STAGE_ENDED, BatchStart: r.Start, BatchEnd: r.Start, BatchEnded: true})
}
func (h *hollow) Registered(string, uint64, string)   {}
func (h *hollow) CloseSession(string, uint64, string) {}
func (h *hollow) RunHook(Hook)                        {}
func (h *hollow) Mail(Mail)                           {}

// startLoop runs a loop with hollow nodes until the test ends.
func startLoop(t testing.TB, set *Settings, store Store) *Loop {
	h := newHollow()
	l := NewLoop(Options{Store: store, Effects: h, Settings: set, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Plan: sched.Run})
	h.loop = l
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { h.drive(ctx) })
	all.Go(func() { _ = l.Run(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	_, err := l.Next(ctx, nil)
	require.NoError(t, err)
	for i := range set.Nodes {
		n := &set.Nodes[i]
		l.Post(&NodeRegister{Node: n.Name, Session: uint64(i + 1), Register: &wire.Register{BootId: "b"}})
	}
	return l
}

func submitOne(l *Loop, i int) (*wire.SubmitReply, error) {
	m, err := l.Do(context.Background(), &Submit{Head: Head{Actor: owner, ID: fmt.Sprint("r", i)},
		Spec: &wire.JobSpec{Name: "job", Uid: 1000, Batch: true, NumTasks: 1}})
	if err != nil {
		return nil, err
	}
	return m.(*wire.SubmitReply), nil
}

// awaitJob waits until a job is in the wanted state.
func awaitJob(t testing.TB, l *Loop, id uint32, want wire.BaseState) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for v := l.View(); ; {
		if j, ok := v.ByID(id); ok && j.State.State == want && !completing(j.State) {
			return
		}
		var err error
		v, err = l.Next(ctx, v)
		require.NoError(t, err)
	}
}

func TestLoopRunsJobs(t *testing.T) {
	l := startLoop(t, testSettings(2), newMemStore())
	for i := range 20 {
		r, err := submitOne(l, i)
		require.NoError(t, err)
		require.Nil(t, r.Refusal)
		_, ok := l.View().ByID(r.JobId)
		require.True(t, ok, "a client sees its own change")
		awaitJob(t, l, r.JobId, wire.BaseState_COMPLETED)
	}
}

func TestLoopLivesThroughEveryOutcome(t *testing.T) {
	m := newMemStore()
	n := 0
	m.fate = func(b *model.Batch) model.Outcome {
		n++
		switch {
		case n%5 == 2:
			return model.Retry
		case n%5 == 3:
			m.write(b) // the answer is lost, the work is not
			return model.Unknown
		case n%5 == 4:
			return model.Unknown
		}
		return model.Committed
	}
	l := startLoop(t, testSettings(2), m)
	r, err := submitOne(l, 0)
	require.NoError(t, err)
	awaitJob(t, l, r.JobId, wire.BaseState_COMPLETED)
}

func TestARefusedEventFailsAlone(t *testing.T) {
	m := newMemStore()
	m.fate = func(b *model.Batch) model.Outcome {
		for _, j := range b.Jobs {
			if j.Spec != nil && j.Spec.Name == "poison" {
				return model.Refused
			}
		}
		return model.Committed
	}
	l := startLoop(t, testSettings(2), m)
	var all sync.WaitGroup
	replies := make([]*wire.SubmitReply, 20)
	for i := range replies {
		all.Go(func() {
			name := "good"
			if i == 7 {
				name = "poison"
			}
			m, err := l.Do(context.Background(), &Submit{Head: Head{Actor: owner}, Spec: &wire.JobSpec{Name: name, Uid: 1000, Batch: true}})
			if err == nil {
				replies[i] = m.(*wire.SubmitReply)
			}
		})
	}
	all.Wait()
	for i, r := range replies {
		require.NotNil(t, r)
		if i == 7 {
			require.NotNil(t, r.Refusal)
			continue
		}
		require.Nil(t, r.Refusal)
		awaitJob(t, l, r.JobId, wire.BaseState_COMPLETED)
	}
}

func TestFencedEndsTheLoop(t *testing.T) {
	m := newMemStore()
	l := NewLoop(Options{Store: m, Effects: newHollow(), Settings: testSettings(1), Clock: time.Now, Log: slog.New(slog.DiscardHandler), Plan: sched.Run})
	m.fate = func(*model.Batch) model.Outcome { return model.Fenced }
	ended := make(chan error, 1)
	go func() { ended <- l.Run(context.Background()) }()
	_, err := submitOne(l, 0)
	require.ErrorIs(t, err, ErrTryAgain)
	require.True(t, errors.Is(<-ended, ErrFenced))
}

// bigSettings is a cluster for measuring.
func bigSettings(nodes int) *Settings {
	set := testSettings(0)
	set.MaxJobCount = 1 << 30
	set.MaxJobID = 1 << 30
	set.MaxArraySize = 4000001
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		set.Nodes = append(set.Nodes, NodeSettings{Name: name, CPUs: 64, Sockets: 1, CoresPerSocket: 64, ThreadsPerCore: 1, RealMemory: 64000, State: "UNKNOWN"})
		set.Partitions[0].NodeNames = append(set.Partitions[0].NodeNames, name)
	}
	return set
}

// BenchmarkLoop is a job from submission to its end, without a database.
func BenchmarkLoop(b *testing.B) {
	l := startLoop(b, bigSettings(1000), newMemStore())
	b.ResetTimer()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := g; i < b.N; i += 8 {
				if _, err := submitOne(l, i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	for v := l.View(); v.Stats().Completed < uint64(b.N); {
		v, _ = l.Next(context.Background(), v)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
