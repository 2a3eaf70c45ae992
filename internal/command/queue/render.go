package queue

import (
	"io"

	"muster/internal/model"
	"muster/internal/wire"
)

// Rows makes rows of jobs; with each, the unstarted tasks of an array are shown
// one by one.
func Rows(c *Context, jobs []*wire.JobInfo, each bool) []*Row {
	store := make([]Row, len(jobs))
	rows := make([]*Row, 0, len(jobs))
	for i, j := range jobs {
		r := &store[i]
		*r = NewRow(c, j)
		if each && r.State.ArrayJobId != 0 && !r.State.IsArrayTask {
			rows = appendTasks(rows, r)
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

// appendTasks makes a row of each task. They share all but their number, so that
// only the parts of the state that the cells look at are copied.
func appendTasks(rows []*Row, r *Row) []*Row {
	set, _, err := model.ParseTasks(r.State.ArrayPending, ^uint32(0))
	if err != nil {
		return append(rows, r)
	}
	s := r.State
	set.Each(func(t uint32) bool {
		one := *r
		one.State = &wire.JobState{
			JobId: s.JobId, ArrayJobId: s.ArrayJobId, IsArrayTask: true, ArrayTaskId: t,
			State: s.State, Flags: s.Flags, Submit: s.Submit, Eligible: s.Eligible, Accrue: s.Accrue,
			Start: s.Start, End: s.End, TimeLimit: s.TimeLimit, Priority: s.Priority,
			Reason: s.Reason, ReasonText: s.ReasonText, ExitStatus: s.ExitStatus,
			Partition: s.Partition, Dependency: s.Dependency, NumCpus: s.NumCpus, NumNodes: s.NumNodes,
			TresReq: s.TresReq, LastSchedEval: s.LastSchedEval, Restarts: s.Restarts,
		}
		rows = append(rows, &one)
		return true
	})
	return rows
}

// Write prints the rows in their order.
func Write(w io.Writer, t *Table, header bool, rows []*Row) error {
	b := make([]byte, 0, 64<<10)
	if header {
		b = t.AppendHeader(b)
	}
	for i := range rows {
		b = t.AppendRow(b, rows[i])
		if len(b) > 60<<10 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(b)
	return err
}
