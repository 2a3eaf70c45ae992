package control

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command"
	"muster/internal/command/commandtest"
	"muster/internal/wire"
)

const invalidJob = "Invalid job id specified"

// ctld knows job 5 and nothing else, and remembers what it was told.
type ctld struct {
	wire.DRPCCtldUnimplementedServer
	update *wire.UpdateRequest
	action *wire.JobActionRequest
	admin  *wire.AdminRequest
}

func (c *ctld) Ping(context.Context, *wire.PingRequest) (*wire.PingReply, error) {
	return &wire.PingReply{Host: "127.0.0.1"}, nil
}

func (c *ctld) Jobs(r *wire.JobsRequest, stream wire.DRPCCtld_JobsStream) error {
	switch {
	case len(r.Select.Jobs) == 0:
		return stream.Send(&wire.JobsPage{Now: submitted})
	case r.Select.Jobs[0].JobId != 5:
		return stream.Send(&wire.JobsPage{Refusal: &wire.Refusal{Code: 2017, Message: invalidJob}})
	case r.Select.Jobs[0].Tasks != "":
		return stream.Send(&wire.JobsPage{Now: submitted})
	}
	return stream.Send(&wire.JobsPage{Now: submitted, Jobs: []*wire.JobInfo{job(5, "five", func(*wire.JobSpec, *wire.JobState, *wire.Derived) {})}})
}

func (c *ctld) Nodes(_ *wire.NodesRequest, stream wire.DRPCCtld_NodesStream) error {
	return stream.Send(&wire.NodesPage{Nodes: []*wire.NodeInfo{{State: &wire.NodeState{Name: "n1", Base: wire.NodeBase_NODE_IDLE}}}})
}

func (c *ctld) Partitions(context.Context, *wire.PartitionsRequest) (*wire.PartitionsReply, error) {
	return &wire.PartitionsReply{Partitions: []*wire.PartitionInfo{{Name: "debug", State: "UP"}}}, nil
}

func (c *ctld) JobAction(_ context.Context, r *wire.JobActionRequest) (*wire.JobOutcomes, error) {
	c.action = r
	reply := &wire.JobOutcomes{}
	for _, ref := range r.Jobs {
		o := &wire.JobOutcome{Id: "99"}
		if ref.JobId == 99 {
			o.Refusal = &wire.Refusal{Code: 2017, Message: invalidJob}
		}
		reply.Jobs = append(reply.Jobs, o)
	}
	return reply, nil
}

func (c *ctld) Update(_ context.Context, r *wire.UpdateRequest) (*wire.UpdateReply, error) {
	c.update = r
	switch {
	case r.Entity == "job" && r.Target != "5":
		return &wire.UpdateReply{Refusal: &wire.Refusal{Code: 2017, Message: invalidJob}}, nil
	case r.Entity == "node":
		return &wire.UpdateReply{Refusal: &wire.Refusal{Code: 2009, Message: "Invalid node name specified"}}, nil
	}
	return &wire.UpdateReply{}, nil
}

func (c *ctld) Admin(_ context.Context, r *wire.AdminRequest) (*wire.AdminReply, error) {
	c.admin = r
	return &wire.AdminReply{Refusal: &wire.Refusal{Code: 1, Message: "Invalid user id"}}, nil
}

func (c *ctld) Content(_ context.Context, r *wire.ContentRequest) (*wire.ContentReply, error) {
	if r.Job.JobId != 5 {
		return &wire.ContentReply{Refusal: &wire.Refusal{Code: 2017, Message: invalidJob}}, nil
	}
	return &wire.ContentReply{Content: []byte("#!/bin/sh\n\xff\n")}, nil
}

func (c *ctld) Snapshot(_ *wire.AdminRequest, stream wire.DRPCCtld_SnapshotStream) error {
	for _, part := range []string{"one ", "two"} {
		if err := stream.Send(&wire.SnapshotPage{Data: []byte(part)}); err != nil {
			return err
		}
	}
	return nil
}

func scontrol(p *command.Program) int { return Run(context.Background(), p) }

// Each line is what scontrol printed for such a command on a real cluster.
func TestCommands(t *testing.T) {
	fake := &ctld{}
	commandtest.Controller(t, "", fake)
	for _, c := range []struct {
		words     []string
		out, errs string
		code      int
	}{
		{[]string{"show", "job", "99"}, "", "slurm_load_jobs error: Invalid job id specified\n", 1},
		{[]string{"show", "job", "abc"}, "", "scontrol_print_job error: Invalid job id specified\n", 1},
		{[]string{"show", "job", "5_1"}, "Job 5_1 not found\n", "", 1},
		{[]string{"show", "jobs"}, "No jobs in the system\n", "", 0},
		{[]string{"show", "node", "nosuch"}, "Node nosuch not found\n", "", 1},
		{[]string{"show", "partition", "nosuch"}, "Partition nosuch not found\n", "", 1},
		{[]string{"show", "step", "99"}, "", "slurm_get_job_steps error: Invalid job id specified\n", 1},
		{[]string{"show", "step", "5.9"}, "Job step 5.9 not found\n", "", 1},
		{[]string{"show", "nosuch"}, "", "invalid entity:nosuch for keyword:show \n", 1},
		{[]string{"show"}, "", "too few arguments for keyword:show\n", 1},
		{[]string{"show", "job", "1", "2"}, "", "too many arguments for keyword:show\n", 1},
		{[]string{"nosuch"}, "", "invalid keyword: nosuch\n", 1},
		{[]string{"ping"}, "Slurmctld(primary) at 127.0.0.1 is UP\n", "", 0},
		{[]string{"ping", "extra"}, "", "too many arguments for keyword:ping\n", 1},
		{[]string{"hold", "5"}, "", "", 0},
		{[]string{"hold", "99"}, "", "Invalid job id specified for job 99\nslurm_suspend error: Invalid job id specified\n", 1},
		{[]string{"release", "99"}, "", "Invalid job id specified for job 99\nslurm_suspend error: Invalid job id specified\n", 1},
		{[]string{"requeue", "99"}, "", "Invalid job id specified for job 99\n", 1},
		{[]string{"hold", "abc"}, "", "Invalid job id specified for job abc\nslurm_suspend error: Invalid job id specified\n", 1},
		{[]string{"hold"}, "", "too few arguments for keyword:hold\n", 1},
		{[]string{"update", "jobid=99", "priority=1"}, "", "Invalid job id specified for job 99\n", 1},
		{[]string{"update", "jobid=5", "foo=1"}, "", "Update of this parameter is not supported: foo=1\nRequest aborted\n", 1},
		{[]string{"update", "nodename=x", "state=idle"}, "", "slurm_update error: Invalid node name specified\n", 1},
		{[]string{"update", "jobid=5", "timelimit=5"}, "", "", 0},
		{[]string{"update"}, "", "too few arguments for update keyword\n", 1},
		{[]string{"reconfigure"}, "", "slurm_reconfigure error: Invalid user id\n", 1},
		{[]string{"shutdown", "nosuch"}, "", "invalid shutdown argument:nosuch\n", 1},
		{[]string{"shutdown"}, "", "slurm_shutdown error: Invalid user id\n", 1},
		{[]string{"create", "reservation=x"}, "", "scontrol: error: not supported yet: create reservation\n", 1},
		{[]string{"delete", "node=x"}, "", "scontrol: error: not supported yet: delete node\n", 1},
		{[]string{"show", "licenses"}, "No licenses configured in Slurm.\n", "", 0},
		{[]string{"show", "assoc_mgr"}, "", "scontrol: error: not supported yet: show assoc_mgr\n", 1},
		{[]string{"errnumstr", "2001"}, "No partition specified or system default partition\n", "", 0},
		{[]string{"errnumstr", "13"}, "Permission denied\n", "", 0},
		{[]string{"write", "batch_script", "99"}, "", "job script retrieval failed: Invalid job id specified\n", 0},
		{[]string{"write", "batch_script", "5", "-"}, "#!/bin/sh\n\xff\n", "", 0},
		{[]string{"write", "foo"}, "", "invalid write argument:foo\n", 1},
		{[]string{"-Q", "show", "job", "99"}, "", "", 1},
		{[]string{"show", "hostnames", "a[1-2]b[3-4]"}, "a1b3\na1b4\na2b3\na2b4\n", "", 0},
		{[]string{"show", "hostlist", "n1,n2,n3,n05,x"}, "n[1-3,05],x\n", "", 0},
		{[]string{"show", "hostlistsorted", "n3,n1"}, "n[1,3]\n", "", 0},
		{[]string{"show", "hostnames"}, "", "scontrol: error: host list is empty\n", 0},
	} {
		out, errs, code := commandtest.Run(t, scontrol, "scontrol", "", c.words...)
		assert.Equal(t, c.out, out, "%v", c.words)
		assert.Equal(t, c.errs, errs, "%v", c.words)
		assert.Equal(t, c.code, code, "%v", c.words)
	}
}

func TestWhatIsSent(t *testing.T) {
	fake := &ctld{}
	commandtest.Controller(t, "", fake)
	run := func(words ...string) {
		_, errs, code := commandtest.Run(t, scontrol, "scontrol", "", words...)
		require.Zero(t, code, "%v: %s", words, errs)
	}
	run("release", "5,6_[1-3]", "7")
	assert.Equal(t, wire.JobVerb_VERB_RELEASE, fake.action.Verb)
	assert.Len(t, fake.action.Jobs, 3)
	assert.Equal(t, "1-3", fake.action.Jobs[1].Tasks)
	assert.Len(t, fake.action.RequestId, 16)
	run("hold", "jobname=a,b")
	assert.Equal(t, []string{"a", "b"}, fake.action.Names)
	run("update", "jobid=5", "Nice=-5")
	assert.Equal(t, "Nice", fake.update.Fields[0].Key)
	assert.Equal(t, "-5", fake.update.Fields[0].Value)
}

func TestFiles(t *testing.T) {
	commandtest.Controller(t, "", &ctld{})
	dir := t.TempDir()
	file := filepath.Join(dir, "snap")
	out, errs, code := commandtest.Run(t, scontrol, "scontrol", "", "write", "snapshot", file)
	require.Zero(t, code, errs)
	assert.Contains(t, out, file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "one two", string(text))
	script := filepath.Join(dir, "script")
	out, _, _ = commandtest.Run(t, scontrol, "scontrol", "", "write", "batch_script", "5", script)
	assert.Equal(t, "batch script for job 5 written to "+script+"\n", out)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "no file is left over")
}

func TestInteractive(t *testing.T) {
	commandtest.Controller(t, "", &ctld{})
	out, errs, code := commandtest.Run(t, scontrol, "scontrol", "oneliner\nshow job 5\n!!\nnosuch\nquit\nshow jobs\n")
	assert.Contains(t, out, "scontrol: oneliner\nscontrol: show job 5\nJobId=5 JobName=five UserId=alice(1001)")
	assert.Contains(t, out, "scontrol: !!\nJobId=5 JobName=five UserId=alice(1001)")
	assert.Equal(t, "invalid keyword: nosuch\n", errs)
	assert.NotContains(t, out, "No jobs")
	assert.Equal(t, 1, code)
}

func TestNobodyAnswers(t *testing.T) {
	commandtest.Controller(t, "SlurmctldPort=1\n", nil)
	for _, c := range []struct {
		words     []string
		out, errs string
	}{
		{[]string{"ping"}, "Slurmctld(primary) at 127.0.0.1 is DOWN\n*****************************************\n" +
			"** RESTORE SLURMCTLD DAEMON TO SERVICE **\n*****************************************\n", ""},
		{[]string{"show", "part"}, "", "slurm_load_partitions error: Unable to contact slurm controller (connect failure)\n"},
		{[]string{"requeue", "1"}, "", "Unable to contact slurm controller (connect failure) for job 1\n"},
	} {
		out, errs, code := commandtest.Run(t, scontrol, "scontrol", "", c.words...)
		assert.Equal(t, c.out, out)
		assert.Equal(t, c.errs, errs)
		assert.Equal(t, 1, code)
	}
}
