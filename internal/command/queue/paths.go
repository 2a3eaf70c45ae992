package queue

import (
	"path"

	"muster/internal/wire"
)

// The files of a job, as its owner gave them: patterns are shown unexpanded.

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
