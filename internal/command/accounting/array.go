package accounting

import (
	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/wire"
)

// lines are the records to be shown: with --array one for each task that waits
// in place of one for what is left of an array.
func (c *Context) lines(runs []*wire.RunRecord) []*wire.RunRecord {
	if !c.Array {
		return runs
	}
	var out []*wire.RunRecord
	for _, run := range runs {
		left := run.GetState().GetArrayPending()
		tasks, _, err := model.ParseTasks(left, ^uint32(0))
		if left == "" || err != nil {
			out = append(out, run)
			continue
		}
		tasks.Each(func(task uint32) bool {
			state := proto.CloneOf(run.State)
			state.IsArrayTask, state.ArrayTaskId, state.ArrayPending = true, task, ""
			out = append(out, &wire.RunRecord{Spec: run.Spec, State: state})
			return true
		})
	}
	return out
}
