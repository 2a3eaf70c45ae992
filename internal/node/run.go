package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/node/cgroup"
	"muster/internal/node/jobenv"
	"muster/internal/node/journal"
	"muster/internal/node/steplink"
	"muster/internal/wire"
)

// run is one attempt of a job on this node. Its fields are guarded by the
// node's mutex; the fact is replaced, never changed, because reports hold it.
type run struct {
	node  *Node
	id    journal.ID
	order *wire.RunOrder

	accepted  bool
	fact      *wire.RunFact
	steps     map[int32]*stepHandle
	givenUp   map[int32]bool // steps that were ended before they were started here
	stop      *wire.Terminate
	suspended bool
	closed    bool // no further steps

	over     chan struct{} // the run is to end
	overOnce sync.Once
	prologed sync.Once // the prolog was run, before the first step
	prologOK error
	group    *cgroup.Job // nil without cgroups
	groupErr error
	grouped  sync.Once
}

func newRun(n *Node, id journal.ID, order *wire.RunOrder) *run {
	r := &run{
		node: n, id: id, order: order,
		fact:  &wire.RunFact{Key: id.Key, Attempt: id.Attempt, JobId: order.JobId, Stage: wire.RunStage_STAGE_ACCEPTED},
		steps: make(map[int32]*stepHandle),
		over:  make(chan struct{}),
	}
	if n.cfg.Cgroups != nil {
		r.group = n.cfg.Cgroups.Job(fmt.Sprintf("job_%d.%d", id.Key, id.Attempt))
	}
	return r
}

// end lets the run go to its end. It may be called often.
func (r *run) end() { r.overOnce.Do(func() { close(r.over) }) }

// change replaces the fact by a changed copy, notes it in the journal and,
// if asked to, reports it.
func (r *run) change(f func(*wire.RunFact), report bool) {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	r.changeLocked(f, report)
}

func (r *run) changeLocked(f func(*wire.RunFact), report bool) {
	next := proto.Clone(r.fact).(*wire.RunFact)
	f(next)
	r.fact = next
	if data, err := proto.Marshal(next); err == nil {
		err = r.node.journal.State(r.id, data)
		if err != nil && !errors.Is(err, os.ErrClosed) {
			r.node.reports.Problem(err.Error(), false)
		}
	}
	if report {
		r.node.reports.RunFact(next)
	}
}

func (r *run) stage(stage wire.RunStage) {
	r.change(func(f *wire.RunFact) { f.Stage = stage }, true)
}

func (r *run) hasBatch() bool {
	return r.order.BatchHost && (r.order.Spec.Batch || len(r.order.Script) > 0)
}

func (r *run) step(number int32) *stepHandle {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	return r.steps[number]
}

func (r *run) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// drive carries the run from its acceptance to its end.
func (r *run) drive() {
	r.begin()
	select {
	case <-r.over:
	case <-r.node.ctx.Done():
		return
	}
	r.finish()
}

// begin brings the run to RUNNING, or to the decision to end it.
func (r *run) begin() {
	settings := r.node.currentSettings()
	batch := r.hasBatch()
	if (batch || r.order.RunProlog || settings.PrologAlloc) && !r.isOver() {
		if err := r.runProlog(); err != nil {
			r.end()
			return
		}
	}
	if r.isOver() || r.node.ctx.Err() != nil {
		return
	}
	if r.order.Contain && r.step(steplink.StepExtern) == nil {
		if err := r.startExtern(); err != nil {
			r.launchFailed(err, false)
			return
		}
	}
	if !batch {
		r.stage(wire.RunStage_STAGE_RUNNING)
		return
	}
	if err := r.startBatch(); err != nil {
		var own *userFault
		r.launchFailed(err, errors.As(err, &own))
	}
}

// userFault is a failure that is the job's own, not the node's.
type userFault struct{ error }

func (r *run) launchFailed(err error, own bool) {
	r.node.log.Error("launch failed", "job", r.order.JobId, "error", err)
	r.change(func(f *wire.RunFact) { f.Failure, f.UserFailure = err.Error(), own }, true)
	r.end()
}

// runProlog runs the prolog once, whoever needs it first, and gives its
// outcome to all.
func (r *run) runProlog() error {
	r.prologed.Do(func() {
		settings := r.node.currentSettings()
		if len(settings.Prolog) == 0 {
			return
		}
		r.stage(wire.RunStage_STAGE_PROLOG)
		if settings.PrologSerial {
			r.node.prolog.Lock()
			defer r.node.prolog.Unlock()
		}
		// Not cut short when the job ends meanwhile: a half-done prolog is worse.
		env := jobenv.Hook(r.order, r.node.site(), "prolog_slurmd")
		r.prologOK = r.node.hookRunner(settings.PrologTimeout).Run(r.node.ctx, settings.Prolog, env)
		if r.prologOK != nil && r.node.ctx.Err() == nil {
			r.change(func(f *wire.RunFact) {
				f.PrologFailed, f.Failure = true, "prolog: "+r.prologOK.Error()
			}, true)
		}
	})
	return r.prologOK
}

// finish ends what is left of the run, runs the epilog and cleans up.
func (r *run) finish() {
	if !r.endSteps() { // this daemon ends first
		return
	}
	settings := r.node.currentSettings()
	if len(settings.Epilog) > 0 {
		r.stage(wire.RunStage_STAGE_EPILOG)
		env := append(jobenv.Hook(r.order, r.node.site(), "epilog_slurmd"), r.exitCodes()...)
		if err := r.node.hookRunner(settings.EpilogTimeout).Run(r.node.ctx, settings.Epilog, env); err != nil {
			if r.node.ctx.Err() != nil {
				return // the next daemon runs it again
			}
			r.change(func(f *wire.RunFact) { f.EpilogFailed = true }, true)
		}
	}
	r.gone()
}

// exitCodes tell the epilog how the job ended: as the controller said, or as the
// script, which ended here, and the steps did.
func (r *run) exitCodes() []string {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	status, derived := r.stop.GetExitStatus(), r.stop.GetDerivedExitStatus()
	if r.stop == nil && r.fact.BatchEnded {
		status = r.fact.BatchExitStatus
		for _, s := range r.fact.Steps {
			if s.Step >= 0 {
				derived = max(derived, s.ExitStatus)
			}
		}
	}
	return []string{
		fmt.Sprintf("SLURM_JOB_EXIT_CODE=%d", status),
		fmt.Sprintf("SLURM_JOB_EXIT_CODE2=%d:%d", model.ExitCode(status), model.ExitSignal(status)),
		fmt.Sprintf("SLURM_JOB_DERIVED_EC=%d", derived),
	}
}

// endSteps terminates the steps that still run and waits for them.
func (r *run) endSteps() bool {
	n := r.node
	n.mu.Lock()
	r.closed = true
	var waits []*stepHandle
	for number, h := range r.steps {
		if r.stop == nil { // the batch script has ended, so the job has
			h.terminate(r.termination(&wire.Terminate{KillWait: uint32(n.settings.KillWait / time.Second), Now: number == steplink.StepExtern}, number))
		}
		waits = append(waits, h)
	}
	n.mu.Unlock()
	for _, h := range waits {
		select {
		case <-h.done:
		case <-n.ctx.Done():
			return false
		}
	}
	return true
}

// gone removes everything that the run had here. The fact stays until the
// controller has it.
func (r *run) gone() {
	n := r.node
	if r.group != nil {
		if err := r.group.Remove(); err != nil {
			n.log.Warn("a job's cgroup stays behind", "job", r.order.JobId, "error", err)
		}
	}
	if r.hasBatch() {
		n.removeAll(n.scriptDir(r.order.JobId))
	}
	n.removeAll(n.runDir(r.id))
	r.stage(wire.RunStage_STAGE_GONE)
}

func (n *Node) removeAll(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		n.log.Warn("removing a folder of the spool", "folder", dir, "error", err)
	}
}

// makeDir makes the run's folder in the spool.
func (r *run) makeDir() (string, error) {
	dir := r.node.runDir(r.id)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		r.node.reports.Problem("spool: "+err.Error(), false)
		return "", fmt.Errorf("making the run's folder: %w", err)
	}
	return dir, nil
}

// cgroups makes the job's cgroup once.
func (r *run) cgroups() error {
	if r.group == nil {
		return nil
	}
	r.grouped.Do(func() {
		limits := cgroup.Limits{}
		if here := jobenv.Here(r.order); here != nil {
			limits.Memory = here.Mem << 20
			for _, core := range here.Core {
				if int(core) < len(r.node.cfg.CoreCPUs) {
					limits.CPUs = append(limits.CPUs, r.node.cfg.CoreCPUs[core]...)
				}
			}
		}
		limits.Deny = r.node.fencedOff(r.order)
		r.groupErr = r.group.Create(limits)
	})
	return r.groupErr
}

// fencedOff lists the device files of this node that a job was not given.
func (n *Node) fencedOff(order *wire.RunOrder) []string {
	n.mu.Lock()
	devices := n.cfg.Inventory.Gres
	n.mu.Unlock()
	given := make(map[string]bool)
	for _, g := range jobenv.Here(order).GetGres() {
		for _, index := range g.Index {
			given[fmt.Sprint(g.Name, index)] = true
		}
	}
	var files []string
	for _, d := range devices {
		if d.File != "" && !given[fmt.Sprint(d.Name, d.Index)] {
			files = append(files, strings.Split(d.File, ",")...)
		}
	}
	return files
}

// site is what the environment needs to know of the site.
func (n *Node) site() *jobenv.Site {
	site := n.cfg.Site
	n.mu.Lock()
	site.Controller = n.control
	n.mu.Unlock()
	return &site
}

// runUnkillable runs UnkillableStepProgram.
func (r *run) runUnkillable(step int32) {
	settings := r.node.currentSettings()
	if settings.UnkillableProgram == "" {
		return
	}
	env := append(jobenv.Hook(r.order, r.node.site(), "unkillable_step"), fmt.Sprintf("SLURM_STEP_ID=%d", step))
	ctx, cancel := context.WithCancel(r.node.ctx)
	defer cancel()
	_ = r.node.hookRunner(settings.EpilogTimeout).Run(ctx, []string{settings.UnkillableProgram}, env) // the runner logs it
}

func stepName(step int32) string {
	switch step {
	case steplink.StepBatch:
		return "batch"
	case steplink.StepExtern:
		return "extern"
	}
	return fmt.Sprintf("%d", step)
}

// absolute resolves a path of the job against its working directory.
func absolute(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
