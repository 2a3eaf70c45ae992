package accounting

import (
	"strconv"
	"time"

	"muster/internal/command/queue"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// Context is what rows are shown under.
type Context struct {
	Now        time.Time
	TimeFormat string
	Cluster    string
	Unit       byte // of --units; 0 = the shortest that is exact
	NoConvert  bool
	TasksWidth int
	Array      bool // a line for each task that waits
	Expand     bool // patterns in the names of files
	// With -T, what times are cut to; 0 = nothing is cut.
	From, Until int64
}

// Row is one line: a run of a job, or a step of it.
type Row struct {
	*Context
	Spec  *wire.JobSpec
	State *wire.JobState
	Steps []*wire.StepState // of the run
	Step  *wire.StepState   // nil = the line of the run itself
}

var noSpec = &wire.JobSpec{}

// Rows makes the lines of records in their order: each run, and with steps its
// steps below it.
func Rows(c *Context, runs []*wire.RunRecord, steps bool, want func(*Row) bool) []*Row {
	var rows []*Row
	for _, run := range c.lines(runs) {
		if run.State == nil {
			continue
		}
		r := Row{Context: c, Spec: run.Spec, State: run.State, Steps: allSteps(run)}
		if r.Spec == nil {
			r.Spec = noSpec
		}
		if want == nil || want(&r) {
			whole := r
			rows = append(rows, &whole)
		}
		if !steps {
			continue
		}
		for _, s := range r.Steps {
			one := r
			one.Step = s
			if want == nil || want(&one) {
				rows = append(rows, &one)
			}
		}
	}
	return rows
}

// allSteps are the steps in the order in which sacct shows them: the batch
// script, what contains the job, then those that srun started. The batch script
// is kept as a part of the job, because every batch job has one.
func allSteps(run *wire.RunRecord) []*wire.StepState {
	var batch, extern, others []*wire.StepState
	for _, s := range run.Steps {
		switch wire.StepNumber(s.Step) {
		case wire.StepNumber_STEP_BATCH:
			batch = append(batch, s)
		case wire.StepNumber_STEP_EXTERN, wire.StepNumber_STEP_INTERACTIVE:
			extern = append(extern, s)
		default:
			others = append(others, s)
		}
	}
	if len(batch) == 0 {
		if s := batchStep(run); s != nil {
			batch = append(batch, s)
		}
	}
	return append(append(batch, extern...), others...)
}

// batchStep is the step of a batch script, as the job's own state tells of it.
func batchStep(run *wire.RunRecord) *wire.StepState {
	j := run.State
	if !run.Spec.GetBatch() || j.Attempt == 0 || j.State == wire.BaseState_PENDING || j.Start == 0 {
		return nil
	}
	s := &wire.StepState{
		JobKey: j.Key, Attempt: j.Attempt, Step: int32(wire.StepNumber_STEP_BATCH), Name: "batch",
		State: wire.BaseState_RUNNING, Start: j.BatchStart, NumTasks: 1, Usage: j.Usage,
	}
	if s.Start == 0 {
		s.Start = j.Start
	}
	for _, a := range j.Alloc {
		if a.Node == j.BatchHost || j.BatchHost == "" {
			s.Alloc = []*wire.NodeAlloc{a}
			break
		}
	}
	switch {
	case j.BatchEnded:
		s.State, s.End, s.ExitStatus = stepEnd(j.BatchExitStatus), j.BatchEnd, j.BatchExitStatus
		if s.End == 0 {
			s.End = j.End
		}
	case model.Ended(j.State):
		s.State, s.End = wire.BaseState_CANCELLED, j.End
	}
	return s
}

// outOfMemory is the signal number that stands for it in an exit status.
const outOfMemory = 125

// stepEnd is the state of a step that ended so.
func stepEnd(status int32) wire.BaseState {
	switch {
	case model.ExitSignal(status) == outOfMemory:
		return wire.BaseState_OUT_OF_MEMORY
	case model.ExitSignal(status) != 0:
		return wire.BaseState_CANCELLED
	case model.ExitCode(status) != 0:
		return wire.BaseState_FAILED
	}
	return wire.BaseState_COMPLETED
}

func (r *Row) started() bool {
	return r.State.State != wire.BaseState_PENDING && r.State.Attempt != 0
}

// eligible is from when on the job could start, 0 while it cannot.
func (r *Row) eligible() int64 { return queue.Eligible(r.Spec, r.State, r.Now.Unix()) }

// from and to cut a time to what is looked at, with -T.
func (r *Row) from(t int64) int64 { return max(t, r.From) }
func (r *Row) to(t int64) int64 {
	if r.Until == 0 {
		return t
	}
	return min(t, r.Until)
}

// file is the name of a file, its symbols replaced where that was asked for.
func (r *Row) file(name string) string {
	if !r.Expand {
		return name
	}
	return queue.ExpandFile(r.Spec, r.State, r.Step, name)
}

// elapsed is how long the run or the step took so far.
func (r *Row) elapsed() int64 {
	if r.Step == nil {
		if !r.started() {
			return 0
		}
		if r.Until != 0 {
			end := r.Until
			if model.Ended(r.State.State) {
				end = r.to(r.State.End)
			}
			return max(end-r.from(r.State.Start)-r.State.SuspendedSecs, 0)
		}
		return queue.Used(r.State, r.Now.Unix())
	}
	end := r.Step.End
	if !model.Ended(r.Step.State) {
		end = r.Now.Unix()
	}
	return max(r.to(end)-r.from(r.Step.Start), 0)
}

func (r *Row) alloc() []*wire.NodeAlloc {
	if r.Step != nil {
		return r.Step.Alloc
	}
	return r.State.Alloc
}

// cpus are those held, or while a job waits those asked for.
func (r *Row) cpus() uint32 {
	if r.Step == nil {
		return r.State.NumCpus
	}
	n := uint32(0)
	for _, a := range r.Step.Alloc {
		n += a.Cpus
	}
	return n
}

// nodes are those held, or while a job waits the fewest that it asked for.
func (r *Row) nodes() uint32 {
	if r.Step == nil && !r.started() && len(r.State.Alloc) == 0 {
		return max(r.Spec.MinNodes, 1)
	}
	if r.Step == nil {
		return r.State.NumNodes
	}
	return uint32(len(r.Step.Alloc))
}

func nodeList(alloc []*wire.NodeAlloc) string {
	names := make([]string, len(alloc))
	for i, a := range alloc {
		names[i] = a.Node
	}
	return hostlist.CompressSorted(names)
}

// usage is what was measured of the step, nil if nothing was. A running step
// shows none.
func (r *Row) usage() *wire.Usage {
	if r.Step == nil || !model.Ended(r.Step.State) || r.Step.Usage == nil || r.Step.Usage.MaxRss == 0 {
		return nil
	}
	return r.Step.Usage
}

// cpuTime is the time on CPUs: of a run that of its steps together.
func (r *Row) cpuTime(part func(*wire.Usage) uint64) time.Duration {
	sum := uint64(0)
	if r.Step != nil {
		sum = part(r.Step.Usage)
	} else {
		for _, s := range r.Steps {
			sum += part(s.Usage)
		}
	}
	return time.Duration(sum) * time.Microsecond
}

func (r *Row) stamp(b []byte, t int64, none string) []byte {
	if t == 0 {
		return append(b, none...)
	}
	return append(b, slurmtime.Stamp(time.Unix(t, 0), r.TimeFormat, r.Now)...)
}

// amount writes bytes.
func (r *Row) amount(b []byte, n uint64) []byte {
	switch {
	case r.Unit != 0 && n >= 1024:
		return model.AppendAmountIn(b, (n+512)/1024, 'K', r.Unit)
	case r.NoConvert:
		return strconv.AppendUint(b, n, 10)
	}
	return model.AppendAmount(b, n, 0)
}
