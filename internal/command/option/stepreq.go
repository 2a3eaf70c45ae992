package option

import (
	"strconv"
	"strings"

	"muster/internal/wire"
)

// StepRequest returns what srun asks of the controller, as far as its words go;
// where it runs and for whom is the caller's to add.
func (o *Options) StepRequest() *wire.StepRequest {
	s, p := o.Spec, o.Step
	r := &wire.StepRequest{
		NumTasks: s.NumTasks, NumTasksSet: s.NumTasks > 0,
		MinNodes: s.MinNodes, MaxNodes: s.MaxNodes,
		CpusPerTask: s.CpusPerTask, NtasksPerNode: s.NtasksPerNode,
		Nodelist: s.Nodelist, Exclude: s.Exclude, Relative: p.Relative,
		Exact: p.Exact, Exclusive: p.Exclusive, Overlap: p.Overlap,
		MemKind: s.MemKind, Mem: s.Mem,
		GresPerNode: s.GresPerNode, GresPerStep: s.GresPerJob, GresPerTask: s.GresPerTask, GresNone: p.GresNone,
		Distribution: s.DistributionText, PlaneSize: s.PlaneSize,
		StdOut: s.StdOut, StdErr: s.StdErr, StdIn: s.StdIn,
		Overcommit: s.Overcommit, Immediate: p.Immediate, ThreadsPerCore: s.ThreadsPerCore,
	}
	if o.Given("time") == FromCommandLine {
		r.TimeLimit = s.TimeLimit
	}
	if o.Given("job-name") == FromCommandLine {
		r.Name = s.Name
	}
	r.JobId, r.ArrayTask, r.ArrayTaskSet = splitJobID(p.JobID)
	return r
}

// splitJobID takes apart what jobID has let pass.
func splitJobID(text string) (id, task uint32, isTask bool) {
	digits, taskText, isTask := strings.Cut(text, "_")
	n, _ := strconv.ParseUint(digits, 10, 32)
	t, _ := strconv.ParseUint(taskText, 10, 32)
	return uint32(n), uint32(t), isTask
}
