package scancel

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command/commandtest"
	"muster/internal/wire"
)

type ctld struct {
	wire.DRPCCtldUnimplementedServer
	requests []*wire.SignalRequest
	outcomes *wire.JobOutcomes
	jobs     []*wire.JobInfo
}

func (c *ctld) Signal(_ context.Context, r *wire.SignalRequest) (*wire.JobOutcomes, error) {
	c.requests = append(c.requests, r)
	return c.outcomes, nil
}

func (c *ctld) Jobs(_ *wire.JobsRequest, stream wire.DRPCCtld_JobsStream) error {
	return stream.Send(&wire.JobsPage{Jobs: c.jobs})
}

func start(t *testing.T, outcomes ...*wire.JobOutcome) *ctld {
	c := &ctld{outcomes: &wire.JobOutcomes{Jobs: outcomes}}
	commandtest.Controller(t, "", c)
	return c
}

func outcome(id string, code uint32, text string) *wire.JobOutcome {
	return &wire.JobOutcome{Id: id, Refusal: &wire.Refusal{Code: code, Message: text}}
}

func TestRefusedWords(t *testing.T) {
	start(t)
	for args, want := range map[string]string{
		"":            "scancel: error: No job identification provided\n",
		"-i":          "scancel: error: No job identification provided\n",
		"abc":         "scancel: error: Invalid job id abc\n",
		"0":           "scancel: error: Invalid job id 0\n",
		"12.x":        "scancel: error: Invalid job id 12.x\n",
		"-s FOO 1":    "Unknown job signal: FOO\n",
		"-s 0 1":      "Unknown job signal: 0\n",
		"-t foo":      "Invalid job state specified: foo\nValid job states are PENDING, RUNNING, and SUSPENDED\n",
		"-t XX":       "Invalid job state specified: XX\nValid job states are PENDING, RUNNING, and SUSPENDED\n",
		"-u no-such":  "scancel: error: Invalid user name: no-such\n",
		"--nosuch":    "scancel: unrecognized option '--nosuch'\nTry \"scancel --help\" for more information\n",
		"--wckey":     "scancel: option '--wckey' requires an argument\nTry \"scancel --help\" for more information\n",
		"-M other 5":  "scancel: error: No cluster 'other' known by database.\n",
		"--clusters=": "scancel: error: No job identification provided\n",
		"-c 3":        "scancel: error: not supported yet: --cron\n",
	} {
		stdout, stderr, code := commandtest.Run(t, Run, "scancel", "", strings.Fields(args)...)
		assert.Empty(t, stdout, args)
		assert.Equal(t, want, stderr, args)
		assert.Equal(t, 1, code, args)
	}
}

func TestWhatIsAsked(t *testing.T) {
	c := start(t)
	for args, want := range map[string]string{
		"12":                    `cancel:true jobs:{job_id:12}`,
		"12_3 13.0":             `cancel:true jobs:{job_id:12 tasks:"3"} jobs:{job_id:13 has_step:true}`,
		"12_[3-5]":              `cancel:true jobs:{job_id:12 tasks:"3-5"}`,
		"1,2":                   `cancel:true jobs:{job_id:1} jobs:{job_id:2}`,
		"12 --signal SIGTERM":   `signal:15 jobs:{job_id:12}`,
		"-s 10 12":              `signal:10 jobs:{job_id:12}`,
		"-b 12":                 `signal:9 batch_only:true jobs:{job_id:12}`,
		"-s USR2 -b 12":         `signal:12 batch_only:true jobs:{job_id:12}`,
		"-f 12":                 `cancel:true full:true jobs:{job_id:12}`,
		"-f -s INT 12":          `signal:2 full:true jobs:{job_id:12}`,
		"-n a,b -p c -t pd":     `cancel:true partitions:"c" names:"a,b" states:"PENDING"`,
		"--partition=short 1":   `cancel:true jobs:{job_id:1} partitions:"short"`,
		"--jobname=a -A x -q q": `cancel:true accounts:"x" qos:"q" names:"a"`,
		"-w n[1-2] -R r":        `cancel:true nodes:"n1" nodes:"n2" reservations:"r"`,
		"-u 1001":               `cancel:true uids:1001`,
	} {
		stdout, stderr, code := commandtest.Run(t, Run, "scancel", "", strings.Fields(args)...)
		require.Empty(t, stdout+stderr, args)
		require.Zero(t, code, args)
		r := c.requests[len(c.requests)-1]
		assert.Len(t, r.RequestId, 16)
		r.RequestId = nil
		text := strings.ReplaceAll(r.String(), ": ", ":")
		text = strings.TrimSpace(strings.Replace(strings.ReplaceAll(text, "select:{", ""), "}", "}", 1))
		for _, word := range strings.Fields(want) {
			assert.Contains(t, text, word, args)
		}
		assert.Equal(t, strings.Contains(want, "cancel:true"), r.Cancel, args)
	}
	_, _, code := commandtest.Run(t, Run, "scancel", "", "--me")
	assert.Zero(t, code)
	assert.Equal(t, []uint32{uint32(os.Getuid())}, c.requests[len(c.requests)-1].Select.Uids)
}

// The texts and exit codes are what Slurm 22.05 answered.
func TestReport(t *testing.T) {
	unknown := outcome("99", 2017, "Invalid job id specified")
	over := outcome("5", 2021, "Job/step already completing or completed")
	denied := outcome("6", 2002, "Access/permission denied")
	for _, c := range []struct {
		args    string
		outcome *wire.JobOutcome
		stderr  string
		code    int
	}{
		{"99", unknown, "", 0},
		{"-v 99", unknown, "scancel: Terminating job 99\nscancel: error: Kill job error on job id 99: Invalid job id specified\n", 0},
		{"5", over, "", 0},
		{"-v 5", over, "scancel: Terminating job 5\nscancel: error: Kill job error on job id 5: Job/step already completing or completed\n", 0},
		{"-s USR1 5", over, "scancel: error: Kill job error on job id 5: Invalid job id specified\n", 1},
		{"-s USR1 99", unknown, "scancel: error: Kill job error on job id 99: Invalid job id specified\n", 1},
		{"-b 5", over, "scancel: error: Kill job error on job id 5: Invalid job id specified\n", 1},
		{"12.0", outcome("12.0", 2017, "Invalid job id specified"), "scancel: error: Kill job error on job step id 12.0: Invalid job id specified\n", 1},
		{"-v 7", &wire.JobOutcome{Id: "7"}, "scancel: Terminating job 7\n", 0},
		{"-v -s USR2 -b 7", &wire.JobOutcome{Id: "7"}, "scancel: Signal 12 to batch job 7\n", 0},
		{"6", denied, "scancel: error: Kill job error on job id 6: Access/permission denied\n", 210},
		{"-v 12_[7-8]", &wire.JobOutcome{Id: "12_[7-8]"}, "scancel: Terminating job 12_[7-8]\n", 0},
	} {
		start(t, c.outcome)
		stdout, stderr, code := commandtest.Run(t, Run, "scancel", "", strings.Fields(c.args)...)
		assert.Empty(t, stdout, c.args)
		assert.Equal(t, c.stderr, stderr, c.args)
		assert.Equal(t, c.code, code, c.args)
	}
	start(t)
	_, stderr, code := commandtest.Run(t, Run, "scancel", "", "-v", "-n", "nosuch")
	assert.Equal(t, "scancel: error: No active jobs match ALL job filters, including: job_name=nosuch \n", stderr)
	assert.Zero(t, code)
}

func TestInteractive(t *testing.T) {
	c := start(t, &wire.JobOutcome{Id: "3"})
	for _, id := range []uint32{3, 4} {
		c.jobs = append(c.jobs, &wire.JobInfo{Spec: &wire.JobSpec{Name: "wrap"}, State: &wire.JobState{JobId: id, Partition: "debug"}})
	}
	stdout, stderr, code := commandtest.Run(t, Run, "scancel", "y\nn\n", "-i", "-p", "debug")
	assert.Equal(t, "Cancel job_id=3 name=wrap partition=debug [y/n]? Cancel job_id=4 name=wrap partition=debug [y/n]? ", stdout)
	assert.Empty(t, stderr)
	assert.Zero(t, code)
	require.Len(t, c.requests, 1)
	require.Len(t, c.requests[0].Select.Jobs, 1)
	assert.EqualValues(t, 3, c.requests[0].Select.Jobs[0].JobId)
	_, _, code = commandtest.Run(t, Run, "scancel", "", "-i", "-p", "debug")
	assert.Zero(t, code)
	assert.Len(t, c.requests, 1, "no answer is a no")
}

func TestVersion(t *testing.T) {
	stdout, _, code := commandtest.Run(t, Run, "scancel", "", "-V")
	assert.Equal(t, "slurm 26.05.0\n", stdout)
	assert.Zero(t, code)
}
