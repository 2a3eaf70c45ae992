package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/wire"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		unit byte
		want string
	}{
		{0, 'M', "0M"}, {100, 'M', "100M"}, {1024, 'M', "1G"}, {1500, 'M', "1500M"}, {1536, 'M', "1.50G"},
		{64000, 'M', "62.50G"}, {32000, 'M', "32000M"}, {96000, 'M', "96000M"}, {6400, 'M', "6400M"},
		{4620 * 1024, 0, "4620K"}, {1 << 20, 'M', "1T"}, {7280 * 1024, 0, "7280K"}, {700, 0, "700"},
	} {
		assert.Equal(t, c.want, string(AppendAmount(nil, c.n, c.unit)))
	}
}

func TestTRES(t *testing.T) {
	v := TRES{CPUs: 2, Memory: 500, Nodes: 1, Billing: 2, Gres: []Gres{{Name: "gpu", Count: 2}}}
	assert.Equal(t, "cpu=2,mem=500M,node=1,billing=2,gres/gpu=2", v.String())
	assert.Equal(t, "billing=2,cpu=2,gres/gpu=2,mem=500M,node=1", SortedTRES(v.String()))
	assert.Equal(t, "500M", TRESValue(v.String(), "mem"))
	assert.Empty(t, TRESValue(v.String(), "license/x"))
}

func TestStateWords(t *testing.T) {
	assert.Equal(t, "CG", StateWord(wire.BaseState_FAILED, uint32(wire.StateFlag_FLAG_COMPLETING)).Short)
	assert.Equal(t, "CONFIGURING", StateWord(wire.BaseState_RUNNING, uint32(wire.StateFlag_FLAG_CONFIGURING)).Long)
	assert.Equal(t, "R", StateWord(wire.BaseState_RUNNING, 0).Short)
	for _, n := range JobStates {
		got, ok := ParseState(n.Short)
		require.True(t, ok)
		assert.Equal(t, n, got)
	}
	got, ok := ParseState("out_of_memory")
	assert.True(t, ok)
	assert.Equal(t, "OOM", got.Short)
	_, ok = ParseState("nosuch")
	assert.False(t, ok)
	assert.True(t, HasState(wire.BaseState_FAILED, uint32(wire.StateFlag_FLAG_COMPLETING), "COMPLETING"))
	assert.False(t, HasState(wire.BaseState_FAILED, uint32(wire.StateFlag_FLAG_COMPLETING), "FAILED"))
	assert.True(t, HasState(wire.BaseState_PENDING, 0, "PENDING"))
}

func TestExit(t *testing.T) {
	assert.Equal(t, "200:0", ExitText(ExitedStatus(200)))
	assert.Equal(t, "72:0", ExitTextAccounting(ExitedStatus(200)))
	assert.Equal(t, "0:9", ExitText(SignaledStatus(9)))
	assert.Equal(t, 137, ShellCode(SignaledStatus(9)))
	assert.Equal(t, 3, ShellCode(ExitedStatus(3)))
}

func TestJobRefs(t *testing.T) {
	assert.Equal(t, []string{"1", "2_[3,4]", "5"}, SplitRefs("1,2_[3,4],5"))
	ref, err := ParseJobRef("12_3.batch")
	require.NoError(t, err)
	assert.Equal(t, uint32(12), ref.JobId)
	assert.Equal(t, "3", ref.Tasks)
	assert.Equal(t, int32(wire.StepNumber_STEP_BATCH), ref.Step)
	for _, bad := range []string{"", "abc", "12_", "12_x", "12.x", "-1", "0", "12_[1"} {
		_, err := ParseJobRef(bad)
		assert.ErrorIs(t, err, ErrJobRef, "%q", bad)
	}
	left := &wire.JobState{JobId: 12, ArrayJobId: 12, ArrayPending: "4-7", ArrayThrottle: 2}
	task := &wire.JobState{JobId: 13, ArrayJobId: 12, IsArrayTask: true, ArrayTaskId: 3}
	assert.Equal(t, "12_[4-7%2]", JobID(left))
	assert.Equal(t, "12_3", JobID(task))
	for text, want := range map[string][2]bool{
		"12": {true, true}, "13": {false, true}, "12_3": {false, true}, "12_[3-4]": {true, true}, "12_9": {false, false},
	} {
		ref, err := ParseJobRef(text)
		require.NoError(t, err)
		assert.Equal(t, want, [2]bool{Matches(ref, left), Matches(ref, task)}, text)
	}
}

// What sinfo and scontrol printed for such nodes.
func TestNodeWords(t *testing.T) {
	node := func(base wire.NodeBase, alloc uint32, flags ...wire.NodeFlag) *wire.NodeInfo {
		n := &wire.NodeInfo{State: &wire.NodeState{Base: base}, Cpus: 16, AllocCpus: alloc}
		for _, f := range flags {
			n.State.Flags |= uint32(f)
		}
		return n
	}
	const idle, down, unknown = wire.NodeBase_NODE_IDLE, wire.NodeBase_NODE_DOWN, wire.NodeBase_NODE_UNKNOWN
	const drain, gone = wire.NodeFlag_NF_DRAIN, wire.NodeFlag_NF_NO_RESPOND
	for _, c := range []struct {
		n                 *wire.NodeInfo
		short, long, full string
	}{
		{node(idle, 0), "idle", "idle", "IDLE"},
		{node(idle, 2), "mix", "mixed", "MIXED"},
		{node(idle, 16), "alloc", "allocated", "ALLOCATED"},
		{node(idle, 0, drain), "drain", "drained", "IDLE+DRAIN"},
		{node(idle, 2, drain), "drng", "draining", "MIXED+DRAIN"},
		{node(idle, 16, drain), "drng", "draining", "ALLOCATED+DRAIN"},
		{node(down, 0, gone), "down*", "down*", "DOWN+NOT_RESPONDING"},
		{node(down, 0, drain, gone), "drain*", "drained*", "DOWN+DRAIN+NOT_RESPONDING"},
		{node(unknown, 0, gone), "unk*", "unknown*", "UNKNOWN+NOT_RESPONDING"},
		{node(unknown, 0, gone, wire.NodeFlag_NF_FAIL), "fail*", "fail*", "UNKNOWN+FAIL+NOT_RESPONDING"},
		{node(unknown, 0, drain, wire.NodeFlag_NF_INVALID_REG), "inval", "inval", "UNKNOWN+DRAIN+INVALID_REG"},
		{node(idle, 0, wire.NodeFlag_NF_PLANNED), "plnd", "planned", "IDLE+PLANNED"},
		{node(idle, 0, wire.NodeFlag_NF_COMPLETING), "comp", "completing", "IDLE+COMPLETING"},
	} {
		assert.Equal(t, StateName{c.short, c.long}, NodeStateName(c.n), c.full)
		assert.Equal(t, c.full, NodeStateFull(c.n))
	}
}
