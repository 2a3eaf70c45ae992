// Package steplink is what the node daemon and the shepherd of a step say to
// each other: the description of the step, the frames on its control socket,
// the file that keeps its end.
//
// It must import the standard library only and stay small: a shepherd is
// started for each step and has to be there in a millisecond or two.
package steplink

import "strconv"

// Protocol is the version of what is said. A newer node daemon speaks the
// older one to shepherds that outlived its predecessor.
const Protocol = 1

// Steps with a number below zero are not srun's; the numbers are Slurm's.
const (
	StepBatch  = -5
	StepExtern = -4
)

// Spec is all that a shepherd needs to run its step.
type Spec struct {
	Protocol uint32
	Key      int64
	Attempt  uint32
	Step     int32
	JobID    uint32
	Node     string
	LogName  string // what its messages begin with: slurmstepd
	Dir      string // folder of the control socket and the status file
	Name     string // first part of their names

	// Who.
	BecomeUser bool // else everything runs as the user that noded is
	UID        uint32
	GID        uint32
	Groups     []uint32
	Umask      uint32
	Limits     []Limit

	// What.
	WorkDir    string
	Env        []string
	Tasks      []Task
	TaskProlog []string // programs run as the user before each task
	TaskEpilog []string
	Append     bool // output files are continued
	Relay      bool // streams without a path go through the socket

	// How it is caught.
	Cgroups  []string // folders whose `tasks` (v1) or `cgroup.procs` (v2) catch the tasks
	V2       bool
	Freezer  string // v1: the freezer's folder among them
	Memory   string // where to read of OOM kills
	Mark     string // NAME=value in the environment, where there is no cgroup
	KillWait uint32 // seconds between SIGTERM and SIGKILL
	Sample   uint32 // seconds between samples of the usage, 0 = none
	Timeout  uint32 // seconds for TaskProlog and TaskEpilog, 0 = no limit
	Extern   bool   // no tasks: holds what others put into the cgroup, until it is terminated
	StdinOne bool   // relayed standard input goes to StdinTask alone
	StdinTo  uint32
	Unkill   uint32 // seconds after SIGKILL until what is left is reported
	Reuse    bool   // after a clean end the shepherd offers itself for another step (KindIdle)
}

// Title is how a list of processes names the step's shepherd.
func Title(s *Spec) string { return "job" + strconv.FormatUint(uint64(s.JobID), 10) + "." + s.Name }

// Limit is a resource limit; the hard one stays as it is.
type Limit struct {
	Resource uint32
	Soft     uint64
}

// Task is one process that the step starts.
type Task struct {
	Rank   uint32
	Local  uint32
	Argv   []string
	Env    []string // beside the step's
	Stdin  string   // path; empty = relayed, or /dev/null
	Stdout string
	Stderr string // empty = as Stdout

	StderrRelayed bool // through the socket, though Stdout is a path
}

// Usage is what was measured of a step.
type Usage struct {
	UserUsec, SystemUsec      uint64
	MaxRSS, AveRSS            uint64 // bytes
	MaxVM, AveVM              uint64
	MaxPages                  uint64
	MaxDiskRead, MaxDiskWrite uint64
	MaxRSSTask, MinCPUTask    uint32
	MinCPUUsec, AveCPUUsec    uint64
	Tasks                     uint32
}

// End is what a step leaves behind in its status file.
type End struct {
	Status      int32 // highest wait status of its tasks
	Start, End  int64
	OOM         bool
	Failure     string // why it did not start; empty = it did
	UserFailure bool   // and the reason is the job's own
	Usage       Usage
	Killed      bool // it was terminated
	KillFailed  bool
}
