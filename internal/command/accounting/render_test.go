package accounting

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// The records are those of a real cluster, and the expected lines are what its
// sacct printed of them.

const at = 1796074564 // 2026-11-30T21:36:04 UTC

func run(id uint32, name string, change func(*wire.JobSpec, *wire.JobState), steps ...*wire.StepState) *wire.RunRecord {
	spec := &wire.JobSpec{Name: name, Uid: 1001, Gid: 1001, UserName: "alice", GroupName: "alice", Qos: "normal", Batch: true,
		WorkDir: "/tmp/work", SubmitLine: "sbatch x"}
	state := &wire.JobState{
		JobId: id, Key: 100 + int64(id), Partition: "debug", Submit: at, Eligible: at, Start: at, End: at + 1, Attempt: 1, Priority: 1,
		State: wire.BaseState_COMPLETED, TimeLimit: 365 * 24 * 60, NumCpus: 1, NumNodes: 1, BatchHost: "node1", BatchStart: at,
		BatchEnded: true, BatchEnd: at + 1, TresReq: "cpu=1,mem=100M,node=1,billing=1", TresAlloc: "cpu=1,mem=100M,node=1,billing=1",
		Alloc: []*wire.NodeAlloc{{Node: "node1", Cpus: 1, Mem: 100}},
	}
	change(spec, state)
	return &wire.RunRecord{Spec: spec, State: state, Steps: steps}
}

func failed(status int32) func(*wire.JobSpec, *wire.JobState) {
	return func(_ *wire.JobSpec, s *wire.JobState) {
		s.State, s.ExitStatus, s.BatchExitStatus = wire.BaseState_FAILED, status, status
	}
}

func waiting(s *wire.JobState) {
	s.State, s.Attempt, s.Start, s.End, s.BatchEnded, s.Alloc, s.TresAlloc = wire.BaseState_PENDING, 0, 0, 0, false, nil, ""
}

func sample() []*wire.RunRecord {
	held := func(cpus ...uint32) []*wire.NodeAlloc {
		var out []*wire.NodeAlloc
		for i, n := range cpus {
			out = append(out, &wire.NodeAlloc{Node: "node" + string(rune('1'+i)), Cpus: n, Mem: 100 * uint64(n)})
		}
		return out
	}
	return []*wire.RunRecord{
		run(227, "running", func(_ *wire.JobSpec, s *wire.JobState) {
			s.State, s.TimeLimit, s.NumCpus, s.BatchEnded, s.End = wire.BaseState_RUNNING, 10, 2, false, at+600
			s.Alloc = held(2)
		}),
		run(237, "wrap", failed(model.ExitedStatus(200))),
		run(238, "killed", failed(9)),
		run(239, "steps", func(_ *wire.JobSpec, s *wire.JobState) {
			s.NumCpus, s.NumNodes, s.End, s.BatchEnd, s.DerivedExitStatus, s.Alloc = 2, 2, at+2, at+2, model.ExitedStatus(1), held(1, 1)
			s.TresReq, s.TresAlloc = "cpu=2,mem=200M,node=2,billing=2", "cpu=2,mem=200M,node=2,billing=2"
			s.Usage = &wire.Usage{UserUsec: 19000, SystemUsec: 30000, MaxRss: 10996 << 10, AveRss: 10996 << 10,
				MaxVmsize: 286048 << 10, AveVmsize: 286048 << 10, MaxDiskRead: 31428, MaxDiskWrite: 1623, MaxRssNode: "node1", MinCpuNode: "node1", Tasks: 1}
		},
			&wire.StepState{Step: 0, Name: "sleep", State: wire.BaseState_COMPLETED, Start: at + 1, End: at + 2, NumTasks: 2, Alloc: held(1, 1), Layout: "Cyclic",
				SubmitLine: "srun -n2 sleep 1", Usage: &wire.Usage{UserUsec: 3000, SystemUsec: 2000, MaxRss: 1556 << 10, AveRss: 1550 << 10, MaxRssNode: "node1", Tasks: 2}},
			&wire.StepState{Step: 1, Name: "false", State: wire.BaseState_FAILED, ExitStatus: model.ExitedStatus(1), Start: at + 2, End: at + 2, NumTasks: 1, Alloc: held(1)},
		),
		run(240, "canc", func(_ *wire.JobSpec, s *wire.JobState) {
			s.State, s.WasCancelled, s.CancelledBy, s.ExitStatus, s.BatchExitStatus = wire.BaseState_CANCELLED, true, 1001, 15, 15
			s.End, s.BatchEnd = at+26, at+26
		}),
		run(243, "cpend", func(_ *wire.JobSpec, s *wire.JobState) {
			waiting(s)
			s.State, s.WasCancelled, s.CancelledBy, s.End, s.Eligible, s.Priority = wire.BaseState_CANCELLED, true, 1001, at+26, 0, 0
			s.Reason = model.ReasonHeldUser
		}),
		run(229, "arr", func(sp *wire.JobSpec, s *wire.JobState) {
			waiting(s)
			s.ArrayJobId, s.ArrayPending, s.ArrayThrottle, s.Eligible, s.TimeLimit, sp.TimeLimit = 229, "2-7", 2, 0, 5, 5
			s.Reason = model.ReasonArrayTaskLimit
		}),
	}
}

func view() *Context {
	return &Context{Now: time.Unix(at+35, 0).UTC(), Cluster: "muster", TasksWidth: model.DefaultTasksWidth}
}

// shown is the table that sacct prints with these words, of which -j takes all.
func shown(t *testing.T, words ...string) string {
	t.Helper()
	q := parsed(t, words...)
	var out bytes.Buffer
	if q.Style.Header {
		out.Write(q.Table.AppendHeader(nil, &q.Style))
	}
	c := view()
	c.Unit, c.NoConvert = q.Unit, q.NoConv
	require.NoError(t, q.Write(&out, c, sample()))
	return out.String()
}

type nobody struct{}

func (nobody) ParseUser(context.Context, string) (uint32, error)  { return 0, errors.New("none") }
func (nobody) ParseGroup(context.Context, string) (uint32, error) { return 0, errors.New("none") }

func program(words ...string) (*command.Program, *bytes.Buffer) {
	var errs bytes.Buffer
	p := command.New("sacct", words)
	p.Getenv = func(string) string { return "" }
	p.Stderr = &errs
	return p, &errs
}

func parsed(t *testing.T, words ...string) *Query {
	t.Helper()
	p, errs := program(words...)
	q, code, stop := Parse(context.Background(), p, nobody{}, view().Now)
	require.False(t, stop, "%d: %s", code, errs)
	return q
}

const everything = "227,237,238,239,240,243,229"

func TestDefaultTable(t *testing.T) {
	assert.Equal(t, `JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
227             running      debug                     2    RUNNING      0:0 
227.batch         batch                                2    RUNNING      0:0 
237                wrap      debug                     1     FAILED     72:0 
237.batch         batch                                1     FAILED     72:0 
238              killed      debug                     1     FAILED      0:9 
238.batch         batch                                1  CANCELLED      0:9 
239               steps      debug                     2  COMPLETED      0:0 
239.batch         batch                                1  COMPLETED      0:0 
239.0             sleep                                2  COMPLETED      0:0 
239.1             false                                1     FAILED      1:0 
240                canc      debug                     1 CANCELLED+      0:0 
240.batch         batch                                1  CANCELLED     0:15 
243               cpend      debug                     1 CANCELLED+      0:0 
229_[2-7%2]         arr      debug                     1    PENDING      0:0 
`, shown(t, "-j", everything))
	assert.Equal(t, "227|RUNNING\n237|FAILED\n238|FAILED\n239|COMPLETED\n240|CANCELLED by 1001\n", shown(t, "-nXP", "-o", "jobid,state"),
		"what was never eligible is shown by its id only")
	assert.Equal(t, "239.batch||\n", shown(t, "-np", "-j", "239.batch", "-o", "jobid,account"))
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ jobs, fields, want string }{
		{"239", "maxrss,averss,maxvmsize,maxdiskread,totalcpu,usercpu,systemcpu,ntasks,derivedexitcode",
			"||||00:00.054|00:00.022|00:00.032||1:0\n10996K|10996K|286048K|0.03M|00:00.049|00:00.019|00:00.030|1|\n" +
				"1556K|1550K||0.00M|00:00.005|00:00.003|00:00.002|2|\n||||00:00:00|00:00:00|00:00:00|1|\n"},
		{"239.batch", "tresusageinave,tresusageoutmax", "cpu=00:00:00,energy=0,fs/disk=31428,mem=10996K,pages=0,vmem=286048K|energy=0,fs/disk=1623\n"},
		{"239", "elapsed,cputime,cputimeraw,start,end,submit,submitline", "00:00:02|00:00:04|4|2026-11-30T21:36:04|2026-11-30T21:36:06|2026-11-30T21:36:04|sbatch x\n" +
			"00:00:02|00:00:02|2|2026-11-30T21:36:04|2026-11-30T21:36:06|2026-11-30T21:36:04|\n" +
			"00:00:01|00:00:02|2|2026-11-30T21:36:05|2026-11-30T21:36:06|2026-11-30T21:36:05|srun -n2 sleep 1\n" +
			"00:00:00|00:00:00|0|2026-11-30T21:36:06|2026-11-30T21:36:06|2026-11-30T21:36:06|\n"},
		{"239.0", "alloctres,nodelist,nnodes,layout,reqcpus,reqmem", "cpu=2,mem=200M,node=2|node[1-2]|2|Cyclic|2|\n"},
		{"243", "start,end,eligible,nodelist,timelimit,timelimitraw,allocnodes,alloctres,reqtres,reason,reqmem,elapsed",
			"None|2026-11-30T21:36:30|Unknown|None assigned|Partition_Limit|Partition_Limit|0||billing=1,cpu=1,mem=100M,node=1|JobHeldUser|100M|00:00:00\n"},
		{"229", "jobidraw,start,end,timelimit,timelimitraw,reason,flags", "229|Unknown|Unknown|00:05:00|5|JobArrayTaskLimit|StartReceived\n"},
		{"237", "timelimit,timelimitraw,reason,priority,uid,user,group,workdir", "365-00:00:00|525600|None|1|1001|alice|alice|/tmp/work\n|||||||\n"},
	} {
		assert.Equal(t, c.want, shown(t, "-nP", "-j", c.jobs, "-o", c.fields), c.fields)
	}
	assert.Equal(t, "239.batch|11259904\n", shown(t, "-nP", "--noconvert", "-j", "239.batch", "-o", "jobid,maxrss"))
	assert.Equal(t, "239.batch|10.74M\n", shown(t, "-nP", "--units=M", "-j", "239.batch", "-o", "jobid,maxrss"))
}

func TestWidths(t *testing.T) {
	assert.Equal(t, "Job Job Stat  WorkDir \n--- --- ---- -------- \n240 ca+ CAN+ /tmp/wo+ \n",
		shown(t, "-X", "-j", "240", "-o", "jobid%3,jobname%-3,state%4,workdir%8"))
	assert.Equal(t, "               JobID State Job \n-------------------- ----- --- \n                 237 FAIL+ wr+ \n",
		shown(t, "-X", "-j", "237", "-o", "jobid%20,state%-5,jobname%3"))
}

func TestLists(t *testing.T) {
	assert.Equal(t, []string{"JobID", "State", "JobID", "State", "ExitCode"}, names(parsed(t, "-o", "jobid,state", "-b").Table))
	assert.Equal(t, []string{"JobID", "JobID", "TRESUsageInMaxNode"}, names(parsed(t, "-o", "jobi,job,tresusageinmaxn,,state").Table), "the list ends where nothing stands between commas")
	assert.Len(t, names(parsed(t, "-l").Table), 54)
	all := strings.Fields(string(HelpFormat()))
	assert.Equal(t, all, names(parsed(t, "-o", strings.Join(all, ",")+",").Table), "the list of all names is a format")
}

func names(t Table) []string {
	var out []string
	for _, c := range t {
		out = append(out, c.Name)
	}
	return out
}

func TestRefusals(t *testing.T) {
	for want, words := range map[string][]string{
		"sacct: fatal: Bad job/step specified: abc\n":                                                           {"-j", "1,abc"},
		"sacct: fatal: Bad step specified: 1\n":                                                                 {"-j", "1.x"},
		"sacct: fatal: Bad job array element specified: 1\n":                                                    {"-j", "1_"},
		"sacct: error: Invalid field requested: \"nosuch\"\n":                                                   {"-o", "nosuch"},
		"sacct: fatal: unrecognized job state value 'nosuch'\n":                                                 {"-s", "F,nosuch"},
		"Invalid time specification (pos=0): nosuch\n":                                                          {"-S", "nosuch"},
		"sacct: error: Invalid user id: nosuch\n":                                                               {"-u", "nosuch"},
		"sacct: unrecognized option '--nosuch'\n":                                                               {"--nosuch"},
		"sacct: error: Unknown arguments:\nsacct: error:  foo\n":                                                {"foo"},
		"Slurm job completion is disabled\n":                                                                    {"--completion"},
		"sacct: error: Invalid unit type 'Q'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type\n":  {"--units=Q"},
		"sacct: fatal: When requesting job scripts you must also request specific jobs with the '-j' option.\n": {"-B"},
		"sacct: error: Start time (2030-01-01T00:00:00) requested is after end time (2020-01-01T00:00:00).\n":   {"-S", "2030-01-01", "-E", "2020-01-01"},
	} {
		p, errs := program(words...)
		_, code, stop := Parse(context.Background(), p, nobody{}, view().Now)
		assert.True(t, stop)
		assert.Equal(t, 1, code, "%v", words)
		assert.Equal(t, want, errs.String())
	}
}

// The window depends on -j and -s when -S is not given.
func TestWindow(t *testing.T) {
	now := view().Now
	midnight := now.Truncate(24 * time.Hour).Unix()
	for _, c := range []struct {
		words      []string
		start, end int64
	}{
		{nil, midnight, now.Unix()},
		{[]string{"-j", "1"}, 0, now.Unix()},
		{[]string{"-s", "F"}, now.Unix(), now.Unix()},
		{[]string{"-j", "1", "-s", "F"}, 0, now.Unix()},
		{[]string{"-S", "2026-11-29"}, midnight - 86400, now.Unix()},
		{[]string{"-S", "2026-11-29", "-s", "F"}, midnight - 86400, midnight - 86400},
		{[]string{"-S", "2026-11-29", "-s", "F", "-E", "now"}, midnight - 86400, now.Unix()},
	} {
		q := parsed(t, c.words...)
		assert.Equal(t, c.start, q.Request.Start, "%v", c.words)
		assert.Equal(t, c.end, q.Request.End, "%v", c.words)
	}
	assert.Equal(t, slurmtime.Standard(time.Unix(midnight, 0).UTC()), "2026-11-30T00:00:00")
}
