package option

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"muster/internal/size"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

func waitSeconds(value string) (uint32, bool) {
	seconds, unlimited, err := slurmtime.ParseSpan(value)
	if err != nil || unlimited || seconds > 1<<31 {
		return 0, false
	}
	return uint32(seconds), true
}

// RlimitNames are the limits that can be propagated, in Slurm's order, without
// their RLIMIT_.
var RlimitNames = []string{"CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS"}

// propagate reads a list of limits, ALL or NONE; nothing means ALL.
func propagate(o *Options, e *Entry, value string) error {
	if value == "" {
		value = "ALL"
	}
	if err := CheckRlimits(value); err != nil {
		return &Refusal{Messages: []Message{{Error, err.Error()}, {Error, "--propagate=" + value + " is not valid."}}, Code: codeError}
	}
	o.Propagate = value
	o.Spec.Propagate, o.Spec.PropagateSet = value, true
	return nil
}

// CheckRlimits refuses a list with a name in it that is none.
func CheckRlimits(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		name := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(word)), "RLIMIT_")
		known := name == "ALL" || name == "NONE"
		for _, n := range RlimitNames {
			known = known || n == name
		}
		if !known {
			return fmt.Errorf("Bad rlimit name: %s", word)
		}
	}
	return nil
}

func killOnInvalidDep(o *Options, e *Entry, value string) error {
	switch strings.ToLower(value) {
	case "yes":
		o.Spec.KillOnInvalidDep = true
	case "no":
		o.Spec.KillOnInvalidDep = false
	default:
		return invalid(e)
	}
	o.Spec.KillOnInvalidDepSet = true
	return nil
}

// noKill is on unless its value says off.
func noKill(o *Options, e *Entry, value string) error {
	switch strings.ToLower(value) {
	case "", "set":
		o.Spec.NoKill = true
	case "off", "no":
		o.Spec.NoKill = false
	default:
		return invalid(e)
	}
	return nil
}

// userEnv reads `[timeout][S|L]`: how long the login may take, and how.
func userEnv(o *Options, e *Entry, value string) error {
	rest := strings.TrimLeft(value, "0123456789")
	if len(rest) > 1 || strings.Trim(rest, "sSlL") != "" {
		return invalid(e)
	}
	o.Spec.GetUserEnv = true
	return nil
}

func requeue(on bool) setter {
	return func(o *Options, e *Entry, value string) error {
		if strings.EqualFold(value, "expedite") {
			return NotSupported("--requeue=expedite")
		}
		o.Spec.Requeue, o.Spec.RequeueSet = on, true
		return nil
	}
}

func waitAllNodes(o *Options, e *Entry, value string) error {
	n, err := number(value, "--"+e.Long, 0)
	if err != nil {
		return err
	}
	if n > 1 {
		return invalid(e)
	}
	o.Spec.WaitAllNodes = n == 1
	return nil
}

// specialized reads -S and --thread-spec. Unless the configuration allows it,
// the controller ignores them; the caller says so.
func specialized(threads bool) setter {
	return func(o *Options, e *Entry, value string) error {
		n, err := number(value, "--"+e.Long, 0)
		o.Spec.CoreSpec, o.Spec.ThreadSpec = n, threads
		return err
	}
}

// acctgFreq reads `30` or `task=30,network=60`.
func acctgFreq(o *Options, _ *Entry, value string) error {
	for word := range strings.SplitSeq(value, ",") {
		kind, interval, named := strings.Cut(word, "=")
		if !named {
			kind, interval = "task", word
		}
		_, err := strconv.ParseUint(interval, 10, 31)
		switch strings.ToLower(kind) {
		case "task", "energy", "network", "filesystem", "profile":
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return errorf(codeValue, "Invalid --acctg-freq specification: %s", value)
		}
	}
	o.Spec.AcctgFreq = value
	return nil
}

// cpuFreq reads `1200000`, `low-high`, `medium-high:OnDemand`, `Performance`.
func cpuFreq(o *Options, e *Entry, value string) error {
	span, governor, governed := strings.Cut(strings.ToLower(value), ":")
	low, high, ranged := strings.Cut(span, "-")
	wrong := ""
	switch unknown := `unrecognized --cpu-freq argument "%s"`; {
	case !frequency(low) && (ranged || governed || !isGovernor(low)):
		wrong = fmt.Sprintf(unknown, low)
	case ranged && !frequency(high):
		wrong = fmt.Sprintf(unknown, high)
	case governed && !ranged:
		wrong = fmt.Sprintf("gov on cpu-frec (%s) illegal without max", governor)
	case governed && !isGovernor(governor):
		wrong = fmt.Sprintf(unknown, governor)
	case ranged && !lower(low, high):
		wrong = fmt.Sprintf("min cpu-frec (%s) must be < max cpu-freq (%s)", low, high)
	}
	if wrong != "" {
		return &Refusal{Messages: []Message{{Error, wrong}, {Error, "Invalid --" + e.Long + " argument"}}, Code: codeValue}
	}
	o.Spec.CpuFreq = value
	return nil
}

// frequencies are the words for a frequency, the lowest first.
var frequencies = []string{"low", "medium", "highm1", "high"}

// lower tells whether a range goes upward, as far as its words tell.
func lower(low, high string) bool {
	a, b := slices.Index(frequencies, low), slices.Index(frequencies, high)
	if a >= 0 && b >= 0 {
		return a < b
	}
	n, err := strconv.ParseUint(low, 10, 31)
	m, err2 := strconv.ParseUint(high, 10, 31)
	return err != nil || err2 != nil || n < m
}

func frequency(word string) bool {
	if slices.Contains(frequencies, word) {
		return true
	}
	_, err := strconv.ParseUint(word, 10, 31)
	return err == nil
}

func isGovernor(word string) bool {
	switch word {
	case "conservative", "ondemand", "performance", "powersave", "schedutil", "userspace":
		return true
	}
	return false
}

// comment keeps an empty one apart from none: squeue shows them differently.
func comment(o *Options, _ *Entry, value string) error {
	o.Spec.Comment, o.Spec.CommentSet = value, true
	return nil
}

func profile(o *Options, _ *Entry, value string) error {
	for word := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch word {
		case "none", "all", "energy", "task", "lustre", "filesystem", "network", "interconnect":
		default:
			return errorf(codeValue, "invalid --profile=%s option", value)
		}
	}
	o.Spec.Profile = value
	return nil
}

// nodefile reads node names from a file, one or several on a line.
func nodefile(o *Options, e *Entry, value string) error {
	names, err := readNodefile(value)
	if err != nil {
		return invalidFile(e, value, err)
	}
	o.Spec.Nodelist, o.Nodefile = names, value
	return nil
}

func readNodefile(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.Join(strings.Fields(string(text)), ","), err
}

func invalidFile(e *Entry, path string, err error) error {
	return &Refusal{Messages: []Message{
		{Error, fmt.Sprintf("slurm_allocate_resources error opening file %s, %s", path, reason(err))},
		{Error, "Invalid --" + e.Long + " node file"},
	}, Code: codeValue}
}

// reason is the system's word for what went wrong.
func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return capital(path.Err.Error())
	}
	return capital(err.Error())
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func verbose(o *Options, _ *Entry, _ string) error { o.Level++; return nil }
func quiet(o *Options, _ *Entry, _ string) error   { o.Level = -1; return nil }

// debugLevel is what SBATCH_DEBUG and SLURM_DEBUG say: a number of -v, or yes.
func debugLevel(o *Options, _ *Entry, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		n = 1
	}
	o.Level = n
	return nil
}

func delayBoot(o *Options, e *Entry, value string) error {
	seconds, ok := waitSeconds(value)
	if !ok {
		return invalid(e)
	}
	o.Spec.DelayBoot = seconds
	return nil
}

// tmpDisk reads --tmp.
func tmpDisk(o *Options, e *Entry, value string) error {
	mib, ok := mebibytes(value)
	if !ok {
		return invalid(e)
	}
	o.Spec.TmpDisk = mib
	return nil
}

func mebibytes(value string) (uint64, bool) {
	mib, err := size.ParseMemory(value)
	return mib, err == nil
}

// nodeNames stores a host list; a value with a slash names a file that holds it.
func nodeNames(field func(*wire.JobSpec) *string) setter {
	return func(o *Options, e *Entry, value string) error {
		if !strings.Contains(value, "/") {
			*field(o.Spec) = value
			return nil
		}
		names, err := readNodefile(value)
		if err != nil {
			return invalidFile(e, value, err)
		}
		*field(o.Spec) = names
		return nil
	}
}
