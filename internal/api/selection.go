package api

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"muster/internal/controller"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/wire"
)

// selection is a JobSelect made ready for many jobs.
type selection struct {
	sel   *wire.JobSelect
	uids  map[uint32]bool
	nodes map[string]bool
	now   int64
	hide  map[string]bool // hidden partitions
	fold  bool            // named tasks of one array as one record
}

func newSelection(sel *wire.JobSelect, v *controller.View, hidden func(*wire.PartitionInfo) bool) (*selection, error) {
	if sel == nil {
		sel = &wire.JobSelect{}
	}
	s := &selection{sel: sel, now: v.Now}
	if len(sel.Uids) > 0 {
		s.uids = map[uint32]bool{}
		for _, u := range sel.Uids {
			s.uids[u] = true
		}
	}
	for _, list := range sel.Nodes {
		names, err := hostlist.Expand(list)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if s.nodes == nil {
				s.nodes = map[string]bool{}
			}
			s.nodes[n] = true
		}
	}
	if !sel.AllPartitions && len(sel.Jobs) == 0 { // a job that is named is shown wherever it is
		for _, p := range v.Partitions {
			if hidden(p) {
				if s.hide == nil {
					s.hide = map[string]bool{}
				}
				s.hide[p.Name] = true
			}
		}
	}
	return s, nil
}

// matches tells whether a job is selected; the ids in it are not looked at.
func (s *selection) matches(spec *wire.JobSpec, st *wire.JobState) bool {
	sel := s.sel
	switch {
	case s.uids != nil && s.uids[spec.Uid] == sel.NotUids,
		len(sel.Accounts) > 0 && !slices.Contains(sel.Accounts, spec.Account),
		len(sel.Qos) > 0 && !slices.Contains(sel.Qos, qosOf(spec)),
		len(sel.Names) > 0 && !slices.Contains(sel.Names, spec.Name),
		len(sel.Reservations) > 0 && !slices.Contains(sel.Reservations, spec.Reservation),
		len(sel.Wckeys) > 0 && !slices.Contains(sel.Wckeys, spec.Wckey),
		len(sel.Partitions) > 0 && !s.inPartition(spec, st),
		s.nodes != nil && !s.onNode(st),
		s.hide != nil && s.hide[partitionOf(spec, st)]:
		return false
	}
	return s.inState(st)
}

func qosOf(spec *wire.JobSpec) string {
	if spec.Qos == "" {
		return "normal"
	}
	return spec.Qos
}

func partitionOf(spec *wire.JobSpec, st *wire.JobState) string {
	if st.Partition != "" {
		return st.Partition
	}
	return spec.Partition
}

func (s *selection) inPartition(spec *wire.JobSpec, st *wire.JobState) bool {
	for _, p := range strings.Split(partitionOf(spec, st), ",") {
		if slices.Contains(s.sel.Partitions, p) {
			return true
		}
	}
	return false
}

func (s *selection) onNode(st *wire.JobState) bool {
	for _, a := range st.Alloc {
		if s.nodes[a.Node] {
			return true
		}
	}
	return false
}

func (s *selection) inState(st *wire.JobState) bool {
	if s.sel.AllStates {
		return true
	}
	if len(s.sel.States) == 0 {
		return model.Active(st.State, st.Flags)
	}
	for _, w := range s.sel.States {
		if model.HasState(st.State, st.Flags, w) {
			return true
		}
	}
	return false
}

// jobs yields the selected jobs of a view. found tells whether the ids in the
// selection named any job at all, in whatever state.
func (s *selection) jobs(v *controller.View, each func(*controller.JobView) bool) (found bool) {
	if len(s.sel.Jobs) == 0 {
		for _, j := range v.Jobs(0) {
			if s.matches(j.Spec, j.State) && !each(j) {
				break
			}
		}
		return true
	}
	seen := map[int64]bool{}
	for _, ref := range s.sel.Jobs {
		for j := range v.Lookup(ref.JobId) {
			found = found || s.fold
			if !model.Matches(ref, j.State) {
				continue
			}
			found = true
			if seen[j.State.Key] || !s.matches(j.Spec, j.State) {
				continue
			}
			if ref.Tasks != "" && j.State.ArrayPending != "" {
				more := true
				if s.fold {
					seen[j.State.Key] = true
					more = each(s.folded(j))
				} else {
					more = eachTask(j, ref.Tasks, each)
				}
				if !more {
					return true
				}
				continue
			}
			seen[j.State.Key] = true
			if !each(j) {
				return true
			}
		}
	}
	return found
}

// folded is the record of an array's unstarted tasks with those alone that the
// selection names.
func (s *selection) folded(head *controller.JobView) *controller.JobView {
	left, _, err := model.ParseTasks(head.State.ArrayPending, maxTask)
	if err != nil {
		return head
	}
	var named model.TaskSet
	for _, ref := range s.sel.Jobs {
		if ref.JobId != head.State.ArrayJobId || ref.Tasks == "" {
			continue
		}
		if want, _, err := model.ParseTasks(ref.Tasks, maxTask); err == nil {
			in, _ := want.Split(left)
			named = append(named, in...)
		}
	}
	text := named.String()
	if named, _, err = model.ParseTasks(text, maxTask); err != nil {
		return head
	}
	st := proto.CloneOf(head.State)
	st.ArrayPending, st.ArrayThrottle = named.String(), 0
	if first, _ := named.First(); named.Count() == 1 {
		st.IsArrayTask, st.ArrayTaskId, st.ArrayPending = true, first, ""
	}
	return &controller.JobView{Spec: head.Spec, State: st}
}

// eachTask yields unstarted tasks of an array that were named, each as a job
// of its own, as which it does not exist yet.
func eachTask(head *controller.JobView, named string, each func(*controller.JobView) bool) bool {
	want, _, err := model.ParseTasks(named, maxTask)
	if err != nil {
		return true
	}
	have, _, err := model.ParseTasks(head.State.ArrayPending, maxTask)
	if err != nil {
		return true
	}
	more := true
	want.Each(func(t uint32) bool {
		if have.Has(t) {
			st := proto.CloneOf(head.State)
			st.IsArrayTask, st.ArrayTaskId, st.ArrayPending = true, t, ""
			more = each(&controller.JobView{Spec: head.Spec, State: st})
		}
		return more
	})
	return more
}

// maxTask bounds array tasks; the bound of MaxArraySize.
const maxTask = 4000001
