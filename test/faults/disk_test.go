package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// untilFile is a job that writes down its start and ends with a code when a
// file is there.
func untilFile(name, code string) string {
	return `echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>starts; while [ ! -e ` + name + ` ]; do sleep 0.05; done; exit ` + code
}

func (c *cluster) touch(name string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.work, name), nil, 0o644))
}

// TestFullSpool fills the disk of a node's spool, and then that of the logs.
func TestFullSpool(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := prepare(t, 0)
	spool, logs := c.mount("spool/node1", "4m"), c.mount("log", "4m")
	c.up("--nodes", "2", "--cpus", "4", "--mem", "2000")
	before := c.submit("-w", "node1", "--wrap", untilFile("full", "6"))
	c.awaitState(before, "RUNNING")

	t.Log("spool full")
	room := c.fill(spool)
	c.touch("full")
	moved := c.submit("--wrap", untilFile("full", "0"))
	pinned := c.submit("-w", "node1", "--wrap", untilFile("full", "0"))
	c.awaitState(moved, "COMPLETED")
	c.await("a word of the full disk", func() bool { return strings.Contains(c.log("ctld"), "no space left on device") })
	t.Logf("the controller says:\n%s", c.grep("ctld", "space"))
	room()
	c.awaitState(before, "FAILED")
	assert.Equal(t, "FAILED|6:0", c.attempts(before))
	if strings.HasPrefix(c.nodeState("node1"), "drain") {
		c.ok("scontrol", "update", "nodename=node1", "state=resume")
	}
	c.awaitState(pinned, "COMPLETED")
	for _, id := range []string{before, moved, pinned} {
		assert.Equal(t, []string{"0"}, c.starts()[id], "starts of job %s", id)
	}

	t.Log("logs full")
	room = c.fill(logs)
	ids := []string{c.submit("-w", "node1", "--wrap", untilFile("full", "0")), c.submit("-w", "node2", "--wrap", untilFile("full", "0"))}
	for _, id := range ids {
		c.awaitState(id, "COMPLETED")
	}
	room()
	c.awaitNode("node1", "idle")
	c.awaitNode("node2", "idle")
}

// TestFullDatabase fills the disk of the embedded database.
func TestFullDatabase(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := prepare(t, 0)
	state := c.mount("state", "200m")
	require.NoError(t, os.Chmod(state, 0o711))
	c.up("--nodes", "1", "--cpus", "40", "--mem", "2000")
	before := c.submit("--wrap", untilFile("full", "6"))
	after := c.submit("--wrap", untilFile("roomy", "7"))
	c.awaitState(before, "RUNNING")
	c.awaitState(after, "RUNNING")
	room := c.fill(state)
	l := c.startLoad(1, 0, "--comment", strings.Repeat("x", 60000))
	c.await("a word of the full disk", func() bool {
		return strings.Contains(strings.ToLower(c.log("ctld")), "no space left on device") || strings.Contains(c.log("ctld"), "53100")
	})
	c.touch("full")
	c.await("the script's end", func() bool { return c.shepherd(before) == 0 })
	assert.Equal(t, "RUNNING", c.state(after), "queries are answered")
	t.Logf("the controller says:\n%s", c.grep("ctld", "space"))
	room()
	c.awaitState(before, "FAILED")
	n := l.end()
	assert.Equal(t, "RUNNING", c.state(after))
	c.touch("roomy")
	c.awaitEmpty()
	l.check()
	assert.Equal(t, "FAILED|6:0", c.attempts(before))
	assert.Equal(t, "FAILED|7:0", c.attempts(after))
	c.ok("sbatch", "--wait", "-o", "/dev/null", "--mem=10", "--wrap", "true")
	c.awaitNode("node1", "idle")
	t.Logf("%d jobs acknowledged", n)
}
