package api

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcerr"

	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/wire"
)

func submission(id string) *wire.SubmitRequest {
	return &wire.SubmitRequest{RequestId: []byte(id), Script: []byte("#!/bin/sh\n"), Spec: &wire.JobSpec{
		Name: "x", Partition: "open", Batch: true, MinNodes: 1, MaxNodes: 1, NumTasks: 1, CpusPerTask: 1, Uid: 4711, Hold: true}}
}

func TestWhoMaySubmit(t *testing.T) {
	w := newWorld(t, nil, nil)
	reply, err := w.as(owner).Submit(w.ctx, submission("a"))
	require.NoError(t, err)
	require.Nil(t, reply.Refusal)
	j, ok := w.core.View().Job(reply.Key)
	require.True(t, ok, "its own job is seen at once")
	assert.Equal(t, owner, j.Spec.Uid, "the connection says who submits, not the request")
	assert.Equal(t, DefaultQOS, j.Spec.Qos)
	assert.Len(t, j.Spec.Script.Hash, 32)

	as := func(uid, who uint32, change func(*wire.SubmitRequest)) *wire.SubmitReply {
		r := submission("")
		r.AsUid, r.AsUidSet = who, who != 0
		if change != nil {
			change(r)
		}
		reply, err := w.as(uid).Submit(w.ctx, r)
		require.NoError(t, err)
		return reply
	}
	assert.Equal(t, textInvalidUser, as(owner, other, nil).Refusal.GetMessage())
	assert.Nil(t, as(root, other, nil).Refusal)
	assert.Equal(t, "Invalid group id", as(owner, 0, func(r *wire.SubmitRequest) { r.AsGid, r.AsGidSet = 5, true }).Refusal.GetMessage())
	assert.Equal(t, "Invalid qos specification", as(owner, 0, func(r *wire.SubmitRequest) { r.Spec.Qos = "high" }).Refusal.GetMessage())
	assert.EqualValues(t, codeBadScript, as(owner, 0, func(r *wire.SubmitRequest) { r.Script = make([]byte, 1001) }).Refusal.GetCode())
	assert.EqualValues(t, codeBadScript, as(owner, 0, func(r *wire.SubmitRequest) { r.Spec = nil }).Refusal.GetCode())
}

func TestWhoMayChange(t *testing.T) {
	w := newWorld(t, fewJobs(), nil)
	ref := []*wire.JobRef{{JobId: 1}}
	for _, who := range []uint32{other, owner} {
		c := w.as(who)
		denied := who == other
		outcome, err := c.JobAction(w.ctx, &wire.JobActionRequest{Verb: wire.JobVerb_VERB_UHOLD, Jobs: ref})
		require.NoError(t, err)
		require.Len(t, outcome.Jobs, 1)
		assert.Equal(t, denied, outcome.Jobs[0].Refusal != nil, "hold by %d", who)
		update, err := c.Update(w.ctx, &wire.UpdateRequest{Entity: "job", Target: "1",
			Fields: []*wire.FieldUpdate{{Key: "JobName", Value: fmt.Sprint("of", who)}}})
		require.NoError(t, err)
		assert.Equal(t, denied, update.Refusal != nil || len(update.Jobs) > 0 && update.Jobs[0].Refusal != nil, "%d: %v", who, update)
		for _, entity := range []string{"node", "partition"} {
			update, err = c.Update(w.ctx, &wire.UpdateRequest{Entity: entity, Target: "n1"})
			require.NoError(t, err)
			assert.Equal(t, textInvalidUser, update.Refusal.GetMessage())
		}
		for _, verb := range []string{"reconfigure", "shutdown", "adopt"} {
			reply, err := c.Admin(w.ctx, &wire.AdminRequest{Verb: verb})
			require.NoError(t, err)
			assert.Equal(t, textInvalidUser, reply.Refusal.GetMessage())
		}
	}
	j, _ := w.core.View().Job(1)
	assert.Equal(t, "of1001", j.Spec.Name)
	assert.False(t, w.process.shutdown)

	signal, err := w.as(other).Signal(w.ctx, &wire.SignalRequest{Cancel: true, Select: &wire.JobSelect{Jobs: ref}})
	require.NoError(t, err)
	assert.NotNil(t, signal.Jobs[0].Refusal)
	signal, err = w.as(owner).Signal(w.ctx, &wire.SignalRequest{Cancel: true, Select: &wire.JobSelect{Jobs: ref}})
	require.NoError(t, err)
	for _, o := range signal.Jobs {
		assert.Nil(t, o.Refusal)
	}
	j, _ = w.core.View().Job(1)
	assert.Equal(t, wire.BaseState_CANCELLED, j.State.State)
}

func TestAdmin(t *testing.T) {
	w := newWorld(t, nil, nil)
	c := w.as(admin)
	ask := func(verb string) (*wire.AdminReply, error) { return c.Admin(w.ctx, &wire.AdminRequest{Verb: verb}) }
	reply, err := ask("dance")
	require.NoError(t, err)
	assert.Equal(t, "not supported yet: dance", reply.Refusal.GetMessage())
	w.process.err = errors.New("slurm.conf:3: unknown parameter")
	reply, err = ask("reconfigure")
	require.NoError(t, err)
	assert.Contains(t, reply.Refusal.GetMessage(), "slurm.conf:3")
	w.process.err = controller.ErrTryAgain
	_, err = ask("reconfigure")
	assert.EqualValues(t, wire.RpcCode_RPC_TRY_AGAIN, drpcerr.Code(err))
	_, err = ask("shutdown")
	require.NoError(t, err)
	w.process.mu.Lock()
	defer w.process.mu.Unlock()
	assert.True(t, w.process.shutdown)
}

func TestContentIsTheOwners(t *testing.T) {
	jobs := fewJobs()
	jobs[0].Spec.Script = &wire.ContentRef{Hash: []byte("hash of the script")}
	jobs[1].Spec.Script = &wire.ContentRef{Hash: []byte("another's script")}
	w := newWorld(t, jobs, nil)
	w.store.contents[fmt.Sprint(owner, "hash of the script")] = []byte("#!")
	get := func(uid, id uint32) (*wire.ContentReply, error) {
		return w.as(uid).Content(w.ctx, &wire.ContentRequest{Job: &wire.JobRef{JobId: id}})
	}
	for uid, want := range map[uint32]string{owner: "", root: "", admin: "", other: textInvalidUser} {
		reply, err := get(uid, 1)
		require.NoError(t, err)
		assert.Equal(t, want, reply.Refusal.GetMessage(), uid)
		assert.Equal(t, want == "", string(reply.Content) == "#!", uid)
	}
	reply, err := get(owner, 99)
	require.NoError(t, err)
	assert.Equal(t, textInvalidJob, reply.Refusal.GetMessage())
	_, err = get(other, 2)
	assert.ErrorContains(t, err, ErrNoContent.Error())
}

func TestWait(t *testing.T) {
	jobs := fewJobs()
	jobs[2].State.State, jobs[2].State.ExitStatus = wire.BaseState_FAILED, 3<<8
	w := newWorld(t, jobs, nil)
	reply, err := w.as(owner).Wait(w.ctx, &wire.WaitRequest{JobId: 3})
	require.NoError(t, err)
	assert.EqualValues(t, 3<<8, reply.ExitStatus)
	reply, err = w.as(owner).Wait(w.ctx, &wire.WaitRequest{JobId: 99})
	require.NoError(t, err)
	assert.Equal(t, textInvalidJob, reply.Refusal.GetMessage())

	done := make(chan *wire.WaitReply, 1)
	waiting := w.as(owner)
	go func() {
		reply, err := waiting.Wait(w.ctx, &wire.WaitRequest{JobId: 1})
		assert.NoError(t, err)
		done <- reply
	}()
	// A change of another job does not end the wait.
	_, err = w.as(owner).Submit(w.ctx, submission("w"))
	require.NoError(t, err)
	assert.Empty(t, done)
	_, err = w.as(owner).Signal(w.ctx, &wire.SignalRequest{Cancel: true, Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: 1}}}})
	require.NoError(t, err)
	assert.EqualValues(t, 1<<8, (<-done).ExitStatus, "an end without an exit code counts as 1")
}

func TestExitStatuses(t *testing.T) {
	for _, test := range []struct{ a, b, want int32 }{{0, 1 << 8, 1 << 8}, {2 << 8, 1 << 8, 2 << 8}, {9, 0, 9}, {9, 1 << 8, 9}, {9, 2 << 8, 2 << 8}} {
		assert.Equal(t, test.want, worse(test.a, test.b), "%d %d", test.a, test.b)
	}
}

// TestRepeatAfterALostReply: the reducer remembers what it answered; what it no
// longer has stands in the tables.
func TestRepeatAfterALostReply(t *testing.T) {
	w := newWorld(t, nil, nil)
	ctx := wire.WithRetry(w.ctx)
	c := w.as(owner)
	first, err := c.Submit(w.ctx, submission("one"))
	require.NoError(t, err)
	again, err := c.Submit(ctx, submission("one"))
	require.NoError(t, err)
	assert.Equal(t, first.JobId, again.JobId)

	kept, err := proto.Marshal(&wire.SubmitReply{JobId: 77, Key: 770})
	require.NoError(t, err)
	w.store.answers[fmt.Sprint(owner, "two")] = kept
	again, err = c.Submit(ctx, submission("two"))
	require.NoError(t, err)
	assert.EqualValues(t, 77, again.JobId)
	assert.EqualValues(t, 770, again.Key)
	strange, err := w.as(other).Submit(ctx, submission("two"))
	require.NoError(t, err)
	assert.NotEqualValues(t, 77, strange.JobId, "another user's answer")

	w.store.answers[fmt.Sprint(owner, "three")] = nil // an answer that says nothing
	outcomes, err := c.Signal(ctx, &wire.SignalRequest{RequestId: []byte("three"), Cancel: true,
		Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: first.JobId}}}})
	require.NoError(t, err)
	assert.Empty(t, outcomes.Jobs)
	j, _ := w.core.View().Job(first.Key)
	assert.Equal(t, wire.BaseState_PENDING, j.State.State, "a repeat does nothing")

	w.store.mu.Lock()
	w.store.fail = errors.New("the database is away")
	w.store.mu.Unlock()
	_, err = c.Submit(ctx, submission("four"))
	assert.EqualValues(t, wire.RpcCode_RPC_TRY_AGAIN, drpcerr.Code(err))
	_, err = c.Submit(w.ctx, submission("five"))
	assert.NoError(t, err, "a first try needs no search")
}

func TestAnswersAfterTheEnd(t *testing.T) {
	w := newWorld(t, []model.JobPut{job(1, owner, wire.BaseState_PENDING)}, nil)
	c := w.as(owner)
	_, err := c.Submit(w.ctx, submission(""))
	require.NoError(t, err)
	w.srv.SetCore(gone{w.core})
	_, err = c.Submit(w.ctx, submission(""))
	assert.EqualValues(t, wire.RpcCode_RPC_TRY_AGAIN, drpcerr.Code(err))
	assert.Equal(t, 2, len(ids(w.jobs(owner, &wire.JobsRequest{}))), "queries are answered")
}

// gone is a controller that has lost its lead.
type gone struct{ Core }

func (gone) Do(context.Context, controller.Event) (any, error) { return nil, controller.ErrTryAgain }
