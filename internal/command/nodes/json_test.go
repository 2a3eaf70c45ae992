package nodes

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

func name(uid uint32) string { return "u" + strconv.Itoa(int(uid)) }

func randomPartition(r *rand.Rand) *wire.PartitionInfo {
	p := &wire.PartitionInfo{}
	schematest.Fill(r, p)
	p.State = []string{"UP", "DOWN", "DRAIN", "INACTIVE"}[r.IntN(4)]
	p.SelectTypeParameters = []string{"", "NONE", "CR_Core_Memory,CR_LLN"}[r.IntN(3)]
	p.PreemptMode = []string{"", "OFF", "GANG,SUSPEND", "requeue", "CANCEL"}[r.IntN(5)]
	return p
}

// Whatever a node or a partition is, all of its fields are there in their types.
func TestEveryNodeAndPartitionFitsTheSchema(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, p := &wire.NodeInfo{}, randomPartition(r)
		schematest.Fill(r, n)
		n.EffectiveCpus = max(n.EffectiveCpus, n.AllocCpus)
		schematest.Same(t, map[string]string{"nodes": "nodes"}, func(w *dataparser.Writer) {
			w.List("nodes")
			WriteNode(w, n, name)
			WriteNode(w, &wire.NodeInfo{State: &wire.NodeState{}}, name)
			w.End()
		})
		schematest.Same(t, map[string]string{"partitions": "partition_info_msg"}, func(w *dataparser.Writer) {
			w.List("partitions")
			WritePartition(w, p)
			w.End()
		})
		schematest.Same(t, map[string]string{"sinfo": "list sinfo"}, func(w *dataparser.Writer) {
			view := &Context{Now: time.Unix(0, 0), UserName: name}
			w.List("sinfo")
			writeRow(w, &Row{Context: view, Part: p})
			writeRow(w, &Row{Context: view, Part: p, Nodes: []*wire.NodeInfo{n, n}})
			w.End()
		})
	}
}

func get(value any, path ...string) any {
	for _, key := range path {
		value = value.(map[string]any)[key]
	}
	return value
}

func TestNodeAsData(t *testing.T) {
	n := &wire.NodeInfo{Cpus: 8, AllocCpus: 2, CpuLoad: 150, FreeMem: 5, Partitions: []string{"a", "b"}, Sockets: 1,
		State: &wire.NodeState{Name: "n1", Base: wire.NodeBase_NODE_IDLE, Flags: uint32(wire.NodeFlag_NF_DRAIN | wire.NodeFlag_NF_NO_RESPOND),
			Registered: true, Addr: "10.0.0.1:6818", Reason: "disk", ReasonUid: 7, ReasonTime: 99, FeaturesAvailable: "x,y"}}
	value := schematest.Same(t, map[string]string{"nodes": "nodes"}, func(w *dataparser.Writer) {
		w.List("nodes")
		WriteNode(w, n, name)
		w.End()
	})
	got := value["nodes"].([]any)[0]
	require.Equal(t, []any{"MIXED", "DRAIN", "NOT_RESPONDING"}, get(got, "state"))
	require.Equal(t, "10.0.0.1", get(got, "address"))
	require.Equal(t, "n1", get(got, "hostname"))
	require.Equal(t, "u7", get(got, "reason_set_by_user"))
	require.Equal(t, []any{"x", "y"}, get(got, "features"))
	require.EqualValues(t, "150", get(got, "cpu_load"))
	require.EqualValues(t, "6", get(got, "alloc_idle_cpus"))
	require.EqualValues(t, "5", get(got, "free_mem", "number"))
}

func TestPartitionAsData(t *testing.T) {
	p := &wire.PartitionInfo{Name: "p", State: "UP", IsDefault: true, AllowGroups: "ALL", AllowAccounts: "a,b", Oversubscribe: "FORCE:3",
		MaxMemKind: wire.MemKind_MEM_PER_CPU, MaxMem: 7, MaxTime: 60, OverTimeLimitSet: true, PreemptMode: "GANG,SUSPEND"}
	value := schematest.Same(t, map[string]string{"partitions": "partition_info_msg"}, func(w *dataparser.Writer) {
		w.List("partitions")
		WritePartition(w, p)
		w.End()
	})
	got := value["partitions"].([]any)[0]
	require.Equal(t, []any{"DEFAULT"}, get(got, "flags"))
	require.Equal(t, "", get(got, "groups", "allowed"))
	require.Equal(t, "a,b", get(got, "accounts", "allowed"))
	require.EqualValues(t, "3", get(got, "maximums", "oversubscribe", "jobs"))
	require.Equal(t, []any{"force"}, get(got, "maximums", "oversubscribe", "flags"))
	require.EqualValues(t, "7", get(got, "maximums", "partition_memory_per_cpu", "number"))
	require.Equal(t, false, get(got, "maximums", "partition_memory_per_node", "set"))
	require.Equal(t, true, get(got, "maximums", "nodes", "infinite"))
	require.EqualValues(t, "60", get(got, "maximums", "time", "number"))
	require.Equal(t, true, get(got, "maximums", "over_time_limit", "set"))
	require.Equal(t, false, get(got, "defaults", "time", "set"))
	require.Equal(t, []any{"SUSPEND"}, get(got, "preempt_mode"))
}
