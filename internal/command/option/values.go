package option

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"muster/internal/size"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

type setter = func(o *Options, e *Entry, value string) error

// text stores a value as it stands.
func text(field func(*wire.JobSpec) *string) setter {
	return func(o *Options, _ *Entry, value string) error {
		*field(o.Spec) = value
		return nil
	}
}

// flag stores that an option was given.
func flag(field func(*wire.JobSpec) *bool) setter {
	return func(o *Options, _ *Entry, _ string) error {
		*field(o.Spec) = true
		return nil
	}
}

// positive stores a number above zero.
func positive(field func(*wire.JobSpec) *uint32) setter {
	return func(o *Options, e *Entry, value string) error {
		n, err := number(value, "--"+e.Long, 1)
		*field(o.Spec) = n
		return err
	}
}

// minutes stores a time limit.
func minutes(field func(*wire.JobSpec) *uint32) setter {
	return func(o *Options, e *Entry, value string) error {
		n, err := slurmtime.ParseLimit(value)
		if err != nil {
			return invalid(e)
		}
		*field(o.Spec) = n
		return nil
	}
}

// moment stores a point in time.
func moment(field func(*wire.JobSpec) *int64) setter {
	return func(o *Options, e *Entry, value string) error {
		if value == "" {
			return invalid(e)
		}
		t, err := slurmtime.Parse(value, o.now)
		if err != nil {
			return invalid(e, Message{Raw, err.Error()})
		}
		*field(o.Spec) = t.Unix()
		return nil
	}
}

// memory stores an amount of memory, which excludes the other ways to ask for it.
func memory(kind wire.MemKind) setter {
	return func(o *Options, e *Entry, value string) error {
		mib, err := size.ParseMemory(value)
		if err != nil {
			return invalid(e)
		}
		if err := o.oneMemory(e); err != nil {
			return err
		}
		o.Spec.MemKind, o.Spec.Mem = kind, mib
		return nil
	}
}

const memoryOptions = "mem mem-per-cpu mem-per-gpu"

// oneMemory refuses two ways to ask for memory in one place. What the command
// line says takes the place of what the environment said.
func (o *Options) oneMemory(e *Entry) error {
	for _, other := range strings.Fields(memoryOptions) {
		from := o.from[other]
		if other == e.Long || from == FromNowhere {
			continue
		}
		if from == FromEnvironment && o.source == FromEnvironment {
			return fatalf("SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.")
		}
		if from != FromEnvironment && o.source != FromEnvironment {
			return fatalf("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
		}
		delete(o.from, other)
	}
	return nil
}

// fileName stores the name of a job's file; none means that there is none.
func fileName(field func(*wire.JobSpec) *string) setter {
	return func(o *Options, _ *Entry, value string) error {
		if o.Program == Sbatch && strings.EqualFold(value, "none") {
			value = os.DevNull
		}
		*field(o.Spec) = value
		return nil
	}
}

// number reads what Slurm takes for a number: blanks and a plus may stand before
// it, nothing behind it.
func number(value, what string, least uint32) (uint32, error) {
	digits := strings.TrimPrefix(strings.TrimLeft(value, " \t\n\v\f\r"), "+")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || uint32(n) < least {
		return 0, &Refusal{Messages: []Message{{Error, fmt.Sprintf(`Invalid numeric value "%s" for %s.`, value, what)}}, Code: codeError, Fixed: true}
	}
	return uint32(n), nil
}

// nodeCount reads `4`, `2-4`, `1k`, `-4`.
func nodeCount(o *Options, _ *Entry, value string) error {
	low, high, ranged := strings.Cut(value, "-")
	least, ok := count(low)
	if ranged && low == "" {
		least, ok = 1, true
	}
	if !ok {
		return errorf(codeValue, `"%s" is not a valid node count`, low)
	}
	most := least
	if ranged {
		if high == "" {
			return errorf(codeValue, "Maximum node count -1 is less than minimum node count %d", least)
		}
		if most, ok = count(high); !ok {
			return errorf(codeValue, `"%s" is not a valid node count`, high)
		}
	}
	if most < least {
		return errorf(codeValue, "Maximum node count %d is less than minimum node count %d", most, least)
	}
	o.Spec.MinNodes, o.Spec.MaxNodes, o.Spec.MinNodesSet = least, most, true
	return nil
}

// count reads a number that may end in k or m (1024, 1024²).
func count(value string) (uint32, bool) {
	unit := uint64(1)
	if n := len(value); n > 0 {
		switch value[n-1] | 0x20 {
		case 'k':
			unit, value = 1<<10, value[:n-1]
		case 'm':
			unit, value = 1<<20, value[:n-1]
		}
	}
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n*unit > math.MaxInt32 {
		return 0, false
	}
	return uint32(n * unit), true
}

func exclusive(o *Options, e *Entry, value string) error {
	switch strings.ToLower(value) {
	case "", "exclusive":
		o.Spec.Exclusive = wire.Exclusive_EXCL_NODE
		o.Step.Exclusive = true
	case "user":
		o.Spec.Exclusive = wire.Exclusive_EXCL_USER
	case "mcs":
		o.Spec.Exclusive = wire.Exclusive_EXCL_MCS
	case "topo":
		return NotSupported("--exclusive=topo")
	default:
		return invalid(e)
	}
	o.Spec.Oversubscribe = false
	return nil
}

func oversubscribe(o *Options, _ *Entry, _ string) error {
	o.Spec.Oversubscribe, o.Spec.Exclusive = true, wire.Exclusive_EXCL_NONE
	return nil
}

const maxNice = 2147483645

func nice(o *Options, e *Entry, value string) error {
	n := int64(100)
	if value != "" {
		// What follows the digits is dropped, and no digits are 0: so Slurm reads it.
		n, _ = strconv.ParseInt(leadingNumber(value), 10, 64)
	}
	if n > maxNice || n < -maxNice {
		return errorf(codeValue, "Invalid --nice value, out of range (+/- %d)", maxNice)
	}
	o.Spec.Nice = int32(n)
	return nil
}

func leadingNumber(value string) string {
	end := 0
	for end < len(value) && (value[end] >= '0' && value[end] <= '9' || end == 0 && (value[0] == '-' || value[0] == '+')) {
		end++
	}
	return value[:min(end, 18)]
}

func priority(o *Options, _ *Entry, value string) error {
	if strings.EqualFold(value, "TOP") {
		o.Spec.Priority = math.MaxUint32 - 2
		return nil
	}
	n, _ := strconv.ParseInt(leadingNumber(value), 10, 64)
	switch {
	case n < 0:
		return errorf(codeValue, "Priority must be >= 0")
	case n >= math.MaxUint32-1:
		return errorf(codeValue, "Priority must be < %d", uint32(math.MaxUint32-1))
	case n == 0: // a job of priority 0 is held
		o.Spec.Hold = true
	}
	o.Spec.Priority = uint32(n)
	return nil
}

func openMode(o *Options, e *Entry, value string) error {
	switch strings.ToLower(value) {
	case "a", "append":
		o.Spec.OpenMode = wire.OpenMode_OPEN_APPEND
	case "t", "truncate":
		o.Spec.OpenMode = wire.OpenMode_OPEN_TRUNCATE
	default:
		return invalid(e)
	}
	return nil
}

func array(o *Options, _ *Entry, value string) error {
	// A limit that is no number counts as none.
	if tasks, limit, ok := strings.Cut(value, "%"); ok {
		if _, err := strconv.ParseUint(strings.TrimSuffix(limit, "]"), 10, 32); err != nil {
			value = tasks
		}
	}
	o.Spec.Array = value
	return nil
}
