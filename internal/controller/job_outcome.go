package controller

import (
	"cmp"
	"slices"
	"strconv"

	"muster/internal/model"
	"muster/internal/wire"
)

// taskOutcome is what became of some tasks of an array; nil = done.
type taskOutcome struct {
	tasks   model.TaskSet
	refusal *wire.Refusal
}

// isArray tells whether an answer to a reference speaks of tasks.
func (s *State) isArray(ref *wire.JobRef) bool { return ref.Tasks != "" || s.arrays[ref.JobId] != nil }

// arrayOutcomes folds what became of the records of one reference to array
// tasks into a line for each answer, as Slurm gives them: those without an
// error are listed as soon as one has one.
func arrayOutcomes(job uint32, done []taskOutcome) []*wire.JobOutcome {
	inTaskOrder(done)
	bad := false
	for _, d := range done {
		bad = bad || d.refusal.GetCode() != 0
	}
	if !bad {
		return nil
	}
	var list []*wire.Refusal
	tasks := make(map[string][]uint32)
	for _, d := range done {
		r := d.refusal
		if r == nil {
			r = refusal(1, "No error")
		}
		if tasks[r.Message] == nil {
			list = append(list, r)
		}
		d.tasks.Each(func(t uint32) bool {
			tasks[r.Message] = append(tasks[r.Message], t)
			return true
		})
	}
	out := make([]*wire.JobOutcome, len(list))
	for i, r := range list {
		id := strconv.FormatUint(uint64(job), 10) + "_" + model.TasksOf(tasks[r.Message]).String()
		out[i] = &wire.JobOutcome{Id: id, Refusal: r, Array: true}
	}
	return out
}

func inTaskOrder(done []taskOutcome) {
	slices.SortStableFunc(done, func(a, b taskOutcome) int {
		x, _ := a.tasks.First()
		y, _ := b.tasks.First()
		return cmp.Compare(x, y)
	})
}

// tasksOf are the tasks that a choice stands for.
func tasksOf(c chosen) model.TaskSet {
	switch {
	case c.tasks != nil:
		return c.tasks
	case c.j.st.IsArrayTask:
		return model.TasksOf([]uint32{c.j.st.ArrayTaskId})
	}
	return c.j.tasks
}

// unknownTasks refuses the tasks of a reference that name nothing.
func unknownTasks(ref *wire.JobRef, found []chosen) []taskOutcome {
	left, _, err := model.ParseTasks(ref.Tasks, ^uint32(0))
	if ref.Tasks == "" || err != nil {
		return nil
	}
	for _, c := range found {
		_, left = left.Split(tasksOf(c))
	}
	if len(left) == 0 {
		return nil
	}
	return []taskOutcome{{left, errJobID}}
}
