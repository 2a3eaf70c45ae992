package queue

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"muster/internal/command/commandtest"
	"muster/internal/command/dataparser"
	"muster/internal/command/dataparser/schematest"
	"muster/internal/wire"
)

func dumped(t testing.TB, nodes map[string]NodeLayout, jobs ...*wire.JobInfo) []any {
	value := schematest.Same(t, map[string]string{"jobs": "job_info_msg"}, func(w *dataparser.Writer) {
		d := &Dump{Context: &Context{Now: time.Unix(1_700_000_000, 0), TasksWidth: 64, Cluster: "c"}, Writer: w, Nodes: nodes,
			Select: "CR_Core_Memory"}
		w.List("jobs")
		for _, j := range jobs {
			d.job(j)
		}
		w.End()
	})
	return value["jobs"].([]any)
}

// Whatever a job holds, all of its fields are there in their types, and JSON and
// YAML say the same.
func TestEveryJobFitsTheSchema(t *testing.T) {
	dumped(t, nil, &wire.JobInfo{}, &wire.JobInfo{Spec: &wire.JobSpec{}, State: &wire.JobState{}})
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		j := &wire.JobInfo{}
		schematest.Fill(r, j)
		j.Spec.Profile = []string{"", "none", "energy,task"}[r.IntN(3)]
		for _, a := range j.State.Alloc {
			a.Core = a.Core[:min(len(a.Core), 1)]
			for i := range a.Core {
				a.Core[i] %= 64
			}
		}
		dumped(t, map[string]NodeLayout{"a": {0, 2, 4, 2}}, j)
	}
}

// get walks down a decoded answer.
func get(value any, path ...string) any {
	for _, key := range path {
		value = value.(map[string]any)[key]
	}
	return value
}

func isNumber(t *testing.T, want string, value any) {
	t.Helper()
	require.Equal(t, true, get(value, "set"))
	require.Equal(t, false, get(value, "infinite"))
	require.EqualValues(t, want, get(value, "number"))
}

func TestPendingArrayAsData(t *testing.T) {
	j := dumped(t, nil, &wire.JobInfo{
		Spec: &wire.JobSpec{Name: "n", Uid: 5, UserName: "u", MemKind: wire.MemKind_MEM_PER_CPU, Mem: 10, TimeLimit: 3, Batch: true,
			WorkDir: "/w", StdOut: "%x-%A.out", TresPerNode: "gpu:2"},
		State: &wire.JobState{JobId: 7, ArrayJobId: 7, ArrayPending: "1-3", ArrayThrottle: 2, ArrayTaskCount: 3, TimeLimit: ^uint32(0),
			Reason: "JobHeldUser", ReasonText: "why"},
		Derived: &wire.Derived{SchedNodes: "x[1-2]"},
	})[0]
	isNumber(t, "7", get(j, "array_job_id"))
	require.Equal(t, false, get(j, "array_task_id", "set"))
	require.Equal(t, "1-3%2", get(j, "array_task_string"))
	isNumber(t, "2", get(j, "array_max_tasks"))
	require.Equal(t, []any{"PENDING"}, get(j, "job_state"))
	require.Equal(t, true, get(j, "hold"))
	require.Equal(t, "JobHeldUser", get(j, "state_reason"))
	require.Equal(t, "why", get(j, "state_description"))
	require.Equal(t, true, get(j, "time_limit", "infinite"))
	require.Equal(t, false, get(j, "memory_per_node", "set"))
	isNumber(t, "10", get(j, "memory_per_cpu"))
	require.Nil(t, get(j, "job_resources"))
	require.Equal(t, "/w/%x-%A.out", get(j, "standard_output"))
	require.Equal(t, "/w/n-7.out", get(j, "stdout_expanded"))
	require.Equal(t, "gres/gpu:2", get(j, "tres_per_node"))
	require.Equal(t, "u", get(j, "mail_user"))
	require.Equal(t, "x[1-2]", get(j, "scheduled_nodes"))
	require.Equal(t, true, get(j, "tasks_per_core", "infinite"))
}

func TestRunningJobAsData(t *testing.T) {
	j := dumped(t, map[string]NodeLayout{"n2": {Index: 1, Sockets: 2, CoresPerSocket: 2, ThreadsPerCore: 1}}, &wire.JobInfo{
		Spec: &wire.JobSpec{MemKind: wire.MemKind_MEM_PER_NODE, Mem: 100, MailType: uint32(wire.MailType_MAIL_TIME_LIMIT | wire.MailType_MAIL_END)},
		State: &wire.JobState{JobId: 9, State: wire.BaseState_RUNNING, Attempt: 1, Start: 100, End: 160, NumCpus: 2, NumNodes: 1,
			Flags: uint32(wire.StateFlag_FLAG_COMPLETING), TresAlloc: "cpu=2,mem=100M,node=1,billing=2",
			Alloc: []*wire.NodeAlloc{{Node: "n2", Cpus: 2, Mem: 100, Core: []uint32{1, 2},
				Gres: []*wire.GresAlloc{{Name: "gpu", Type: "x", Count: 2, Index: []uint32{0, 1}}}}}},
	})[0]
	require.Equal(t, []any{"RUNNING", "COMPLETING"}, get(j, "job_state"))
	require.Equal(t, []any{"END", "TIME=100%"}, get(j, "mail_type"))
	require.Equal(t, []any{"gpu:x:2(IDX:0-1)"}, get(j, "gres_detail"))
	require.EqualValues(t, "2.0", get(j, "billable_tres", "number"))
	isNumber(t, "160", get(j, "end_time"))
	node := get(j, "job_resources", "nodes", "allocation").([]any)[0]
	require.EqualValues(t, "1", get(node, "index"))
	var cores []any
	for _, socket := range get(node, "sockets").([]any) {
		for _, core := range get(socket, "cores").([]any) {
			cores = append(cores, get(core, "status").([]any)[0])
		}
	}
	require.Equal(t, []any{"UNALLOCATED", "ALLOCATED", "ALLOCATED", "UNALLOCATED"}, cores)
}

func TestEndsAsData(t *testing.T) {
	for status, want := range map[int32][]any{0: {"SUCCESS"}, 256: {"ERROR"}, 9: {"SIGNALED"}, 6 | 0x80: {"CORE_DUMPED"}} {
		j := dumped(t, nil, &wire.JobInfo{State: &wire.JobState{State: wire.BaseState_FAILED, ExitStatus: status}})[0]
		require.Equal(t, want, get(j, "exit_code", "status"))
	}
}

func BenchmarkJobAsData(b *testing.B) {
	j := &wire.JobInfo{Spec: &wire.JobSpec{Name: "name", UserName: "alice", WorkDir: "/home/alice", Batch: true, Command: "/home/alice/run.sh"},
		State: &wire.JobState{JobId: 9, TresReq: "cpu=1,mem=100M,node=1,billing=1"}}
	for _, f := range []struct {
		name   string
		format dataparser.Format
	}{{"pretty", dataparser.JSON}, {"compact", dataparser.CompactJSON}, {"yaml", dataparser.YAML}} {
		b.Run(f.name, func(b *testing.B) {
			b.ReportAllocs()
			out := &counter{}
			w := dataparser.NewWriter(out, f.format)
			d := &Dump{Context: &Context{Now: time.Unix(1_700_000_000, 0), TasksWidth: 64}, Writer: w}
			w.List("jobs")
			for b.Loop() {
				d.job(j)
			}
			b.SetBytes(int64(out.n) / int64(max(b.N, 1)))
		})
	}
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// breaking sends pages until more than a piece of the answer has left, and fails.
type breaking struct{ ctld }

func (c *breaking) Jobs(_ *wire.JobsRequest, stream wire.DRPCCtld_JobsStream) error {
	for range 20 {
		if err := stream.Send(&wire.JobsPage{Jobs: sample(), Now: submitted}); err != nil {
			return err
		}
	}
	return errors.New("the disk burns")
}

func TestAnAnswerThatBreaksOffCanBeRead(t *testing.T) {
	commandtest.Controller(t, "", &breaking{})
	out, errs, code := commandtest.Run(t, squeue, "squeue", "", "--json")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "slurm_load_jobs error: the disk burns")
	answer := schematest.Check(t, "openapi_job_info_resp", []byte(out))
	require.NotEmpty(t, answer["jobs"])
	require.Len(t, answer["errors"], 1)
}

func TestQueueAsData(t *testing.T) {
	fake := &ctld{}
	commandtest.Controller(t, "", fake)
	out, errs, code := commandtest.Run(t, squeue, "squeue", "", "--json", "-h", "-S", "j", "-o", "%i")
	require.Zero(t, code, errs)
	answer := schematest.Check(t, "openapi_job_info_resp", []byte(out))
	require.Len(t, answer["jobs"], 9)
	require.True(t, fake.asked.Select.AllStates, "ended jobs too")
	require.True(t, fake.asked.Select.AllPartitions)
	var bulk []string
	for _, n := range bulky {
		require.NotContains(t, fake.asked.SpecFields, n)
		field := (&wire.JobSpec{}).ProtoReflect().Descriptor().Fields().ByNumber(protoreflect.FieldNumber(n))
		bulk = append(bulk, string(field.Name()))
	}
	require.Equal(t, []string{"gids", "gres_per_node", "gres_per_job", "gres_per_task", "gres_per_socket", "script", "environment",
		"export_env", "rlimits"}, bulk)
	require.Equal(t, []any{"squeue", "--json", "-h", "-S", "j", "-o", "%i"}, get(answer, "meta", "command"))

	_, _, code = commandtest.Run(t, squeue, "squeue", "", "--json", "-t", "R", "-u", "0")
	require.Zero(t, code)
	require.False(t, fake.asked.Select.AllStates)
	require.Equal(t, []string{"RUNNING"}, fake.asked.Select.States)
	require.Equal(t, []uint32{0}, fake.asked.Select.Uids)

	out, errs, code = commandtest.Run(t, squeue, "squeue", "", "--json", "-j", "99999")
	require.Equal(t, 1, code)
	require.Equal(t, "slurm_load_jobs error: Invalid job id specified\n", errs)
	answer = schematest.Check(t, "openapi_job_info_resp", []byte(out))
	require.Empty(t, answer["jobs"])
	require.EqualValues(t, "2017", get(answer["errors"].([]any)[0], "error_number"))

	out, _, code = commandtest.Run(t, squeue, "squeue", "", "--json", "-s")
	require.Equal(t, 1, code)
	require.Empty(t, out)
}
