package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHookPolicies: what the settings around hooks change.
func TestHookPolicies(t *testing.T) {
	c := prepare(t)
	c.up("--nodes 3 --cpus 4 --mem 2000", c.hooks()+`SchedulerParameters=nohold_on_prolog_fail
PrologFlags=Serial
PrologEpilogTimeout=6
MaxBatchRequeue=1
DefMemPerCPU=100
UnkillableStepTimeout=1
UnkillableStepProgram=`+filepath.Join(c.work, "hook/unkillable")+"\n")
	c.sub("serial", serial)
	c.sub("prolog fails without a hold", withoutHold)
	c.sub("epilog takes too long", tooLong)
	c.sub("processes that cannot be killed", unkillable)
}

func serial(c *cluster) {
	first, second := c.block("s1.prolog_slurmd"), c.block("s2.prolog_slurmd")
	a := c.submit("-J", "s1", "-w", "node1", "--wrap", "true")
	c.await("first prolog", func() bool { return c.read("calls."+a) != "" && strings.Contains(c.read("calls."+a), "prolog_slurmd") })
	b := c.submit("-J", "s2", "-w", "node1", "--wrap", "true")
	c.awaitState(b, "CONFIGURING")
	c.await("the controller's prolog", func() bool { return c.read("calls."+b) != "" })
	assert.NotContains(c, c.read("calls."+b), "prolog_slurmd", "one prolog of a node at a time")
	first()
	second()
	c.awaitState(a, "COMPLETED")
	c.awaitState(b, "COMPLETED")
}

func withoutHold(c *cluster) {
	c.fail("again.prolog_slurmd")
	id := c.submit("-J", "again", "--wrap", "true")
	c.await("a requeue without a hold", func() bool { return c.squeue(id, "%T %r") == "PENDING BeginTime" })
	c.awaitField(id, "%T %r", "PENDING JobHoldMaxRequeue") // MaxBatchRequeue
	drained := 0
	for i := 1; i <= 3; i++ {
		if n := fmt.Sprint("node", i); c.nodeState(n) == "drained" {
			assert.Equal(c, "Prolog error", c.reason(n))
			c.ok("scontrol", "update", "nodename="+n, "state=resume")
			drained++
		}
	}
	assert.Equal(c, 2, drained)
	c.ok("scancel", id)
}

func tooLong(c *cluster) {
	release := c.block("hang.epilog_slurmd")
	id := c.submit("-J", "hang", "-w", "node2", "--wrap", "true")
	c.awaitNode("node2", "drained")
	assert.Equal(c, "Epilog error", c.reason("node2"))
	c.awaitState(id, "COMPLETED")
	assert.Contains(c, c.log("node2"), "took longer than 6s")
	_ = release // nobody is there any more
	c.ok("scontrol", "update", "nodename=node2", "state=resume")
}

func unkillable(c *cluster) {
	id := c.submit("-J", "stuck", "-w", "node3", "--wrap", "echo $$ >pid.stuck; exec sleep 1000")
	c.await("its process", func() bool { return number(c.read("pid.stuck")) != 0 })
	freezer, frozen, thawed := c.freezer(c.read("pid.stuck"))
	if strings.HasSuffix(freezer, "cgroup.freeze") {
		c.Skip("needs cgroup v1: SIGKILL ends what a cgroup v2 froze")
	}
	require.NoError(c, os.WriteFile(freezer, []byte(frozen), 0o644))
	c.Cleanup(func() { _ = os.WriteFile(freezer, []byte(thawed), 0o644) })
	c.ok("scancel", "-s", "KILL", id)
	c.ok("scancel", id)
	c.await("UnkillableStepProgram", func() bool { return strings.Contains(c.read("calls."+id), "unkillable") })
	c.await("the drain", func() bool { return c.reason("node3") == "Kill task failed" })
	assert.Equal(c, "COMPLETING", c.squeue(id, "%T"), "what it holds is not free")
	assert.NotContains(c, c.read("calls."+id), "epilog_slurmd")
	assert.Equal(c, "draining", c.nodeState("node3"))
	require.NoError(c, os.WriteFile(freezer, []byte(thawed), 0o644))
	c.awaitState(id, "CANCELLED")
	c.awaitNode("node3", "drained")
	assert.Contains(c, c.read("calls."+id), "epilog_slurmd")
}

// freezer finds the file that freezes the cgroup of a process, and its two values.
func (c *cluster) freezer(pid string) (file, frozen, thawed string) {
	c.Helper()
	text, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/cgroup")
	require.NoError(c, err)
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if parts[1] == "freezer" {
			return filepath.Join("/sys/fs/cgroup/freezer", parts[2], "freezer.state"), "FROZEN", "THAWED"
		}
		file = filepath.Join("/sys/fs/cgroup", parts[2], "cgroup.freeze")
	}
	return file, "1", "0"
}
