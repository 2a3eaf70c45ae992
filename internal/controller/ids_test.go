package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/wire"
)

func TestIDsComeRoundAndRunOut(t *testing.T) {
	set := testSettings(1)
	set.FirstJobID, set.MaxJobID = 10, 13
	w := newWorld(t, set)
	array := w.queued(func(s *wire.JobSpec) { s.Array = "0-3" })
	require.Equal(t, uint32(10), array)
	require.Equal(t, uint32(11), w.queued(func(s *wire.JobSpec) { s.Hold = true }))
	require.Equal(t, uint32(12), w.queued(func(s *wire.JobSpec) { s.Hold = true }))
	require.Equal(t, errFull.Message, w.submit(nil).Refusal.GetMessage())

	w.pass() // tasks that start need ids all the same
	for id := uint32(13); id < 16; id++ {
		require.True(t, w.job(id).State.IsArrayTask)
		w.whole(id, 0)
	}
	w.cancel(11)
	w.tick(int64(set.MinJobAge) + 1)
	require.Equal(t, uint32(11), w.queued(nil))
}

func TestHoldOfARunningJob(t *testing.T) {
	w := newWorld(t, testSettings(1))
	id := w.queued(nil)
	w.pass()
	w.running(id)
	require.Nil(t, w.act(wire.JobVerb_VERB_HOLD, id, owner))
	require.Equal(t, "RUNNING JobHeldUser", w.state(id))
	require.Nil(t, w.act(wire.JobVerb_VERB_RELEASE, id, owner))
	require.Equal(t, "RUNNING None", w.state(id))
	require.Nil(t, w.act(wire.JobVerb_VERB_HOLD, id, root))
	require.Nil(t, w.act(wire.JobVerb_VERB_REQUEUE, id, owner))
	w.gone(id)
	w.tick(requeueDelay)
	require.Empty(t, w.pass().Starts)
	require.Equal(t, "PENDING JobHeldAdmin", w.state(id))
	require.Equal(t, errDenied.Message, w.act(wire.JobVerb_VERB_RELEASE, id, owner).Message)
	require.Nil(t, w.act(wire.JobVerb_VERB_RELEASE, id, root))
	require.Len(t, w.pass().Starts, 1)
}
