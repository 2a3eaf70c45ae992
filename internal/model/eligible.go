package model

import "muster/internal/wire"

// Eligible is from when on a job could start, 0 while that is not known: a job
// that is held or waits for others is not eligible, and what is left of an array
// of which some tasks have started counts from when they make room for it.
func Eligible(spec *wire.JobSpec, s *wire.JobState, now int64) int64 {
	if s.State != wire.BaseState_PENDING {
		return s.Eligible
	}
	switch {
	case spec.GetBegin() > now: // also of a job that is held
		return spec.GetBegin()
	case s.Reason == ReasonHeldUser || s.Reason == ReasonHeldAdmin || s.Dependency != "":
		return 0
	case s.ArrayJobId != 0 && !s.IsArrayTask && partOfArray(s):
		return 0
	}
	return s.Eligible
}

func partOfArray(s *wire.JobState) bool {
	set, _, err := ParseTasks(s.ArrayPending, ^uint32(0))
	return err == nil && s.ArrayTaskCount > 0 && set.Count() < int(s.ArrayTaskCount)
}
