package node

import (
	"log/slog"
	"time"

	"muster/internal/node/cgroup"
	"muster/internal/node/jobenv"
	"muster/internal/wire"
)

// Config is what a node daemon needs to know.
type Config struct {
	Name     string
	Addr     string // where its step service listens, host:port
	Hostname string
	SpoolDir string
	Stepd    string // path of the shepherd's program
	LogName  string // what the shepherds' messages begin with; empty: slurmstepd
	// Privileged: jobs run as their users. Else everything runs as this user,
	// and jobs of others are refused.
	Privileged bool
	Cgroups    *cgroup.Manager // nil: processes are caught as descendants
	CoreCPUs   [][]int         // the CPUs of each core, for cgroups that confine
	Site       jobenv.Site

	Settings Settings

	BootID      string
	BootTime    int64
	SlurmdStart int64
	Inventory   *wire.Inventory
	Version     string
	Arch, OS    string
	ConfHash    string

	// VerifyLaunch and VerifyStep return the payload of what the controller
	// signed. Without one, nothing of its kind is accepted.
	VerifyLaunch func(*wire.Signed) ([]byte, error)
	VerifyStep   func(*wire.Signed) ([]byte, error)
	// Reconfigure and Shutdown are called for the orders of these names.
	Reconfigure func()
	Shutdown    func()

	Log *slog.Logger
}

// Settings are the parts of slurm.conf that a node acts on; a reconfiguration
// may replace them.
type Settings struct {
	Prolog, Epilog         []string // paths and patterns
	TaskProlog, TaskEpilog string
	PrologSerial           bool
	PrologAlloc            bool          // PrologFlags=Alloc: at the allocation
	PrologTimeout          time.Duration // 0 = none
	EpilogTimeout          time.Duration
	UnkillableTimeout      time.Duration
	UnkillableProgram      string
	KillWait               time.Duration
	JobFileAppend          bool
	Sample                 time.Duration // between samples of usage, 0 = none
	ReattachWait           time.Duration // how long a step without its srun goes on; negative: for ever
}
