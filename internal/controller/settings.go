package controller

import (
	"muster/internal/sched"
	"muster/internal/wire"
)

// Unlimited is how an absent limit is written.
const Unlimited = 0xffffffff

// Settings is what the reducer knows of the configuration: checked, with
// defaults filled in, never changed once in force.
type Settings struct {
	ClusterName string
	Nodes       []NodeSettings        // in the order of the configuration
	Partitions  []*wire.PartitionInfo // in the order of the configuration; node_names filled in

	// Nodes. Times are seconds.
	SlurmdTimeout      int64
	ReturnToService    int
	ConfigOverrides    bool // SlurmdParameters=config_overrides
	NoHoldOnPrologFail bool
	PrologAlloc        bool // PrologFlags=Alloc: on every node at the start
	Contain            bool

	// Jobs.
	MinJobAge          int64
	MaxJobCount        int
	MaxArraySize       uint32
	AcctgFrequency     uint32 // seconds between samples of tasks; a job may ask for more of them only
	FirstJobID         uint32
	MaxJobID           uint32
	KillWait           uint32
	OverTimeLimit      uint32 // minutes
	JobRequeue         bool
	MaxBatchRequeue    uint32
	RequeueExit        map[int]bool
	RequeueExitHold    map[int]bool
	EnforcePartLimits  string // NO ANY ALL
	KillInvalidDepend  bool
	PriorityBasic      bool // PriorityType=priority/basic
	HasPrologSlurmctld bool
	HasEpilogSlurmctld bool
	KeepPartState      bool // ReconfigFlags=KeepPartState or KeepPartInfo

	// TRESGres are the generic resources that TRES texts name, as
	// AccountingStorageTRES lists them: "gpu", "gpu:tesla".
	TRESGres []string

	// Pass holds the rules of counting and the bounds of one pass.
	Pass sched.Options
}

// NodeSettings is a node as configured.
type NodeSettings struct {
	Name, Addr, Hostname string
	Port                 uint32
	CPUs                 uint32
	Boards               uint32
	Sockets              uint32
	CoresPerSocket       uint32
	ThreadsPerCore       uint32
	RealMemory           uint64 // MiB
	TmpDisk              uint64
	Gres                 string // as written
	GresDevices          []GresSettings
	Features             string
	Weight               uint32
	CoreSpecCount        uint32
	CPUSpecList          string
	SpecCPUs             []uint32 // of CPUSpecList
	MemSpecLimit         uint64
	State                string // UNKNOWN DOWN DRAIN FAIL FUTURE CLOUD
	Reason               string
}

// GresSettings is one kind of a node's generic resources, as configured.
type GresSettings struct {
	Name, Type string
	Count      uint64
	Index      []uint32 // device numbers; empty when only counted
}
