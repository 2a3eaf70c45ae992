package node

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"google.golang.org/protobuf/proto"

	"muster/internal/node/steplink"
	"muster/internal/wire"
)

// recover takes up what an earlier daemon has left: runs in any stage, and
// shepherds that went on without it.
func (n *Node) recover() error {
	rebooted := n.memory.BootId != "" && n.memory.BootId != n.cfg.BootID
	if n.memory.BootId != n.cfg.BootID {
		n.memory.BootId = n.cfg.BootID
		n.mu.Lock()
		err := n.remember()
		n.mu.Unlock()
		if err != nil {
			return err
		}
	}
	for id, record := range n.journal.Runs() {
		order := new(wire.RunOrder)
		if err := proto.Unmarshal(record.Order, order); err != nil {
			return fmt.Errorf("reading job %d in the journal of %s: %w", id.Key, n.cfg.SpoolDir, err)
		}
		r := newRun(n, id, order)
		r.accepted = true
		if len(record.State) > 0 {
			fact := new(wire.RunFact)
			if err := proto.Unmarshal(record.State, fact); err != nil {
				return fmt.Errorf("reading the state of job %d in the journal of %s: %w", id.Key, n.cfg.SpoolDir, err)
			}
			r.fact = fact
		}
		n.mu.Lock()
		n.runs[id] = r
		n.memory.HighestJob = max(n.memory.HighestJob, uint64(order.Key))
		n.memory.HighestJobId = max(n.memory.HighestJobId, order.JobId)
		n.mu.Unlock()
		switch {
		case r.fact.Stage == wire.RunStage_STAGE_GONE:
		case rebooted:
			r.lost()
		default:
			names := r.stepNames()
			r.attach(names)
			n.work.Add(1)
			go func() {
				defer n.work.Done()
				r.resume(len(names) > 0)
			}()
		}
	}
	return nil
}

func (r *run) stepNames() []string {
	names, err := steplink.Steps(r.node.runDir(r.id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.node.log.Error("looking for a run's steps", "job", r.order.JobId, "error", err)
	}
	return names
}

// lost ends a run that the machine's restart has ended.
func (r *run) lost() {
	for _, name := range r.stepNames() {
		end, err := steplink.ReadEnd(r.node.runDir(r.id), name)
		if err != nil || name != stepName(steplink.StepBatch) {
			continue
		}
		r.change(func(f *wire.RunFact) {
			f.BatchEnded, f.BatchExitStatus, f.BatchStart, f.BatchEnd = true, exitStatus(end), end.Start, end.End
			f.BatchUsage, f.Oom = wireUsage(&end.Usage, r.node.cfg.Name), end.OOM
		}, false)
	}
	r.change(func(f *wire.RunFact) {
		if !f.BatchEnded && f.Failure == "" {
			f.Failure = "the node was restarted"
		}
	}, false)
	r.gone()
}

// attach takes hold of the shepherds again.
func (r *run) attach(names []string) {
	for _, name := range names {
		number, ok := stepNumber(name)
		if !ok {
			continue
		}
		h := &stepHandle{run: r, number: number, name: name, dir: r.node.runDir(r.id), started: make(chan struct{}), done: make(chan struct{})}
		r.node.mu.Lock()
		r.steps[number] = h
		if number >= 0 {
			h.awaitSrunLocked()
		}
		r.node.mu.Unlock()
		r.node.work.Add(1)
		go h.listen()
	}
}

func stepNumber(name string) (int32, bool) {
	switch name {
	case "batch":
		return steplink.StepBatch, true
	case "extern":
		return steplink.StepExtern, true
	}
	n, err := strconv.ParseInt(name, 10, 32)
	return int32(n), err == nil
}

// resume drives a run from where the earlier daemon was.
func (r *run) resume(hasSteps bool) {
	fact := r.currentFact()
	batch := r.hasBatch()
	if hasSteps || fact.Stage >= wire.RunStage_STAGE_RUNNING && (batch || r.order.RunProlog || r.node.currentSettings().PrologAlloc) {
		r.prologed.Do(func() {})
	}
	switch {
	case fact.Stage >= wire.RunStage_STAGE_ENDED || fact.BatchEnded || fact.Failure != "" || fact.PrologFailed:
		r.end()
	case batch && r.step(steplink.StepBatch) == nil, !batch && fact.Stage < wire.RunStage_STAGE_RUNNING:
		r.begin()
	}
	select {
	case <-r.over:
	case <-r.node.ctx.Done():
		return
	}
	r.finish()
}

func (r *run) currentFact() *wire.RunFact {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	return r.fact
}
