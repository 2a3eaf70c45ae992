package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// database is the data folder of the embedded server.
func (c *cluster) database() string {
	c.t.Helper()
	found, _ := filepath.Glob(filepath.Join(c.dir, "state", "*", "PG_VERSION"))
	require.Len(c.t, found, 1)
	return filepath.Dir(found[0])
}

// TestRestoredBackup loads an old dump under running jobs.
func TestRestoredBackup(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := prepare(t, 0).up("--nodes", "2", "--cpus", "4", "--mem", "2000")
	conf := filepath.Join(c.dir, "etc", "slurm.conf")
	dump := filepath.Join(filepath.Dir(c.dir), "dump")
	wait := `echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>starts; echo $$ >pid.$SLURM_JOB_ID; while [ ! -e go ]; do sleep 0.1; done; exit 3`
	known := c.submit("-w", "node1", "--wrap", wait)
	c.awaitState(known, "RUNNING")
	later := c.submit("-w", "node1", "--begin=now+1hour", "--wrap", wait)
	c.daemon("stop", "ctld")
	c.ok("ctld", "-f", conf, "--dump", dump)
	c.daemon("start", "ctld")
	one := c.submit("-w", "node1", "--wrap", wait)
	two := c.submit("-w", "node2", "--wrap", wait)
	c.ok("scontrol", "update", "JobId="+later, "StartTime=now")
	c.awaitState(one, "RUNNING")
	c.awaitState(two, "RUNNING")
	c.awaitState(later, "RUNNING")
	for _, id := range []string{known, one, two, later} {
		c.await("the script of job "+id, func() bool { return c.scriptLives(id) })
	}
	highest := c.ok("sbatch", "--parsable", "--hold", "--wrap", "true")
	c.ok("scancel", highest)

	c.daemon("stop", "ctld")
	require.NoError(t, os.Rename(c.database(), filepath.Join(c.dir, "old")))
	c.ok("ctld", "-f", conf, "--restore", dump)
	c.daemon("start", "ctld")

	c.await("the list of unknown jobs", func() bool {
		r := c.run("scontrol", "adopt")
		return strings.Contains(r.out+r.err, "JobId="+one+" ") && strings.Contains(r.out+r.err, "JobId="+two+" ")
	})
	assert.Contains(t, c.log("ctld"), "was an old backup restored?")
	for _, id := range []string{known, one, two, later} {
		assert.True(t, c.scriptLives(id), "job %s was killed", id)
	}
	assert.Equal(t, "RUNNING", c.state(known))
	// To these tables it still waits for its time: it must not start beside its run.
	assert.Equal(t, "PENDING JobHeldAdmin", strings.TrimSpace(c.ok("squeue", "-h", "-j", later, "-o", "%T %r")))
	c.ok("scontrol", "update", "JobId="+later, "StartTime=now")
	assert.Equal(t, "PENDING", c.state(later))
	next := c.submit("--wrap", `echo "$SLURM_JOB_ID 0" >>starts`)
	assert.Greater(t, number(t, next), number(t, two), "the next job id")
	assert.Equal(t, "PENDING", c.state(next), "the unknown jobs' resources are held")

	r := c.run("scontrol", "kill", "node2", "4711")
	assert.NotEqual(t, 0, r.code)
	assert.Contains(t, r.err, "no unknown run")
	c.ok("scontrol", "kill", "node2", c.key(two))
	c.await("the end of job "+two, func() bool { return !c.scriptLives(two) })
	c.ok("scontrol", "adopt", "node1", c.key(one))
	c.awaitState(next, "COMPLETED")
	assert.True(t, c.scriptLives(one), "an adopted job was killed")
	require.NoError(t, os.WriteFile(filepath.Join(c.work, "go"), nil, 0o644))
	c.awaitState(known, "FAILED")
	c.await("the end of the adopted job", func() bool { r := c.run("scontrol", "adopt"); return r.code == 0 && r.out+r.err == "" })
	c.ok("sbatch", "--wait", "-o", "/dev/null", "--mem=10", "-N2", "--wrap", "true")
	assert.Equal(t, "PENDING", c.state(later))
	c.ok("scancel", later)
	assert.Equal(t, []row{{"FAILED", "3:0"}}, c.accounting()[known])
	for id, s := range c.starts() {
		assert.Len(t, s, 1, "job %s", id)
	}

	// Another cluster's controller is refused by the nodes, and does them no harm.
	last := c.submit("--wrap", "touch begun; sleep 1000")
	c.awaitState(last, "RUNNING")
	c.daemon("stop", "ctld")
	mine := c.database()
	require.NoError(t, os.Rename(mine, filepath.Join(c.dir, "mine")))
	c.daemon("start", "ctld")
	c.await("a refusal", func() bool { return strings.Contains(c.log("node1")+c.log("ctld"), "belongs to") })
	pid := c.shepherd(last)
	assert.NotZero(t, pid, "the job lives")
	c.daemon("stop", "ctld")
	require.NoError(t, os.Rename(mine, filepath.Join(c.dir, "other")))
	require.NoError(t, os.Rename(filepath.Join(c.dir, "mine"), mine))
	c.daemon("start", "ctld")
	c.await("the cluster's own controller again", func() bool { return c.state(last) == "RUNNING" && c.run("scancel", last).code == 0 })
	c.awaitNode("node1", "idle")
	c.awaitNode("node2", "idle")
}

func (c *cluster) scriptLives(id string) bool {
	text, _ := os.ReadFile(filepath.Join(c.work, "pid."+id))
	pid := strings.TrimSpace(string(text))
	return pid != "" && fileExists("/proc/"+pid+"/environ")
}

func number(t *testing.T, id string) int {
	t.Helper()
	n, err := strconv.Atoi(id)
	require.NoError(t, err)
	return n
}

// key is the number by which an unknown job is named.
func (c *cluster) key(id string) string {
	c.t.Helper()
	r := c.run("scontrol", "adopt")
	for line := range strings.Lines(r.out + r.err) {
		if strings.Contains(line, " JobId="+id+" ") {
			_, after, _ := strings.Cut(line, "Key=")
			key, _, _ := strings.Cut(after, " ")
			return key
		}
	}
	c.t.Fatalf("job %s is not among the unknown: %s%s", id, r.out, r.err)
	return ""
}
