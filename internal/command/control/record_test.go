package control

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// The files in testdata are what scontrol printed on a real cluster (only the
// folder, the host's name and the name of the scheduler's part are changed); the
// messages say the same of the same objects.

const submitted = 1796074564 // 2026-11-30T21:36:04 UTC

func style(details, oneLine bool) *Style {
	return &Style{Details: details, OneLine: oneLine, Now: time.Unix(submitted+30, 0).UTC(), TasksWidth: model.DefaultTasksWidth}
}

func job(id uint32, name string, change func(*wire.JobSpec, *wire.JobState, *wire.Derived)) *wire.JobInfo {
	spec := &wire.JobSpec{
		Name: name, Uid: 1001, Gid: 1001, UserName: "alice", GroupName: "alice", Qos: "normal", Batch: true, Requeue: true,
		MemKind: wire.MemKind_MEM_PER_CPU, Mem: 100, WorkDir: "/tmp/work", Command: "/tmp/work/sl.sh",
		SubmitHost: "localhost", AllocSid: 3463,
	}
	state := &wire.JobState{
		JobId: id, Partition: "debug", Submit: submitted, Eligible: submitted, Accrue: submitted, Priority: 1,
		TimeLimit: slurmtime.Unlimited, NumCpus: 1, NumNodes: 1, TresReq: "cpu=1,mem=100M,node=1,billing=1", LastSchedEval: submitted,
	}
	derived := &wire.Derived{}
	change(spec, state, derived)
	return &wire.JobInfo{Spec: spec, State: state, Derived: derived}
}

func TestJobRecords(t *testing.T) {
	gpu := func(sp *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
		sp.CpusPerTask, sp.MemKind, sp.Mem = 2, wire.MemKind_MEM_PER_NODE, 500
		sp.Comment, sp.TresPerNode = "a b", "gres:gpu:tesla:2"
		s.State, s.Start, s.TimeLimit, s.End = wire.BaseState_RUNNING, submitted, 60, submitted+3600
		s.BatchHost, s.NumCpus, s.Attempt = "node1", 2, 1
		s.TresAlloc = "cpu=2,mem=500M,node=1,billing=2,gres/gpu=2"
		s.Alloc = []*wire.NodeAlloc{{Node: "node1", Cpus: 2, Core: []uint32{2, 3}, Mem: 500,
			Gres: []*wire.GresAlloc{{Name: "gpu", Type: "tesla", Index: []uint32{0, 1}, Count: 2}}}}
	}
	for _, c := range []struct {
		file  string
		style *Style
		job   *wire.JobInfo
	}{
		{"job-gpu-details.txt", style(true, false), job(228, "gpujob", gpu)},
		{"job-gpu-details-oneline.txt", style(true, true), job(228, "gpujob", gpu)},
		{"job-two-nodes-details.txt", &Style{Details: true, Now: time.Unix(submitted+30, 0).UTC()},
			job(245, "two", func(sp *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
				sp.MemKind, sp.Mem, sp.NumTasks, sp.MinNodes, sp.Exclude = wire.MemKind_MEM_PER_NODE, 300, 4, 2, "node3"
				s.Partition, s.BatchHost, s.NumCpus, s.NumNodes, s.Attempt = "short", "node1", 4, 2, 1
				s.Submit, s.Eligible, s.Accrue, s.LastSchedEval = submitted+27, submitted+27, submitted+27, submitted+27
				s.State, s.Start, s.TimeLimit, s.End = wire.BaseState_RUNNING, submitted+27, 3, submitted+27+180
				s.TresAlloc = "cpu=4,mem=600M,node=2,billing=4"
				s.Alloc = []*wire.NodeAlloc{{Node: "node1", Cpus: 3, Core: []uint32{7, 8, 9}, Mem: 300}, {Node: "node2", Cpus: 1, Core: []uint32{0}, Mem: 300}}
			})},
		{"job-held.txt", style(false, false), job(230, "held", func(_ *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			s.Priority, s.Eligible, s.Accrue, s.Reason = 0, 0, 0, model.ReasonHeldUser
		})},
		{"job-begin.txt", style(false, false), job(232, "later", func(sp *wire.JobSpec, s *wire.JobState, d *wire.Derived) {
			sp.Begin, s.Eligible, s.Accrue, d.Reason = submitted+3600, 0, 0, model.ReasonBeginTime
		})},
		{"job-killed.txt", style(false, false), job(238, "killed", func(sp *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			sp.Command = ""
			s.State, s.Reason, s.ExitStatus, s.TimeLimit = wire.BaseState_FAILED, model.ReasonLaunchFailure, 9, 365*24*60
			s.Start, s.End, s.Attempt, s.BatchHost = submitted, submitted+1, 1, "node1"
			s.TresAlloc, s.Alloc = s.TresReq, []*wire.NodeAlloc{{Node: "node1"}}
		})},
		{"job-cancelled-pending.txt", style(false, false), job(243, "cpend", func(_ *wire.JobSpec, s *wire.JobState, _ *wire.Derived) {
			s.State, s.End, s.Reason, s.Priority = wire.BaseState_CANCELLED, submitted+26, model.ReasonHeldUser, 0
			s.Eligible, s.Accrue = 0, 0
		})},
		{"job-array-pending.txt", style(false, false), job(229, "arr", func(_ *wire.JobSpec, s *wire.JobState, d *wire.Derived) {
			s.ArrayJobId, s.ArrayPending, s.ArrayThrottle, s.TimeLimit = 229, "2-7", 2, 5
			s.Eligible, d.Reason = 0, model.ReasonArrayTaskLimit
		})},
	} {
		assert.Equal(t, golden(t, c.file), string(AppendJob(nil, c.style, c.job)), c.file)
	}
}

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

func TestNodeRecord(t *testing.T) {
	n := &wire.NodeInfo{
		State: &wire.NodeState{
			Name: "node1", Base: wire.NodeBase_NODE_IDLE, Registered: true, Arch: "x86_64", Version: "22.05.8",
			Os: "Linux 6.18.44-x #1 SMP PREEMPT_DYNAMIC @0", Addr: "127.0.0.1", Hostname: "host", Weight: 1,
			BootTime: 1796073580, SlurmdStart: 1796074125, LastBusy: 1796074561,
		},
		Cpus: 16, Sockets: 1, CoresPerSocket: 16, ThreadsPerCore: 1, Boards: 1, RealMemory: 16000, Gres: "gpu:tesla:8", Port: 40949,
		Partitions: []string{"debug", "short"}, AllocCpus: 10, AllocMem: 1300, GresUsed: "gpu:tesla:2(IDX:0-1)",
		CfgTres: "cpu=16,mem=16000M,billing=16,gres/gpu=8", AllocTres: "cpu=10,mem=1300M,gres/gpu=2", CpuLoad: 189, FreeMem: 23120,
	}
	assert.Equal(t, golden(t, "node-details.txt"), string(AppendNode(nil, style(true, false), n, nil)))
}

func TestPartitionRecords(t *testing.T) {
	p := &wire.PartitionInfo{
		Name: "short", Nodes: "node[1-2]", State: "UP", DefaultTime: 10, MaxTime: 30, MaxNodes: slurmtime.Unlimited,
		PriorityJobFactor: 1, PriorityTier: 1, TotalCpus: 32, TotalNodes: 2, Tres: "cpu=32,mem=32000M,node=2,billing=32,gres/gpu=16",
	}
	assert.Equal(t, golden(t, "partition.txt"), string(AppendPartition(nil, style(false, false), p)))
	p = &wire.PartitionInfo{
		Name: "hid", Nodes: "n[1-2]", State: "DRAIN", MaxTime: 1440, MaxNodes: 2, MinNodes: 1, Hidden: true, RootOnly: true,
		Oversubscribe: "FORCE:2", Lln: true, GraceTime: 30, DefMemKind: wire.MemKind_MEM_PER_NODE, DefMem: 1000,
		MaxMemKind: wire.MemKind_MEM_PER_CPU, MaxMem: 500, DenyAccounts: "x", AllocNodes: "host", OverTimeLimit: 5, OverTimeLimitSet: true,
		Exclusive: "USER", ReqResv: true, Alternate: "debug", DisableRootJobs: true, MaxCpusPerNode: 4, PriorityJobFactor: 3,
		PriorityTier: 2, TotalCpus: 32, TotalNodes: 2, Tres: "cpu=32,mem=32000M,node=2,billing=39",
		TresBillingWeights: "CPU=1.0,Mem=0.25G", JobDefaults: "DefCpuPerGPU=2",
	}
	assert.Equal(t, golden(t, "partition-limits.txt"), string(AppendPartition(nil, style(false, false), p)))
}

func TestUpdatesAsTyped(t *testing.T) {
	field := func(key, op, value string) *wire.FieldUpdate {
		return &wire.FieldUpdate{Key: key, Op: op, Value: value}
	}
	for _, c := range []struct {
		words          []string
		entity, target string
		fields         []*wire.FieldUpdate
	}{
		{[]string{"jobid=5", "timelim=10", "Comment=a=b"}, "job", "5", []*wire.FieldUpdate{field("TimeLimit", "=", "10"), field("Comment", "=", "a=b")}},
		{[]string{"JobId", "5", "Priority", "3"}, "job", "5", []*wire.FieldUpdate{field("Priority", "=", "3")}},
		{[]string{"Partition=x", "JobId=5_3"}, "job", "5_3", []*wire.FieldUpdate{field("Partition", "=", "x")}},
		{[]string{"nodename=n[1-2]", "State=DRAIN", "reason=x y"}, "node", "n[1-2]", []*wire.FieldUpdate{field("State", "=", "DRAIN"), field("Reason", "=", "x y")}},
		{[]string{"PartitionName=p", "Nodes+=n3"}, "partition", "p", []*wire.FieldUpdate{field("Nodes", "+=", "n3")}},
		{[]string{"JobName=x", "Nice=5"}, "job", "JobName=x", []*wire.FieldUpdate{field("Nice", "=", "5")}},
	} {
		got, refused := parseChange(c.words)
		require.Empty(t, refused, "%v", c.words)
		assert.Equal(t, c.entity, got.entity)
		assert.Equal(t, c.target, got.target)
		assert.Equal(t, c.fields, got.fields)
	}
	for _, c := range []struct{ words, want []string }{
		{[]string{"jobid=5", "foo=1"}, []string{"Update of this parameter is not supported: foo=1", "Request aborted"}},
		{[]string{"jobid=5"}, []string{"No changes specified"}},
		{[]string{"foo"}, []string{"No valid entity in update command",
			`Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug"`}},
	} {
		got, refused := parseChange(c.words)
		assert.Nil(t, got)
		assert.Equal(t, c.want, refused)
	}
}

func TestKeywordsAndTheirAbbreviations(t *testing.T) {
	for word, want := range map[string]string{
		"sho": "show", "SHOW": "show", "rel": "release", "requ": "requeue", "requeueh": "requeuehold", "upd": "update", "hold": "hold",
	} {
		require.NotNil(t, find(word), word)
		assert.Equal(t, want, find(word).name, word)
	}
	for _, word := range []string{"sh", "s", "foo", "showx", ""} {
		assert.Nil(t, find(word), "%q", word)
	}
	for word, want := range map[string]string{"j": "jobs", "job": "jobs", "par": "partitions", "hostn": "hostnames", "hostlistsorted": "hostlistsorted"} {
		e, ok := findEntity(word)
		require.True(t, ok, word)
		assert.Equal(t, want, e.name)
	}
	for _, word := range []string{"p", "host", "nosuch"} {
		_, ok := findEntity(word)
		assert.False(t, ok, word)
	}
}

func TestConfigLines(t *testing.T) {
	reply := &wire.ConfigReply{Now: submitted + 30, Config: []*wire.KeyValue{
		{Key: "AccountingStorageBackupHost", Value: "(null)"}, {Key: "MinJobAge", Value: "300 sec"},
	}}
	assert.Equal(t, "Configuration data as of 2026-11-30T21:36:34\nAccountingStorageBackupHost = (null)\nMinJobAge               = 300 sec\n\n",
		string(AppendConfig(nil, style(false, false), reply)))
}

func TestSplitLineKeepsQuotedBlanks(t *testing.T) {
	assert.Equal(t, []string{"update", "jobid=1", "comment=a b", ""}, splitLine(`update  jobid=1 comment="a b" ''`))
}
