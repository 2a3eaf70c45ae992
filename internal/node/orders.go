package node

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"muster/internal/node/journal"
	"muster/internal/node/steplink"
	"muster/internal/wire"
)

// Order obeys the controller. It returns at once; what takes time is done by
// the run's own goroutine.
func (n *Node) Order(order *wire.NodeOrder) {
	switch body := order.Body.(type) {
	case *wire.NodeOrder_Launch:
		n.launch(body.Launch)
	case *wire.NodeOrder_Terminate:
		n.terminate(body.Terminate)
	case *wire.NodeOrder_Signal:
		n.ack(order, n.signal(body.Signal))
	case *wire.NodeOrder_Suspend:
		n.ack(order, n.suspend(body.Suspend))
	case *wire.NodeOrder_RunAck:
		n.forget(journal.ID{Key: body.RunAck.Key, Attempt: body.RunAck.Attempt})
	case *wire.NodeOrder_StepAck:
		n.forgetStep(body.StepAck)
	case *wire.NodeOrder_Reconfigure:
		if n.cfg.Reconfigure != nil {
			n.cfg.Reconfigure()
		}
	case *wire.NodeOrder_Shutdown:
		if n.cfg.Shutdown != nil {
			n.cfg.Shutdown()
		}
	default:
		n.ack(order, fmt.Errorf("noded does not know this order (%T): it is older than the controller", body))
	}
}

func (n *Node) ack(order *wire.NodeOrder, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	n.reports.Ack(order.Order, text)
}

// launch accepts a run. A second order with the same key and attempt starts
// nothing and is answered with how the first one stands.
func (n *Node) launch(signed *wire.Signed) {
	order, err := n.openOrder(signed)
	if err != nil {
		n.log.Error("launch refused", "error", err)
		n.reports.Problem("launch refused: "+err.Error(), false)
		if order != nil {
			n.reports.RunFact(&wire.RunFact{Key: order.Key, Attempt: order.Attempt, JobId: order.JobId, Stage: wire.RunStage_STAGE_GONE, Failure: err.Error()})
		}
		return
	}
	id := journal.ID{Key: order.Key, Attempt: order.Attempt}
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.runs[id]; r != nil {
		if r.accepted {
			n.reports.RunFact(r.fact)
		}
		return
	}
	r := newRun(n, id, order)
	n.runs[id] = r
	n.work.Add(1)
	go func() {
		defer n.work.Done()
		n.accept(r, signed.Payload)
	}()
}

// accept writes the launch down, and only then acts on it.
func (n *Node) accept(r *run, payload []byte) {
	if err := n.journal.Launch(r.id, payload); err != nil {
		n.reports.Problem(err.Error(), false)
		n.mu.Lock()
		delete(n.runs, r.id)
		n.mu.Unlock()
		n.reports.RunFact(&wire.RunFact{Key: r.id.Key, Attempt: r.id.Attempt, JobId: r.order.JobId, Stage: wire.RunStage_STAGE_GONE, Failure: err.Error()})
		return
	}
	n.mu.Lock()
	r.accepted = true
	n.memory.HighestJob = max(n.memory.HighestJob, uint64(r.order.Key))
	n.memory.HighestJobId = max(n.memory.HighestJobId, r.order.JobId)
	n.reports.RunFact(r.fact)
	n.mu.Unlock()
	r.drive()
}

func (n *Node) openOrder(signed *wire.Signed) (*wire.RunOrder, error) {
	order := new(wire.RunOrder)
	// Read even if it is forged, to say of what it was the order.
	if err := proto.Unmarshal(signed.GetPayload(), order); err != nil {
		return nil, fmt.Errorf("launch order cannot be read: %w", err)
	}
	if n.cfg.VerifyLaunch == nil {
		return order, fmt.Errorf("no public key of the controller to verify launches with")
	}
	if _, err := n.cfg.VerifyLaunch(signed); err != nil {
		return order, fmt.Errorf("launch of job %d: %w", order.JobId, err)
	}
	n.mu.Lock()
	cluster := n.memory.ClusterId
	n.mu.Unlock()
	switch {
	case order.Node != n.cfg.Name:
		return order, fmt.Errorf("launch of job %d is for node %s, not for %s", order.JobId, order.Node, n.cfg.Name)
	case order.ClusterId != cluster:
		return order, fmt.Errorf("launch of job %d is of cluster %q, this node belongs to %q", order.JobId, order.ClusterId, cluster)
	case order.Spec == nil || order.Key == 0 || order.Attempt == 0:
		return order, fmt.Errorf("launch of job %d is incomplete", order.JobId)
	}
	return order, nil
}

// terminate ends a run or one of its steps. Of a run that is not here nothing
// is left, and that is said.
func (n *Node) terminate(t *wire.Terminate) {
	r := n.find(journal.ID{Key: t.Key, Attempt: t.Attempt})
	if r == nil {
		n.reports.RunFact(&wire.RunFact{Key: t.Key, Attempt: t.Attempt, JobId: t.JobId, Stage: wire.RunStage_STAGE_GONE})
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.OneStep {
		if s := r.steps[t.Step]; s != nil {
			s.terminate(r.termination(t, t.Step))
			return
		}
		// Its srun gave it up before it came here: nothing of it is left, and it
		// must not begin any more.
		if r.givenUp == nil {
			r.givenUp = make(map[int32]bool)
		}
		r.givenUp[t.Step] = true
		n.reports.StepFact(t.Key, t.Attempt, &wire.StepFact{Step: t.Step, Ended: true, End: time.Now().Unix()})
		return
	}
	if r.fact.Stage == wire.RunStage_STAGE_GONE {
		n.reports.RunFact(r.fact)
		return
	}
	r.stop = t
	for number, s := range r.steps {
		s.terminate(r.termination(t, number))
	}
	r.end()
}

// termination is a terminate order in the shepherd's words.
func (r *run) termination(t *wire.Terminate, step int32) steplink.Terminate {
	out := steplink.Terminate{Now: t.Now, KillWait: t.KillWait}
	if out.KillWait == 0 {
		out.KillWait = uint32(r.node.settings.KillWait / time.Second)
	}
	if t.Message == "" || step == steplink.StepExtern {
		return out
	}
	// From "CANCELLED AT" on, whatever stands around it.
	text := strings.TrimSuffix(t.Message, " ***")
	if i := strings.Index(text, "CANCELLED AT"); i >= 0 {
		text = text[i:]
	} else {
		text = "CANCELLED AT " + time.Now().Format("2006-01-02T15:04:05") + " " + text
	}
	what := fmt.Sprintf("JOB %d", r.order.JobId)
	if step >= 0 {
		what = fmt.Sprintf("STEP %d.%d", r.order.JobId, step)
	}
	out.Message = fmt.Sprintf("*** %s ON %s %s ***", what, r.node.cfg.Name, text)
	return out
}

func (n *Node) signal(s *wire.SignalOrder) error {
	r := n.find(journal.ID{Key: s.Key, Attempt: s.Attempt})
	if r == nil {
		return fmt.Errorf("no such run on node %s", n.cfg.Name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := false
	for number, h := range r.steps {
		batch := number == steplink.StepBatch
		switch {
		case s.Full && number >= 0 && r.order.Spec.GetBatch() && forwarded(s.Signal):
			sent = true // by the srun in the script: once is enough
			continue
		case s.Full && number != steplink.StepExtern, s.AllSteps && number >= 0:
			h.signal(steplink.Signal{Signal: s.Signal, All: true})
		case s.Batch && batch:
			h.signal(steplink.Signal{Signal: s.Signal, Message: s.Message})
		case !s.Full && !s.AllSteps && !s.Batch && number == s.Step:
			h.signal(steplink.Signal{Signal: s.Signal, All: true})
		default:
			continue
		}
		sent = true
	}
	if !sent && !s.AllSteps {
		return fmt.Errorf("no such step on node %s", n.cfg.Name)
	}
	return nil
}

// forwarded tells whether srun hands a signal on to its tasks.
func forwarded(number uint32) bool {
	switch syscall.Signal(number) {
	case syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM:
		return true
	}
	return false
}

func (n *Node) suspend(o *wire.SuspendOrder) error {
	r := n.find(journal.ID{Key: o.Key, Attempt: o.Attempt})
	if r == nil {
		return fmt.Errorf("no such run on node %s", n.cfg.Name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.suspended = !o.Resume
	kind := steplink.KindSuspend
	if o.Resume {
		kind = steplink.KindResume
	}
	for _, h := range r.steps {
		h.send(kind, nil)
	}
	return nil
}

// forget drops a run of which nothing is left, once the controller knows it.
func (n *Node) forget(id journal.ID) {
	n.mu.Lock()
	r := n.runs[id]
	if r == nil || r.fact.Stage != wire.RunStage_STAGE_GONE {
		n.mu.Unlock()
		return
	}
	delete(n.runs, id)
	n.mu.Unlock()
	if err := n.journal.Forget(id); err != nil {
		n.log.Warn("forgetting a run", "job", r.order.GetJobId(), "error", err)
	}
}

func (n *Node) forgetStep(ack *wire.StepAck) {
	r := n.find(journal.ID{Key: ack.Key, Attempt: ack.Attempt})
	if r == nil {
		return
	}
	r.change(func(f *wire.RunFact) {
		kept := make([]*wire.StepFact, 0, len(f.Steps))
		for _, s := range f.Steps {
			if s.Step != ack.Step || !s.Ended {
				kept = append(kept, s)
			}
		}
		f.Steps = kept
	}, false)
	if err := steplink.RemoveEnd(n.runDir(r.id), stepName(ack.Step)); err != nil {
		n.log.Warn("forgetting a step", "job", r.order.JobId, "step", ack.Step, "error", err)
	}
}
