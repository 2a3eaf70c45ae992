package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"muster/internal/node/jobenv"
	"muster/internal/node/steplink"
	"muster/internal/pattern"
	"muster/internal/wire"
)

// startBatch starts the batch script. It returns when the shepherd has it.
func (r *run) startBatch() error {
	spec, err := r.baseSpec(steplink.StepBatch)
	if err != nil {
		return err
	}
	job := r.order.Spec
	script, err := r.writeScript()
	if err != nil {
		return err
	}
	env := jobenv.Batch(r.order, r.node.site())
	if job.GetUserEnv {
		if env, err = r.userEnv(env); err != nil {
			return err
		}
	}
	spec.Env = r.marked(env, "batch")
	spec.WorkDir = job.WorkDir
	spec.Umask = job.Umask
	spec.Limits = limits(job.Rlimits)
	spec.Append = r.append(job.OpenMode)
	spec.Reuse = true
	values := r.values("batch", "")
	expand := func(path string) string { return absolute(job.WorkDir, pattern.Expand(path, values)) }
	spec.Tasks = []steplink.Task{{
		Argv:   append([]string{script}, job.Argv...),
		Stdin:  expand(job.StdIn),
		Stdout: expand(r.defaultOutput()),
		Stderr: expand(job.StdErr),
	}}
	_, err = r.startStep(spec, steplink.StepBatch)
	return err
}

func (r *run) defaultOutput() string {
	switch {
	case r.order.Spec.StdOut != "":
		return r.order.Spec.StdOut
	case r.order.IsArrayTask:
		return "slurm-%A_%a.out"
	}
	return "slurm-%j.out"
}

func (r *run) append(mode wire.OpenMode) bool {
	switch mode {
	case wire.OpenMode_OPEN_APPEND:
		return true
	case wire.OpenMode_OPEN_TRUNCATE:
		return false
	}
	return r.node.currentSettings().JobFileAppend
}

func (r *run) values(step, stepID string) *pattern.Values {
	v := &pattern.Values{
		JobID: r.order.JobId, ArrayTask: pattern.NoTask, Step: step, StepID: stepID,
		Host: r.node.cfg.Hostname, Node: r.order.NodeIndex,
		User: r.order.Spec.UserName, JobName: r.order.Spec.Name,
	}
	if r.order.IsArrayTask {
		v.ArrayJobID, v.ArrayTask = r.order.ArrayJobId, r.order.ArrayTaskId
	}
	return v
}

// marked adds the mark by which processes are found where there is no cgroup.
func (r *run) marked(env []string, step string) []string {
	if r.group != nil {
		return env
	}
	return append(env, r.mark(step))
}

func limits(given []*wire.Rlimit) []steplink.Limit {
	out := make([]steplink.Limit, len(given))
	for i, l := range given {
		out[i] = steplink.Limit{Resource: l.Resource, Soft: l.Soft}
	}
	return out
}

// baseSpec is what all steps of the run have in common, with the step's cgroup
// and folder made.
func (r *run) baseSpec(step int32) (*steplink.Spec, error) {
	n := r.node
	job := r.order.Spec
	if !n.cfg.Privileged && int(job.Uid) != os.Getuid() {
		return nil, fmt.Errorf("noded does not run as root and can run jobs of uid %d only, not of uid %d", os.Getuid(), job.Uid)
	}
	dir, err := r.makeDir()
	if err != nil {
		return nil, err
	}
	settings := n.currentSettings()
	spec := &steplink.Spec{
		Protocol: steplink.Protocol,
		Key:      r.id.Key, Attempt: r.id.Attempt, Step: step, JobID: r.order.JobId,
		Node: n.cfg.Name, LogName: n.cfg.LogName, Dir: dir, Name: stepName(step),
		BecomeUser: n.cfg.Privileged, UID: job.Uid, GID: job.Gid, Groups: job.Gids,
		KillWait: uint32(settings.KillWait / time.Second),
		Sample:   uint32(settings.Sample / time.Second),
		Timeout:  uint32(settings.PrologTimeout / time.Second),
		Unkill:   uint32(settings.UnkillableTimeout / time.Second),
	}
	if settings.TaskProlog != "" {
		spec.TaskProlog = []string{settings.TaskProlog}
	}
	if settings.TaskEpilog != "" {
		spec.TaskEpilog = []string{settings.TaskEpilog}
	}
	if r.group == nil {
		return spec, nil
	}
	if err := r.cgroups(); err != nil {
		return nil, err
	}
	group, err := r.group.Step("step_" + spec.Name)
	if err != nil {
		return nil, err
	}
	spec.Cgroups, spec.V2, spec.Freezer, spec.Memory = group.Dirs, group.V2, group.Freezer, group.Memory
	return spec, nil
}

// writeScript puts the script where the user can run it, and only the user can
// read it.
func (r *run) writeScript() (string, error) {
	dir := r.node.scriptDir(r.order.JobId)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", r.node.spoolError("making the script's folder", err)
	}
	// A shepherd that an earlier daemon started may be about to run the script:
	// it must be there, whole, at every moment.
	path := filepath.Join(dir, "slurm_script")
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", r.node.spoolError("removing a half-written script", err)
	}
	// No process may be forked while the script is open for writing: it would
	// hold it open until its exec, and the script could not be run ("text file
	// busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", r.node.spoolError("writing the script", err)
	}
	_, err = file.Write(r.order.Script)
	if err == nil && r.node.cfg.Privileged {
		err = file.Chown(int(r.order.Spec.Uid), -1)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		return "", r.node.spoolError("writing the script", err)
	}
	return path, nil
}

// spoolError tells the administrators of a full spool.
func (n *Node) spoolError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		n.reports.Problem(fmt.Sprintf("the spool directory %s is full", n.cfg.SpoolDir), false)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// startExtern starts the step that holds what others put into the job's
// cgroup.
func (r *run) startExtern() error {
	spec, err := r.baseSpec(steplink.StepExtern)
	if err != nil {
		return err
	}
	spec.Extern = true
	_, err = r.startStep(spec, steplink.StepExtern)
	return err
}
