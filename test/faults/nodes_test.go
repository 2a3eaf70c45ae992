package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startNode starts a node's daemon by hand, in devcluster's place.
func (c *cluster) startNode(name string, args ...string) {
	c.t.Helper()
	words := append([]string{"noded", "-D", "-N", name, "-f", filepath.Join(c.dir, "etc", "slurm.conf")}, args...)
	cmd := c.command(context.Background(), words...)
	log, err := os.OpenFile(filepath.Join(c.dir, "log", name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(c.t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setsid: true}
	require.NoError(c.t, cmd.Start())
	pid := fmt.Sprintf("%d\n", cmd.Process.Pid)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, "run", name+".pid"), []byte(pid), 0o644))
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }() // ended by devcluster
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill() // only where devcluster has not
		<-done
	})
}

// killProcesses kills all processes of a job.
func (c *cluster) killProcesses(id string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		env := "\x00" + string(text)
		if strings.Contains(env, "\x00SLURM_JOB_ID="+id+"\x00") && strings.Contains(env, "\x00SLURM_CONF="+c.dir) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
			}
		}
	}
}

// reason is why a node is not in service.
func (c *cluster) reason(name string) string {
	return strings.TrimSpace(c.run("sinfo", "-h", "-R", "-n", name, "-o", "%50E").out)
}

// attempts are the states of a job's runs in the accounting.
func (c *cluster) attempts(id string) string {
	return strings.ReplaceAll(c.ok("sacct", "-X", "-n", "-P", "-D", "-j", id, "-o", "State,ExitCode"), "\n", " ")
}

// TestNodes takes nodes away and brings them back changed.
func TestNodes(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := prepare(t, 0)
	c.up("--nodes", "2", "--cpus", "4", "--mem", "900000000", "--conf",
		c.conf("SlurmdTimeout=6", "ReturnToService=0", "SlurmdParameters=shutdown_on_reboot"))

	t.Log("a node that does not answer is DOWN, and stays so with ReturnToService=0")
	lost := c.submit("-w", "node1", "--no-requeue", "--wrap", "sleep 1000")
	c.awaitState(lost, "RUNNING")
	c.daemon("kill", "node1")
	c.awaitNode("node1", "down*")
	c.awaitState(lost, "NODE_FAIL")
	c.daemon("start", "node1")
	c.awaitNode("node1", "down")
	assert.Equal(t, "Not responding", c.reason("node1"))
	c.await("the end of the lost job's shepherd", func() bool { return c.shepherd(lost) == 0 })
	c.ok("scontrol", "update", "nodename=node1", "state=resume")
	c.awaitNode("node1", "idle")

	t.Log("a node that has rebooted is DOWN, its jobs are run again")
	again := c.submit("--requeue", "-w", "node1", "--wrap", `echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>starts; [ "$SLURM_RESTART_COUNT" = 1 ] || sleep 1000`)
	c.awaitState(again, "RUNNING")
	c.await("the script's start", func() bool { return len(c.starts()[again]) == 1 })
	shepherd := c.shepherd(again)
	c.daemon("kill", "node1")
	require.NoError(t, syscall.Kill(shepherd, syscall.SIGKILL)) // as the end of the machine does
	c.killProcesses(again)
	c.startNode("node1", "--declared", "--boot-id", "another")
	c.awaitNode("node1", "down")
	assert.Equal(t, "Node unexpectedly rebooted", c.reason("node1"))
	c.ok("scontrol", "update", "nodename=node1", "state=resume")
	c.awaitState(again, "COMPLETED")
	assert.Equal(t, []string{"0", "1"}, c.starts()[again])
	assert.Equal(t, "NODE_FAIL|0:0 COMPLETED|0:0", c.attempts(again))

	t.Log("a node that has less than configured is drained")
	c.daemon("kill", "node2")
	c.startNode("node2")
	c.awaitNode("node2", "inval") // Slurm's word for it
	assert.Contains(t, c.ok("scontrol", "show", "node", "node2"), "Low RealMemory (reported:")
	assert.Contains(t, c.ok("scontrol", "show", "node", "node2"), "DRAIN")
	held := c.submit("-w", "node2", "--wrap", "true")
	assert.Equal(t, "PENDING", c.state(held))
	c.daemon("kill", "node2")
	c.daemon("start", "node2")
	c.awaitState(held, "COMPLETED")
	c.awaitNode("node2", "idle")

	c.failingLaunches()
	c.awaitNode("node1", "idle")
	c.awaitNode("node2", "idle")
	assert.Empty(t, c.cgroups())
}

// failingLaunches makes a node unable to start jobs: they go elsewhere, and
// after several of them the node is drained.
func (c *cluster) failingLaunches() {
	t := c.t
	t.Helper()
	t.Log("failing launches")
	c.ok("scontrol", "update", "nodename=node2", "weight=9")
	runs := filepath.Join(c.dir, "spool", "node1", "runs")
	require.NoError(t, os.Rename(runs, runs+".away"))
	require.NoError(t, os.WriteFile(runs, nil, 0o600))
	var ids []string
	for range 3 {
		id := c.submit("--wrap", `echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>starts`)
		ids = append(ids, id)
		c.await("a failed launch of job "+id, func() bool { return strings.Count(c.log("ctld"), "launch failed") >= len(ids) })
	}
	c.awaitNode("node1", "drained")
	assert.Contains(t, c.reason("node1"), "Launch failures: ")
	for _, id := range ids {
		c.awaitState(id, "COMPLETED")
		assert.Equal(t, []string{"0"}, c.starts()[id], "starts of job %s", id)
		assert.Contains(t, c.ok("scontrol", "show", "job", id), "NodeList=node2")
	}
	assert.Equal(t, 3, strings.Count(c.log("ctld"), "launch failed"), "launches that failed")
	require.NoError(t, os.Remove(runs))
	require.NoError(t, os.Rename(runs+".away", runs))
	c.ok("scontrol", "update", "nodename=node1", "state=resume")
	c.ok("sbatch", "--wait", "-o", "/dev/null", "--mem=10", "-w", "node1", "--wrap", "true")
}

// mount puts a small file system on a folder of the cluster that is to be.
func (c *cluster) mount(name string, size string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(c.t, os.MkdirAll(path, 0o755))
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=755,size="+size, "tmpfs", path).CombinedOutput()
	if err != nil {
		c.t.Skipf("needs to mount: %s", out)
	}
	c.keep = true
	c.t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	return path
}

// fill leaves no byte of room in a folder; the returned function makes room.
func (c *cluster) fill(path string) (empty func()) {
	c.t.Helper()
	name := filepath.Join(path, "filler")
	f, err := os.Create(name)
	require.NoError(c.t, err)
	defer f.Close()
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			require.ErrorIs(c.t, err, syscall.ENOSPC)
			block = block[:len(block)/2]
		}
	}
	return func() { require.NoError(c.t, os.Remove(name)) }
}
