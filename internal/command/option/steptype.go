package option

import (
	"strings"

	"muster/internal/wire"
)

// Step is what only srun is told, or what means something else to it.
type Step struct {
	JobID      string // --jobid: 12, 12_3
	HetGroup   string
	Label      bool
	Unbuffered bool
	Exact      bool
	Overlap    bool
	Exclusive  bool
	MultiProg  bool
	PreserveEnv,
	DisableStatus,
	QuitOnInterrupt,
	External, // --external-launcher
	GresNone bool
	Immediate     bool
	Relative      int32 // -1 = not given
	Threads       uint32
	WaitSeconds   uint32
	KillOnBadExit int // -1 = not given: the configuration decides
	MPI           string
	CPUBind       string
	TaskProlog    string
	TaskEpilog    string
	Prolog        string
	Epilog        string

	gres, gpusPerNode, gpusPerTask, tresPerTask []*wire.GresRequest
}

func newStep() Step { return Step{Relative: -1, KillOnBadExit: -1} }

func stepFlag(field func(*Step) *bool) setter {
	return func(o *Options, _ *Entry, _ string) error {
		*field(&o.Step) = true
		return nil
	}
}

func stepText(field func(*Step) *string) setter {
	return func(o *Options, _ *Entry, value string) error {
		*field(&o.Step) = value
		return nil
	}
}

func stepNumber(field func(*Step) *uint32) setter {
	return func(o *Options, e *Entry, value string) error {
		n, err := number(value, "--"+e.Long, 0)
		*field(&o.Step) = n
		return err
	}
}

func relative(o *Options, e *Entry, value string) error {
	n, err := number(value, "--"+e.Long, 0)
	o.Step.Relative = int32(n)
	return err
}

// jobID keeps the id for the controller to judge; what is none is refused here.
func jobID(o *Options, e *Entry, value string) error {
	digits, task, _ := strings.Cut(value, "_")
	if _, err := number(digits, "--"+e.Long, 1); err != nil || digits == "" {
		return errorf(codeError, `Invalid numeric value "%s" for --%s.`, value, e.Long)
	}
	if task != "" {
		if _, err := number(task, "--"+e.Long, 0); err != nil {
			return errorf(codeError, `Invalid numeric value "%s" for --%s.`, value, e.Long)
		}
	}
	o.Step.JobID = value
	return nil
}

func killOnBadExit(o *Options, e *Entry, value string) error {
	if value == "" {
		o.Step.KillOnBadExit = 1
		return nil
	}
	n, err := number(value, "--"+e.Long, 0)
	o.Step.KillOnBadExit = int(min(n, 1))
	return err
}

func immediate(o *Options, _ *Entry, value string) error {
	o.Step.Immediate = true
	if value == "" {
		return nil
	}
	_, err := number(value, "immediate", 0)
	return err
}

// MPITypes are the words of --mpi; those with a PMI are taken, so that scripts
// which name them run, and answered with a warning.
var MPITypes = []string{"none", "pmi2", "pmix"}

func mpi(o *Options, _ *Entry, value string) error {
	for _, kind := range append(MPITypes, "list") {
		if value == kind || kind == "pmix" && strings.HasPrefix(value, "pmix_v") {
			o.Step.MPI = value
			return nil
		}
	}
	return errorf(codeError, "Invalid MPI type '%s', --mpi=list for acceptable types", value)
}

func cpuBind(o *Options, _ *Entry, value string) error {
	for word := range strings.SplitSeq(strings.ToLower(value), ",") {
		kind, _, _ := strings.Cut(word, ":")
		switch strings.Trim(kind, "{}") {
		case "q", "quiet", "v", "verbose", "none", "no", "sockets", "socket", "cores", "core", "threads", "thread",
			"ldoms", "ldom", "rank", "rank_ldom", "map_cpu", "map_ldom", "mask_cpu", "mask_ldom", "boards", "help", "one_thread", "":
		default:
			if strings.HasPrefix(kind, "0x") || strings.Trim(kind, "0123456789abcdef*") == "" {
				continue // the rest of a list of numbers or masks
			}
			return &Refusal{Messages: []Message{
				{Error, `unrecognized --cpu-bind argument "` + value + `"`},
				{Fatal, "Failed to parse --cpu-bind= values."},
			}, Code: codeError}
		}
	}
	o.Step.CPUBind = value
	return nil
}
