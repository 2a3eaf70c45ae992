package conf

import (
	"path/filepath"
	"strings"
	"time"
)

// ControllerHost is one SlurmctldHost line; Addr is the name where none was given.
type ControllerHost struct{ Name, Addr string }

// MemKind says what an amount of memory is counted for.
type MemKind uint8

// The kinds of DefMemPer* and MaxMemPer*.
const (
	MemUnset MemKind = iota
	MemPerNode
	MemPerCPU
)

// MemLimit is a DefMemPer* or MaxMemPer* value in MiB; MemUnset means unlimited.
type MemLimit struct {
	Kind MemKind
	MiB  uint64
}

// Config is slurm.conf with the files beside it, checked and complete. It is not
// changed after Load. Durations of Infinite and numbers of Unlimited mean no limit.
type Config struct {
	Path    string
	Hash    string   // equal where the files say the same
	Notices []string // to be logged once
	Files   []string // all that were read, the included ones too

	Nodes      []NodeConf // in the order of the file
	Partitions []PartitionConf
	NodeSets   []NodeSet
	Gres       []GresConf
	Cgroup     CgroupConf

	ClusterName      string
	SlurmctldHosts   []ControllerHost // the first is the primary
	SlurmctldAddr    string
	SlurmctldPorts   []int
	SlurmdPort       int
	SlurmUser        string
	SlurmdUser       string
	AuthType         string
	AuthInfo         Options
	AuthAltTypes     []string
	AuthAltParams    Options
	TLSType          string
	TLSParams        Options
	MessageTimeout   time.Duration
	TCPTimeout       time.Duration
	SlurmctldTimeout time.Duration
	SlurmdTimeout    time.Duration

	StateSaveLocation    string
	SlurmdSpoolDir       string // with %h and %n; see NodePath
	SlurmctldLogFile     string
	SlurmdLogFile        string // with %h and %n
	SlurmctldPidFile     string
	SlurmdPidFile        string // with %h and %n
	SlurmctldDebug       string
	SlurmdDebug          string
	SlurmctldSyslogDebug string // empty: not given
	SlurmdSyslogDebug    string
	LogTimeFormat        string
	DebugFlags           []string
	SlurmctldParams      Options
	SlurmdParams         Options
	LaunchParams         Options
	TmpFS                string

	ReturnToService   int
	ReconfigFlags     Options
	BatchStartTimeout time.Duration
	CompleteWait      time.Duration
	InactiveLimit     time.Duration
	KillWait          time.Duration
	WaitTime          time.Duration
	MinJobAge         time.Duration
	OverTimeLimit     uint32 // minutes
	FirstJobID        uint32
	MaxJobID          uint32
	MaxJobCount       uint32
	MaxArraySize      uint32
	MaxStepCount      uint32
	MaxTasksPerNode   uint32
	MaxBatchRequeue   uint32
	JobRequeue        bool
	JobFileAppend     bool
	KillOnBadExit     bool
	DisableRootJobs   bool
	EnforcePartLimits string // NO, ANY or ALL
	RequeueExit       []ExitRange
	RequeueExitHold   []ExitRange
	DependencyParams  Options
	MailProg          string
	MailDomain        string
	PrivateData       Options

	SchedulerType   string
	SchedulerParams Options
	PriorityType    string
	SelectType      string
	SelectParams    Options
	GresTypes       []string
	DefMem          MemLimit
	DefMemPerGPU    uint64 // MiB, 0 = none; goes before DefMem for jobs with GPUs
	MaxMem          MemLimit
	DefCPUPerGPU    uint32 // 0: not given
	ProctrackType   string
	TaskPlugin      []string
	TaskPluginParam Options
	VSizeFactor     uint32 // percent

	PropagateLimits       Options
	PropagateLimitsExcept Options

	Prolog                []string // programs and globs, in order
	Epilog                []string
	PrologSlurmctld       []string
	EpilogSlurmctld       []string
	TaskProlog            string
	TaskEpilog            string
	PrologFlags           Options
	PrologTimeout         time.Duration // Infinite: not given at all
	EpilogTimeout         time.Duration
	UnkillableStepProgram string
	UnkillableStepTimeout time.Duration

	AccountingStorageType    string // none or slurmdbd
	AccountingStorageEnforce Options
	AccountingStorageTRES    []string // beyond those that always count
	AccountingStoreFlags     Options
	JobAcctGatherType        string
	JobAcctGatherFrequency   string
	TrackWCKey               bool

	raw    *raw
	byName map[string]int // places in Nodes
}

// Dir is the folder that holds the files.
func (c *Config) Dir() string { return filepath.Dir(c.Path) }

// Node finds a node by name.
func (c *Config) Node(name string) (*NodeConf, bool) {
	i, ok := c.byName[name]
	if !ok {
		return nil, false
	}
	return &c.Nodes[i], true
}

// Partition finds a partition by name.
func (c *Config) Partition(name string) (*PartitionConf, bool) {
	for i := range c.Partitions {
		if c.Partitions[i].Name == name {
			return &c.Partitions[i], true
		}
	}
	return nil, false
}

// NodePath replaces %n by the node's name, %h by its short host name and %% by %
// in a path of SlurmdSpoolDir, SlurmdLogFile or SlurmdPidFile.
func NodePath(path, node, hostname string) string {
	if host, _, cut := strings.Cut(hostname, "."); cut {
		hostname = host
	}
	return strings.NewReplacer("%%", "%", "%n", node, "%h", hostname).Replace(path)
}

// ExitRange is a range of exit codes of RequeueExit; negative numbers are signals
// in no release, so both ends are plain codes.
type ExitRange struct{ Lo, Hi int }

// ExitMatches tells whether a code stands in the ranges.
func ExitMatches(ranges []ExitRange, code int) bool {
	for _, r := range ranges {
		if code >= r.Lo && code <= r.Hi {
			return true
		}
	}
	return false
}
