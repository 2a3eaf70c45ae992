package controller

import (
	"strconv"
	"strings"

	"muster/internal/model"
	"muster/internal/size"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// shapeFields are the fields of a waiting job that say what nodes it needs.
var shapeFields = map[string]jobSetter{
	"contiguous":      waitingOperator(yesNo(func(s *wire.JobSpec) *bool { return &s.Contiguous })),
	"corespec":        operatorOnly(count(func(s *wire.JobSpec) *uint32 { return &s.CoreSpec })),
	"mintmpdisknode":  setTmpDisk,
	"oversubscribe":   waitingOperator(setOverSubscribe),
	"shared":          waitingOperator(setOverSubscribe),
	"reqcores":        count(func(s *wire.JobSpec) *uint32 { return &s.CoresPerSocket }),
	"reqsockets":      count(func(s *wire.JobSpec) *uint32 { return &s.SocketsPerNode }),
	"reqthreads":      count(func(s *wire.JobSpec) *uint32 { return &s.ThreadsPerCore }),
	"taskspernode":    waitingOperator(count(func(s *wire.JobSpec) *uint32 { return &s.NtasksPerNode })),
	"timemin":         setTimeMin,
	"switches":        setSwitches,
	"wait-for-switch": count(func(s *wire.JobSpec) *uint32 { return &s.SwitchesWait }),
	"delayboot":       setDelayBoot,
	"mailtype":        setMailType,
	"resetaccruetime": setAccrue,
}

// waitingOperator is for what only operators may change, and while the job waits:
// that it no longer does is what its owner is told first.
func waitingOperator(set jobSetter) jobSetter {
	return func(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
		if !waits(u.st) {
			return errNotPending
		}
		return operatorOnly(set)(s, u, f)
	}
}

// yesNo makes the setter of a truth value of the request that may change while
// the job waits.
func yesNo(at func(*wire.JobSpec) *bool) jobSetter {
	return func(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
		if !waits(u.st) {
			return errNotPending
		}
		v, r := parseYesNo(f)
		if r == nil {
			*at(u.spec), u.spoke = v, true
		}
		return r
	}
}

func setTmpDisk(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	mib, err := size.ParseMemory(f.Value)
	switch {
	case err != nil:
		return badValue(f.Key, f.Value)
	case !waits(u.st):
		return errNotPending
	}
	u.spec.TmpDisk, u.spoke = mib, true
	return nil
}

func setOverSubscribe(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	share, r := parseYesNo(f)
	switch {
	case r != nil:
		return r
	case !waits(u.st):
		return errNotPending
	}
	u.spec.Oversubscribe, u.spec.Exclusive, u.spoke = share, wire.Exclusive_EXCL_NONE, true
	if !share {
		u.spec.Exclusive = wire.Exclusive_EXCL_NODE
	}
	return nil
}

func setTimeMin(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	limit, err := slurmtime.ParseLimit(f.Value)
	switch {
	case err != nil:
		return badValue(f.Key, f.Value)
	case !waits(u.st):
		return nil // it has its limit; Slurm says nothing, too
	case limit > u.st.TimeLimit && u.st.TimeLimit != 0:
		return errTimeMin
	}
	u.spec.TimeMin, u.spoke = limit, true
	return nil
}

// setSwitches reads `count[@time]`.
func setSwitches(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	text, wait, timed := strings.Cut(f.Value, "@")
	n, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err != nil:
		return badValue(f.Key, f.Value)
	case !waits(u.st):
		return errNotPending
	}
	if timed {
		minutes, err := slurmtime.ParseLimit(wait)
		if err != nil {
			return badValue(f.Key, f.Value)
		}
		u.spec.SwitchesWait = minutes * 60
	}
	u.spec.Switches, u.spoke = uint32(n), true
	return nil
}

func setDelayBoot(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	minutes, err := slurmtime.ParseLimit(f.Value)
	switch {
	case err != nil:
		return badValue(f.Key, f.Value)
	case !waits(u.st):
		return errNotPending
	}
	u.spec.DelayBoot, u.spoke = minutes*60, true
	return nil
}

func setMailType(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	bits, ok := model.ParseMailType(f.Value)
	if !ok {
		return badValue(f.Key, f.Value)
	}
	u.spec.MailType, u.spoke = bits, true
	return nil
}

// setAccrue begins the job's age anew.
func setAccrue(_ *State, u *jobUpdate, _ *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	u.st.Accrue = u.now
	return nil
}
