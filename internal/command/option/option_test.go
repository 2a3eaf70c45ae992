package option

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/wire"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// parse applies a command line as a program does, without a script.
func parse(program Program, args []string, env map[string]string) (*Options, error) {
	o := New(program, now)
	line, err := Read(program, args)
	if err != nil {
		return o, err
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	if err := o.ApplyEnvironment(lookup); err != nil {
		return o, err
	}
	if err := o.Apply(line); err != nil {
		return o, err
	}
	return o, o.Finish()
}

// told renders messages as they are printed.
func told(messages []Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, []string{"", "sbatch: ", "sbatch: error: ", "sbatch: fatal: "}[m.Kind]+m.Text)
	}
	return strings.Join(out, "|")
}

// What Slurm 22.05 answered to each, and its exit code.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--time=1h", 255, "sbatch: error: Invalid --time specification"},
		{"-t 60min", 255, "sbatch: error: Invalid --time specification"},
		{"-t 1.5", 255, "sbatch: error: Invalid --time specification"},
		{"--time=", 255, "sbatch: error: Invalid --time specification"},
		{"-t 1:00:00;", 255, "sbatch: error: Invalid --time specification"},
		{"--mem=1.5G", 255, "sbatch: error: Invalid --mem specification"},
		{"--mem=4GiB", 255, "sbatch: error: Invalid --mem specification"},
		{"--mem=", 255, "sbatch: error: Invalid --mem specification"},
		{"--mem-per-cpu=x", 255, "sbatch: error: Invalid --mem-per-cpu specification"},
		{"--mem-per-gpu=x", 255, "sbatch: error: Invalid --mem-per-gpu specification"},
		{"--mem=1 --mem-per-cpu=1", 1, "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."},
		{"-N 2-1", 255, "sbatch: error: Maximum node count 1 is less than minimum node count 2"},
		{"-N 1-", 255, "sbatch: error: Maximum node count -1 is less than minimum node count 1"},
		{"-N 1,2", 255, `sbatch: error: "1,2" is not a valid node count`},
		{"-N 2:4", 255, `sbatch: error: "2:4" is not a valid node count`},
		{"--nodes 1-3:2", 255, `sbatch: error: "3:2" is not a valid node count`},
		{"-N x", 255, `sbatch: error: "x" is not a valid node count`},
		{"--nodes=", 255, `sbatch: error: "" is not a valid node count`},
		{"-n 0", 1, `sbatch: error: Invalid numeric value "0" for --ntasks.`},
		{"-n=2", 1, `sbatch: error: Invalid numeric value "=2" for --ntasks.`},
		{"-n 2k", 1, `sbatch: error: Invalid numeric value "2k" for --ntasks.`},
		{"-n 0x10", 1, `sbatch: error: Invalid numeric value "0x10" for --ntasks.`},
		{"-c 0", 1, `sbatch: error: Invalid numeric value "0" for --cpus-per-task.`},
		{"--ntasks-per-node=0", 1, `sbatch: error: Invalid numeric value "0" for --ntasks-per-node.`},
		{"--mincpus=x", 1, `sbatch: error: Invalid numeric value "x" for --mincpus.`},
		{"-S x", 1, `sbatch: error: Invalid numeric value "x" for --core-spec.`},
		{"--thread-spec=x", 1, `sbatch: error: Invalid numeric value "x" for --thread-spec.`},
		{"--cpus-per-gpu=x", 1, `sbatch: error: Invalid numeric value "x" for --cpus-per-gpu.`},
		{"--ntasks-per-gpu=x", 1, `sbatch: error: Invalid numeric value "x" for --ntasks-per-gpu.`},
		{"--threads-per-core=x", 1, `sbatch: error: Invalid numeric value "x" for --threads-per-core.`},
		{"--switches=x", 1, `sbatch: error: Invalid numeric value "x" for --switches.`},
		{"--wait-all-nodes=x", 1, `sbatch: error: Invalid numeric value "x" for --wait-all-nodes.`},
		{"--wait-all-nodes=3", 255, "sbatch: error: Invalid --wait-all-nodes specification"},
		{"-B 2:x", 1, `sbatch: error: Invalid numeric value "x" for second arg of -B.`},
		{"--exclusive=yes", 255, "sbatch: error: Invalid --exclusive specification"},
		{"--mail-type=foo", 255, "sbatch: error: Invalid --mail-type specification"},
		{"--mail-type=", 255, "sbatch: error: Invalid --mail-type specification"},
		{"--signal=foo@3", 255, "sbatch: error: Invalid --signal specification"},
		{"--signal=USR1@x", 255, "sbatch: error: Invalid --signal specification"},
		{"--signal=USR1@70000", 255, "sbatch: error: Invalid --signal specification"},
		{"--signal=@5", 255, "sbatch: error: Invalid --signal specification"},
		{"--signal=", 255, "sbatch: error: Invalid --signal specification"},
		{"--begin=foo", 255, "Invalid time specification (pos=0): foo|sbatch: error: Invalid --begin specification"},
		{"--deadline=foo", 255, "Invalid time specification (pos=0): foo|sbatch: error: Invalid --deadline specification"},
		{"--open-mode=x", 255, "sbatch: error: Invalid --open-mode specification"},
		{"--nice=99999999999", 255, "sbatch: error: Invalid --nice value, out of range (+/- 2147483645)"},
		{"--priority=-1", 255, "sbatch: error: Priority must be >= 0"},
		{"--priority=99999999999", 255, "sbatch: error: Priority must be < 4294967294"},
		{"--hint=foo", 1, `sbatch: error: unrecognized --hint argument "foo", see --hint=help`},
		{"-m foo", 255, "sbatch: error: Invalid --distribution specification"},
		{"--distribution=", 255, "sbatch: error: Invalid --distribution specification"},
		{"-m plane=", 255, "sbatch: error: Invalid plane size or size not specified|sbatch: error: Invalid --distribution specification"},
		{"-m arbitrary", 1, "sbatch: error: With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option"},
		{"--mem-bind=foo", 255, `sbatch: error: unrecognized --mem-bind argument "foo"`},
		{"--gpu-bind=foo", 255, "sbatch: error: Invalid --gpu-bind argument: gpu:foo"},
		{"--profile=foo", 255, "sbatch: error: invalid --profile=foo option"},
		{"--acctg-freq=foo", 255, "sbatch: error: Invalid --acctg-freq specification: foo"},
		{"--tmp=x", 255, "sbatch: error: Invalid --tmp specification"},
		{"--propagate=FOO", 1, "sbatch: error: Bad rlimit name: FOO|sbatch: error: --propagate=FOO is not valid."},
		{"--kill-on-invalid-dep=Y", 255, "sbatch: error: Invalid --kill-on-invalid-dep specification"},
		{"--no-kill=foo", 255, "sbatch: error: Invalid --no-kill specification"},
		{"--get-user-env=x", 255, "sbatch: error: Invalid --get-user-env specification"},
		{"--delay-boot=x", 255, "sbatch: error: Invalid --delay-boot specification"},
		{"--gres-flags=foo", 255, "sbatch: error: Invalid --gres-flags specification"},
		{"-F /nonexist", 255, "sbatch: error: slurm_allocate_resources error opening file /nonexist, No such file or directory|sbatch: error: Invalid --nodefile node file"},
		{"--gres=gpu=1", 1, "sbatch: error: Invalid generic resource (gres) specification"},
		{"--gpus-per-node=gpu:", 1, "sbatch: error: Invalid generic resource (gres) specification"},
		{"--gres=gpu:tesla:1,gpu:1", 1, "sbatch: error: Invalid GRES specification (with and without type identification)"},
		{"--gpus=tesla:1,2", 1, "sbatch: error: Invalid GRES specification (with and without type identification)"},
		{"--gpus-per-node=tesla:1 --gpus=2", 1, "sbatch: error: Invalid GRES specification (with and without type identification)"},
		{"--gpus-per-task=1", 1, "sbatch: error: Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not allowed.|sbatch: error: Invalid generic resource (gres) specification"},
		{"--gpus-per-socket=1", 1, "sbatch: error: --gpus-per-socket option requires --sockets-per-node specification|sbatch: error: Invalid generic resource (gres) specification"},
		{"--cpus-per-gpu=2 -c 2 --gpus=1", 1, "sbatch: error: --cpus-per-gpu is mutually exclusive with --cpus-per-task|sbatch: error: Invalid generic resource (gres) specification"},
		{"--ntasks-per-gpu=2", 1, "sbatch: error: gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification|sbatch: error: Invalid generic resource (gres) specification"},
		{"--reboot", 1, "sbatch: error: not supported yet: --reboot"},
		{"--cpu-freq=fast", 255, "sbatch: error: unrecognized --cpu-freq argument \"fast\"|sbatch: error: Invalid --cpu-freq argument"},
		{"--container=x", 1, "sbatch: error: not supported yet: --container"},
		{"--gpu-bind=closest", 1, "sbatch: error: not supported yet: --gpu-bind=closest"},
	} {
		_, err := parse(Sbatch, strings.Split(c.args, " "), nil)
		var refusal *Refusal
		if assert.ErrorAs(t, err, &refusal, c.args) {
			assert.Equal(t, c.want, told(refusal.Messages), c.args)
			assert.Equal(t, c.code, refusal.Code, c.args)
		}
	}
}

// The words of getopt for our own table.
func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--foo=1":       "unrecognized option '--foo=1'",
		"--workdir=d":   "unrecognized option '--workdir=d'",
		"-z":            "invalid option -- 'z'",
		"-J":            "option requires an argument -- 'J'",
		"--job-name":    "option '--job-name' requires an argument",
		"--requeue=1":   "option '--requeue' doesn't allow an argument",
		"--parsable=1":  "option '--parsable' doesn't allow an argument",
		"--ntask=2":     "option '--ntask=2' is ambiguous; possibilities: '--ntasks' '--ntasks-per-core' '--ntasks-per-gpu' '--ntasks-per-node' '--ntasks-per-socket' '--ntasks-per-tres'",
		"--cpu-bind=no": "unrecognized option '--cpu-bind=no'",
	} {
		_, err := Read(Sbatch, []string{args})
		assert.EqualError(t, err, want, args)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // in protobuf's text form, blanks removed
	}{
		{"-N 2", "min_nodes:2 max_nodes:2 min_nodes_set:true"},
		{"-N 2-4 -n9", "min_nodes:2 max_nodes:4 min_nodes_set:true num_tasks:9"},
		{"-N 1k", "min_nodes:1024 max_nodes:1024 min_nodes_set:true"},
		{"-N -2", "min_nodes:1 max_nodes:2 min_nodes_set:true"},
		{"-n +2", "num_tasks:2"},
		{"-N2 -n4 -c1 -t1:00:00 -pdebug", `min_nodes:2 max_nodes:2 min_nodes_set:true num_tasks:4 cpus_per_task:1 time_limit:60 partition:"debug"`},
		{"--mem=0", "mem_kind:MEM_PER_NODE"},
		{"--mem=4gb", "mem_kind:MEM_PER_NODE mem:4096"},
		{"--mem-per-cpu=2048K", "mem_kind:MEM_PER_CPU mem:2"},
		{"-t UNLIMITED", "time_limit:4294967295"},
		{"-t 0:30", "time_limit:1"},
		{"-t 2-12", "time_limit:3600"},
		{"--gres=gpu", `gres_per_node:{name:"gpu" count:1} tres_per_node:"gres/gpu"`},
		{"--gres=gpu:a100:2,shard:1", `gres_per_node:{name:"gpu" type:"a100" count:2} gres_per_node:{name:"shard" count:1} tres_per_node:"gres/gpu:a100:2,gres/shard:1"`},
		{"--gres=gres:gpu:1k", `gres_per_node:{name:"gpu" count:1024} tres_per_node:"gres/gpu:1k"`},
		{"--gres=none", ""},
		{"--gpus=2", `gres_per_job:{name:"gpu" count:2} tres_per_job:"gres/gpu:2"`},
		{"-G3", `gres_per_job:{name:"gpu" count:3} tres_per_job:"gres/gpu:3"`},
		{"--gpus=", ""},
		{"--gpus-per-node=rtx_3090:1", `gres_per_node:{name:"gpu" type:"rtx_3090" count:1} tres_per_node:"gres/gpu:rtx_3090:1"`},
		{"-n2 --gpus-per-task=1", `num_tasks:2 gres_per_task:{name:"gpu" count:1} tres_per_task:"gres/gpu:1"`},
		{"--tres-per-task=cpu=4,gres/gpu=2 -n1", `num_tasks:1 cpus_per_task:4 gres_per_task:{name:"gpu" count:2} tres_per_task:"cpu=4,gres/gpu:2"`},
		{"--exclusive", "exclusive:EXCL_NODE"},
		{"--exclusive=USER", "exclusive:EXCL_USER"},
		{"--exclusive -s", "oversubscribe:true"},
		{"--share", "oversubscribe:true"},
		{"--signal=B:USR1@30", "signal:10 signal_seconds:30 signal_batch_only:true"},
		{"--signal=RB:TERM", "signal:15 signal_seconds:60 signal_batch_only:true signal_reservation:true"},
		{"--signal=10", "signal:10 signal_seconds:60"},
		{"--signal=SIGUSR2@90", "signal:12 signal_seconds:90"},
		{"--mail-type=all", "mail_type:1295"},
		{"--mail-type=END,none", ""},
		{"--mail-type=END --mail-type=fail,TIME_LIMIT_90", "mail_type:38"},
		{"--begin=now+1hour", "begin:1796043600"},
		{"--nice", "nice:100"},
		{"--nice=-5", "nice:-5"},
		{"--nice=5x", "nice:5"},
		{"--priority=TOP", "priority:4294967293"},
		{"--open-mode=A", "open_mode:OPEN_APPEND"},
		{"-m *:block:fcyclic,NoPack", `distribution_text:"block:block:fcyclic,nopack"`},
		{"-m plane=4", `plane_size:4 distribution_text:"plane=4"`},
		{"-B 2:1:1", "sockets_per_node:2 cores_per_socket:1 threads_per_core:1 num_tasks:2"},
		{"--switches=2@00:30", "switches:2 switches_wait:30"},
		{"-k", "no_kill:true"},
		{"--no-kill=off", ""},
		{"--requeue", "requeue_set:true requeue:true"},
		{"--no-requeue", "requeue_set:true"},
		{"-a [1-10]", `array:"[1-10]"`},
		{"-a 1-3%x", `array:"1-3"`},
		{"--array=0-99%10", `array:"0-99%10"`},
		{"--comment= --constraint= -J x -J y", `comment_set:true name:"y"`},
		{"--cpu-freq=Performance --time-min=5 --contiguous", `contiguous:true cpu_freq:"Performance" time_min:5`},
		{"-d afterok:1,2", `dependency:"afterok:1,2"`},
		{"--tasks-per-node=2 --job=x --license=a", `ntasks_per_node:2 name:"x" licenses:"a"`},
		{"--get-user-env=20L", "get_user_env:true"},
		{"--kill-on-invalid-dep=no", "kill_on_invalid_dep_set:true"},
		{"--propagate", `propagate_set:true propagate:"ALL"`},
	} {
		o, err := parse(Sbatch, strings.Split(c.args, " "), nil)
		require.NoError(t, err, c.args)
		assert.ElementsMatch(t, fields(c.want), fields(o.Spec.String()), c.args)
	}
}

// fields cuts protobuf's text form, whose blanks vary on purpose.
func fields(text string) []string {
	return strings.Fields(strings.ReplaceAll(text, ": ", ":"))
}

func TestFewerTasksThanNodes(t *testing.T) {
	o, err := parse(Sbatch, []string{"-n1", "-N2"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "sbatch: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1", told(o.Messages))
	assert.EqualValues(t, 1, o.Spec.MaxNodes)
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{
		"SBATCH_PARTITION": "short", "SBATCH_TIMELIMIT": "5", "SBATCH_ARRAY_INX": "1-3", "SBATCH_EXCLUSIVE": "",
		"SBATCH_SPREAD_JOB": "0", "SBATCH_NO_KILL": "", "SBATCH_WAIT": "", "SBATCH_NTASKS": "7", "SLURM_HINT": "nomultithread",
		"SLURM_NTASKS": "9",
	}
	o, err := parse(Sbatch, []string{"-t", "7"}, env)
	require.NoError(t, err)
	assert.Equal(t, "short", o.Spec.Partition)
	assert.EqualValues(t, 7, o.Spec.TimeLimit, "the command line wins")
	assert.Equal(t, "1-3", o.Spec.Array)
	assert.Equal(t, wire.Exclusive_EXCL_NODE, o.Spec.Exclusive)
	assert.True(t, o.Spec.NoKill)
	assert.True(t, o.Wait)
	assert.Zero(t, o.Spec.NumTasks, "sbatch reads no variable for it")
	assert.Equal(t, "nomultithread", o.Spec.Hint)

	o, err = parse(Sbatch, nil, map[string]string{"SBATCH_DEBUG": "2", "SBATCH_WAIT4SWITCH": "5", "SLURM_DEBUG": "1"})
	require.NoError(t, err)
	assert.Equal(t, 2, o.Level)
	assert.EqualValues(t, 300, o.Spec.SwitchesWait)
	o, err = parse(Srun, []string{"-m", "plane"}, map[string]string{"SLURM_DIST_PLANESIZE": "4"})
	require.NoError(t, err)
	assert.Equal(t, "plane=4", o.Spec.DistributionText)
	_, err = parse(Sbatch, nil, map[string]string{"SBATCH_TIMELIMIT": "foo"})
	assert.EqualError(t, err, "Invalid --time specification")
	o, err = parse(Sbatch, []string{"--mem-per-cpu=10"}, map[string]string{"SBATCH_MEM_PER_NODE": "100"})
	require.NoError(t, err)
	assert.Equal(t, wire.MemKind_MEM_PER_CPU, o.Spec.MemKind)
	_, err = parse(Sbatch, nil, map[string]string{"SBATCH_MEM_PER_NODE": "100", "SBATCH_MEM_PER_CPU": "1"})
	assert.EqualError(t, err, "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.")
}

func script(t *testing.T, body string, args ...string) (*Options, error) {
	o := New(Sbatch, now)
	line, err := Read(Sbatch, args)
	require.NoError(t, err)
	for _, step := range []func() error{
		func() error { return o.ApplyScript("s.sh", []byte(body)) },
		func() error { return o.ApplyForeign("s.sh", []byte(body)) },
		func() error { return o.Apply(line) },
		o.Finish,
	} {
		if err := step(); err != nil {
			return o, err
		}
	}
	return o, nil
}

func TestScript(t *testing.T) {
	o, err := script(t, "#!/bin/sh\n#SBATCH -J a -n 2\n#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL --help --wrap=x\n", "-n3", "--mail-type=BEGIN")
	require.NoError(t, err)
	assert.EqualValues(t, 3, o.Spec.NumTasks)
	assert.Equal(t, "a", o.Spec.Name)
	assert.EqualValues(t, 7, o.Spec.MailType)
	assert.False(t, o.Help)
	assert.Empty(t, o.Wrap)

	for body, want := range map[string]string{
		"#SBATCH --job-name=Big simulation\n": "Invalid directive found in batch script: simulation",
		"#SBATCH -n 2 -- foo\n":               "Invalid directive found in batch script: foo",
		"#SBATCHX -J x\n":                     "Invalid directive found in batch script: X",
		"#SBATCH - -J x\n":                    "Invalid directive found in batch script: -",
		"#SBATCH -J \"x\n":                    "s.sh: line 2: Unmatched `\"` in [ \"x]",
		"#SBATCH -J\n":                        "option requires an argument -- 'J'",
		"#SBATCH --image=x\n":                 "unrecognized option '--image=x'",
		"#SBATCH hetjob\n":                    "not supported yet: heterogeneous jobs (#SBATCH hetjob)",
		"#SBATCH -n2\n#SBATCH packjob # c\n":  "not supported yet: heterogeneous jobs (#SBATCH packjob)",
	} {
		_, err := script(t, "#!/bin/sh\n"+body)
		assert.EqualError(t, err, want, body)
	}
	_, err = script(t, "#!/bin/sh\n#SBATCH --mem=5\n", "--mem-per-cpu=3")
	assert.EqualError(t, err, "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
}

func TestForeignDirectives(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"#PBS -N nm -l walltime=00:10:00,nodes=2:ppn=3 -q short -o out -e err -A acc",
			`name:"nm" time_limit:10 min_nodes:2 max_nodes:2 min_nodes_set:true num_tasks:6 partition:"short" std_out:"out" std_err:"err" account:"acc"`},
		{"#PBS -l select=2:ncpus=4:mem=1gb -l walltime=1:00:00", "min_nodes:2 max_nodes:2 min_nodes_set:true min_cpus:4 mem_kind:MEM_PER_NODE mem:1024 time_limit:60"},
		{"#PBS -J 1-5 -W depend=afterok:3 -j oe -k oe -m abe -M a@b", `array:"1-5" dependency:"afterok:3" mail_type:7 mail_user:"a@b"`},
		{"#PBS -l naccelerators=1", `gres_per_node:{name:"gpu" count:1} tres_per_node:"gres/gpu:1"`},
		{"#PBS -l nodes=node1+node2", `nodelist:"node[1-2]"`},
		{"#PBS -l nodes=1:ppn=2:foo", `min_nodes:1 max_nodes:1 min_nodes_set:true num_tasks:2 nodelist:"foo"`},
		{"#PBS -N nm\n#SBATCH -J x", `name:"nm"`},
		{"#BSUB -J nm -n 4 -q short -W 00:30", `name:"nm" num_tasks:4 partition:"short" time_limit:1`},
		{"#PBS -h -p 10 -l file=3gb", "hold:true nice:10 tmp_disk:3072"},
	} {
		o, err := script(t, "#!/bin/sh\n"+c.body+"\n")
		require.NoError(t, err, c.body)
		assert.ElementsMatch(t, fields(c.want), fields(o.Spec.String()), c.body)
	}
	_, err := script(t, "#!/bin/sh\n#PBS -Q x\n")
	assert.EqualError(t, err, "invalid option -- 'Q'; Unrecognized command line parameter ?")
	o, err := script(t, "#!/bin/sh\n#PBS -W group_list=x,umask=022\n")
	require.NoError(t, err)
	assert.Equal(t, "sbatch: Ignored PBS attributes: group_list=x", told(o.Messages))
	assert.Equal(t, "022", o.Umask)
}

// The lines that workflow engines, portals and launchers send.
func TestClientLines(t *testing.T) {
	file, err := os.Open("testdata/clients.txt")
	require.NoError(t, err)
	defer file.Close()
	lines := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		text := scanner.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		lines++
		words := strings.Fields(text)
		program := map[string]Program{"sbatch": Sbatch, "#SBATCH": Sbatch, "srun": Srun}[words[0][:min(len(words[0]), 7)]]
		if rest, ok := strings.CutPrefix(text, "script "); ok {
			_, err := script(t, "#!/bin/bash\n#SBATCH "+rest+"\n")
			assert.NoError(t, err, text)
			continue
		}
		require.NotZero(t, program, text)
		_, err := parse(program, words[1:], nil)
		assert.NoError(t, err, text)
	}
	assert.Greater(t, lines, 100)
}

func TestStepRequest(t *testing.T) {
	env := map[string]string{
		"SLURM_JOB_ID": "12", "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2",
		"SLURM_CPUS_PER_TASK": "2", "SLURM_MEM_PER_NODE": "100", "SLURM_GPUS": "2", "SLURM_JOB_NAME": "job", "SLURM_CPU_BIND": "none",
	}
	o, err := parse(Srun, []string{"-l", "./a", "-n", "9"}, env)
	require.NoError(t, err)
	r := o.StepRequest()
	assert.EqualValues(t, 12, r.JobId)
	assert.EqualValues(t, 4, r.NumTasks)
	assert.EqualValues(t, 2, r.MinNodes)
	assert.EqualValues(t, 2, r.CpusPerTask)
	assert.EqualValues(t, 100, r.Mem)
	assert.Len(t, r.GresPerStep, 1)
	assert.Empty(t, r.Name, "the step is named after its program")
	assert.EqualValues(t, -1, r.Relative)
	assert.True(t, o.Step.Label)

	o, err = parse(Srun, strings.Fields("-n1 --gres=gpu:1 --jobid=3_4 -J x -t 5 -r 0 --overlap --exact --exclusive a"), env)
	require.NoError(t, err)
	assert.Equal(t, "Warning: can't run 1 processes on 2 nodes, setting nnodes to 1", o.Messages[0].Text)
	r = o.StepRequest()
	assert.EqualValues(t, 3, r.JobId)
	assert.EqualValues(t, 4, r.ArrayTask)
	assert.True(t, r.ArrayTaskSet)
	assert.Empty(t, r.GresPerStep)
	assert.Len(t, r.GresPerNode, 1)
	assert.Equal(t, "x", r.Name)
	assert.EqualValues(t, 5, r.TimeLimit)
	assert.Zero(t, r.Relative)
	assert.True(t, r.Overlap && r.Exact && r.Exclusive)

	env["SLURM_MEM_PER_CPU"] = "5"
	_, err = parse(Srun, []string{"a"}, env)
	assert.EqualError(t, err, "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.")
}

func TestSrunRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"--mpi=foo a":          "Invalid MPI type 'foo', --mpi=list for acceptable types",
		"--cpu-bind=foo a":     `unrecognized --cpu-bind argument "foo"; Failed to parse --cpu-bind= values.`,
		"--jobid=foo a":        `Invalid numeric value "foo" for --jobid.`,
		"-W x a":               `Invalid numeric value "x" for --wait.`,
		"-K=3 a":               `Invalid numeric value "=3" for --kill-on-bad-exit.`,
		"--relative=x a":       `Invalid numeric value "x" for --relative.`,
		"--immediate=x a":      `Invalid numeric value "x" for immediate.`,
		"--container-image=x":  "unrecognized option '--container-image=x'",
		"--uid=3 a":            "unrecognized option '--uid=3'",
		"--pty bash":           "not supported yet: --pty",
		"--exclusive=foo true": "Invalid --exclusive specification",
	} {
		_, err := parse(Srun, strings.Fields(args), nil)
		assert.EqualError(t, err, want, args)
	}
}

func TestTableIsSound(t *testing.T) {
	for _, program := range []Program{Sbatch, Srun, Salloc} {
		letters, names := map[byte]string{}, map[string]bool{}
		for _, w := range words(program) {
			assert.False(t, names[w.Long], "%v: --%s twice", program, w.Long)
			names[w.Long] = true
			if w.Short != 0 {
				assert.Empty(t, letters[w.Short], "%v: -%c twice", program, w.Short)
				letters[w.Short] = w.Long
			}
		}
		help := Help(program, "script")
		assert.NotContains(t, help, "--tasks-per-node")
		assert.Contains(t, help, "--ntasks-per-node=n")
		assert.Contains(t, Usage(program, "script"), "[--nodes=min[-max]]")
	}
	for i, e := range Table() {
		assert.True(t, e.Status == NotYet || e.Status == Accepted || e.Set != nil, "--%s does nothing", e.Long)
		if i > 0 {
			assert.LessOrEqual(t, Table()[i-1].Long, e.Long)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n#SBATCH -J 'a b' -N2-4 --mem=4G --gres=gpu:a:2 --signal=B:1@2\n#PBS -l nodes=1:ppn=2,mem=3gb\n"))
	f.Add([]byte("#SBATCH --array=1-3%x -m plane=2 -B 2:* --mail-type=ALL --begin=now+1hour\n#BSUB -n 3"))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := New(Sbatch, now)
		for _, step := range []func() error{
			func() error { return o.ApplyScript("s", body) },
			func() error { return o.ApplyForeign("s", body) },
			o.Finish,
		} {
			err := step()
			var refusal *Refusal
			if errors.As(err, &refusal) && (refusal.Code == 0 || len(refusal.Messages) == 0) {
				t.Fatalf("an error without text or code: %#v", refusal)
			}
			if err != nil {
				return
			}
		}
		if s := o.Spec; s.MaxNodes < s.MinNodes {
			t.Fatalf("%d-%d nodes", s.MinNodes, s.MaxNodes)
		}
	})
}
