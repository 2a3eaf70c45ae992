package simtest

import (
	"muster/internal/controller"
	"muster/internal/wire"
)

type ref struct {
	key     int64
	attempt uint32
}

// simRun is a run as its node knows it.
type simRun struct {
	order *wire.RunOrder
	fact  *wire.RunFact
	stop  bool
	self  bool // goes on to its epilog without being told
}

// simNode is a node daemon: a journal of runs, a session that may break.
type simNode struct {
	w       *world
	name    string
	boot    int
	session uint64 // 0 = not connected
	in      []*wire.NodeOrder
	out     []controller.Event
	runs    map[ref]*simRun
	highest int64
}

func (n *simNode) disconnect() {
	if n.session == 0 {
		return
	}
	n.w.toController(&controller.NodeGone{Node: n.name, Session: n.session, Since: n.w.now})
	n.session, n.in, n.out = 0, nil, nil
}

func (n *simNode) connect() {
	n.w.sessions++
	n.session = n.w.sessions
	n.in = nil
	reg := &wire.Register{Node: n.name, BootId: string(rune('a' + n.boot%26)), HighestJob: uint64(n.highest), ClusterId: "id"}
	for _, r := range n.sorted() {
		reg.Runs = append(reg.Runs, n.copyOf(r))
	}
	n.out = []controller.Event{&controller.NodeRegister{Node: n.name, Session: n.session, Register: reg}}
}

func (n *simNode) copyOf(r *simRun) *wire.RunFact {
	f := r.fact
	return &wire.RunFact{
		Key: f.Key, Attempt: f.Attempt, JobId: f.JobId, Stage: f.Stage, BatchEnded: f.BatchEnded,
		BatchExitStatus: f.BatchExitStatus, BatchStart: f.BatchStart, BatchEnd: f.BatchEnd, Failure: f.Failure,
	}
}

func (n *simNode) report(r *simRun) { n.say(n.copyOf(r)) }

func (n *simNode) say(f *wire.RunFact) {
	if n.session != 0 {
		n.out = append(n.out, &controller.NodeReport{Node: n.name, Session: n.session, Run: f})
	}
}

// obey takes the next order.
func (n *simNode) obey() {
	o := n.in[0]
	n.in = n.in[1:]
	if o.Order != 0 {
		n.launch(n.w.launches[o.Order-1])
		return
	}
	switch b := o.Body.(type) {
	case *wire.NodeOrder_Terminate:
		t := b.Terminate
		r := n.runs[ref{t.Key, t.Attempt}]
		if r == nil {
			n.say(&wire.RunFact{Key: t.Key, Attempt: t.Attempt, Stage: wire.RunStage_STAGE_GONE})
			return
		}
		r.stop = true
		if r.fact.Stage == wire.RunStage_STAGE_GONE {
			n.report(r)
		}
	case *wire.NodeOrder_RunAck:
		k := ref{b.RunAck.Key, b.RunAck.Attempt}
		if r := n.runs[k]; r != nil && r.fact.Stage == wire.RunStage_STAGE_GONE {
			delete(n.runs, k)
		}
	}
}

// launch accepts a run, once.
func (n *simNode) launch(o *wire.RunOrder) {
	k := ref{o.Key, o.Attempt}
	if r := n.runs[k]; r != nil {
		n.report(r)
		return
	}
	n.highest = max(n.highest, o.Key)
	r := &simRun{order: o, self: n.w.rnd.IntN(2) == 0, fact: &wire.RunFact{Key: o.Key, Attempt: o.Attempt, JobId: o.JobId, Stage: wire.RunStage_STAGE_ACCEPTED}}
	n.runs[k] = r
	if n.w.faults && n.w.rnd.IntN(30) == 0 {
		r.fact.Stage, r.fact.Failure = wire.RunStage_STAGE_GONE, "made up"
	} else {
		n.w.begun(n, o)
	}
	n.report(r)
}

// advance moves a run one stage on.
func (n *simNode) advance(r *simRun) {
	f := r.fact
	switch {
	case f.Stage == wire.RunStage_STAGE_GONE:
		return
	case r.stop || f.Stage == wire.RunStage_STAGE_ENDED && r.self:
		if r.order.BatchHost && !f.BatchEnded && f.Stage >= wire.RunStage_STAGE_RUNNING {
			f.BatchEnded, f.BatchExitStatus, f.BatchEnd = true, 15, n.w.now
		}
		f.Stage = wire.RunStage_STAGE_GONE
	case f.Stage < wire.RunStage_STAGE_RUNNING:
		f.Stage, f.BatchStart = wire.RunStage_STAGE_RUNNING, n.w.now
	case f.Stage == wire.RunStage_STAGE_RUNNING && r.order.BatchHost:
		f.Stage = wire.RunStage_STAGE_ENDED
		f.BatchEnded, f.BatchEnd = true, n.w.now
		if n.w.rnd.IntN(4) == 0 {
			f.BatchExitStatus = 1 << 8
		}
	default:
		return
	}
	n.report(r)
}

// reboot ends everything on the node; its journal stays.
func (n *simNode) reboot() {
	n.disconnect()
	n.boot++
	for _, r := range n.runs {
		r.fact.Stage = wire.RunStage_STAGE_GONE
	}
}

func (n *simNode) sorted() []*simRun {
	var out []*simRun
	for k := range n.runs {
		i := 0
		for i < len(out) && (out[i].fact.Key < k.key || out[i].fact.Key == k.key && out[i].fact.Attempt < k.attempt) {
			i++
		}
		out = append(out[:i], append([]*simRun{n.runs[k]}, out[i:]...)...)
	}
	return out
}
