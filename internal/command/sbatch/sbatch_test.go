package sbatch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command/commandtest"
	"muster/internal/wire"
)

// ctld answers every submission with what the test sets.
type ctld struct {
	wire.DRPCCtldUnimplementedServer
	mu       sync.Mutex
	requests []*wire.SubmitRequest
	replies  []*wire.SubmitReply // the last is repeated
	status   int32
}

func (c *ctld) Submit(_ context.Context, r *wire.SubmitRequest) (*wire.SubmitReply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	return c.replies[min(len(c.requests), len(c.replies))-1], nil
}

func (c *ctld) Wait(context.Context, *wire.WaitRequest) (*wire.WaitReply, error) {
	return &wire.WaitReply{ExitStatus: c.status}, nil
}

func (c *ctld) last() *wire.SubmitRequest { return c.requests[len(c.requests)-1] }

func start(t *testing.T, replies ...*wire.SubmitReply) *ctld {
	if len(replies) == 0 {
		replies = []*wire.SubmitReply{{JobId: 12}}
	}
	c := &ctld{replies: replies}
	commandtest.Controller(t, "", c)
	for _, name := range os.Environ() {
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "SBATCH_") || strings.HasPrefix(name, "SLURM_") && name != "SLURM_CONF" {
			t.Setenv(name, "") // Setenv restores it; Unsetenv would not
			os.Unsetenv(name)
		}
	}
	return c
}

func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	return commandtest.Run(t, Run, "sbatch", stdin, args...)
}

func TestWays(t *testing.T) {
	c := start(t)
	dir := t.TempDir()
	t.Chdir(dir)
	file := "#!/bin/sh\n#SBATCH -J named -n 2\necho \"$@\"\n"
	require.NoError(t, os.WriteFile("job.sh", []byte(file), 0o755))
	require.NoError(t, os.Mkdir("sub", 0o755))
	require.NoError(t, os.WriteFile("sub/plain.sh", []byte("#!/bin/sh\n"), 0o755))

	stdout, stderr, code := run(t, "", "-n3", "job.sh", "a", "b c", "-p", "x")
	assert.Equal(t, "Submitted batch job 12\n", stdout)
	assert.Empty(t, stderr)
	assert.Zero(t, code)
	r := c.last()
	assert.Equal(t, file, string(r.Script))
	assert.Equal(t, []string{"a", "b c", "-p", "x"}, r.Spec.Argv)
	assert.Equal(t, "named", r.Spec.Name)
	assert.EqualValues(t, 3, r.Spec.NumTasks)
	assert.Equal(t, filepath.Join(dir, "job.sh"), r.Spec.Command)
	assert.Equal(t, dir, r.Spec.WorkDir)
	assert.Equal(t, "sbatch -n3 job.sh a b c -p x", r.Spec.SubmitLine)
	assert.Empty(t, r.Spec.Partition, "options behind the script are its arguments")
	assert.Len(t, r.RequestId, 16)
	assert.NotEmpty(t, r.Spec.Rlimits)

	for _, want := range []struct {
		stdin   string
		args    []string
		name    string
		command string
	}{
		{"", []string{"./job.sh"}, "named", "./job.sh"},
		{"", []string{"sub/plain.sh"}, "plain.sh", filepath.Join(dir, "sub/plain.sh")},
		{file, nil, "named", ""},
		{"#!/bin/sh\n", nil, "sbatch", ""},
		{"", []string{"--wrap", "exit 3"}, "wrap", ""},
		{"", []string{"-J", "x", "--wrap=a"}, "x", ""},
	} {
		_, stderr, code := run(t, want.stdin, want.args...)
		assert.Zero(t, code, "%v: %s", want.args, stderr)
		assert.Equal(t, want.name, c.last().Spec.Name, "%v", want.args)
		assert.Equal(t, want.command, c.last().Spec.Command, "%v", want.args)
	}
}

func TestWhatIsPrinted(t *testing.T) {
	for _, c := range []struct {
		args   string
		reply  *wire.SubmitReply
		stdout string
		stderr string
		code   int
	}{
		{"--parsable", &wire.SubmitReply{JobId: 5}, "5\n", "", 0},
		{"--parsable -M test", &wire.SubmitReply{JobId: 5}, "5;test\n", "", 0},
		{"-M test", &wire.SubmitReply{JobId: 5}, "Submitted batch job 5 on cluster test\n", "", 0},
		{"-M foo", nil, "", "sbatch: error: No cluster 'foo' known by database.\nsbatch: error: 'foo' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.\n", 1},
		{"-Q", &wire.SubmitReply{JobId: 5}, "", "", 0},
		{"-N2 -n1", &wire.SubmitReply{JobId: 5}, "Submitted batch job 5\n", "sbatch: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n", 0},
		{"-p x", &wire.SubmitReply{Messages: []string{"error: invalid partition specified: x"}, Refusal: &wire.Refusal{Code: 2000, Message: "Invalid partition name specified"}}, "",
			"sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition name specified\n", 1},
		{"--gres=foo", &wire.SubmitReply{Refusal: &wire.Refusal{Code: 2072, Message: "Invalid generic resource (gres) specification"}}, "",
			"sbatch: error: Invalid generic resource (gres) specification\n", 1},
		{"--test-only -p x", &wire.SubmitReply{Refusal: &wire.Refusal{Code: 2000, Message: "Invalid partition name specified"}}, "",
			"allocation failure: Invalid partition name specified\n", 1},
		{"-S 1", &wire.SubmitReply{JobId: 5}, "Submitted batch job 5\n", "sbatch: error: Ignoring -S since it's not allowed by configuration (AllowSpecResourcesUsage = No)\n", 0},
		{"--foo=1", nil, "", "sbatch: unrecognized option '--foo=1'\nTry \"sbatch --help\" for more information\n", 255},
		{"-t 1h", nil, "", "sbatch: error: Invalid --time specification\n", 255},
		{"--container=c", nil, "", "sbatch: error: not supported yet: --container\n", 1},
		{"x", nil, "", "sbatch: error: Script arguments not permitted with --wrap option\n", 1},
		{"--export-file=/nonexist", nil, "", "sbatch: error: Could not open user environment file /nonexist\n", 1},
		{"--uid=no-such-user-here", nil, "", "", 255},
	} {
		ctld := start(t, c.reply)
		if c.reply == nil {
			ctld.replies = nil
		}
		stdout, stderr, code := run(t, "", append([]string{"--wrap=true"}, strings.Fields(c.args)...)...)
		assert.Equal(t, c.stdout, stdout, c.args)
		if c.stderr != "" || c.code == 0 {
			assert.Equal(t, c.stderr, stderr, c.args)
		}
		assert.Equal(t, c.code, code, c.args)
	}
}

func TestTestOnly(t *testing.T) {
	c := start(t, &wire.SubmitReply{JobId: 61, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local).Unix(), Cpus: 1, Nodes: "node1", Partition: "debug"})
	stdout, stderr, code := run(t, "", "--test-only", "--wrap=true")
	assert.Empty(t, stdout)
	assert.Equal(t, "sbatch: Job 61 to start at 2026-01-02T03:04:05 using 1 processors on nodes node1 in partition debug\n", stderr)
	assert.Zero(t, code)
	assert.True(t, c.last().TestOnly)
}

func TestRefusedScripts(t *testing.T) {
	start(t)
	t.Chdir(t.TempDir())
	for stdin, want := range map[string]string{
		"":                               "sbatch: error: Batch script is empty!\n",
		"echo hi\n":                      "sbatch: error: This does not look like a batch script.  The first\nsbatch: error: line must start with #! followed by the path to an interpreter.\nsbatch: error: For instance: #!/bin/sh\n",
		"#!/bin/sh\r\n":                  "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\nsbatch: error: instead of expected UNIX line breaks (\\n).\n",
		"#!/bin/sh\n#SBATCH -J \"x\n":    "sbatch: fatal: stdin: line 2: Unmatched `\"` in [ \"x]\n",
		"#!/bin/sh\n#SBATCH -c 1 hetjob": "sbatch: error: Invalid directive found in batch script: hetjob\n",
	} {
		stdout, stderr, code := run(t, stdin)
		assert.Empty(t, stdout)
		assert.Equal(t, want, stderr)
		assert.NotZero(t, code)
	}
	_, stderr, code := run(t, "", "nosuch")
	assert.Equal(t, "sbatch: error: Unable to open file nosuch\n", stderr)
	assert.Equal(t, 1, code)
	_, stderr, _ = run(t, "", ".")
	assert.Equal(t, "sbatch: error: Batch script is empty!\n", stderr)
}

func TestWait(t *testing.T) {
	for status, want := range map[int32]int{0: 0, 3 << 8: 3, 200 << 8: 200, 9: 1} {
		c := start(t)
		c.status = status
		stdout, _, code := run(t, "", "-W", "--wrap=true")
		assert.Equal(t, "Submitted batch job 12\n", stdout)
		assert.Equal(t, want, code)
	}
}

func TestNoRoomIsAskedAgain(t *testing.T) {
	c := start(t, &wire.SubmitReply{Refusal: &wire.Refusal{Code: 11, Message: "Resource temporarily unavailable"}}, &wire.SubmitReply{JobId: 3})
	stdout, stderr, code := run(t, "", "--wrap=true")
	assert.Equal(t, "Submitted batch job 3\n", stdout)
	assert.Equal(t, "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n", stderr)
	assert.Zero(t, code)
	assert.NotEqual(t, c.requests[0].RequestId, c.requests[1].RequestId, "a refusal is an answer: the next try is a new request")
}

func TestNobodyAnswers(t *testing.T) {
	commandtest.Controller(t, "MessageTimeout=1\n", nil)
	stdout, stderr, code := run(t, "", "--wrap=true")
	assert.Empty(t, stdout)
	assert.Equal(t, "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n", stderr)
	assert.Equal(t, 1, code)
}
