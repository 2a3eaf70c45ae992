package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/wire"
)

// outputLines is how much of a program's output is kept for the log, bytes.
const outputBytes = 512

// runProgram runs one of the controller's own programs in its own session,
// with a time limit (0 = none), and returns the head of its output with an
// error.
func runProgram(ctx context.Context, path string, args, env []string, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end within %s", limit))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, outputBytes}, &limited{&out, outputBytes}
	cmd.Env, cmd.Dir = env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if text := strings.TrimSpace(out.String()); text != "" {
		return fmt.Errorf("%s: %w: %s", path, err, text)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// limited keeps the first bytes written to it.
type limited struct {
	buf  *bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.buf.Len(); room > 0 {
		l.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// jobEnvironment is what Slurm's guide lists for PrologSlurmctld,
// EpilogSlurmctld and MailProg.
func (s *Server) jobEnvironment(spec *wire.JobSpec, st *wire.JobState) []string {
	var nodes []string
	var gpus []string
	var cpus []uint32
	for _, a := range st.Alloc {
		nodes, cpus = append(nodes, a.Node), append(cpus, a.Cpus)
	}
	if len(st.Alloc) > 0 {
		for _, g := range st.Alloc[0].Gres {
			if g.Name == "gpu" {
				for _, i := range g.Index {
					gpus = append(gpus, strconv.FormatUint(uint64(i), 10))
				}
			}
		}
	}
	num := func(n int64) string { return strconv.FormatInt(n, 10) }
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"SLURM_CLUSTER_NAME=" + s.ClusterName,
		"SLURM_JOB_ID=" + num(int64(st.JobId)),
		"SLURM_JOBID=" + num(int64(st.JobId)),
		"SLURM_JOB_NAME=" + spec.Name,
		"SLURM_JOB_USER=" + userText(spec),
		"SLURM_JOB_UID=" + num(int64(spec.Uid)),
		"SLURM_JOB_GID=" + num(int64(spec.Gid)),
		"SLURM_JOB_GROUP=" + spec.GroupName,
		"SLURM_JOB_ACCOUNT=" + spec.Account,
		"SLURM_JOB_PARTITION=" + st.Partition,
		"SLURM_JOB_NODELIST=" + hostlist.Compress(nodes),
		"SLURM_JOB_NUM_NODES=" + num(int64(len(nodes))),
		"SLURM_JOB_CPUS_PER_NODE=" + model.Repeats(cpus),
		"SLURM_JOB_WORK_DIR=" + spec.WorkDir,
		"SLURM_JOB_COMMENT=" + spec.Comment,
		"SLURM_JOB_CONSTRAINTS=" + spec.Constraint,
		"SLURM_JOB_RESTART_COUNT=" + num(int64(st.Restarts)),
		"SLURM_JOB_EXIT_CODE=" + num(int64(st.ExitStatus)),
		"SLURM_JOB_EXIT_CODE2=" + model.ExitText(st.ExitStatus),
		"SLURM_JOB_DERIVED_EC=" + num(int64(st.DerivedExitStatus)),
		"SLURM_JOB_STATE=" + model.StateWord(st.State, 0).Long,
		"SLURM_JOB_TIMELIMIT=" + num(int64(st.TimeLimit)),
		"SLURM_JOB_START_TIME=" + num(st.Start),
		"SLURM_JOB_END_TIME=" + num(st.End),
		"SLURM_WCKEY=" + spec.Wckey,
	}
	for _, path := range [][2]string{{"STDIN", cmp.Or(spec.StdIn, "/dev/null")}, {"STDOUT", spec.StdOut}, {"STDERR", cmp.Or(spec.StdErr, spec.StdOut)}} {
		if path[1] != "" {
			env = append(env, "SLURM_JOB_"+path[0]+"="+path[1])
		}
	}
	if len(gpus) > 0 {
		env = append(env, "SLURM_JOB_GPUS="+strings.Join(gpus, ","))
	}
	if st.IsArrayTask {
		env = append(env,
			"SLURM_ARRAY_JOB_ID="+num(int64(st.ArrayJobId)),
			"SLURM_ARRAY_TASK_ID="+num(int64(st.ArrayTaskId)),
			"SLURM_ARRAY_TASK_COUNT="+num(int64(st.ArrayTaskCount)),
			"SLURM_ARRAY_TASK_MAX="+num(int64(st.ArrayTaskMax)),
			"SLURM_ARRAY_TASK_MIN="+num(int64(st.ArrayTaskMin)),
			"SLURM_ARRAY_TASK_STEP="+num(int64(st.ArrayTaskStep)))
	}
	return env
}

func userText(spec *wire.JobSpec) string {
	if spec.UserName != "" {
		return spec.UserName
	}
	return strconv.FormatUint(uint64(spec.Uid), 10)
}
