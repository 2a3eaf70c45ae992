package controller

import (
	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// reasons is what the last pass said of the jobs that wait. It is derived, not
// state: replaced as one object, never stored.
type reasons struct {
	by    map[model.JobKey]sched.Reason
	since map[model.JobKey]int64
}

// newReasons joins what a pass said with what kept jobs from it.
func newReasons(old *reasons, plan *sched.Plan, blocked map[model.JobKey]sched.Reason, now int64) *reasons {
	r := &reasons{by: plan.Reasons, since: make(map[model.JobKey]int64, len(plan.Reasons)+len(blocked))}
	if r.by == nil {
		r.by = make(map[model.JobKey]sched.Reason, len(blocked))
	}
	for k, v := range blocked {
		r.by[k] = v
	}
	for k, v := range r.by {
		r.since[k] = now
		if old != nil && old.by[k].Code == v.Code {
			r.since[k] = old.since[k]
		}
	}
	return r
}

// add takes in what keeps jobs from the next pass, before r is shown.
func (r *reasons) add(blocked map[model.JobKey]sched.Reason, now int64) {
	for k, v := range blocked {
		if r.by[k].Code != v.Code {
			r.by[k], r.since[k] = v, now
		}
	}
}

// ownReason is why a waiting job cannot start that its own state tells: a
// hold, a dependency, its begin time.
func ownReason(spec *wire.JobSpec, st *wire.JobState, now int64) string {
	switch {
	case st.Priority == 0:
		if st.Reason != "" {
			return st.Reason
		}
		return model.ReasonHeldAdmin
	case st.Reason == model.ReasonDependencyNever:
		return st.Reason
	case st.Dependency != "":
		return model.ReasonDependency
	case max(spec.Begin, st.NotBefore) > now:
		return model.ReasonBeginTime
	}
	return ""
}

// of is a job's derived part.
func (r *reasons) of(j *JobView, now int64) *wire.Derived {
	if !waits(j.State) {
		return &wire.Derived{Reason: endReason(j.State)}
	}
	if own := ownReason(j.Spec, j.State, now); own != "" {
		return &wire.Derived{Reason: own, Since: j.State.Submit}
	}
	if r != nil {
		if why, ok := r.by[j.State.Key]; ok {
			code := why.Code
			if why.Nodes != "" {
				code += ", UnavailableNodes:" + why.Nodes
			}
			return &wire.Derived{Reason: code, Missing: why.Missing, Since: r.since[j.State.Key]}
		}
	}
	return &wire.Derived{Reason: model.ReasonNone, Since: j.State.Submit}
}

func endReason(st *wire.JobState) string {
	if st.Reason == "" {
		return model.ReasonNone
	}
	return st.Reason
}
