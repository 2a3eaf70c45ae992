package queue

import (
	"strconv"
	"strings"
	"time"

	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// Context is what rows are shown under.
type Context struct {
	Now        time.Time // the controller's, in the user's zone
	TimeFormat string    // SLURM_TIME_FORMAT
	TasksWidth int       // of pending array tasks; 0 = no limit
	CutID      bool      // cut "12_[…]" as Slurm does when SLURM_BITSTR_LEN is not set
	NoConvert  bool      // amounts in the unit they were given in
	Cluster    string
}

// Row is one line: a job, one task of an array that is shown task by task, or a step.
type Row struct {
	*Context
	Spec    *wire.JobSpec
	State   *wire.JobState
	Derived *wire.Derived
	Step    *wire.StepState
}

var (
	noSpec    = &wire.JobSpec{}
	noState   = &wire.JobState{}
	noDerived = &wire.Derived{}
)

// NewRow never leaves a part nil: the server omits what was not asked for.
func NewRow(c *Context, j *wire.JobInfo) Row {
	r := Row{Context: c, Spec: j.Spec, State: j.State, Derived: j.Derived}
	if r.Spec == nil {
		r.Spec = noSpec
	}
	if r.State == nil {
		r.State = noState
	}
	if r.Derived == nil {
		r.Derived = noDerived
	}
	return r
}

func (r *Row) pending() bool { return r.State.State == wire.BaseState_PENDING }

// start is when the job started or, as far as is known, will.
func (r *Row) start() int64 {
	if r.pending() && r.State.Start == 0 {
		if r.Derived.ExpectedStart == 0 && r.Spec.Begin > r.Now.Unix() {
			return r.Spec.Begin
		}
		return r.Derived.ExpectedStart
	}
	return r.State.Start
}

// limit is the time limit in force, in minutes.
func (r *Row) limit() uint32 { return r.State.TimeLimit }

func (r *Row) unlimited() bool { return r.limit() == slurmtime.Unlimited }

// Reason is why the job waits or how it came to end, in Slurm's words.
func Reason(spec *wire.JobState, d *wire.Derived) string {
	switch {
	case spec.ReasonText != "":
		return spec.ReasonText
	case spec.Reason != "" && spec.Reason != model.ReasonNone:
		return spec.Reason
	case spec.State == wire.BaseState_PENDING && d.GetReason() != "":
		return d.GetReason()
	}
	return model.ReasonNone
}

// Used is how long a job has run, without the time it was suspended.
func Used(s *wire.JobState, now int64) int64 {
	if s.Start == 0 || s.State == wire.BaseState_PENDING || s.Start > now {
		return 0
	}
	end := now
	switch {
	case model.Ended(s.State):
		end = s.End
	case s.State == wire.BaseState_SUSPENDED && s.SuspendedAt != 0:
		end = s.SuspendedAt
	}
	return max(end-s.Start-s.SuspendedSecs, 0)
}

// NodeNames is the host list of what a job holds; while it is completing, of
// the nodes that are not yet free again.
func NodeNames(s *wire.JobState) []string {
	completing := s.Flags&uint32(wire.StateFlag_FLAG_COMPLETING) != 0
	names := make([]string, 0, len(s.Alloc))
	for _, a := range s.Alloc {
		if completing && a.Released {
			continue
		}
		names = append(names, a.Node)
	}
	return names
}

func (r *Row) stamp(b []byte, t int64, none string) []byte {
	if t == 0 {
		return append(b, none...)
	}
	return append(b, slurmtime.Stamp(time.Unix(t, 0), r.TimeFormat, r.Now)...)
}

// elapsed writes seconds as slurmtime.FormatElapsed does; a list of 100,000 jobs
// writes many.
func elapsed(b []byte, sec int64) []byte {
	if sec < 0 {
		return append(b, "INVALID"...)
	}
	d, h, m, s := sec/86400, sec/3600%24, sec/60%60, sec%60
	if d > 0 {
		b = append(strconv.AppendInt(b, d, 10), '-')
	}
	switch {
	case d > 0:
		b = append(two(b, h), ':')
	case h > 0:
		b = append(strconv.AppendInt(b, h, 10), ':')
	default:
		b = strconv.AppendInt(b, m, 10)
		return two(append(b, ':'), s)
	}
	return two(append(two(b, m), ':'), s)
}

func two(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func orNull(b []byte, s string) []byte { return or(b, s, "(null)") }

func or(b []byte, s, none string) []byte {
	if s == "" {
		s = none
	}
	return append(b, s...)
}

func number[T uint32 | uint64 | int32 | int64 | int](b []byte, n T) []byte {
	return strconv.AppendInt(b, int64(n), 10)
}

// orStar writes a count, or "*" where none was given.
func orStar(b []byte, n uint32) []byte {
	if n == 0 {
		return append(b, '*')
	}
	return number(b, n)
}

func yes(b []byte, v bool) []byte {
	if v {
		return append(b, '1')
	}
	return append(b, '0')
}

// TresPer writes what --gres and its kin were given as, the way Slurm keeps it:
// each word after "gres:".
func TresPer(text string) string {
	if text == "" {
		return ""
	}
	words := strings.Split(text, ",")
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "gres/"):
			words[i] = "gres:" + w[len("gres/"):]
		case !strings.HasPrefix(w, "gres:"):
			words[i] = "gres:" + w
		}
	}
	return strings.Join(words, ",")
}
