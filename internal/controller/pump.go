package controller

import (
	"muster/internal/model"
	"muster/internal/wire"
)

// batchRows is how many rows a batch may have before the reducer waits.
const batchRows = 500

// Pump holds effects back until the batch that they belong to is durable. One
// batch is in flight, one is being filled. It does no I/O: its driver commits
// what Next gives and tells how that ended.
type Pump struct {
	state  *State
	last   uint64 // number of the last batch given out
	flying *flight
	view   *View
	stale  *View // replaced; those who wait for its successor are not yet told
	pub    *publisher

	events []Event // of the batch being filled
	alone  bool    // one event a batch
}

// flight is a batch on its way, with all that waits for it.
type flight struct {
	batch   *model.Batch
	show    *change
	effects []effect
	events  []Event
}

// NewPump starts from the tables.
func NewPump(set *Settings, t *model.Tables, now int64) (*Pump, error) {
	s, err := NewState(set, t, now)
	if err != nil {
		return nil, err
	}
	p := &Pump{state: s, last: t.LastBatch, pub: newPublisher(s, t)}
	p.view = p.pub.publish(s.loaded, t.LastBatch)
	s.loaded = nil
	return p, nil
}

// View is the last committed state.
func (p *Pump) View() *View { return p.view }

// State is the newest state.
func (p *Pump) State() *State { return p.state }

// Full tells whether the reducer has to wait for the batch in flight.
func (p *Pump) Full() bool {
	return p.flying != nil && (p.alone && len(p.events) > 0 || p.state.rows() >= batchRows)
}

// Busy tells whether a batch is in flight.
func (p *Pump) Busy() bool { return p.flying != nil }

// Feed applies an event. Not while Full.
func (p *Pump) Feed(ev Event, now int64) {
	p.events = append(p.events, ev)
	p.state.Apply(ev, now)
}

// Next seals what was collected and puts it in flight. The batch is nil when
// there is nothing to write; then Committed is to be told at once. ok is false
// when a batch is in flight or nothing was collected.
func (p *Pump) Next() (b *model.Batch, ok bool) {
	if p.flying != nil || len(p.events) == 0 && p.state.idle() {
		return nil, false
	}
	f := p.state.seal()
	f.events, p.events = p.events, nil
	p.flying = f
	if f.batch.Empty() {
		return nil, true
	}
	p.last++
	f.batch.Number = p.last
	return f.batch, true
}

// Committed takes the batch in flight as durable: it is shown, and its effects
// are returned, to be carried out in order.
func (p *Pump) Committed() []effect {
	f := p.flying
	p.flying = nil
	if p.stale == nil {
		p.stale = p.view
	} else {
		close(p.view.next)
	}
	p.view = p.pub.publish(f.show, p.last)
	// Nodes are told of this number; what they remember is never newer.
	p.state.generation = max(p.state.generation, p.last)
	if f.batch.Number != 0 {
		p.pub.stats.Commits++
		p.pub.stats.Rows += uint64(f.batch.Rows())
	}
	return f.effects
}

// Release is Committed with the effects carried out.
func (p *Pump) Release(out Effects, answer func(ticket uint64, reply any)) {
	x := &executor{out: out, answer: answer, log: func(logLine) {}}
	for _, e := range p.Committed() {
		e.do(x)
	}
	p.wake()
}

// WithTicket makes an event one whose answer is told under that number.
func WithTicket(ev Event, ticket uint64) Event {
	if r, ok := ev.(request); ok {
		r.head().ticket = ticket
	}
	return ev
}

// Refused takes the batch in flight as written never: memory is to be made
// anew from the tables. It returns the events that were lost with it, in
// order; those of the refused batch first.
func (p *Pump) Refused() (refused, later []Event) {
	refused, later = p.flying.events, p.events
	p.flying, p.events = nil, nil
	return refused, later
}

// Replace takes the state anew from the tables after a refusal. What was
// shown stays shown until then.
func (p *Pump) Replace(t *model.Tables, now int64) error {
	q, err := NewPump(p.state.set, t, max(now, p.state.now))
	if err != nil {
		return err
	}
	// Sessions are not in the tables, and they stand.
	for _, n := range p.state.nodes {
		if m := q.state.nodeBy[n.conf.Name]; m != nil && n.session != 0 {
			m.session, m.silent, m.strays = n.session, n.silent, n.strays
			q.state.show(m)
			q.state.rearmNode(m)
		}
	}
	q.stale = p.view
	q.pub.stats = p.pub.stats
	*p = *q
	return nil
}

// idle tells whether nothing was collected.
func (s *State) idle() bool {
	o := s.out
	return s.rows() == 0 && len(o.effects) == 0 && len(o.shown) == 0 && o.reasons == nil && !o.repart
}

// wake tells those who wait for a view that there is a later one.
func (p *Pump) wake() {
	if p.stale != nil {
		close(p.stale.next)
		p.stale = nil
	}
}

// rows is the size of the batch being filled.
func (s *State) rows() int {
	o := s.out
	return len(o.jobs) + len(o.purged) + len(o.nodes) + len(o.runs) + len(o.steps) + len(o.stepsGone) + len(o.contents) + len(o.requests) + len(o.parts)
}

// seal ends the batch being filled and begins the next.
func (s *State) seal() *flight {
	o := s.out
	b := &model.Batch{
		Runs: o.runs, StepsGone: o.stepsGone, NodesGone: o.nodesGone, PartsGone: o.partsGone,
		Contents: o.contents, Requests: o.requests,
	}
	if o.counted {
		b.Counters = model.Counters{NextKey: s.nextKey, NextJobID: s.nextID}
	}
	for _, j := range o.jobs {
		if j.gone {
			continue
		}
		put := model.JobPut{State: j.st}
		if j.newSpec {
			put.Spec = j.spec
			j.newSpec = false
		}
		b.Jobs = append(b.Jobs, put)
	}
	for _, j := range o.purged {
		b.Purged = append(b.Purged, j.st.Key)
	}
	for _, n := range o.nodes {
		b.Nodes = append(b.Nodes, n.st)
	}
	for _, r := range o.steps {
		if step := r.j.steps[r.step]; step != nil {
			b.Steps = append(b.Steps, step)
		}
	}
	for _, name := range sortedNames(o.parts) {
		b.Partitions = append(b.Partitions, o.parts[name])
	}
	f := &flight{batch: b, show: s.change(), effects: o.effects}
	s.out = &Result{parts: map[string]*wire.PartitionState{}}
	s.seq++
	return f
}
