package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKill kills the controller, node daemons, the database and shepherds again
// and again while jobs are submitted, run and end.
func TestKill(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := prepare(t, 0).up("--nodes", "2", "--cpus", "40", "--mem", "2000")
	dice := chance(t)
	long := []string{c.longJob(), c.longJob(), c.longJob()}
	for _, id := range long {
		c.awaitState(id, "RUNNING")
	}
	l := c.startLoad(2, 30*time.Millisecond)
	var killed []string
	victims := []string{"ctld", "node1", "node2", "db", "stepd"}
	for i := range rounds(10) {
		time.Sleep(dice.pause(700 * time.Millisecond))
		switch victim := victims[(i+dice.upTo(2))%len(victims)]; victim {
		case "stepd":
			if id := c.killShepherd(); id != "" {
				killed = append(killed, id)
			}
		case "db":
			// It may be starting again after the last kill.
			if r := c.devcluster("kill", "db"); r.code != 0 {
				t.Logf("database not killed: %s", r.err)
			}
		default:
			c.daemon("kill", victim)
			time.Sleep(dice.pause(300 * time.Millisecond))
			c.daemon("start", victim)
		}
	}
	n := l.end()
	require.Greater(t, n, 5, "jobs were acknowledged; refusals: %q", l.refused)
	for _, id := range long {
		c.awaitState(id, "RUNNING")
	}
	require.NoError(t, os.WriteFile(filepath.Join(c.work, "go"), nil, 0o644))
	c.awaitEmpty()
	l.check()
	assert.Empty(t, l.refused, "submissions that were not acknowledged")
	rows, starts := c.accounting(), c.starts()
	for _, id := range long {
		assert.Equal(t, []row{{"FAILED", "17:0"}}, rows[id], "a job that ran all the time")
		assert.Equal(t, []string{"0"}, starts[id], "a job that ran all the time")
	}
	for _, id := range killed {
		assert.Equal(t, []row{{"FAILED", "0:9"}}, rows[id], "a job whose shepherd was killed")
	}
	assert.NotEmpty(t, killed, "no shepherd was killed")
	c.awaitNode("node1", "idle")
	c.awaitNode("node2", "idle")
	assert.Empty(t, c.cgroups())
	t.Logf("%d jobs acknowledged, %d shepherds killed", n, len(killed))
}

// longJob waits for the file `go`.
func (c *cluster) longJob() string {
	c.t.Helper()
	return c.submit("--wrap", `echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>starts; while [ ! -e go ]; do sleep 0.1; done; exit 17`)
}

// killShepherd starts a job that would run for long and kills its shepherd.
func (c *cluster) killShepherd() string {
	c.t.Helper()
	r := c.run("sbatch", "--parsable", "-o", "/dev/null", "--mem=1", "--wrap", "touch up.$SLURM_JOB_ID; sleep 1000 & sleep 1000")
	id := strings.TrimSpace(r.out)
	if _, err := strconv.Atoi(id); err != nil {
		return ""
	}
	c.await("a start of job "+id, func() bool { return fileExists(filepath.Join(c.work, "up."+id)) })
	pid := 0
	c.await("the shepherd of job "+id, func() bool { pid = c.shepherd(id); return pid != 0 })
	require.NoError(c.t, syscall.Kill(pid, syscall.SIGKILL))
	return id
}
