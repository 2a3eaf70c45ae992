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

	"muster/internal/wire"
)

// hook writes a program and returns its path.
func hook(t testing.TB, name, text string) string {
	path := filepath.Join(openDir(t), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

func withSettings(change func(*Settings)) option {
	return func(c *Config) { change(&c.Settings) }
}

func stages(l *ledger) string {
	var names []string
	for _, f := range l.history {
		name := strings.TrimPrefix(f.Stage.String(), "STAGE_")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestPrologAndEpilog(t *testing.T) {
	log := filepath.Join(openDir(t), "log")
	many := openDir(t)
	for _, name := range []string{"20-b", "10-a"} {
		require.NoError(t, os.WriteFile(filepath.Join(many, name), fmt.Appendf(nil, "#!/bin/sh\necho %s >> %s\n", name, log), 0o755))
	}
	env := hook(t, "env", "echo $SLURM_SCRIPT_CONTEXT $SLURM_JOB_ID $SLURM_JOB_UID $SLURM_JOB_USER $SLURM_JOB_GPUS $SLURM_JOB_NODELIST ${FROM_USER:-clean} >> "+log)
	n := startNode(t, openDir(t), withSettings(func(s *Settings) { s.Prolog, s.Epilog = []string{many + "/*", env}, []string{env} }))
	uid, _ := testUID()
	fact := n.runJob(1, fmt.Sprintf("#!/bin/sh\ncp %s seen; sleep 0.1\n", log), func(o *wire.RunOrder) {
		o.Alloc[0].Gres = []*wire.GresAlloc{{Name: "gpu", Index: []uint32{3, 1}, Count: 2}}
	})
	require.Zero(t, fact.BatchExitStatus)
	prolog := fmt.Sprintf("10-a\n20-b\nprolog_slurmd 1 %d tester 1,3 node1 clean\n", uid)
	assert.Equal(t, prolog, n.output("seen"), "the job starts after its prolog")
	assertFile(t, log, prolog+fmt.Sprintf("epilog_slurmd 1 %d tester 1,3 node1 clean\n", uid))
	assert.Equal(t, "ACCEPTED PROLOG RUNNING ENDED EPILOG GONE", stages(n.ledger))
}

func TestFailingHooks(t *testing.T) {
	bad := hook(t, "bad", "exit 3")
	slow := hook(t, "slow", "sleep 100 & sleep 100")
	for _, c := range []struct {
		name           string
		settings       func(*Settings)
		prolog, epilog bool
		failure        string
	}{
		{"prolog", func(s *Settings) { s.Prolog = []string{bad} }, true, false, "exit status 3"},
		{"missing prolog", func(s *Settings) { s.Prolog = []string{"/nonexistent/prolog"} }, true, false, "/nonexistent/prolog"},
		{"slow prolog", func(s *Settings) { s.Prolog, s.PrologTimeout = []string{slow}, 200*time.Millisecond }, true, false, "took longer than"},
		{"epilog", func(s *Settings) { s.Epilog = []string{bad} }, false, true, ""},
		{"glob of nothing", func(s *Settings) { s.Prolog = []string{"/nonexistent/*"} }, false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := startNode(t, openDir(t), withSettings(c.settings))
			fact := n.runJob(1, "#!/bin/sh\ntouch ran\n")
			assert.Equal(t, c.prolog, fact.PrologFailed)
			assert.Equal(t, c.epilog, fact.EpilogFailed)
			assert.Contains(t, fact.Failure, c.failure)
			_, err := os.Stat(filepath.Join(n.work, "ran"))
			assert.Equal(t, c.prolog, err != nil, "the job runs only after a good prolog")
		})
	}
}

func TestTaskHooks(t *testing.T) {
	prolog := hook(t, "prolog", "echo print from prolog; echo export ADDED=a b; echo unset FROM_USER; echo noise; id -u >&2")
	mark := filepath.Join(openDir(t), "epilog")
	epilog := hook(t, "epilog", "echo $SLURM_JOB_ID $(id -u) > "+mark)
	n := startNode(t, openDir(t), withSettings(func(s *Settings) { s.TaskProlog, s.TaskEpilog = prolog, epilog }))
	uid, _ := testUID()
	n.runJob(1, "#!/bin/sh\necho \"$ADDED\" ${FROM_USER:-gone}\n")
	assert.Equal(t, fmt.Sprintf("%d\nfrom prolog\na b gone\n", uid), n.output("out-1"))
	assertFile(t, mark, fmt.Sprintf("1 %d\n", uid))
}

func TestTerminateDuringProlog(t *testing.T) {
	dir := openDir(t)
	prolog := hook(t, "prolog", fmt.Sprintf("touch %[1]s/begun; while [ ! -e %[1]s/go ]; do sleep 0.02; done; touch %[1]s/done", dir))
	n := startNode(t, openDir(t), withSettings(func(s *Settings) { s.Prolog = []string{prolog} }))
	n.send(n.order(1, "#!/bin/sh\ntouch ran\n"))
	awaitFile(t, dir+"/begun")
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, Now: true}}})
	require.NoError(t, os.WriteFile(dir+"/go", nil, 0o644))
	fact := n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	assert.False(t, fact.BatchEnded)
	assert.FileExists(t, dir+"/done", "the prolog is not cut short")
	assert.NoFileExists(t, filepath.Join(n.work, "ran"))
}

func TestOtherNodeOfJob(t *testing.T) {
	n := startNode(t, openDir(t))
	order := n.order(1, "")
	order.BatchHost, order.Spec.Batch = false, true
	n.send(order)
	n.waitStage(t, 1, wire.RunStage_STAGE_RUNNING)
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1}}})
	assert.False(t, n.waitStage(t, 1, wire.RunStage_STAGE_GONE).BatchEnded)
}

func TestExternStep(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			fact := n.runJob(1, "#!/bin/sh\nexit 0\n", func(o *wire.RunOrder) { o.Contain = true })
			require.Len(t, fact.Steps, 1)
			assert.EqualValues(t, -4, fact.Steps[0].Step)
			assert.True(t, fact.Steps[0].Ended)
			assert.Zero(t, fact.Steps[0].ExitStatus)
		})
	}
}
