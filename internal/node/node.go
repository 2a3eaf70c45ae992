package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"muster/internal/node/hooks"
	"muster/internal/node/journal"
	"muster/internal/wire"
)

// Reports is where a node says how things stand; the session is one.
type Reports interface {
	RunFact(*wire.RunFact)
	StepFact(key int64, attempt uint32, fact *wire.StepFact)
	Ack(order uint64, failure string)
	Problem(text string, over bool)
}

// Node is a running node daemon's inside.
type Node struct {
	cfg     Config
	log     *slog.Logger
	journal *journal.Journal
	reports Reports
	stepLog *os.File // standard error of the shepherds

	mu       sync.Mutex
	settings Settings
	runs     map[journal.ID]*run
	memory   *wire.Register // what outlives this process: cluster, term, highest job
	known    map[int]bool   // children of this process that somebody waits for
	control  string         // host:port of the controller, for SLURM_WORKING_CLUSTER

	prolog sync.Mutex // PrologFlags=Serial
	idle   idlers
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
}

// New opens the spool. Start must be called before the session runs.
func New(cfg Config) (*Node, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.LogName == "" {
		cfg.LogName = "slurmstepd"
	}
	if cfg.Inventory == nil {
		cfg.Inventory = &wire.Inventory{}
	}
	if err := os.MkdirAll(filepath.Join(cfg.SpoolDir, "runs"), 0o700); err != nil {
		return nil, fmt.Errorf("making the spool directory (SlurmdSpoolDir): %w", err)
	}
	// Users must reach their scripts; what is theirs alone is closed itself.
	if err := os.Chmod(cfg.SpoolDir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the spool directory to users: %w", err)
	}
	if err := os.Chmod(filepath.Join(cfg.SpoolDir, "runs"), 0o700); err != nil {
		return nil, err
	}
	j, err := journal.Open(cfg.SpoolDir)
	if err != nil {
		return nil, err
	}
	memory := new(wire.Register)
	if err := proto.Unmarshal(j.Memory(), memory); err != nil {
		return nil, errors.Join(fmt.Errorf("reading what the node remembers in %s: %w", cfg.SpoolDir, err), j.Close())
	}
	stepLog, err := os.OpenFile(filepath.Join(cfg.SpoolDir, "stepd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	n := &Node{
		cfg: cfg, log: cfg.Log, journal: j, stepLog: stepLog,
		settings: cfg.Settings,
		runs:     make(map[journal.ID]*run),
		memory:   memory,
		known:    make(map[int]bool),
		reports:  silence{},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n, nil
}

// silence is where reports go before there is a session.
type silence struct{}

func (silence) RunFact(*wire.RunFact)                  {}
func (silence) StepFact(int64, uint32, *wire.StepFact) {}
func (silence) Ack(uint64, string)                     {}
func (silence) Problem(string, bool)                   {}

// Start takes up the runs that an earlier daemon left.
func (n *Node) Start(reports Reports) error {
	n.reports = reports
	if n.cfg.Cgroups == nil {
		// What outlives its shepherd becomes our child and can be found.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("becoming a sub-reaper: %w", err)
		}
		go n.reapOrphans()
	}
	return n.recover()
}

// Stop ends this daemon's work. Steps go on; a later daemon finds them.
func (n *Node) Stop() {
	n.cancel()
	n.mu.Lock()
	for _, r := range n.runs {
		for _, s := range r.steps {
			s.disconnect()
		}
	}
	n.mu.Unlock()
	n.work.Wait()
	n.dismissIdle()
	n.journal.Close()
	n.stepLog.Close()
}

// Reconfigure replaces the settings and what is registered; hooks that run are
// not touched.
func (n *Node) Reconfigure(s Settings, inventory *wire.Inventory, confHash string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settings, n.cfg.Inventory, n.cfg.ConfHash = s, inventory, confHash
}

func (n *Node) currentSettings() Settings {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.settings
}

func (n *Node) hookRunner(limit time.Duration) *hooks.Runner {
	return &hooks.Runner{Timeout: limit, Log: n.log}
}

// SetController notes with whom the session is, host:port.
func (n *Node) SetController(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.control = addr
}

func (n *Node) find(id journal.ID) *run {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runs[id]
}

func (n *Node) runDir(id journal.ID) string {
	return filepath.Join(n.cfg.SpoolDir, "runs", fmt.Sprintf("%d.%d", id.Key, id.Attempt))
}

func (n *Node) scriptDir(jobID uint32) string {
	return filepath.Join(n.cfg.SpoolDir, fmt.Sprintf("job%05d", jobID))
}
