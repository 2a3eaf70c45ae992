package controller

import (
	"slices"
	"strconv"
	"strings"

	"muster/internal/model"
	"muster/internal/wire"
)

// chosen is a job that a request means, perhaps only some unstarted tasks of
// it, perhaps one step.
type chosen struct {
	j     *job
	tasks model.TaskSet // of an array's head; nil = all
	ref   *wire.JobRef  // nil if it was matched by filter only
}

// choose finds the jobs of a list of references, in the order of their keys
// within a reference. unknown gets those that name nothing.
func (s *State) choose(refs []*wire.JobRef, unknown func(*wire.JobRef)) []chosen {
	var out []chosen
	for _, ref := range refs {
		found := s.chooseOne(ref)
		if len(found) == 0 {
			unknown(ref)
		}
		out = append(out, found...)
	}
	return out
}

func (s *State) chooseOne(ref *wire.JobRef) []chosen {
	a := s.arrays[ref.JobId]
	if ref.Tasks == "" {
		if a == nil {
			if j := s.byID[ref.JobId]; j != nil {
				return []chosen{{j: j, ref: ref}}
			}
			return nil
		}
		var out []chosen
		for _, m := range inOrder(a.members) {
			out = append(out, chosen{j: m, ref: ref})
		}
		return out
	}
	want, _, err := model.ParseTasks(ref.Tasks, ^uint32(0))
	if err != nil || a == nil {
		return nil
	}
	var out []chosen
	for _, m := range inOrder(a.members) {
		if m.st.IsArrayTask {
			if want.Has(m.st.ArrayTaskId) {
				out = append(out, chosen{j: m, ref: ref})
			}
			continue
		}
		if some := common(m.tasks, want); len(some) > 0 {
			c := chosen{j: m, ref: ref}
			if some.Count() < m.tasks.Count() {
				c.tasks = some
			}
			out = append(out, c)
		}
	}
	return out
}

// common are the tasks in both sets; the work is that of the second.
func common(have, want model.TaskSet) model.TaskSet {
	if have.String() == want.String() {
		return have
	}
	var ids []uint32
	want.Each(func(id uint32) bool {
		if have.Has(id) {
			ids = append(ids, id)
		}
		return len(have) > 0 && id < have.Max()
	})
	return model.TasksOf(ids)
}

// parts are the records that a choice stands for: chosen unstarted tasks are
// taken out of their array.
func (s *State) records(c chosen) []*job {
	if c.tasks == nil {
		return []*job{c.j}
	}
	return s.splitSet(c.j, c.tasks)
}

// matches tells whether a job passes the filters of a selection.
func (s *State) matches(sel *wire.JobSelect, j *job) bool {
	sp, st := j.spec, j.st
	if len(sel.Uids) > 0 && slices.Contains(sel.Uids, sp.Uid) == sel.NotUids {
		return false
	}
	return anyOf(sel.Names, sp.Name) && anyOf(sel.Accounts, sp.Account) && anyOf(sel.Qos, sp.Qos) &&
		anyOf(sel.Reservations, sp.Reservation) && anyOf(sel.Wckeys, sp.Wckey) &&
		s.inPartitions(sel.Partitions, j) && inStates(sel.States, st) && onNodes(sel.Nodes, st)
}

func anyOf(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }

func (s *State) inPartitions(list []string, j *job) bool {
	if len(list) == 0 {
		return true
	}
	for name := range strings.SplitSeq(j.st.Partition, ",") {
		if slices.Contains(list, name) {
			return true
		}
	}
	return false
}

func inStates(list []string, st *wire.JobState) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(w string) bool { return model.HasState(st.State, st.Flags, w) })
}

func onNodes(list []string, st *wire.JobState) bool {
	return len(list) == 0 || slices.ContainsFunc(st.Alloc, func(a *wire.NodeAlloc) bool { return slices.Contains(list, a.Node) })
}

// selected are the jobs of a selection: the ones named, narrowed by the
// filters; without names all that pass the filters.
func (s *State) selected(sel *wire.JobSelect, unknown func(*wire.JobRef)) []chosen {
	var all []chosen
	if len(sel.Jobs) > 0 {
		all = s.choose(sel.Jobs, unknown)
	} else {
		for _, j := range inOrder(s.jobs) {
			all = append(all, chosen{j: j})
		}
	}
	return slices.DeleteFunc(all, func(c chosen) bool { return !s.matches(sel, c.j) })
}

// refText is a reference as it was typed.
func refText(r *wire.JobRef) string {
	out := strconv.FormatUint(uint64(r.JobId), 10)
	if r.Tasks != "" {
		if strings.ContainsAny(r.Tasks, ",-") {
			out += "_[" + r.Tasks + "]"
		} else {
			out += "_" + r.Tasks
		}
	}
	if r.HasStep {
		out += "." + model.StepName(r.Step)
	}
	return out
}
