package session

import (
	"context"
	"sync"
	"time"

	"muster/internal/wire"
)

// outbox holds what is to be sent, one newest fact for each subject.
type outbox struct {
	mu       sync.Mutex
	wake     chan struct{}
	connect  bool
	queue    []*subject
	subjects map[any]*subject
	problems map[string]bool // standing problems, told again to each controller
}

type subject struct {
	key    any
	report *wire.NodeReport
}

type runKey struct {
	key     int64
	attempt uint32
}

type stepKey struct {
	runKey
	step int32
}

type loadKey struct{}

type problemKey string

func (o *outbox) init() {
	o.wake = make(chan struct{}, 1)
	o.subjects = make(map[any]*subject)
	o.problems = make(map[string]bool)
}

// put queues a report; with no connection it is dropped, because the next
// registration says everything.
func (o *outbox) put(key any, report *wire.NodeReport) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.putLocked(key, report)
}

func (o *outbox) putLocked(key any, report *wire.NodeReport) {
	if !o.connect {
		return
	}
	if old := o.subjects[key]; old != nil {
		old.report = report
	} else {
		s := &subject{key, report}
		o.queue = append(o.queue, s)
		o.subjects[key] = s
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// clear drops everything and begins to collect: the registration is about to
// be made, and what is reported from now on may not be in it.
func (o *outbox) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = nil
	clear(o.subjects)
	o.connect = true
}

// open tells the controller of standing problems.
func (o *outbox) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for text := range o.problems {
		o.putLocked(problemKey(text), &wire.NodeReport{Report: &wire.NodeReport_Problem{Problem: text}})
	}
}

func (o *outbox) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.connect = false
}

func (o *outbox) load(load *wire.NodeLoad) {
	o.put(loadKey{}, &wire.NodeReport{Report: &wire.NodeReport_Load{Load: load}})
}

// take waits for reports, for a beat (then it returns none) or for the end.
func (o *outbox) take(ctx context.Context, beat <-chan time.Time) ([]*wire.NodeReport, bool) {
	for {
		o.mu.Lock()
		if len(o.queue) > 0 {
			reports := make([]*wire.NodeReport, len(o.queue))
			for i, s := range o.queue {
				reports[i] = s.report
			}
			o.queue = o.queue[:0]
			clear(o.subjects)
			o.mu.Unlock()
			return reports, true
		}
		o.mu.Unlock()
		select {
		case <-o.wake:
		case <-beat:
			return nil, true
		case <-ctx.Done():
			return nil, false
		}
	}
}

// RunFact reports how a run stands. The fact must not be changed afterwards.
func (s *Session) RunFact(fact *wire.RunFact) {
	s.out.put(runKey{fact.Key, fact.Attempt}, &wire.NodeReport{Report: &wire.NodeReport_Run{Run: fact}})
}

// StepFact reports how a step stands.
func (s *Session) StepFact(key int64, attempt uint32, fact *wire.StepFact) {
	s.out.put(stepKey{runKey{key, attempt}, fact.Step}, &wire.NodeReport{Report: &wire.NodeReport_Step{
		Step: &wire.StepReport{Key: key, Attempt: attempt, Step: fact},
	}})
}

type registerKey struct{}

// Reregister says anew who the node is, after its configuration has changed.
func (s *Session) Reregister() {
	register := s.cfg.Node.Register()
	register.Protocol = Protocol
	s.out.put(registerKey{}, &wire.NodeReport{Report: &wire.NodeReport_Register{Register: register}})
}

// Ack answers an order.
func (s *Session) Ack(order uint64, failure string) {
	s.out.put(order, &wire.NodeReport{Report: &wire.NodeReport_Ack{Ack: &wire.OrderAck{Order: order, Error: failure}}})
}

// Problem tells the administrators of something, until it is over.
func (s *Session) Problem(text string, over bool) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.out.problems[text] == !over {
		return
	}
	if over {
		delete(s.out.problems, text)
	} else {
		s.out.problems[text] = true
	}
	switch {
	case !over:
		s.out.putLocked(problemKey(text), &wire.NodeReport{Report: &wire.NodeReport_Problem{Problem: text}})
	case len(s.out.problems) == 0:
		s.out.putLocked(problemKey(""), &wire.NodeReport{Report: &wire.NodeReport_ProblemOver{ProblemOver: true}})
	}
}
