package queue

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// The jobs are those of a real cluster when its squeue was asked, and the
// expected lines are what it printed.

const submitted = 1796074172 // 2026-11-30T21:29:32 UTC

func job(id uint32, name string, change func(*wire.JobSpec, *wire.JobState, *wire.Derived)) *wire.JobInfo {
	spec := &wire.JobSpec{
		Name: name, Uid: 1001, Gid: 1001, UserName: "alice", GroupName: "alice", Qos: "normal", Batch: true,
		MemKind: wire.MemKind_MEM_PER_CPU, Mem: 100, WorkDir: "/tmp/work", Command: "/tmp/work/sl.sh", Requeue: true,
	}
	state := &wire.JobState{
		JobId: id, Partition: "debug", Submit: submitted, Priority: 1, TimeLimit: slurmtime.Unlimited,
		NumCpus: 1, NumNodes: 1, TresReq: "cpu=1,mem=100M,node=1,billing=1",
	}
	derived := &wire.Derived{}
	change(spec, state, derived)
	return &wire.JobInfo{Spec: spec, State: state, Derived: derived}
}

func running(s *wire.JobState, limit uint32, node string) {
	s.State, s.Start, s.TimeLimit, s.BatchHost = wire.BaseState_RUNNING, submitted+1, limit, node
	s.End = s.Start + int64(limit)*60
	s.Alloc = []*wire.NodeAlloc{{Node: node, Cpus: s.NumCpus}}
}

func sample() []*wire.JobInfo {
	task := func(id, n uint32) *wire.JobInfo {
		return job(id, "arr", func(_ *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			s.ArrayJobId, s.IsArrayTask, s.ArrayTaskId = 3, true, n
			running(s, 5, "node1")
		})
	}
	return []*wire.JobInfo{
		job(1, "running", func(sp *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			s.NumCpus, sp.NumTasks = 2, 2
			running(s, 10, "node1")
		}),
		job(2, "gpujob", func(sp *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			s.NumCpus, sp.CpusPerTask, sp.Comment = 2, 2, "a b"
			sp.MemKind, sp.Mem, sp.TresPerNode = wire.MemKind_MEM_PER_NODE, 500, "gres:gpu:tesla:2"
			running(s, 60, "node1")
		}),
		job(3, "arr", func(_ *wire.JobSpec, s *wire.JobState, d *wire.Derived) {
			s.ArrayJobId, s.ArrayPending, s.ArrayThrottle, s.TimeLimit = 3, "2-7", 2, 5
			d.Reason = model.ReasonArrayTaskLimit
		}),
		task(18, 0), task(19, 1),
		job(4, "two", func(sp *wire.JobSpec, s *wire.JobState, d *wire.Derived) {
			s.Partition, s.NumCpus, s.NumNodes, s.TimeLimit = "short", 4, 2, 10
			sp.Exclusive = wire.Exclusive_EXCL_NODE
			d.Reason, d.ExpectedStart, d.SchedNodes = model.ReasonResources, 1796077773, "node[1-2]"
		}),
		job(5, "held", func(_ *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			s.Priority, s.Reason = 0, model.ReasonHeldUser
		}),
		job(6, "dep", func(_ *wire.JobSpec, s *wire.JobState, d *wire.Derived) {
			s.Dependency, d.Reason = "afterok:1(unfulfilled)", model.ReasonDependency
		}),
		job(8, "big", func(sp *wire.JobSpec, s *wire.JobState, d *wire.Derived) {
			s.NumCpus, s.NumNodes, sp.CpusPerTask = 64, 4, 16
			d.Reason, d.ExpectedStart, d.SchedNodes = model.ReasonNodesUnavailable, 1796078340, "node[1-4]"
		}),
		job(12, "f3", func(_ *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			running(s, slurmtime.Unlimited, "node3")
			s.State, s.End, s.Reason = wire.BaseState_FAILED, s.Start+1, model.ReasonNonZeroExitCode
		}),
	}
}

func view() *Context {
	return &Context{Now: time.Unix(submitted+141, 0).UTC(), TasksWidth: model.DefaultTasksWidth, CutID: true, Cluster: "muster"}
}

func shown(t *testing.T, table *Table, sort string, each bool, want func(*wire.JobState) bool) string {
	t.Helper()
	order, err := ParseSort(sort)
	require.NoError(t, err)
	var jobs []*wire.JobInfo
	for _, j := range sample() {
		if want(j.State) {
			jobs = append(jobs, j)
		}
	}
	out := bytes.NewBuffer(table.AppendHeader(nil))
	require.NoError(t, listOf(table, order, each, jobs).Write(out))
	return out.String()
}

func listOf(table *Table, order *Order, each bool, jobs []*wire.JobInfo) *List {
	list, c := NewList(table, order, each), view()
	for _, j := range jobs {
		r := NewRow(c, j)
		list.Add(&r, 0)
	}
	list.Sort()
	return list
}

func active(s *wire.JobState) bool { return model.Active(s.State, s.Flags) }
func pendingOnly(s *wire.JobState) bool {
	return s.State == wire.BaseState_PENDING
}
func all(*wire.JobState) bool { return true }

const nodesRequired = "(Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions)"

func TestDefaultTable(t *testing.T) {
	assert.Equal(t, `             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
                 8     debug      big    alice PD       0:00      4 `+nodesRequired+`
                 6     debug      dep    alice PD       0:00      1 (Dependency)
         3_[2-7%2]     debug      arr    alice PD       0:00      1 (JobArrayTaskLimit)
                 5     debug     held    alice PD       0:00      1 (JobHeldUser)
                 1     debug  running    alice  R       2:20      1 node1
                 2     debug   gpujob    alice  R       2:20      1 node1
               3_0     debug      arr    alice  R       2:20      1 node1
               3_1     debug      arr    alice  R       2:20      1 node1
                 4     short      two    alice PD       0:00      2 (Resources)
`, shown(t, ParseTable(PlainFormat), DefaultSort, false, active))
}

func TestLongTableOfAllStates(t *testing.T) {
	assert.Equal(t, `             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)
                12     debug       f3    alice   FAILED       0:01 UNLIMITED      1 (NonZeroExitCode)
                 8     debug      big    alice  PENDING       0:00 UNLIMITED      4 `+nodesRequired+`
                 6     debug      dep    alice  PENDING       0:00 UNLIMITED      1 (Dependency)
         3_[2-7%2]     debug      arr    alice  PENDING       0:00      5:00      1 (JobArrayTaskLimit)
                 5     debug     held    alice  PENDING       0:00 UNLIMITED      1 (JobHeldUser)
                 1     debug  running    alice  RUNNING       2:20     10:00      1 node1
                 2     debug   gpujob    alice  RUNNING       2:20   1:00:00      1 node1
               3_0     debug      arr    alice  RUNNING       2:20      5:00      1 node1
               3_1     debug      arr    alice  RUNNING       2:20      5:00      1 node1
                 4     short      two    alice  PENDING       0:00     10:00      2 (Resources)
`, shown(t, ParseTable(LongFormat), DefaultSort, false, all))
}

func TestStartTable(t *testing.T) {
	assert.Equal(t, `             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)
                 4     short      two    alice PD 2026-11-30T22:29:33      2 node[1-2]            (Resources)
                 8     debug      big    alice PD 2026-11-30T22:39:00      4 node[1-4]            `+nodesRequired+`
         3_[2-7%2]     debug      arr    alice PD                 N/A      1 (null)               (JobArrayTaskLimit)
                 5     debug     held    alice PD                 N/A      1 (null)               (JobHeldUser)
                 6     debug      dep    alice PD                 N/A      1 (null)               (Dependency)
`, shown(t, ParseTable(StartFormat), StartSort, false, pendingOnly))
}

func TestArrayTaskByTask(t *testing.T) {
	got := shown(t, ParseTable("%i %t %r"), "i", true, func(s *wire.JobState) bool { return s.ArrayJobId == 3 })
	assert.Equal(t, "JOBID ST REASON\n3_0 R None\n3_1 R None\n3_2 PD JobArrayTaskLimit\n3_3 PD JobArrayTaskLimit\n"+
		"3_4 PD JobArrayTaskLimit\n3_5 PD JobArrayTaskLimit\n3_6 PD JobArrayTaskLimit\n3_7 PD JobArrayTaskLimit\n", got)
}

// Lines of %all as recorded, but for the folder.
func TestAll(t *testing.T) {
	lines := strings.Split(shown(t, ParseTable("%all"), DefaultSort, false, active), "\n")
	assert.Equal(t, "ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|FEATURES|GROUP|OVER_SUBSCRIBE|JOBID|NAME|COMMENT|TIME_LIMIT|MIN_MEMORY|REQ_NODES|COMMAND|PRIORITY|QOS|REASON|SLUID|ST|USER|RESERVATION|WCKEY|EXC_NODES|NICE|S:C:T|JOBID|EXEC_HOST|CPUS|NODES|DEPENDENCY|ARRAY_JOB_ID|GROUP|SOCKETS_PER_NODE|CORES_PER_SOCKET|THREADS_PER_CORE|ARRAY_TASK_ID|TIME_LEFT|TIME|NODELIST|CONTIGUOUS|PARTITION|PRIORITY|NODELIST(REASON)|START_TIME|STATE|UID|SUBMIT_TIME|LICENSES|CORE_SPEC|SCHEDNODES|WORK_DIR", lines[0])
	assert.Equal(t, "(null)|N/A|16|0|NONE|(null)|alice|OK|8|big|(null)|UNLIMITED|100M||/tmp/work/sl.sh|0.00000000023283|normal|Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions||PD|alice|(null)|(null)||0|*:*:*|8|n/a|64|4|(null)|8|1001|*|*|*|N/A|UNLIMITED|0:00||0|debug|1|"+nodesRequired+"|2026-11-30T22:39:00|PENDING|1001|2026-11-30T21:29:32|(null)|N/A|node[1-4]|/tmp/work", lines[1])
	assert.Equal(t, "(null)|N/A|1|0|N/A|(null)|alice|OK|3_[2-7%2]|arr|(null)|5:00|100M||/tmp/work/sl.sh|0.00000000023283|normal|JobArrayTaskLimit||PD|alice|(null)|(null)||0|*:*:*|3|n/a|1|1|(null)|3|1001|*|*|*|2-7%2|5:00|0:00||0|debug|1|(JobArrayTaskLimit)|N/A|PENDING|1001|2026-11-30T21:29:32|(null)|N/A|(null)|/tmp/work", lines[3])
	assert.Equal(t, "(null)|gres:gpu:tesla:2|2|0|2026-11-30T22:29:33|(null)|alice|OK|2|gpujob|a b|1:00:00|500M||/tmp/work/sl.sh|0.00000000023283|normal|None||R|alice|(null)|(null)||0|*:*:*|2|node1|2|1|(null)|2|1001|*|*|*|N/A|57:40|2:20|node1|0|debug|1|node1|2026-11-30T21:29:33|RUNNING|1001|2026-11-30T21:29:32|(null)|N/A|(null)|/tmp/work", lines[6])
	assert.Equal(t, "(null)|N/A|1|0|2026-11-30T22:39:33|(null)|alice|NO|4|two|(null)|10:00|100M||/tmp/work/sl.sh|0.00000000023283|normal|Resources||PD|alice|(null)|(null)||0|*:*:*|4|n/a|4|2|(null)|4|1001|*|*|*|N/A|10:00|0:00||0|short|1|(Resources)|2026-11-30T22:29:33|PENDING|1001|2026-11-30T21:29:32|(null)|N/A|node[1-2]|/tmp/work", lines[9])
}

func TestElapsedIsTheCommonFormat(t *testing.T) {
	for _, sec := range []int64{-1, 0, 6, 59, 60, 754, 3599, 3600, 3723, 86399, 86400, 93784, 31536000} {
		assert.Equal(t, slurmtime.FormatElapsed(sec), string(elapsed(nil, sec)))
	}
}

func TestUnknownColumns(t *testing.T) {
	table := ParseTable("%i%1!")
	assert.Equal(t, []string{"Invalid job format specification: !"}, table.Complaints)
	assert.Equal(t, "JOBID%1!\n", string(table.AppendHeader(nil)))
	table = ParseNames("nosuch,jobid:5")
	assert.Equal(t, []string{"Invalid job format specification: nosuch"}, table.Complaints)
	assert.Equal(t, "JOBID\n", string(table.AppendHeader(nil)))
	assert.Equal(t, []string{"Invalid job format specification: "}, ParseTable("%5").Complaints)
}

func TestUnknownSortNamesItsLetter(t *testing.T) {
	_, err := ParseSort("nosuch")
	assert.EqualError(t, err, "Invalid sort specification: s")
}

func BenchmarkHundredThousand(b *testing.B) {
	jobs := make([]*wire.JobInfo, 100000)
	for i := range jobs {
		jobs[i] = job(uint32(i+1), "bench", func(_ *wire.JobSpec, _ *wire.JobState, d *wire.Derived) { d.Reason = "Priority" })
	}
	table := ParseTable(PlainFormat)
	order, _ := ParseSort(DefaultSort)
	b.ReportAllocs()
	for b.Loop() {
		_ = listOf(table, order, false, jobs).Write(io.Discard)
	}
}
