package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/wire"
)

func loadsEmpty(t *testing.T, open Cluster) {
	tables, err := open("a").Load(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, tables.ClusterID)
	require.NotZero(t, tables.Now)
	require.Equal(t, model.Counters{}, tables.Counters)
	require.Empty(t, tables.Jobs)
}

func loadsCommitted(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	content, ref := script(1000, "#!/bin/sh\n")
	job := Job(7)
	job.Spec.Script = ref
	b := &model.Batch{
		Jobs:       []model.JobPut{job},
		Contents:   []model.Content{content},
		Steps:      []*wire.StepState{{JobKey: 7, Attempt: 1, Step: 0, Name: "step"}},
		Nodes:      []*wire.NodeState{{Name: "n1", Base: wire.NodeBase_NODE_IDLE, Reason: "r"}},
		Partitions: []*wire.PartitionState{{Name: "main", Info: &wire.PartitionInfo{State: "DOWN"}}},
		Requests:   []model.RequestResult{{ID: "id", UID: 1000, At: w.load().Now, Reply: []byte("reply")}},
		Counters:   model.Counters{NextKey: 8, NextJobID: 9},
	}
	w.commit(b)
	again := enter(t, open("b")).load()
	require.Equal(t, b.Counters, again.Counters)
	require.Greater(t, again.LastBatch, b.Number, "a takeover counts as a batch")
	require.Len(t, again.Jobs, 1)
	requireProto(t, job.Spec, again.Jobs[0].Spec)
	requireProto(t, job.State, again.Jobs[0].State)
	requireProto(t, b.Steps[0], again.Steps[0])
	requireProto(t, b.Nodes[0], again.Nodes[0])
	requireProto(t, b.Partitions[0], again.Partitions[0])
	require.Equal(t, b.Requests, again.Requests)

	s := open("c")
	data, err := s.Content(t.Context(), 1000, content.Hash[:])
	require.NoError(t, err)
	require.Equal(t, content.Data, data)
	_, err = s.Content(t.Context(), 1001, content.Hash[:])
	require.ErrorIs(t, err, store.ErrNoContent, "contents belong to one user")
	reply, found, err := s.Request(t.Context(), "id", 1000)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "reply", string(reply))
	_, found, err = s.Request(t.Context(), "id", 1001)
	require.NoError(t, err)
	require.False(t, found)
}

func laterReplaces(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	job := Job(1)
	w.commit(&model.Batch{
		Jobs:  []model.JobPut{job, {State: Running(job)}},
		Nodes: []*wire.NodeState{{Name: "n1", Weight: 1}, {Name: "n1", Weight: 2}},
	})
	tables := w.load()
	require.Len(t, tables.Jobs, 1)
	requireProto(t, job.Spec, tables.Jobs[0].Spec)
	require.Equal(t, wire.BaseState_RUNNING, tables.Jobs[0].State.State)
	require.Equal(t, uint32(2), tables.Nodes[0].Weight)
}

func goneWins(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	job, step := Job(1), &wire.StepState{JobKey: 1, Attempt: 1, Step: 3}
	w.commit(&model.Batch{Jobs: []model.JobPut{job}, Steps: []*wire.StepState{step},
		Nodes: []*wire.NodeState{{Name: "n1"}}, Partitions: []*wire.PartitionState{{Name: "p"}}})
	w.commit(&model.Batch{Steps: []*wire.StepState{step}, StepsGone: []model.StepRef{{Key: 1, Attempt: 1, Step: 3}}})
	require.Empty(t, w.load().Steps)
	w.commit(&model.Batch{Steps: []*wire.StepState{step}})
	w.commit(&model.Batch{
		Jobs: []model.JobPut{{State: Running(job)}}, Purged: []model.JobKey{1}, Steps: []*wire.StepState{step},
		Nodes: []*wire.NodeState{{Name: "n1"}}, NodesGone: []string{"n1"},
		Partitions: []*wire.PartitionState{{Name: "p"}}, PartsGone: []string{"p"}})
	tables := w.load()
	require.Empty(t, tables.Jobs)
	require.Empty(t, tables.Steps, "a purged job's steps leave with it")
	require.Empty(t, tables.Nodes)
	require.Empty(t, tables.Partitions)
	w.commit(&model.Batch{Purged: []model.JobKey{1}, NodesGone: []string{"n1"}})
}

func keepsSpec(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	job := Job(1)
	w.commit(&model.Batch{Jobs: []model.JobPut{job}})
	w.commit(&model.Batch{Jobs: []model.JobPut{{State: Running(job)}}})
	requireProto(t, job.Spec, w.load().Jobs[0].Spec)
	changed := Job(1)
	changed.Spec.Comment = "new"
	changed.State = Running(job)
	w.commit(&model.Batch{Jobs: []model.JobPut{changed}})
	require.Equal(t, "new", w.load().Jobs[0].Spec.Comment)
}

func countsBatches(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	last, err := w.LastBatch(t.Context())
	require.NoError(t, err)
	require.Equal(t, w.next-1, last)
	b := &model.Batch{Jobs: []model.JobPut{Job(1)}}
	w.commit(b)
	last, err = w.LastBatch(t.Context())
	require.NoError(t, err)
	require.Equal(t, b.Number, last)
	o, err := w.Commit(t.Context(), b)
	require.NoError(t, err)
	require.Equal(t, model.Committed, o)
	require.Equal(t, b.Number, w.load().LastBatch)
}

func refusesWrongNumber(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	w.commit(&model.Batch{Counters: model.Counters{NextKey: 1}})
	o, err := w.Commit(t.Context(), &model.Batch{Number: w.next - 2, Jobs: []model.JobPut{Job(1)}})
	require.Error(t, err)
	require.Equal(t, model.Refused, o)
	o, err = w.Commit(t.Context(), &model.Batch{Number: w.next + 1, Jobs: []model.JobPut{Job(1)}})
	var lost *store.LostWorkError
	require.True(t, errors.As(err, &lost), "%v", err)
	require.Equal(t, model.Fenced, o)
	require.Empty(t, w.load().Jobs)
}

func refusesBadState(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	for _, spoil := range []func(*wire.JobState){
		func(s *wire.JobState) { s.State = wire.BaseState_RUNNING },
		func(s *wire.JobState) { s.State, s.Attempt = wire.BaseState_SUSPENDED, 1 },
		func(s *wire.JobState) { s.Flags = uint32(wire.StateFlag_FLAG_COMPLETING) },
		func(s *wire.JobState) { s.State = wire.BaseState_COMPLETED },
		func(s *wire.JobState) { s.State = 99 },
		func(s *wire.JobState) { s.Key = -1 },
		func(s *wire.JobState) { s.JobId = 0 },
	} {
		bad := Job(2)
		spoil(bad.State)
		w.refused(&model.Batch{Jobs: []model.JobPut{Job(1), bad}, Counters: model.Counters{NextKey: 100}})
	}
	w.refused(&model.Batch{Jobs: []model.JobPut{{Spec: Job(1).Spec}}})
	w.refused(&model.Batch{Runs: []*wire.RunRecord{{Spec: Job(1).Spec, State: Job(1).State}}})
}

func refusesUnknownJob(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	w.refused(&model.Batch{Jobs: []model.JobPut{Job(1), {State: Running(Job(2))}}})
}

func refusesEarlierAttempt(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	first := Job(1)
	second := model.JobPut{State: Running(first)}
	w.commit(&model.Batch{Jobs: []model.JobPut{first}})
	w.commit(&model.Batch{Jobs: []model.JobPut{{State: Running(second)}}})
	w.refused(&model.Batch{Jobs: []model.JobPut{second}})
	w.refused(&model.Batch{Jobs: []model.JobPut{first}})
}

func refusesSecondID(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	w.commit(&model.Batch{Jobs: []model.JobPut{Job(1)}})
	other := Job(2)
	other.State.JobId = 1
	w.refused(&model.Batch{Jobs: []model.JobPut{other}})
	w.commit(&model.Batch{Jobs: []model.JobPut{other}, Purged: []model.JobKey{1}})
}

func refusesKeyBack(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	w.commit(&model.Batch{Counters: model.Counters{NextKey: 10, NextJobID: 10}})
	w.commit(&model.Batch{Counters: model.Counters{NextJobID: 1}}) // job ids start over at MaxJobId
	require.Equal(t, model.Counters{NextKey: 10, NextJobID: 1}, w.load().Counters)
	w.refused(&model.Batch{Counters: model.Counters{NextKey: 9}})
}

func refusesMissingContent(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	content, ref := script(1000, "#!/bin/sh\n")
	job := Job(1)
	job.Spec.Script, job.Spec.Environment = ref, ref
	w.refused(&model.Batch{Jobs: []model.JobPut{job}})
	w.commit(&model.Batch{Contents: []model.Content{content, content}})
	w.commit(&model.Batch{Jobs: []model.JobPut{job}})
}

func refusesSecondAnswer(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	q := model.RequestResult{ID: "x", UID: 5, At: w.load().Now, Reply: []byte("first")}
	w.commit(&model.Batch{Requests: []model.RequestResult{q}})
	q.Reply = []byte("second")
	w.refused(&model.Batch{Requests: []model.RequestResult{q}})
	reply, found, err := w.Request(t.Context(), "x", 5)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "first", string(reply))
}

func fences(t *testing.T, open Cluster) {
	old := enter(t, open("old"))
	old.commit(&model.Batch{Jobs: []model.JobPut{Job(1)}})
	next := enter(t, open("new"))
	o, err := old.Commit(t.Context(), &model.Batch{Number: old.next, Jobs: []model.JobPut{Job(2)}})
	require.ErrorIs(t, err, store.ErrFenced)
	require.Equal(t, model.Fenced, o)
	_, err = old.LastBatch(t.Context())
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = old.Load(t.Context())
	require.ErrorIs(t, err, store.ErrFenced)
	next.commit(&model.Batch{Jobs: []model.JobPut{Job(3)}})
	tables := next.load()
	require.Len(t, tables.Jobs, 2)
	require.Equal(t, int64(3), tables.Jobs[1].State.Key)
}

func keepsBytes(t *testing.T, open Cluster) {
	w := enter(t, open("a"))
	odd := "\x00\xff\xfe'\\\"" + strings.Repeat("\xc3", 3)
	job := Job(1)
	job.Spec.Name, job.Spec.Comment, job.State.Reason = odd, odd, odd
	run := Ended(job)
	run.Spec.Account = odd
	w.commit(&model.Batch{Jobs: []model.JobPut{job}, Nodes: []*wire.NodeState{{Name: odd}},
		Requests: []model.RequestResult{{ID: odd, At: w.load().Now, Reply: []byte(odd)}}, Runs: []*wire.RunRecord{run}})
	tables := w.load()
	require.Equal(t, odd, tables.Jobs[0].Spec.Name)
	require.Equal(t, odd, tables.Jobs[0].State.Reason)
	require.Equal(t, odd, tables.Nodes[0].Name)
	require.Equal(t, odd, tables.Requests[0].ID)
	require.Equal(t, []int64{1}, keys(t, w, store.HistoryQuery{Names: []string{odd}, Accounts: []string{odd}}))
}
