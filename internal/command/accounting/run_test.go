package accounting

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command"
	"muster/internal/command/commandtest"
	"muster/internal/wire"
)

// ctld answers with the sample's records, one a page.
type ctld struct {
	wire.DRPCCtldUnimplementedServer
	asked *wire.HistoryRequest
}

func (c *ctld) History(r *wire.HistoryRequest, stream wire.DRPCCtld_HistoryStream) error {
	c.asked = r
	for _, run := range sample() {
		if err := stream.Send(&wire.HistoryPage{Runs: []*wire.RunRecord{run}, Cluster: "theirs"}); err != nil {
			return err
		}
	}
	return nil
}

func (c *ctld) Content(_ context.Context, r *wire.ContentRequest) (*wire.ContentReply, error) {
	if r.Environment {
		return &wire.ContentReply{Content: []byte("A=1\x00B=2\x00")}, nil
	}
	return &wire.ContentReply{}, nil
}

func sacct(p *command.Program) int { return Run(context.Background(), p) }

func TestCommand(t *testing.T) {
	fake := &ctld{}
	commandtest.Controller(t, "AccountingStoreFlags=job_script,job_env\n", fake)
	run := func(words ...string) string {
		out, errs, code := commandtest.Run(t, sacct, "sacct", "", words...)
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		return out
	}
	assert.Equal(t, "237|theirs\n", run("-nXP", "-j", "237", "-o", "jobid,cluster"))
	assert.Equal(t, uint32(237), fake.asked.Jobs[0].JobId)
	assert.Zero(t, fake.asked.Start)
	assert.Equal(t, "JobID|State|\n", run("-p", "-j", "99999", "-o", "jobid,state"), "an unknown id is no error")
	run("-X", "--name", "a b,c", "-s", "f,CD", "-r", "p", "-A", "acc", "-N", "n[1-2]", "-D", "-i", "2-4", "-k", "10", "-K", "1:00:00")
	assert.Equal(t, [][]string{{"a b", "c"}, {"FAILED", "COMPLETED"}, {"p"}, {"acc"}, {"n1", "n2"}},
		[][]string{fake.asked.Names, fake.asked.States, fake.asked.Partitions, fake.asked.Accounts, fake.asked.Nodes})
	assert.True(t, fake.asked.Duplicates)
	assert.True(t, fake.asked.AllocationsOnly)
	assert.Equal(t, []uint32{2, 4, 10, 60}, []uint32{fake.asked.MinNodes, fake.asked.MaxNodes, fake.asked.MinLimit, fake.asked.MaxLimit})
	const dashes = "--------------------------------------------------------------------------------\n"
	assert.Equal(t, "Batch Script for 237\n"+dashes+"NONE\n\n", run("-j", "237", "-B"))
	assert.Equal(t, "Environment used for 237 (must be batch to display)\n"+dashes+"A=1\nB=2\n\n", run("-j", "237", "--env-vars"))
	t.Setenv("SACCT_FORMAT", "jobid,state%-3")
	assert.Equal(t, "238          FA+ \n", run("-nX", "-j", "238"))
}

func TestWhatIsLeftOfAnArrayComesLast(t *testing.T) {
	var got []uint32
	o := &remainders{show: func(runs []*wire.RunRecord) error {
		for _, r := range runs {
			got = append(got, r.State.JobId)
		}
		return nil
	}}
	record := func(id, array uint32, task bool) *wire.RunRecord {
		return &wire.RunRecord{State: &wire.JobState{JobId: id, ArrayJobId: array, IsArrayTask: task}}
	}
	require.NoError(t, o.take([]*wire.RunRecord{record(3, 3, false), record(4, 3, true)}))
	require.NoError(t, o.take([]*wire.RunRecord{record(5, 3, true), record(6, 0, false), record(7, 7, false), record(8, 0, false), record(9, 9, false)}))
	require.NoError(t, o.flush())
	assert.Equal(t, []uint32{4, 5, 3, 6, 7, 8, 9}, got)
}
