package accounting

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muster/internal/command/dataparser"
	"muster/internal/command/dataparser/schematest"
	"muster/internal/wire"
)

func runsAsData(t testing.TB, runs ...*wire.RunRecord) []any {
	c := &Context{Now: time.Unix(1_700_000_000, 0), TasksWidth: 64, Cluster: "c"}
	q := &Query{Request: &wire.HistoryRequest{}}
	value := schematest.Same(t, map[string]string{"jobs": "job_list"}, func(w *dataparser.Writer) {
		d := &dump{w: w, ids: dataparser.TRESNames("gres/gpu"), user: func(uid uint32) string { return "u" + strconv.Itoa(int(uid)) }}
		w.List("jobs")
		for _, run := range runs {
			d.run(q, c, run)
		}
		w.End()
	})
	return value["jobs"].([]any)
}

func TestEveryRunFitsTheSchema(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		run := &wire.RunRecord{}
		schematest.Fill(r, run)
		run.State.Eligible = 1 // it is left out until it could have started
		runsAsData(t, run, &wire.RunRecord{State: &wire.JobState{Eligible: 1}})
	}
}

func get(value any, path ...string) any {
	for _, key := range path {
		value = value.(map[string]any)[key]
	}
	return value
}

func TestRunAsData(t *testing.T) {
	run := runsAsData(t, &wire.RunRecord{
		Spec: &wire.JobSpec{Batch: true, UserName: "alice", Comment: "c", TimeLimit: 5},
		State: &wire.JobState{JobId: 12, ArrayJobId: 10, IsArrayTask: true, ArrayTaskId: 2, State: wire.BaseState_CANCELLED, Attempt: 1,
			Submit: 90, Eligible: 91, Start: 100, End: 130, TimeLimit: 5, ExitStatus: 15, WasCancelled: true, CancelledBy: 8,
			TresAlloc: "cpu=2,mem=1G,node=1,billing=2,gres/gpu=1", Alloc: []*wire.NodeAlloc{{Node: "n1", Cpus: 2}}, BatchHost: "n1",
			Usage: &wire.Usage{UserUsec: 1_500_000, SystemUsec: 250, MaxRss: 4096}, BatchEnded: true, BatchStart: 100, BatchEnd: 130},
		Steps: []*wire.StepState{{Step: 0, Name: "s", State: wire.BaseState_COMPLETED, Start: 101, End: 102, NumTasks: 3,
			Alloc: []*wire.NodeAlloc{{Node: "n1", Cpus: 2}}}},
	})[0]
	require.Equal(t, []any{"CANCELLED"}, get(run, "state", "current"))
	require.EqualValues(t, "10", get(run, "array", "job_id"))
	require.EqualValues(t, "2", get(run, "array", "task_id", "number"))
	require.Equal(t, "u8", get(run, "kill_request_user"))
	require.EqualValues(t, "30", get(run, "time", "elapsed"))
	require.EqualValues(t, "9", get(run, "time", "planned", "number"))
	require.EqualValues(t, "1", get(run, "time", "user", "seconds"))
	require.EqualValues(t, "500250", get(run, "time", "total", "microseconds"))
	require.Equal(t, []any{"SIGNALED"}, get(run, "exit_code", "status"))
	require.Equal(t, "TERM", get(run, "exit_code", "signal", "name"))
	tres := get(run, "tres", "allocated").([]any)
	require.Len(t, tres, 5)
	require.EqualValues(t, "1024", get(tres[1], "count"))
	require.Equal(t, "gpu", get(tres[4], "name"))
	require.EqualValues(t, "1001", get(tres[4], "id"))
	steps := get(run, "steps").([]any)
	require.Len(t, steps, 2)
	require.Equal(t, "10_2.batch", get(steps[0], "step", "id"))
	require.Equal(t, "10_2.0", get(steps[1], "step", "id"))
	require.EqualValues(t, "3", get(steps[1], "tasks", "count"))
}
