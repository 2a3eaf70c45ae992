// Package hollow simulates nodes: they hold the real session with the
// controller, and their jobs "run" for their time and report. Many of them live
// in one process, for tests of load.
//
// It must not start anything: a job's script is only looked at for its time.
package hollow

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"muster/internal/node/journal"
	"muster/internal/node/session"
	"muster/internal/wire"
)

// Config says which nodes to be.
type Config struct {
	Names []string
	// Dial connects to the controller as a node.
	Dial      func(ctx context.Context, node string) (net.Conn, error)
	Inventory func(node string) *wire.Inventory
	BootID    string
	Version   string
	ConfHash  string
	Log       *slog.Logger
}

// Run is all of the nodes, until ctx ends.
func Run(ctx context.Context, cfg Config) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	var work sync.WaitGroup
	defer work.Wait()
	for _, name := range cfg.Names {
		work.Go(func() { New(cfg, name).Run(ctx) })
	}
}

// Node is one simulated node.
type Node struct {
	cfg     Config
	name    string
	session *session.Session

	mu      sync.Mutex
	runs    map[journal.ID]*run
	cluster *wire.Registered
	highest uint64
	label   uint32
}

// run is a job that pretends to run.
type run struct {
	fact   *wire.RunFact
	timer  *time.Timer
	ends   time.Time
	left   time.Duration // while suspended
	status int32
}

// New makes a node; Run holds its session.
func New(cfg Config, name string) *Node {
	n := &Node{cfg: cfg, name: name, runs: make(map[journal.ID]*run)}
	n.session = session.New(session.Config{
		Dial:    func(ctx context.Context) (net.Conn, error) { return cfg.Dial(ctx, name) },
		Node:    n,
		Log:     cfg.Log.With("node", name),
		MinWait: 200 * time.Millisecond, MaxWait: 10 * time.Second,
	})
	return n
}

// Run holds the node's session until ctx ends.
func (n *Node) Run(ctx context.Context) { n.session.Run(ctx) }

// Register says everything that the node has.
func (n *Node) Register() *wire.Register {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &wire.Register{
		Node: n.name, BootId: n.cfg.BootID, SlurmdStart: time.Now().Unix(), Version: n.cfg.Version, ConfHash: n.cfg.ConfHash,
		HighestJob: n.highest, HighestJobId: n.label, Hostname: n.name, Addr: n.name, Arch: "hollow", Os: "hollow",
	}
	if n.cluster != nil {
		r.ClusterId, r.Generation, r.Term = n.cluster.ClusterId, n.cluster.Generation, n.cluster.Term
	}
	if n.cfg.Inventory != nil {
		r.Inventory = n.cfg.Inventory(n.name)
	}
	for _, run := range n.runs {
		r.Runs = append(r.Runs, run.fact)
	}
	return r
}

// Registered remembers the cluster.
func (n *Node) Registered(r *wire.Registered) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cluster = r
	return nil
}

// Load is that of an idle machine.
func (n *Node) Load() *wire.NodeLoad { return &wire.NodeLoad{FreeMem: 1 << 10} }

// Order obeys.
func (n *Node) Order(order *wire.NodeOrder) {
	switch body := order.Body.(type) {
	case *wire.NodeOrder_Launch:
		n.launch(body.Launch)
	case *wire.NodeOrder_Terminate:
		n.terminate(body.Terminate)
	case *wire.NodeOrder_RunAck:
		n.forget(journal.ID{Key: body.RunAck.Key, Attempt: body.RunAck.Attempt})
	case *wire.NodeOrder_Suspend:
		n.suspend(body.Suspend)
		n.session.Ack(order.Order, "")
	case *wire.NodeOrder_Signal:
		n.session.Ack(order.Order, "")
	}
}

func (n *Node) launch(signed *wire.Signed) {
	order := new(wire.RunOrder)
	if err := proto.Unmarshal(signed.GetPayload(), order); err != nil {
		n.cfg.Log.Error("launch order cannot be read", "node", n.name, "error", err)
		return
	}
	id := journal.ID{Key: order.Key, Attempt: order.Attempt}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.runs[id]
	if r == nil {
		r = &run{fact: &wire.RunFact{Key: order.Key, Attempt: order.Attempt, JobId: order.JobId, BatchStart: time.Now().Unix(), Stage: wire.RunStage_STAGE_RUNNING}}
		n.runs[id] = r
		n.highest, n.label = max(n.highest, uint64(order.Key)), max(n.label, order.JobId)
		if order.BatchHost && len(order.Script) > 0 {
			duration, status := plan(order.Script)
			r.status = status
			if duration == 0 {
				n.endLocked(id, r, status)
				return
			}
			n.armLocked(id, r, duration)
		}
	}
	n.session.RunFact(r.fact)
}

func (n *Node) armLocked(id journal.ID, r *run, duration time.Duration) {
	r.ends = time.Now().Add(duration)
	r.timer = time.AfterFunc(duration, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.endLocked(id, r, r.status)
	})
}

// endLocked is the end of a batch script, and of everything.
func (n *Node) endLocked(id journal.ID, r *run, status int32) {
	if r.fact.Stage == wire.RunStage_STAGE_GONE || n.runs[id] != r {
		return
	}
	now := time.Now().Unix()
	r.fact = &wire.RunFact{
		Key: id.Key, Attempt: id.Attempt, JobId: r.fact.JobId, Stage: wire.RunStage_STAGE_GONE,
		BatchEnded: true, BatchExitStatus: status, BatchStart: r.fact.BatchStart, BatchEnd: now, BatchUsage: &wire.Usage{Tasks: 1},
	}
	n.session.RunFact(r.fact)
}

func (n *Node) terminate(t *wire.Terminate) {
	id := journal.ID{Key: t.Key, Attempt: t.Attempt}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.runs[id]
	switch {
	case r == nil:
		n.session.RunFact(&wire.RunFact{Key: t.Key, Attempt: t.Attempt, JobId: t.JobId, Stage: wire.RunStage_STAGE_GONE})
	case t.OneStep:
	case r.fact.Stage == wire.RunStage_STAGE_GONE:
		n.session.RunFact(r.fact)
	case r.timer == nil && r.left == 0: // not the batch host
		r.fact = &wire.RunFact{Key: t.Key, Attempt: t.Attempt, JobId: r.fact.JobId, Stage: wire.RunStage_STAGE_GONE}
		n.session.RunFact(r.fact)
	default:
		if r.timer != nil {
			r.timer.Stop()
		}
		const terminated = 15
		n.endLocked(id, r, terminated)
	}
}

func (n *Node) suspend(o *wire.SuspendOrder) {
	id := journal.ID{Key: o.Key, Attempt: o.Attempt}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.runs[id]
	switch {
	case r == nil:
	case o.Resume && r.left > 0:
		left := r.left
		r.left = 0
		n.armLocked(id, r, left)
	case !o.Resume && r.timer != nil && r.left == 0 && r.timer.Stop():
		r.left = max(time.Until(r.ends), 1)
	}
}

func (n *Node) forget(id journal.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.runs[id]; r != nil && r.fact.Stage == wire.RunStage_STAGE_GONE {
		delete(n.runs, id)
	}
}

// plan looks in a script for its time, from `#HOLLOW seconds=N` or `sleep N`,
// and its exit code, from `#HOLLOW exit=N`. Without any it is over at once.
func plan(script []byte) (duration time.Duration, status int32) {
	for line := range bytes.Lines(script) {
		words := bytes.Fields(line)
		switch {
		case len(words) > 1 && string(words[0]) == "#HOLLOW":
			for _, word := range words[1:] {
				name, value, _ := bytes.Cut(word, []byte("="))
				number, err := strconv.ParseFloat(string(value), 64)
				switch {
				case err != nil:
				case string(name) == "seconds":
					return time.Duration(number * float64(time.Second)), status
				case string(name) == "exit":
					status = int32(number) << 8
				}
			}
		case len(words) > 1 && string(words[0]) == "sleep":
			if number, err := strconv.ParseFloat(string(words[1]), 64); err == nil {
				duration += time.Duration(number * float64(time.Second))
			}
		}
	}
	return duration, status
}
