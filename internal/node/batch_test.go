package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/node/journal"
	"muster/internal/wire"
)

// modes are the two ways in which processes are caught.
func modes(t *testing.T) map[string][]option {
	m := map[string][]option{"descendants": nil}
	if os.Getuid() == 0 {
		m["cgroups"] = []option{withCgroups(t)}
	}
	return m
}

func TestBatchJob(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			fact := n.runJob(1, "#!/bin/sh\necho hello; echo oops >&2; sleep 0.1; exit 3\n")
			assert.True(t, fact.BatchEnded)
			assert.EqualValues(t, 3<<8, fact.BatchExitStatus)
			assert.Empty(t, fact.Failure)
			assert.Equal(t, "hello\noops\n", n.output("out-1"))
			assert.NotZero(t, fact.BatchUsage.MaxRss)
			assert.NoDirExists(t, n.scriptDir(1), "nothing is left in the spool")
			assert.NoDirExists(t, n.runDir(journal.ID{Key: 1, Attempt: 1}))
			var stages []string
			for _, f := range n.history {
				stages = append(stages, strings.TrimPrefix(f.Stage.String(), "STAGE_"))
			}
			assert.Equal(t, []string{"ACCEPTED", "RUNNING", "ENDED", "GONE"}, stages)

			n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_RunAck{RunAck: &wire.RunAck{Key: 1, Attempt: 1}}})
			assert.Empty(t, n.Register().Runs)
			assert.EqualValues(t, 1, n.Register().HighestJob)
		})
	}
}

func TestExitStatuses(t *testing.T) {
	n := startNode(t, openDir(t))
	for i, c := range []struct {
		script string
		status int32
	}{
		{"#!/bin/sh\nexit 0\n", 0},
		{"#!/bin/sh\nexit 200\n", 200 << 8},
		{"#!/bin/sh\nkill -9 $$\n", 9},
		{"#!/nonexistent/interp\n", 2 << 8},
		{"#!/bin/sh\nsleep 1000 & exit 4\n", 4 << 8}, // what is left is killed
		{"#!/bin/sh\nsetsid sleep 1000 & exit 4\n", 4 << 8},
	} {
		fact := n.runJob(int64(i+1), c.script)
		assert.Equal(t, c.status, fact.BatchExitStatus, c.script)
	}
	assert.Equal(t, "slurmstepd: error: execve(): bad interpreter(/nonexistent/interp): No such file or directory\n", n.output("out-4"))
}

func TestIdentityAndFiles(t *testing.T) {
	n := startNode(t, openDir(t))
	uid, gid := testUID()
	script := "#!/bin/sh\nid -u; id -g; id -G; umask; pwd; ls -ln \"$0\" | cut -c1-10; nice; ulimit -Sc; cat; echo \"$# $1 $2\"; echo $SLURM_TASK_PID $$ | awk '{print $1==$2}'\n"
	require.NoError(t, os.WriteFile(filepath.Join(n.work, "input"), []byte("from file\n"), 0o644))
	fact := n.runJob(1, script, func(o *wire.RunOrder) {
		o.Spec.Argv = []string{"a", "b c\xff"}
		o.Spec.StdIn = "input"
		o.Spec.StdOut = "new/folder/%x-%A_%a.out"
		o.Spec.Rlimits = []*wire.Rlimit{{Resource: 4, Soft: 0}}
		o.Spec.Umask = 0o27
	})
	require.EqualValues(t, 0, fact.BatchExitStatus, "%v", fact)
	groups := fmt.Sprint(gid)
	if os.Getuid() != 0 {
		t.Skip("the rest looks at another user's files")
	}
	assert.Equal(t, fmt.Sprintf("%d\n%d\n%s\n0027\n%s\n-rwx------\n0\n0\nfrom file\n2 a b c\xff\n1\n", uid, gid, groups, n.work),
		n.output("new/folder/job-1_4294967294.out"))
}

func TestMissingWorkDir(t *testing.T) {
	n := startNode(t, openDir(t))
	fact := n.runJob(1, "#!/bin/sh\npwd\n", func(o *wire.RunOrder) {
		o.Spec.StdOut = n.work + "/out"
		o.Spec.WorkDir = "/nonexistent"
	})
	assert.Zero(t, fact.BatchExitStatus)
	line := "slurmstepd: error: couldn't chdir to `/nonexistent': No such file or directory: going to /tmp instead\n"
	assert.Equal(t, line+line+"/tmp\n", n.output("out"))
}

func TestOutputNotWritable(t *testing.T) {
	n := startNode(t, openDir(t))
	fact := n.runJob(1, "#!/bin/sh\ntouch ran\n", func(o *wire.RunOrder) { o.Spec.StdOut = "/proc/nope/out" })
	assert.True(t, fact.UserFailure)
	assert.EqualValues(t, 53, fact.BatchExitStatus)
	assert.Contains(t, fact.Failure, "/proc/nope/out")
	assert.NoFileExists(t, filepath.Join(n.work, "ran"))
}

func TestOpenModes(t *testing.T) {
	n := startNode(t, openDir(t))
	run := func(key int64, mode wire.OpenMode) {
		n.runJob(key, "#!/bin/sh\necho $SLURM_JOB_ID\n", func(o *wire.RunOrder) { o.Spec.StdOut, o.Spec.OpenMode = "log", mode })
	}
	run(1, wire.OpenMode_OPEN_DEFAULT)
	run(2, wire.OpenMode_OPEN_APPEND)
	assert.Equal(t, "1\n2\n", n.output("log"))
	run(3, wire.OpenMode_OPEN_TRUNCATE)
	assert.Equal(t, "3\n", n.output("log"))
}

func TestDuplicateLaunch(t *testing.T) {
	n := startNode(t, openDir(t))
	order := n.order(1, "#!/bin/sh\necho once >> count\n")
	n.send(order)
	n.send(order)
	n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	before := len(n.history)
	n.send(order)
	n.wait(t, "the answer to a repeated launch", func() bool { return len(n.history) > before })
	assert.Equal(t, wire.RunStage_STAGE_GONE, n.history[before].Stage)
	assert.Equal(t, "once\n", n.output("count"))
}

func TestRefusedLaunches(t *testing.T) {
	n := startNode(t, openDir(t), func(c *Config) {
		c.VerifyLaunch = func(s *wire.Signed) ([]byte, error) {
			if string(s.Signature) == "forged" {
				return nil, fmt.Errorf("not signed by this cluster's controller")
			}
			return s.Payload, nil
		}
	})
	for i, c := range []struct {
		change func(*wire.RunOrder)
		want   string
	}{
		{func(o *wire.RunOrder) { o.Node = "other" }, "is for node other"},
		{func(o *wire.RunOrder) { o.ClusterId = "foreign" }, `of cluster "foreign"`},
		{func(o *wire.RunOrder) { o.Spec = nil }, "incomplete"},
	} {
		order := n.order(int64(i+1), "#!/bin/sh\n")
		c.change(order)
		n.send(order)
		fact := n.waitStage(t, int64(i+1), wire.RunStage_STAGE_GONE)
		assert.Contains(t, fact.Failure, c.want)
	}
}

func TestTerminate(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			n.send(n.order(1, "#!/bin/sh\ntrap 'echo got TERM; exit 7' TERM\ntouch started\nwhile :; do sleep 0.05; done\n"))
			n.send(n.order(2, "#!/bin/sh\ntrap '' TERM\ntouch started2\nsleep 100 & wait; sleep 100\n"))
			awaitFile(t, filepath.Join(n.work, "started"))
			awaitFile(t, filepath.Join(n.work, "started2"))
			for key := int64(1); key <= 2; key++ {
				n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: key, Attempt: 1, JobId: uint32(key), KillWait: 1, Message: "JOB 1 ON node1 CANCELLED AT 2026-11-30T21:35:53 DUE TO TIME LIMIT"}}})
			}
			first := n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
			assert.EqualValues(t, 7<<8, first.BatchExitStatus)
			assert.Equal(t, "slurmstepd: error: *** JOB 1 ON node1 CANCELLED AT 2026-11-30T21:35:53 DUE TO TIME LIMIT ***\ngot TERM\n",
				strings.ReplaceAll(n.output("out-1"), "Terminated\n", ""))
			second := n.waitStage(t, 2, wire.RunStage_STAGE_GONE)
			assert.EqualValues(t, 9, second.BatchExitStatus)
		})
	}
}

func TestTerminateUnknownRun(t *testing.T) {
	n := startNode(t, openDir(t))
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 77, Attempt: 1, JobId: 7}}})
	assert.EqualValues(t, 7, n.waitStage(t, 77, wire.RunStage_STAGE_GONE).JobId)
}

func TestSignal(t *testing.T) {
	n := startNode(t, openDir(t))
	n.send(n.order(1, "#!/bin/bash\ntrap 'echo shell; exit 1' USR1\nbash -c 'trap \"echo child\" USR1; touch started; for i in {1..1000}; do sleep 0.05; done' &\nwait; wait\n"))
	awaitFile(t, filepath.Join(n.work, "started"))
	n.Order(&wire.NodeOrder{Order: 5, Body: &wire.NodeOrder_Signal{Signal: &wire.SignalOrder{Key: 1, Attempt: 1, Batch: true, Signal: 10}}})
	n.Order(&wire.NodeOrder{Order: 6, Body: &wire.NodeOrder_Signal{Signal: &wire.SignalOrder{Key: 9, Attempt: 1, Batch: true, Signal: 10}}})
	n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	assert.Equal(t, "shell\n", n.output("out-1"))
	n.wait(t, "acknowledgements", func() bool { return len(n.acks) == 2 })
	assert.Equal(t, map[uint64]string{5: "", 6: "no such run on node node1"}, n.acks)
}

func TestSuspend(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			n.send(n.order(1, "#!/bin/sh\necho $$ > pid.new; mv pid.new pid\nwhile [ ! -e go ]; do sleep 0.02; done\n"))
			awaitFile(t, filepath.Join(n.work, "pid"))
			pid := strings.TrimSpace(n.output("pid"))
			n.Order(&wire.NodeOrder{Order: 1, Body: &wire.NodeOrder_Suspend{Suspend: &wire.SuspendOrder{Key: 1, Attempt: 1}}})
			await(t, "the stop", func() bool { s := procState(pid); return s == "T" || s == "D" })
			require.NoError(t, os.WriteFile(filepath.Join(n.work, "go"), nil, 0o644))
			n.Order(&wire.NodeOrder{Order: 2, Body: &wire.NodeOrder_Suspend{Suspend: &wire.SuspendOrder{Key: 1, Attempt: 1, Resume: true}}})
			n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
		})
	}
}

func TestKillSuspended(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			n.send(n.order(1, "#!/bin/sh\ntouch started; sleep 100\n"))
			awaitFile(t, filepath.Join(n.work, "started"))
			n.Order(&wire.NodeOrder{Order: 1, Body: &wire.NodeOrder_Suspend{Suspend: &wire.SuspendOrder{Key: 1, Attempt: 1}}})
			n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, Now: true}}})
			assert.EqualValues(t, 9, n.waitStage(t, 1, wire.RunStage_STAGE_GONE).BatchExitStatus)
		})
	}
}

func procState(pid string) string {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))[0]
}

// await polls for what sends no event: a file of a job, a state of a process.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timed out waiting for " + what)
		}
	}
}

func awaitFile(t testing.TB, path string) {
	t.Helper()
	await(t, path, func() bool { _, err := os.Stat(path); return err == nil })
}
