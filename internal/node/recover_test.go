package node

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"muster/internal/node/steplink"
	"muster/internal/wire"
)

func launchOrder(t testing.TB, work string, key int64, script string) *wire.NodeOrder {
	n := &testNode{Node: &Node{cfg: Config{Name: "node1"}}, t: t, work: work}
	payload, err := proto.Marshal(n.order(key, script))
	require.NoError(t, err)
	return &wire.NodeOrder{Body: &wire.NodeOrder_Launch{Launch: &wire.Signed{Payload: payload}}}
}

func TestDaemonKilledWhileJobRuns(t *testing.T) {
	spool, work := openDir(t), openDir(t)
	first := startProcess(t, spool, "")
	first.send(launchOrder(t, work, 1, "#!/bin/sh\necho begun >> log; touch started; while [ ! -e go ]; do sleep 0.02; done; echo ended >> log; exit 5\n"))
	awaitFile(t, filepath.Join(work, "started"))
	first.kill()
	second := startProcess(t, spool, "")
	second.waitStage(t, 1, wire.RunStage_STAGE_RUNNING)
	require.NoError(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o644))
	fact := second.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	assert.EqualValues(t, 5<<8, fact.BatchExitStatus)
	assertFile(t, filepath.Join(work, "log"), "begun\nended\n")
}

func TestDaemonDeadWhenJobEnds(t *testing.T) {
	spool, work := openDir(t), openDir(t)
	first := startProcess(t, spool, "")
	first.send(launchOrder(t, work, 1, "#!/bin/sh\ntouch started; while [ ! -e go ]; do sleep 0.02; done; exit 6\n"))
	awaitFile(t, filepath.Join(work, "started"))
	first.kill()
	require.NoError(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o644))
	awaitFile(t, filepath.Join(spool, "runs/1.1/batch.end"))
	second := startProcess(t, spool, "")
	assert.EqualValues(t, 6<<8, second.waitStage(t, 1, wire.RunStage_STAGE_GONE).BatchExitStatus)
	second.kill()
	// Not acknowledged: it is told again.
	third := startProcess(t, spool, "")
	assert.EqualValues(t, 6<<8, third.waitStage(t, 1, wire.RunStage_STAGE_GONE).BatchExitStatus)
}

// TestDaemonKilledAtRandomMoments kills the daemon again and again while jobs
// arrive: each accepted job runs once and its status arrives.
func TestDaemonKilledAtRandomMoments(t *testing.T) {
	spool, work := openDir(t), openDir(t)
	const jobs = 40
	p := startProcess(t, spool, "")
	accepted := func(key int64) func() bool {
		return func() bool { return p.runs[strconv.FormatInt(key, 10)+".1"] != nil }
	}
	for key := int64(1); key <= jobs; key++ {
		order := launchOrder(t, work, key, "#!/bin/sh\necho x >> count.$SLURM_JOB_ID; exit $SLURM_JOB_ID\n")
		p.send(order)
		if key%4 == 0 {
			p.wait(t, "acceptance", accepted(key))
			p.kill()
			p = startProcess(t, spool, "")
			// As the controller does after a registration: what is not known to
			// have been accepted is sent again.
			for again := int64(1); again <= key; again++ {
				p.send(launchOrder(t, work, again, "#!/bin/sh\necho x >> count.$SLURM_JOB_ID; exit $SLURM_JOB_ID\n"))
			}
		}
	}
	for key := int64(1); key <= jobs; key++ {
		assert.EqualValues(t, key<<8, p.waitStage(t, key, wire.RunStage_STAGE_GONE).BatchExitStatus, "job %d", key)
		assertFile(t, filepath.Join(work, "count."+strconv.FormatInt(key, 10)), "x\n")
	}
}

func TestReboot(t *testing.T) {
	spool, work := openDir(t), openDir(t)
	first := startProcess(t, spool, "boot-1")
	first.send(launchOrder(t, work, 1, "#!/bin/sh\necho $$ > pid.new; mv pid.new pid; sleep 1000\n"))
	awaitFile(t, filepath.Join(work, "pid"))
	first.kill()
	killStepd(t, spool, 1) // as the machine's end does
	second := startProcess(t, spool, "boot-2")
	fact := second.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	assert.False(t, fact.BatchEnded)
	assert.Equal(t, "the node was restarted", fact.Failure)
	data, err := os.ReadFile(filepath.Join(work, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	_ = syscall.Kill(pid, syscall.SIGKILL) // the test's own left-over
}

// killStepd kills the shepherd of a run's batch step.
func killStepd(t testing.TB, spool string, key int64) {
	data, err := os.ReadFile(filepath.Join(spool, "runs", strconv.FormatInt(key, 10)+".1", "batch.run"))
	require.NoError(t, err)
	text, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

func TestStepdKilled(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			spool := openDir(t)
			n := startNode(t, spool, options...)
			n.send(n.order(1, "#!/bin/sh\nsetsid sleep 1000 & echo $! > child\necho $$ > pid.new; mv pid.new pid; sleep 1000\n"))
			awaitFile(t, filepath.Join(n.work, "pid"))
			killStepd(t, spool, 1)
			fact := n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
			assert.EqualValues(t, 9, fact.BatchExitStatus)
			for _, name := range []string{"pid", "child"} {
				pid, err := strconv.Atoi(strings.TrimSpace(n.output(name)))
				require.NoError(t, err)
				assert.True(t, syscall.Kill(pid, 0) != nil || procState(strconv.Itoa(pid)) == "Z", "%s lives", name)
			}
		})
	}
}

func TestForeignController(t *testing.T) {
	n := startNode(t, openDir(t))
	assert.ErrorContains(t, n.Registered(&wire.Registered{ClusterId: "other", Term: 9}), "belongs to cluster "+testCluster)
	require.NoError(t, n.Registered(&wire.Registered{ClusterId: testCluster, Term: 5}))
	assert.ErrorContains(t, n.Registered(&wire.Registered{ClusterId: testCluster, Term: 4}), "term 4")
	assert.EqualValues(t, 5, n.Register().Term)
}

func TestStatusFiles(t *testing.T) {
	dir := t.TempDir()
	stand := func() steplink.Standing {
		s, err := steplink.Stand(dir, "batch")
		require.NoError(t, err)
		return s
	}
	assert.Equal(t, steplink.Unclaimed, stand())
	claim, err := steplink.NewClaim(dir, "batch")
	require.NoError(t, err)
	assert.Equal(t, steplink.Alive, stand())
	_, err = steplink.NewClaim(dir, "batch")
	require.ErrorIs(t, err, steplink.ErrClaimed)
	want := steplink.End{Status: 9, Failure: strings.Repeat("x", 4000), Usage: steplink.Usage{MaxRSS: 1 << 40}}
	require.NoError(t, claim.Finish(want))
	assert.Equal(t, steplink.Ended, stand())
	got, err := steplink.ReadEnd(dir, "batch")
	require.NoError(t, err)
	assert.EqualValues(t, 9, got.Status)
	assert.EqualValues(t, 1<<40, got.Usage.MaxRSS)
	assert.True(t, strings.HasPrefix(want.Failure, got.Failure))
	_, err = steplink.NewClaim(dir, "batch")
	require.ErrorIs(t, err, steplink.ErrClaimed)
}

func assertFile(t testing.TB, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(data))
}
