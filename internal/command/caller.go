package command

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"muster/internal/startlimit"
	"muster/internal/wire"
)

// The numbers of limits are Linux's; the names are Slurm's, without RLIMIT_.
var rlimits = []struct {
	name string
	id   int
}{
	{"CPU", unix.RLIMIT_CPU}, {"FSIZE", unix.RLIMIT_FSIZE}, {"DATA", unix.RLIMIT_DATA}, {"STACK", unix.RLIMIT_STACK},
	{"CORE", unix.RLIMIT_CORE}, {"RSS", unix.RLIMIT_RSS}, {"NPROC", unix.RLIMIT_NPROC}, {"NOFILE", unix.RLIMIT_NOFILE},
	{"MEMLOCK", unix.RLIMIT_MEMLOCK}, {"AS", unix.RLIMIT_AS},
}

// Rlimits returns the caller's limits that go along with a job. asked is the
// value of --propagate, if given; only and except are the configuration's
// PropagateResourceLimits and PropagateResourceLimitsExcept.
func Rlimits(asked, only, except string) ([]*wire.Rlimit, error) {
	if asked != "" {
		only, except = asked, ""
	}
	if only == "" {
		only = "ALL"
	}
	var out []*wire.Rlimit
	for _, r := range rlimits {
		if except != "" && names(except, r.name) || except == "" && !names(only, r.name) {
			continue
		}
		var limit unix.Rlimit
		if err := unix.Getrlimit(r.id, &limit); err != nil {
			return nil, fmt.Errorf("reading RLIMIT_%s: %w", r.name, err)
		}
		if r.id == unix.RLIMIT_NOFILE {
			limit.Cur = startlimit.NoFile.Cur
		}
		out = append(out, &wire.Rlimit{Resource: uint32(r.id), Soft: limit.Cur, Hard: limit.Max})
	}
	return out, nil
}

// names tells whether a list of limits, or ALL, holds a name.
func names(list, name string) bool {
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(word)), "RLIMIT_")
		if word == "ALL" || word == name {
			return true
		}
	}
	return false
}

// Umask returns the caller's umask.
func Umask() uint32 {
	mask := unix.Umask(0)
	unix.Umask(mask)
	return uint32(mask)
}

// Hostname returns this host's name up to the first dot.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// SubmitLine returns the words of a command line as they were typed.
func SubmitLine(name string, args []string) string {
	return strings.Join(append([]string{name}, args...), " ")
}
