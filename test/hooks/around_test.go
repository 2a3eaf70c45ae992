package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hook is the program behind every hook here: it notes its call and its
// environment, waits for a fifo and fails, both if files named after the job
// and the context say so.
const hook = `#!/bin/sh
W=${0%/hook/*}
what=$SLURM_JOB_NAME.$SLURM_SCRIPT_CONTEXT
echo "${0##*/} $SLURM_SCRIPT_CONTEXT ${SLURMD_NODENAME:-ctld}" >>$W/calls.$SLURM_JOB_ID
env >$W/env.$SLURM_JOB_ID.$SLURM_SCRIPT_CONTEXT.${SLURMD_NODENAME:-ctld}
[ -p $W/wait.$what ] && read line <$W/wait.$what
[ -e $W/fail.$what ] && { echo "this one fails"; exit 3; }
exit 0
`

// hooks installs the programs and returns the lines of slurm.conf for them.
func (c *cluster) hooks() string {
	c.Helper()
	for _, name := range []string{"prolog.d/10-first", "prolog.d/20-second", "last", "epilog", "ctld-prolog", "ctld-epilog", "unkillable"} {
		c.write("hook/"+name, hook, 0o755)
	}
	return strings.ReplaceAll(`Prolog=H/prolog.d/*
Prolog=H/last
Epilog=H/epilog
PrologSlurmctld=H/ctld-prolog
EpilogSlurmctld=H/ctld-epilog
`, "H", filepath.Join(c.work, "hook"))
}

// block makes the job's hook wait; the returned function waits until the hook
// is there and lets it go on.
func (c *cluster) block(what string) (release func()) {
	c.Helper()
	path := filepath.Join(c.work, "wait."+what)
	require.NoError(c, syscall.Mkfifo(path, 0o600))
	return func() {
		c.Helper()
		var f *os.File
		c.await(what+" is called", func() (there bool) {
			var err error
			f, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails while nobody reads
			return err == nil
		})
		// Another reader (the hook of a killed controller is one) may be between
		// finding the fifo and opening it: it must find a writer and a line, too.
		c.Cleanup(func() { _ = f.Close() })
		_, err := f.WriteString(strings.Repeat("go on\n", 8))
		require.NoError(c, err)
		require.NoError(c, os.Remove(path))
	}
}

func (c *cluster) fail(what string) { c.Helper(); c.write("fail."+what, "", 0o600) }
func (c *cluster) mend(what string) { _ = os.Remove(filepath.Join(c.work, "fail."+what)) }
func (c *cluster) calls(id string) []string {
	return strings.Split(strings.TrimSpace(c.read("calls."+id)), "\n")
}

// env is the environment that a hook was called with.
func (c *cluster) env(id, context, where string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(c.read("env." + id + "." + context + "." + where)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			out[name] = value
		}
	}
	return out
}

// holds asserts that a map has these entries.
func holds(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		assert.Equal(t, value, got[name], name)
	}
}

func TestHooks(t *testing.T) {
	c := prepare(t)
	conf := c.hooks()
	conf += "TaskProlog=" + c.write("hook/task-prolog", taskProlog, 0o755) + "\n"
	conf += "TaskEpilog=" + c.write("hook/task-epilog", taskEpilog, 0o755) + "\n"
	c.up("--nodes 3 --cpus 4 --mem 2000 --gpus 2", conf+"PrologFlags=Contain\nDefMemPerCPU=100\n")
	c.sub("prolog and epilog of every node", onEveryNode)
	c.sub("the exit status reaches the epilogs", exitStatus)
	c.sub("configuring and completing", configuring)
	c.sub("controller's hooks hold the job up", controllerHooks)
	c.sub("controller's prolog fails", controllerPrologFails)
	c.sub("task prolog and epilog", taskHooks)
	c.sub("prolog fails", prologFails)
	c.sub("epilog fails", epilogFails)
	c.sub("controller killed under hooks", killedUnderHooks)
}

func onEveryNode(c *cluster) {
	id := c.submit("-J", "every", "-N2", "-w", "node[1-2]", "--gres=gpu:1", "--comment=a b", "--wrap", "srun true")
	c.awaitState(id, "COMPLETED")
	var node1, node2, ctld []string
	for _, call := range c.calls(id) {
		switch {
		case strings.HasSuffix(call, " node1"):
			node1 = append(node1, strings.TrimSuffix(call, " node1"))
		case strings.HasSuffix(call, " node2"):
			node2 = append(node2, strings.TrimSuffix(call, " node2"))
		default:
			ctld = append(ctld, call)
		}
	}
	want := []string{"10-first prolog_slurmd", "20-second prolog_slurmd", "last prolog_slurmd", "epilog epilog_slurmd"}
	assert.Equal(c, want, node1)
	assert.Equal(c, want, node2)
	assert.Equal(c, []string{"ctld-prolog prolog_slurmctld ctld", "ctld-epilog epilog_slurmctld ctld"}, ctld)
	assert.Equal(c, ctld[0], c.calls(id)[0], "the controller's prolog is the first of all")

	for _, where := range []string{"prolog_slurmd node1", "prolog_slurmd node2", "epilog_slurmd node1", "epilog_slurmd node2",
		"prolog_slurmctld ctld", "epilog_slurmctld ctld"} {
		context, node, _ := strings.Cut(where, " ")
		env := c.env(id, context, node)
		holds(c.T, env, map[string]string{
			"SLURM_CLUSTER_NAME": "dev", "SLURM_JOB_ID": id, "SLURM_JOBID": id, "SLURM_JOB_NAME": "every", "SLURM_JOB_UID": "0",
			"SLURM_JOB_GID": "0", "SLURM_JOB_USER": "root", "SLURM_JOB_PARTITION": "debug", "SLURM_JOB_NODELIST": "node[1-2]",
			"SLURM_JOB_WORK_DIR": c.work, "SLURM_JOB_COMMENT": "a b", "SLURM_JOB_RESTART_COUNT": "0", "SLURM_JOB_GPUS": "0",
			"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_STDOUT": "/dev/null", "SLURM_SCRIPT_CONTEXT": context,
		})
		assert.NotContains(c, env, "HOME", "nothing of the user's environment is in it")
		if node != "ctld" {
			holds(c.T, env, map[string]string{"SLURMD_NODENAME": node, "SLURM_CONF": filepath.Join(c.dir, "etc", "slurm.conf"),
				"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_OVERSUBSCRIBE": "NO", "SLURM_JOB_CPUS_PER_NODE": "1(x2)"})
		}
	}
	assert.Equal(c, id+"|COMPLETED\n"+id+".batch|COMPLETED\n"+id+".extern|COMPLETED\n"+id+".0|COMPLETED",
		c.sacct(id, "jobid,state"), "PrologFlags=Contain makes the extern step")
}

func exitStatus(c *cluster) {
	id := c.submit("-J", "status", "-N2", "--wrap", "srun -n1 -N1 sh -c 'exit 5'; exit 7")
	c.awaitState(id, "FAILED")
	want := map[string]string{"SLURM_JOB_EXIT_CODE": "1792", "SLURM_JOB_EXIT_CODE2": "7:0"}
	nodes := strings.Fields(c.ok("scontrol", "show", "hostnames", c.squeue(id, "%N")))
	require.Len(c, nodes, 2)
	for _, n := range nodes {
		holds(c.T, c.env(id, "epilog_slurmd", n), want)
	}
	want["SLURM_JOB_DERIVED_EC"] = "1280"
	holds(c.T, c.env(id, "epilog_slurmctld", "ctld"), want)
}

func configuring(c *cluster) {
	prolog, epilog := c.block("slow.prolog_slurmd"), c.block("slow.epilog_slurmd")
	id := c.submit("-J", "slow", "-w", "node1", "--exclusive", "--wrap", "true")
	c.awaitField(id, "%t %T", "CF CONFIGURING")
	assert.Equal(c, "CONFIGURING", c.show(id, "JobState"))
	assert.Equal(c, "allocated", c.nodeState("node1"))
	next := c.submit("-J", "next", "-w", "node1", "--exclusive", "--wrap", "true")
	prolog()
	c.awaitField(id, "%t %T", "CG COMPLETING")
	assert.Equal(c, "completing", c.nodeState("node1"))
	c.awaitField(next, "%T %r", "PENDING Resources")
	assert.Empty(c, c.read("calls."+next))
	epilog()
	c.awaitState(id, "COMPLETED")
	c.awaitState(next, "COMPLETED")
}

func controllerHooks(c *cluster) {
	prolog, epilog := c.block("ctl.prolog_slurmctld"), c.block("ctl.epilog_slurmctld")
	id := c.submit("-J", "ctl", "-w", "node1", "--wrap", "true")
	c.awaitField(id, "%T", "CONFIGURING")
	assert.NotContains(c, c.read("calls."+id), "prolog_slurmd", "nothing is launched before it has ended")
	prolog()
	c.awaitState(id, "COMPLETING")
	c.await("epilog of the node", func() bool { return strings.Contains(c.read("calls."+id), "epilog_slurmctld") })
	assert.Contains(c, c.read("calls."+id), "epilog_slurmd")
	epilog()
	c.awaitState(id, "COMPLETED")
}

func controllerPrologFails(c *cluster) {
	c.fail("bad.prolog_slurmctld")
	id := c.submit("-J", "bad", "--wrap", "true")
	c.awaitField(id, "%T %r", "PENDING launch failed requeued held")
	assert.NotContains(c, c.read("calls."+id), "prolog_slurmd")
	assert.Contains(c, c.log("ctld"), "this one fails")
	c.mend("bad.prolog_slurmctld")
	c.ok("scontrol", "release", id)
	c.awaitState(id, "COMPLETED")
}

const (
	taskProlog = `#!/bin/sh
echo "export FROM_PROLOG=a value = $SLURM_PROCID"
echo "unset GIVEN"
echo "print the prolog of task $SLURM_PROCID in $SLURM_SCRIPT_CONTEXT"
echo "something else"
`
	taskEpilog = `#!/bin/sh
echo "$SLURM_SCRIPT_CONTEXT $SLURM_STEP_ID $SLURM_PROCID $(id -un) $FROM_PROLOG" >>` + "`echo $TASKS`" + `
`
)

func taskHooks(c *cluster) {
	tasks := c.write("tasks", "", 0o666)
	d := c.as("daemon")
	id := d.submit("-J", "task", "-N1", "-n2", "-o", filepath.Join(c.work, "task.out"), "--export=ALL,GIVEN=1,TASKS="+tasks,
		"--wrap", `echo "batch ${GIVEN-none} $FROM_PROLOG"; srun -l sh -c 'echo "task ${GIVEN-none} $FROM_PROLOG"'`)
	c.awaitState(id, "COMPLETED")
	lines := strings.Split(strings.TrimSpace(c.read("task.out")), "\n")
	require.Len(c, lines, 6, "%q", lines)
	assert.Equal(c, []string{"the prolog of task 0 in prolog_task", "batch none a value = 0"}, lines[:2])
	for _, want := range []string{"0: the prolog of task 0 in prolog_task", "1: the prolog of task 1 in prolog_task",
		"0: task none a value = 0", "1: task none a value = 1"} {
		assert.Contains(c, lines[2:], want)
	}
	ran := c.read("tasks")
	assert.Contains(c, ran, "epilog_task 0 0 daemon")
	assert.Contains(c, ran, "epilog_task 0 1 daemon")
	assert.Equal(c, 3, strings.Count(ran, "\n"), "two tasks and the script: %s", ran)
}

func prologFails(c *cluster) {
	c.fail("failing.prolog_slurmd")
	id := c.submit("-J", "failing", "-w", "node3", "--wrap", `echo "${SLURM_RESTART_COUNT-none}" >restarts.failing`)
	c.awaitField(id, "%T %r", "PENDING launch failed requeued held")
	c.awaitNode("node3", "drained")
	assert.Equal(c, "Prolog error", c.reason("node3"))
	assert.Equal(c, "NODE_FAIL\nPENDING", c.sacct(id, "state", "-D", "-X"))
	assert.Equal(c, []string{"ctld-prolog prolog_slurmctld ctld", "10-first prolog_slurmd node3", "epilog epilog_slurmd node3",
		"ctld-epilog epilog_slurmctld ctld"}, c.calls(id), "the first failure ends the prolog")
	c.mend("failing.prolog_slurmd")
	c.ok("scontrol", "release", id)
	c.ok("scontrol", "update", "nodename=node3", "state=resume")
	c.awaitState(id, "COMPLETED")
	assert.Equal(c, "none\n", c.read("restarts.failing"), "the script never ran before")
}

func epilogFails(c *cluster) {
	c.fail("unclean.epilog_slurmd")
	id := c.submit("-J", "unclean", "-w", "node3", "--wrap", "true")
	c.awaitState(id, "COMPLETED")
	c.awaitNode("node3", "drained")
	assert.Equal(c, "Epilog error", c.reason("node3"))
	c.ok("scontrol", "update", "nodename=node3", "state=resume")
	c.awaitNode("node3", "idle")
}

// killedUnderHooks: a controller that comes back runs its own hooks again, and
// goes on with those of the nodes.
func killedUnderHooks(c *cluster) {
	names := []string{"k1.prolog_slurmctld", "k2.prolog_slurmd", "k3.epilog_slurmd", "k4.epilog_slurmctld"}
	ids, release := make([]string, len(names)), make([]func(), len(names))
	for i, name := range names {
		job, context, _ := strings.Cut(name, ".")
		release[i] = c.block(name)
		ids[i] = c.submit("-J", job, "-w", "node2", "--wrap", "echo ran >>ran."+job)
		c.await(name+" is called", func() bool { return strings.Contains(c.read("calls."+ids[i]), context) })
	}
	c.devcluster("kill", "ctld")
	c.devcluster("start", "ctld")
	for i, want := range []string{"CONFIGURING", "CONFIGURING", "COMPLETING", "COMPLETING"} {
		c.awaitState(ids[i], want)
		if job, context, _ := strings.Cut(names[i], "."); strings.HasSuffix(context, "ctld") {
			c.await(job+" is called again", func() bool { return strings.Count(c.read("calls."+ids[i]), context) == 2 })
		}
		release[i]()
	}
	for i, name := range names {
		job, context, _ := strings.Cut(name, ".")
		c.awaitState(ids[i], "COMPLETED")
		assert.Equal(c, "ran\n", c.read("ran."+job), "once")
		if context == "prolog_slurmd" {
			assert.Equal(c, 3, strings.Count(c.read("calls."+ids[i]), context), "the nodes' hooks are not run again")
		}
	}
}
