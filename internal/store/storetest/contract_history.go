package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/wire"
)

func keys(t *testing.T, s Store, q store.HistoryQuery) []int64 {
	t.Helper()
	found := []int64{}
	require.NoError(t, s.History(t.Context(), q, func(r *wire.RunRecord) error {
		found = append(found, r.State.Key)
		return nil
	}))
	return found
}

const day = 24 * 3600

func findsHistory(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	run := func(key int64, change func(*wire.JobSpec, *wire.JobState)) *wire.RunRecord {
		r := Ended(Job(key))
		change(r.Spec, r.State)
		return r
	}
	w.commit(&model.Batch{Runs: []*wire.RunRecord{
		run(1, func(*wire.JobSpec, *wire.JobState) {}),
		run(2, func(spec *wire.JobSpec, s *wire.JobState) {
			spec.Uid, spec.Gid, spec.Name, spec.Account, spec.Qos, spec.Wckey = 2000, 200, "other", "chem", "high", "w"
			s.State, s.Partition, s.Reason = wire.BaseState_FAILED, "gpu", "NonZeroExitCode"
			s.Alloc = []*wire.NodeAlloc{{Node: "n10"}, {Node: "n11"}}
			s.NumCpus, s.NumNodes, s.TimeLimit = 64, 2, 600
		}),
		run(3, func(_ *wire.JobSpec, s *wire.JobState) { // an array's tasks
			s.JobId, s.ArrayJobId, s.IsArrayTask, s.ArrayTaskId = 31, 30, true, 5
		}),
		run(4, func(_ *wire.JobSpec, s *wire.JobState) {
			s.JobId, s.ArrayJobId, s.IsArrayTask, s.ArrayTaskId = 30, 30, true, 6
			s.State = wire.BaseState_CANCELLED
		}),
		run(5, func(_ *wire.JobSpec, s *wire.JobState) { // two months ago
			s.Submit, s.Start, s.End = Now-61*day, Now-61*day, Now-60*day
		}),
		run(6, func(_ *wire.JobSpec, s *wire.JobState) {
			s.Attempt, s.State, s.Flags = 1, wire.BaseState_NODE_FAIL, uint32(wire.StateFlag_FLAG_REQUEUED)
		}),
		run(6, func(_ *wire.JobSpec, s *wire.JobState) { s.Attempt = 2 }),
		run(7, func(_ *wire.JobSpec, s *wire.JobState) { // cancelled before it started
			s.Attempt, s.Start, s.Alloc, s.State = 0, 0, nil, wire.BaseState_CANCELLED
		}),
	}})
	type query = store.HistoryQuery
	for name, c := range map[string]struct {
		query query
		want  []int64
	}{
		"all":           {query{}, []int64{1, 2, 3, 4, 5, 6, 7}},
		"duplicates":    {query{Duplicates: true}, []int64{1, 2, 3, 4, 5, 6, 6, 7}},
		"job id":        {query{JobIDs: []uint32{2, 99}}, []int64{2}},
		"array":         {query{JobIDs: []uint32{30}}, []int64{3, 4}},
		"task by id":    {query{JobIDs: []uint32{31}}, []int64{3}},
		"task":          {query{ArrayTasks: []store.ArrayTask{{ArrayJobID: 30, Task: 6}}}, []int64{4}},
		"task and job":  {query{JobIDs: []uint32{1}, ArrayTasks: []store.ArrayTask{{ArrayJobID: 30, Task: 5}}}, []int64{1, 3}},
		"task pairs":    {query{ArrayTasks: []store.ArrayTask{{ArrayJobID: 30, Task: 7}, {ArrayJobID: 29, Task: 5}}}, []int64{}},
		"uid":           {query{UIDs: []uint32{2000}}, []int64{2}},
		"gid":           {query{GIDs: []uint32{200}}, []int64{2}},
		"name":          {query{Names: []string{"other"}}, []int64{2}},
		"account":       {query{Accounts: []string{"chem", "none"}}, []int64{2}},
		"partition":     {query{Partitions: []string{"gpu"}}, []int64{2}},
		"asked for":     {query{Partitions: []string{"main"}, JobIDs: []uint32{1}}, []int64{1}},
		"qos":           {query{QOS: []string{"high"}}, []int64{2}},
		"wckey":         {query{WCKeys: []string{"w"}}, []int64{2}},
		"reason":        {query{Reasons: []string{"NonZeroExitCode"}}, []int64{2}},
		"node":          {query{Nodes: []string{"n11"}}, []int64{2}},
		"not a part":    {query{Nodes: []string{"n"}}, []int64{}},
		"state":         {query{States: []wire.BaseState{wire.BaseState_CANCELLED}}, []int64{4, 7}},
		"flag":          {query{Flags: uint32(wire.StateFlag_FLAG_REQUEUED), Duplicates: true}, []int64{6}},
		"cpus":          {query{CPUs: store.Range{Min: 3}}, []int64{2}},
		"nodes":         {query{NumNodes: store.Range{Max: 1}, UIDs: []uint32{2000}}, []int64{}},
		"limit":         {query{TimeLimit: store.Range{Min: 600, Max: 600}}, []int64{2}},
		"from":          {query{From: Now - day}, []int64{1, 2, 3, 4, 6, 7}},
		"to":            {query{To: Now - day}, []int64{5}},
		"ended within":  {query{From: Now - 62*day, To: Now - 59*day, EndedWithin: true}, []int64{5}},
		"ended outside": {query{From: Now, To: Now + 1, EndedWithin: true}, []int64{}},
		"ran in part":   {query{From: Now, To: Now + 1, JobIDs: []uint32{1}}, []int64{1}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, keys(t, w, c.query)) })
	}
	var newest []uint32
	require.NoError(t, w.History(t.Context(), query{JobIDs: []uint32{6}}, func(r *wire.RunRecord) error {
		newest = append(newest, r.State.Attempt)
		return nil
	}))
	require.Equal(t, []uint32{2}, newest)
}

func rewritesRun(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	run := Ended(Job(1))
	run.State.End = 1785542399 // the last second of a July
	w.commit(&model.Batch{Runs: []*wire.RunRecord{run}})
	run.State.End++
	run.State.ExitStatus = 256
	run.Steps = []*wire.StepState{{JobKey: 1, Attempt: 1, Step: 0}}
	w.commit(&model.Batch{Runs: []*wire.RunRecord{run}})
	w.commit(&model.Batch{Runs: []*wire.RunRecord{run}})
	var got []*wire.RunRecord
	require.NoError(t, w.History(t.Context(), store.HistoryQuery{Duplicates: true}, func(r *wire.RunRecord) error {
		got = append(got, r)
		return nil
	}))
	require.Len(t, got, 1)
	requireProto(t, run, got[0])
}
