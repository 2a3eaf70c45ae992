package queue

import (
	"path"

	"muster/internal/model"
	"muster/internal/pattern"
	"muster/internal/wire"
)

// The files of a job, as its owner gave them: patterns are shown unexpanded unless
// asked for.

// StdOut is where standard output goes.
func StdOut(s *wire.JobSpec, j *wire.JobState) string {
	if s.StdOut == "" {
		return inDir(s, defaultOut(j))
	}
	return inDir(s, s.StdOut)
}

// StdErr is where standard error goes: with standard output unless told otherwise.
func StdErr(s *wire.JobSpec, j *wire.JobState) string {
	if s.StdErr == "" {
		return StdOut(s, j)
	}
	return inDir(s, s.StdErr)
}

// StdIn is where standard input comes from.
func StdIn(s *wire.JobSpec) string {
	if s.StdIn == "" {
		return "/dev/null"
	}
	return inDir(s, s.StdIn)
}

func defaultOut(j *wire.JobState) string {
	if j.ArrayJobId != 0 {
		return "slurm-%A_%a.out"
	}
	return "slurm-%j.out"
}

func inDir(s *wire.JobSpec, file string) string {
	if path.IsAbs(file) || s.WorkDir == "" {
		return file
	}
	return s.WorkDir + "/" + file // as Slurm joins them, a slash at the end of the folder kept
}

// expand replaces the symbols of a file's name where that was asked for. What is
// a range of values becomes its first.
func (r *Row) expand(file string) string {
	if !r.Expand {
		return file
	}
	return ExpandFile(r.Spec, r.State, r.Step, file)
}

// ExpandFile replaces the symbols of a file's name by what they stand for in a job,
// or in a step of it.
func ExpandFile(spec *wire.JobSpec, state *wire.JobState, step *wire.StepState, file string) string {
	v := PathValues(spec, state)
	v.Step, v.Host = "batch", state.BatchHost
	if set, _, err := model.ParseTasks(state.ArrayPending, ^uint32(0)); err == nil && !state.IsArrayTask {
		v.ArrayTask, _ = set.First()
	}
	if names := NodeNames(state); v.Host == "" && len(names) > 0 {
		v.Host = names[0]
	}
	if step != nil {
		v.Step = model.StepName(step.Step)
	}
	return pattern.Expand(file, v)
}
