package queue

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command"
	"muster/internal/command/commandtest"
	"muster/internal/model"
	"muster/internal/wire"
)

// ctld answers with the sample's jobs, one a page.
type ctld struct {
	wire.DRPCCtldUnimplementedServer
	asked *wire.JobsRequest
}

func (c *ctld) Jobs(r *wire.JobsRequest, stream wire.DRPCCtld_JobsStream) error {
	c.asked = r
	for _, ref := range r.Select.Jobs {
		if ref.JobId == 99999 && r.One {
			return stream.Send(&wire.JobsPage{Refusal: &wire.Refusal{Code: 2017, Message: "Invalid job id specified"}})
		}
	}
	for _, j := range sample() {
		if !model.Active(j.State.State, j.State.Flags) {
			continue
		}
		if err := stream.Send(&wire.JobsPage{Jobs: []*wire.JobInfo{j}, Now: submitted + 141}); err != nil {
			return err
		}
	}
	return nil
}

func (c *ctld) Nodes(_ *wire.NodesRequest, stream wire.DRPCCtld_NodesStream) error {
	return stream.Send(&wire.NodesPage{Nodes: []*wire.NodeInfo{{State: &wire.NodeState{Name: "node1"}}}})
}

func squeue(p *command.Program) int { return Run(context.Background(), p) }

func TestCommand(t *testing.T) {
	t.Setenv("TZ", "UTC")
	fake := &ctld{}
	commandtest.Controller(t, "", fake)
	run := func(words ...string) (string, string, int) {
		return commandtest.Run(t, squeue, "squeue", "", words...)
	}
	out, errs, code := run("-h", "-o", "%i %t", "-S", "i")
	assert.Equal(t, "1 R\n2 R\n3_0 R\n3_1 R\n3_[2-7%2] PD\n4 PD\n5 PD\n6 PD\n8 PD\n", out)
	assert.Empty(t, errs)
	assert.Zero(t, code)
	assert.NotContains(t, fake.asked.SpecFields, uint32(specCommand), "what no column shows is not asked for")
	assert.True(t, fake.asked.Masked)

	_, errs, code = run("-j", "99999")
	assert.Equal(t, "slurm_load_jobs error: Invalid job id specified\n", errs)
	assert.Equal(t, 1, code)
	_, errs, code = run("-j", "99998,99999")
	assert.Empty(t, errs)
	assert.Zero(t, code)

	_, _, code = run("-hj", "3_1", "-t", "all")
	require.Zero(t, code)
	assert.True(t, fake.asked.Select.AllStates)
	assert.Equal(t, uint32(3), fake.asked.Select.Jobs[0].JobId)
	assert.Equal(t, "1", fake.asked.Select.Jobs[0].Tasks)

	_, _, code = run("-p", "a,b", "-A", "x", "-n", "job one,two", "-t", "pd,R", "-w", "node1", "-q", "q")
	require.Zero(t, code)
	sel := fake.asked.Select
	assert.Equal(t, [][]string{{"a", "b"}, {"x"}, {"job one", "two"}, {"PENDING", "RUNNING"}, {"node1"}, {"q"}},
		[][]string{sel.Partitions, sel.Accounts, sel.Names, sel.States, sel.Nodes, sel.Qos})

	_, errs, code = run("-w", "nosuch")
	assert.Equal(t, "squeue: error: Invalid node name nosuch\n", errs)
	assert.Equal(t, 1, code)

	t.Setenv("SQUEUE_FORMAT", "%A")
	t.Setenv("SQUEUE_STATES", "all")
	out, _, _ = run("-h", "-S", "V,i")
	assert.Equal(t, "1\n2\n18\n19\n3\n4\n5\n6\n8\n", out)
	assert.True(t, fake.asked.Select.AllStates)
	out, _, _ = run("-o", "%T", "-h")
	assert.Contains(t, out, "PENDING\n", "-o wins over the environment")
}

func TestNobodyAnswers(t *testing.T) {
	commandtest.Controller(t, "SlurmctldPort=1\n", nil)
	_, errs, code := commandtest.Run(t, squeue, "squeue", "")
	assert.Equal(t, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", errs)
	assert.Equal(t, 1, code)
}

func TestRefusedOptions(t *testing.T) {
	for want, words := range map[string][]string{
		"squeue: error: -O (--Format) is incompatible with -o (--format)\n":                                                    {"-o", "%i", "-O", "jobid"},
		"squeue: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.\n":            {"-l", "-o", "%i"},
		"squeue: error: Invalid time specification: --running-over=x\n":                                                        {"--running-over=x"},
		"squeue: error: Invalid job_step id: 12.??\n":                                                                          {"-s12"},
		"squeue: error: Invalid job id: abc\n":                                                                                 {"-j", "abc"},
		"squeue: error: Invalid job id: 4294967295\n":                                                                          {"-j", "4294967295"},
		"squeue: error: Unrecognized option: foo\n":                                                                            {"foo"},
		"squeue: error: --iterate=x\n\n":                                                                                       {"-i", "x"},
		"squeue: unrecognized option '--nosuch'\nTry \"squeue --help\" for more information\n":                                 {"--nosuch"},
		"squeue: error: Invalid job state specified: nosuch\nsqueue: error: Valid job states include: " + validStates + "\n\n": {"-t", "R,nosuch"},
	} {
		_, errs, code := commandtest.Run(t, squeue, "squeue", "", words...)
		assert.Equal(t, want, errs)
		assert.Equal(t, 1, code)
	}
}
