package controller

import (
	"muster/internal/model"
	"muster/internal/wire"
)

// takeTask gives the record that the next task of an array starts as: the
// lowest task that may start, in a record of its own; the last one takes the
// array's record and number. nil if none may start.
func (s *State) takeTask(j *job) *job {
	if !isArrayHead(j) {
		return j
	}
	from := j.tasks
	if c := s.corr(j); c != nil {
		from = s.corrTasks(j, c)
	}
	id, ok := from.First()
	if !ok || s.throttled(j) {
		return nil
	}
	return s.splitTask(j, id)
}

// isArrayHead tells whether the record stands for the unstarted tasks of an array.
func isArrayHead(j *job) bool { return j.st.ArrayJobId != 0 && !j.st.IsArrayTask }

// throttled tells whether as many tasks run as %limit allows.
func (s *State) throttled(j *job) bool {
	return j.st.ArrayThrottle > 0 && j.arr.running >= int(j.st.ArrayThrottle)
}

// splitTask takes one unstarted task out of an array's record.
func (s *State) splitTask(j *job, id uint32) *job {
	rest := j.tasks.Remove(id)
	st := s.edit(j)
	if len(rest) == 0 {
		st.IsArrayTask, st.ArrayTaskId, st.ArrayPending = true, id, ""
		j.tasks = nil
		j.arr.pending = nil
		return j
	}
	j.tasks = rest
	st.ArrayPending = rest.String()
	t := cloneJobState(st)
	t.Key, t.JobId = s.takeKey(), s.takeID()
	t.IsArrayTask, t.ArrayTaskId, t.ArrayPending = true, id, ""
	t.Generation = 1
	task := &job{spec: j.spec, st: t, parts: j.parts, newSpec: true, pos: -1}
	s.list(task)
	task.turn = s.turn
	s.touched = append(s.touched, task)
	s.enter(task)
	if j.deps != nil {
		d := *j.deps
		d.conds = append([]cond(nil), d.conds...)
		s.addDeps(task, &d)
	}
	return task
}

// splitSet takes tasks out of an array's record, each as a record of its own.
func (s *State) splitSet(j *job, want model.TaskSet) []*job {
	var ids []uint32
	want.Each(func(id uint32) bool {
		if j.tasks.Has(id) {
			ids = append(ids, id)
		}
		return len(ids) < len(s.jobs)+s.set.MaxJobCount
	})
	out := make([]*job, 0, len(ids))
	for _, id := range ids {
		out = append(out, s.splitTask(j, id))
	}
	return out
}

// started counts a task against its array's throttle.
func (a *array) started() {
	if a != nil {
		a.running++
	}
}

// ended takes it off again.
func (a *array) ended(st *wire.JobState) {
	if a == nil {
		return
	}
	a.running--
	a.note(st)
}

// note remembers that a task went wrong, for those who depend on the whole.
func (a *array) note(st *wire.JobState) {
	if a != nil && model.Ended(st.State) && st.State != wire.BaseState_COMPLETED {
		a.failed = true
	}
}
