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
	Expand     bool      // patterns in the names of files
	Cluster    string
	Tiers      map[string]uint32 // of partitions, where their order counts; nil elsewhere

	words   words
	stamped bool // a point in time was written
}

// Row is one line: a job, one task of an array that is shown task by task, or a step.
type Row struct {
	*Context
	Spec    *wire.JobSpec
	State   *wire.JobState
	Derived *wire.Derived
	Step    *wire.StepState
	// Partition is the one of several that a waiting job is shown for; else empty.
	Partition string
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

// partition is where a job runs; while it waits, everywhere it may.
func (r *Row) partition() string {
	switch {
	case r.Partition != "":
		return r.Partition
	case r.State.Partition == "" || r.pending() && r.Spec.Partition != "":
		return r.Spec.Partition
	}
	return r.State.Partition
}

// tier is the rank of a row's partition, 0 where partitions have no rank.
func (r *Row) tier() uint32 { return r.Tiers[r.partition()] }

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

// limited tells whether the job or step has a time limit.
func (r *Row) limited() bool {
	if r.Step != nil {
		return r.Step.TimeLimit != 0 && r.Step.TimeLimit != slurmtime.Unlimited
	}
	return !r.unlimited()
}

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

// Eligible is from when on a job could start, 0 while that is not known.
func Eligible(spec *wire.JobSpec, s *wire.JobState, now int64) int64 {
	return model.Eligible(spec, s, now)
}

// Accrued is from when on a job's age counts.
func Accrued(spec *wire.JobSpec, s *wire.JobState, now int64) int64 {
	if s.Accrue != 0 {
		return s.Accrue
	}
	if s.ArrayJobId != 0 && !s.IsArrayTask && s.Dependency == "" && s.Reason == "" {
		return s.Eligible
	}
	return Eligible(spec, s, now)
}

// LastEvaluated is when the scheduler last looked at a job, as far as is known.
func LastEvaluated(s *wire.JobState, d *wire.Derived) int64 {
	switch {
	case s.LastSchedEval != 0:
		return s.LastSchedEval
	case s.State == wire.BaseState_PENDING && d.GetSince() != 0:
		return d.GetSince()
	}
	return s.Start
}

// Requeued tells whether a job may be requeued; unless it said something, as
// the default of JobRequeue is, it may.
func Requeued(spec *wire.JobSpec) bool { return spec.Requeue || !spec.RequeueSet }

// RunningSteps are the steps of a job that run, the batch script's among them,
// which is kept as a part of the job.
func RunningSteps(j *wire.JobInfo) []*wire.StepState {
	var out []*wire.StepState
	s, batch := j.State, j.Spec.GetBatch()
	for _, step := range j.Steps {
		if step.Step == int32(wire.StepNumber_STEP_BATCH) {
			batch = false
		}
		if !model.Ended(step.State) {
			out = append(out, step)
		}
	}
	if batch && !s.BatchEnded && (s.State == wire.BaseState_RUNNING || s.State == wire.BaseState_SUSPENDED) {
		out = append(out, batchStep(s))
	}
	return out
}

func batchStep(s *wire.JobState) *wire.StepState {
	step := &wire.StepState{
		JobKey: s.Key, Attempt: s.Attempt, Step: int32(wire.StepNumber_STEP_BATCH), Name: "batch", State: s.State,
		Start: max(s.Start, s.BatchStart), NumTasks: 1,
	}
	for _, a := range s.Alloc {
		if a.Node == s.BatchHost {
			step.Alloc = []*wire.NodeAlloc{a}
		}
	}
	return step
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
	r.stamped = true
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
