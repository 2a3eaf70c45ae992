package controller

import (
	"slices"

	"muster/internal/model"
	"muster/internal/wire"
)

// depIndex finds the jobs that wait for a job.
type depIndex struct {
	byJob   map[uint32]map[model.JobKey]*job // target's id, or its array's
	singles map[nameKey]map[model.JobKey]*job
}

type nameKey struct {
	uid  uint32
	name string
}

// addDeps has the job wait.
func (s *State) addDeps(j *job, d *dependency) {
	j.deps = d
	for i := range d.conds {
		c := &d.conds[i]
		if c.kind == "singleton" {
			k := nameKey{j.spec.Uid, j.spec.Name}
			if s.deps.singles[k] == nil {
				s.deps.singles[k] = map[model.JobKey]*job{}
			}
			s.deps.singles[k][j.st.Key] = j
			continue
		}
		if s.deps.byJob[c.job] == nil {
			s.deps.byJob[c.job] = map[model.JobKey]*job{}
		}
		s.deps.byJob[c.job][j.st.Key] = j
	}
}

// dropDeps ends the job's waiting.
func (s *State) dropDeps(j *job) {
	if j.deps == nil {
		return
	}
	for i := range j.deps.conds {
		c := &j.deps.conds[i]
		if c.kind == "singleton" {
			k := nameKey{j.spec.Uid, j.spec.Name}
			if delete(s.deps.singles[k], j.st.Key); len(s.deps.singles[k]) == 0 {
				delete(s.deps.singles, k)
			}
			continue
		}
		if delete(s.deps.byJob[c.job], j.st.Key); len(s.deps.byJob[c.job]) == 0 {
			delete(s.deps.byJob, c.job)
		}
	}
	j.deps = nil
}

// moved tells those who wait for j that it has started or ended.
func (s *State) moved(j *job) {
	ids := []uint32{j.st.JobId}
	if j.st.ArrayJobId != 0 && j.st.ArrayJobId != j.st.JobId {
		ids = append(ids, j.st.ArrayJobId)
	}
	for _, id := range ids {
		for _, w := range inOrder(s.deps.byJob[id]) {
			s.lookAtDeps(w)
		}
	}
	if waiting := inOrder(s.deps.singles[nameKey{j.spec.Uid, j.spec.Name}]); len(waiting) > 0 {
		s.lookAtDeps(waiting[0])
	}
}

func inOrder(m map[model.JobKey]*job) []*job {
	if len(m) == 0 {
		return nil
	}
	out := make([]*job, 0, len(m))
	for _, j := range m {
		out = append(out, j)
	}
	slices.SortFunc(out, func(a, b *job) int { return int(a.st.Key - b.st.Key) })
	return out
}

// lookAtDeps judges the job's conditions anew.
func (s *State) lookAtDeps(j *job) {
	d := j.deps
	if d == nil || !waits(j.st) {
		return
	}
	d.at = 0
	for i := range d.conds {
		if c := &d.conds[i]; !c.met {
			s.judge(j, c)
		}
	}
	switch {
	case d.met():
		s.dropDeps(j)
		st := s.edit(j)
		st.Dependency = ""
		if st.Reason == model.ReasonDependency || st.Reason == model.ReasonDependencyNever {
			st.Reason = ""
		}
		if st.Priority != 0 {
			st.Eligible = max(s.now, s.notBefore(j))
		}
		s.wantPass()
		return
	case d.hopeless():
		s.hopeless(j)
	}
	if j.deps == nil {
		return
	}
	text := s.depText(d)
	if j.st.Dependency != text {
		s.edit(j).Dependency = text
	}
	s.rearm(j)
	if s.corr(j) != nil {
		s.queue(j)
		s.wantPass()
	}
}

// depText is a dependency as scontrol shows it.
func (s *State) depText(d *dependency) string {
	return d.text(func(id uint32) bool { return s.arrays[id] != nil })
}

// hopeless handles a job whose dependency can never be met.
func (s *State) hopeless(j *job) {
	kill := s.set.KillInvalidDepend
	if j.spec.KillOnInvalidDepSet {
		kill = j.spec.KillOnInvalidDep
	}
	if kill {
		s.edit(j).Dependency = s.depText(j.deps)
		s.endPending(j, wire.BaseState_CANCELLED, model.ReasonDependencyNever)
		return
	}
	if j.st.Reason != model.ReasonDependencyNever && j.st.Priority != 0 {
		s.edit(j).Reason = model.ReasonDependencyNever
	}
}

// judge sets met or failed of one condition.
func (s *State) judge(j *job, c *cond) {
	c.failed = false
	if c.kind == "singleton" {
		c.met = s.alone(j)
		return
	}
	if c.kind == "aftercorr" && j.arr != nil && s.arrays[c.job] != nil {
		c.failed = s.corrFailed(j, s.arrays[c.job])
		return // met task by task, in corrTasks
	}
	t := s.target(c)
	switch c.kind {
	case "after":
		c.met = t.pending == 0
		if due := t.lastStart + c.delay*60; c.met && c.delay > 0 && due > s.now {
			c.met = false
			j.deps.at = earliest(j.deps.at, due)
		}
	case "afterany", "afterburstbuffer":
		c.met = t.open == 0
	case "afterok", "aftercorr":
		c.met = t.open == 0 && !t.bad
		c.failed = t.open == 0 && t.bad
	case "afternotok":
		c.met = t.open == 0 && (t.bad || t.unknown)
		c.failed = t.open == 0 && !c.met
	}
}

// targets is how the records that a condition names stand.
type targets struct {
	pending, open int // not started; not ended
	bad           bool
	unknown       bool
	lastStart     int64
}

func (s *State) target(c *cond) (t targets) {
	add := func(m *job) {
		st := m.st
		if st.State == wire.BaseState_PENDING {
			t.pending++
		}
		if !final(st) {
			t.open++
		} else if st.State != wire.BaseState_COMPLETED {
			t.bad = true
		}
		t.lastStart = max(t.lastStart, st.Start)
	}
	a := s.arrays[c.job]
	switch {
	case a != nil && c.task >= 0:
		if m := a.task(uint32(c.task)); m != nil {
			add(m)
		} else {
			t.unknown = true
		}
	case a != nil:
		for _, m := range a.members {
			add(m)
		}
		t.bad = t.bad || a.failed
	default:
		if m := s.byID[c.job]; m != nil {
			add(m)
		} else {
			t.unknown = true
		}
	}
	return t
}

// task finds the record of an array task, its own or the one it waits in.
func (a *array) task(id uint32) *job {
	for _, m := range a.members {
		if m.st.IsArrayTask && m.st.ArrayTaskId == id || !m.st.IsArrayTask && m.tasks.Has(id) {
			return m
		}
	}
	return nil
}

// alone tells whether no earlier job of that name and user is left.
func (s *State) alone(j *job) bool {
	for _, o := range s.jobs {
		if o == j || o.st.Key > j.st.Key && waits(o.st) || final(o.st) {
			continue
		}
		if o.spec.Uid == j.spec.Uid && o.spec.Name == j.spec.Name && (o.arr == nil || o.arr != j.arr) {
			return false
		}
	}
	return true
}

// corr is the job's aftercorr condition on an array, nil without one.
func (s *State) corr(j *job) *cond {
	if j.deps == nil || j.arr == nil {
		return nil
	}
	for i := range j.deps.conds {
		if c := &j.deps.conds[i]; c.kind == "aftercorr" && !c.met && s.arrays[c.job] != nil {
			return c
		}
	}
	return nil
}

// corrFailed tells whether the counterparts of all tasks that are left have
// ended badly.
func (s *State) corrFailed(j *job, target *array) bool {
	left := j.tasks
	if j.st.IsArrayTask {
		left = model.TasksOf([]uint32{j.st.ArrayTaskId})
	}
	if len(left) == 0 {
		return false
	}
	for _, m := range target.members {
		if st := m.st; st.IsArrayTask && final(st) && st.State != wire.BaseState_COMPLETED && left.Has(st.ArrayTaskId) {
			left = left.Remove(st.ArrayTaskId)
		}
	}
	return len(left) == 0
}

// corrTasks are the unstarted tasks whose counterpart has ended well.
func (s *State) corrTasks(j *job, c *cond) model.TaskSet {
	if len(j.deps.conds) > 1 {
		return nil // the others first
	}
	var ids []uint32
	for _, m := range s.arrays[c.job].members {
		st := m.st
		if st.IsArrayTask && final(st) && st.State == wire.BaseState_COMPLETED && j.tasks.Has(st.ArrayTaskId) {
			ids = append(ids, st.ArrayTaskId)
		}
	}
	slices.Sort(ids)
	return model.TasksOf(ids)
}
