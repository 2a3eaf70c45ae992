package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReconfigure: what `scontrol reconfigure` puts in force, and what it refuses.
func TestReconfigure(t *testing.T) {
	c := prepare(t)
	c.up("--nodes 2 --cpus 4 --mem 1000", "PartitionName=debug Nodes=ALL Default=YES\nPartitionName=extra Nodes=node2\nFirstJobId=1\n")
	c.sub("a mistake changes nothing", mistakes)
	c.sub("nodes and partitions in use stay", inUse)
	c.sub("changes by hand go", changedByHand)
	c.sub("programs of the controller", renewedPrograms)
	c.sub("job ids run out", idsRunOut)
	c.sub("future nodes", futureNodes)
}

// edited runs f with a changed slurm.conf and puts the old one back in force.
func (c *cluster) edited(f func(), edit func(string) string) {
	c.Helper()
	path := filepath.Join(c.dir, "etc", "slurm.conf")
	old, err := os.ReadFile(path)
	require.NoError(c, err)
	require.NoError(c, os.WriteFile(path, []byte(edit(string(old))), 0o644))
	f()
	require.NoError(c, os.WriteFile(path, old, 0o644))
	c.ok("scontrol", "reconfigure")
}

func added(lines string) func(string) string {
	return func(old string) string { return old + lines + "\n" }
}

func without(start string) func(string) string {
	return func(old string) string {
		var kept []string
		for line := range strings.Lines(old) {
			if !strings.HasPrefix(line, start) {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
}

func mistakes(c *cluster) {
	for lines, want := range map[string]string{
		"KillWait=7\nMaxJobCout=5":               "MaxJobCount",
		"KillWait=7\nNodeName=node1 CPUs=4":      "defined twice",
		"KillWait=7\nPartitionName=p Nodes=nope": "nope",
	} {
		c.edited(func() {
			r := c.run("scontrol", "reconfigure")
			assert.Equal(c, 1, r.code)
			assert.Contains(c, r.err, "slurm.conf:")
			assert.Contains(c, r.err, want)
		}, added(lines))
		assert.Contains(c, c.ok("scontrol", "show", "config"), "KillWait                = 30 sec")
	}
}

func inUse(c *cluster) {
	job := c.submit("-p", "extra", "--wrap", "sleep 1000")
	c.awaitState(job, "RUNNING")
	c.edited(func() {
		r := c.run("scontrol", "reconfigure")
		assert.Equal(c, "slurm_reconfigure error: partition extra is in use by jobs "+job+"\n", r.err)
	}, without("PartitionName=extra"))
	c.edited(func() {
		r := c.run("scontrol", "reconfigure")
		assert.Equal(c, "slurm_reconfigure error: node node2 is in use by jobs "+job+"\n", r.err)
	}, func(old string) string {
		return strings.Replace(without("NodeName=node2")(old), "Nodes=node2", "Nodes=node1", 1)
	})
	c.ok("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=kept")
	c.edited(func() {
		assert.Equal(c, "StateSaveLocation takes effect when the daemons are restarted\n", c.run("scontrol", "reconfigure").err)
		assert.Equal(c, "RUNNING", c.squeue(job, "%T"))
		assert.Contains(c, c.ok("sinfo", "-h", "-R"), "kept")
		assert.Contains(c, c.ok("sinfo", "-h", "-o", "%R"), "third")
	}, func(old string) string {
		return strings.Replace(old, "StateSaveLocation=", "StateSaveLocation=/nowhere", 1) + "PartitionName=third Nodes=ALL\n"
	})
	c.ok("scontrol", "update", "NodeName=node1", "State=RESUME")
	c.ok("scancel", job)
	c.awaitState(job, "CANCELLED")
}

func changedByHand(c *cluster) {
	c.ok("scontrol", "update", "PartitionName=extra", "State=DOWN")
	assert.Equal(c, "down", c.ok("sinfo", "-h", "-p", "extra", "-o", "%a"))
	c.ok("scontrol", "reconfigure")
	assert.Equal(c, "up", c.ok("sinfo", "-h", "-p", "extra", "-o", "%a"))
	c.edited(func() {
		c.ok("scontrol", "reconfigure")
		c.ok("scontrol", "update", "PartitionName=extra", "State=DOWN")
		c.ok("scontrol", "reconfigure")
		assert.Equal(c, "down", c.ok("sinfo", "-h", "-p", "extra", "-o", "%a"))
	}, added("ReconfigFlags=KeepPartState"))
	assert.Equal(c, "up", c.ok("sinfo", "-h", "-p", "extra", "-o", "%a"))
}

// renewedPrograms: mail, and the hooks that the controller runs.
func renewedPrograms(c *cluster) {
	write := func(name, text string) string {
		path := filepath.Join(filepath.Dir(c.dir), name)
		require.NoError(c, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
		return path
	}
	mail := write("mail", `echo "$1 $2 to $3; $SLURM_JOB_MAIL_TYPE; $(id -un)" >> `+c.work+"/mails\n")
	hook := write("ctldprolog", "echo $SLURM_JOB_ID > "+c.work+"/prologged\n")
	c.edited(func() {
		c.ok("scontrol", "reconfigure")
		job := c.submit("-J", "told", "--mail-type=BEGIN,FAIL", "--mail-user=me@example.org", "--wrap", "exit 3")
		c.awaitState(job, "FAILED")
		mails := func() string { b, _ := os.ReadFile(filepath.Join(c.work, "mails")); return string(b) }
		c.await("two mails", func() bool { return strings.Count(mails(), "\n") == 2 })
		assert.Regexp(c, `^-s Slurm Job_id=`+job+` Name=told Began, Queued time \d\d:\d\d:\d\d to me@example.org; Began; root\n`+
			`-s Slurm Job_id=`+job+` Name=told Failed, Run time \d\d:\d\d:\d\d, FAILED, ExitCode 3 to me@example.org; Failed; root\n$`, mails())
		b, err := os.ReadFile(filepath.Join(c.work, "prologged"))
		require.NoError(c, err)
		assert.Equal(c, job+"\n", string(b))
	}, added("MailProg="+mail+"\nPrologSlurmctld="+hook))
}

func idsRunOut(c *cluster) {
	c.edited(func() {
		c.ok("scontrol", "reconfigure")
		array := c.submit("-H", "-a", "1-3", "--wrap", "true")
		assert.Equal(c, "90001", array)
		assert.Equal(c, "90002", c.submit("-H", "--wrap", "true"))
		ctx := c.command(c.Context(), "timeout", "3", "sbatch", "--wrap", "true")
		r := finish(ctx)
		assert.Equal(c, 124, r.code)
		assert.Contains(c, r.err, "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying")
		c.ok("scontrol", "release", array)
		c.awaitAcct(array+"_3", "COMPLETED")
		c.ok("scancel", "90002")
	}, func(old string) string {
		return strings.Replace(old, "FirstJobId=1\n", "FirstJobId=90001\nMaxJobId=90003\n", 1)
	})
}

func futureNodes(c *cluster) {
	c.ok("scontrol", "update", "NodeName=node1", "State=FUTURE")
	assert.Equal(c, "node2", c.ok("sinfo", "-h", "-N", "-p", "debug", "-o", "%N"))
	assert.Equal(c, "node1 future\nnode2 idle", c.ok("sinfo", "-F", "-h", "-N", "-p", "debug", "-o", "%N %T"))
	r := c.run("scontrol", "show", "node", "node1")
	assert.Equal(c, result{out: "Node node1 not found\n", code: 1}, r)
	assert.Contains(c, c.ok("scontrol", "-F", "show", "node", "node1"), "State=FUTURE")
	c.ok("scontrol", "update", "NodeName=node1", "State=RESUME")
	c.awaitState(c.submit("-w", "node1", "--wrap", "true"), "COMPLETED")
}
