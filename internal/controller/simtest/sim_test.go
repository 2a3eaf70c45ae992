package simtest

import (
	"flag"
	"fmt"
	"testing"

	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/wire"
)

var (
	seeds = flag.Int("seeds", 300, "how many invented days to go through")
	first = flag.Uint64("seed", 1, "the first of them")
	steps = flag.Int("steps", 600, "steps of each before the faults end")
)

func TestInventedDays(t *testing.T) {
	for i := range *seeds {
		seed := *first + uint64(i)
		if problem := day(seed); problem != "" {
			t.Fatalf("seed %d: %s\nreplay: go test ./internal/controller/simtest -seed %d -seeds 1", seed, problem, seed)
		}
	}
}

// day goes through one day and says what went wrong.
func day(seed uint64) string {
	w := newWorld(seed)
	for range *steps {
		w.step()
		if w.problem != "" {
			return w.problem
		}
	}
	w.calm()
	return w.problem
}

// step lets one thing happen.
func (w *world) step() {
	n := w.nodes[w.rnd.IntN(len(w.nodes))]
	switch k := w.rnd.IntN(100); {
	case k < 12:
		w.submit()
	case k < 16:
		w.disturb()
	case k < 32:
		w.commit()
	case k < 44:
		w.pass()
	case k < 58:
		if len(n.in) > 0 {
			n.obey()
		}
	case k < 74:
		w.hear(n)
	case k < 86:
		if runs := n.sorted(); len(runs) > 0 {
			n.advance(runs[w.rnd.IntN(len(runs))])
		}
	case k < 90:
		w.tick(int64(w.rnd.IntN(20)))
	case k < 93:
		w.hookEnds()
	case k < 97:
		if n.session == 0 {
			n.connect()
		}
	case k < 98:
		n.disconnect()
	case w.rnd.IntN(10) == 0:
		n.reboot()
	case w.rnd.IntN(6) == 0:
		w.boot()
	}
}

func (w *world) hear(n *simNode) {
	if len(n.out) > 0 {
		ev := n.out[0]
		n.out = n.out[1:]
		w.toController(ev)
	}
}

func (w *world) tick(secs int64) {
	w.now += secs
	w.toController(&controller.Tick{})
}

func (w *world) hookEnds() {
	if len(w.hooks) > 0 {
		ev := w.hooks[0]
		w.hooks = w.hooks[1:]
		w.toController(ev)
	}
}

func (w *world) submit() {
	if len(w.jobs) > 40 {
		return
	}
	spec := &wire.JobSpec{Name: fmt.Sprint("j", w.rnd.IntN(5)), Uid: 1000, Batch: true, TimeLimit: uint32(1 + w.rnd.IntN(10))}
	spec.NumTasks = uint32(1 + w.rnd.IntN(4))
	switch w.rnd.IntN(8) {
	case 0:
		spec.MinNodes, spec.MaxNodes, spec.NumTasks = 2, 2, 2
	case 1:
		spec.Array = "0-4%2"
	case 2:
		spec.RequeueSet = true // no requeue
	case 3:
		spec.Dependency = "singleton"
	case 4:
		spec.GresPerNode = []*wire.GresRequest{{Name: "gpu", Count: 1}}
	case 5:
		spec.Exclusive = wire.Exclusive_EXCL_NODE
	case 6:
		spec.Dependency = fmt.Sprint("afterany:", 1+w.rnd.IntN(20))
	}
	w.ticket++
	ev := &controller.Submit{Head: controller.Head{Actor: controller.Actor{UID: 1000}, ID: fmt.Sprint(w.ticket)}, Spec: spec}
	w.toController(controller.WithTicket(ev, w.ticket))
}

// disturb cancels, requeues, holds or releases some job.
func (w *world) disturb() {
	if len(w.jobs) == 0 {
		return
	}
	keys := sortedKeys(w.jobs)
	ref := &wire.JobRef{JobId: w.jobs[keys[w.rnd.IntN(len(keys))]].State.JobId}
	head := controller.Head{Actor: controller.Actor{Operator: true, Admin: true}}
	act := func(v wire.JobVerb) controller.Event {
		return &controller.JobAction{Head: head, Request: &wire.JobActionRequest{Verb: v, Jobs: []*wire.JobRef{ref}}}
	}
	switch w.rnd.IntN(6) {
	case 0:
		w.toController(act(wire.JobVerb_VERB_REQUEUE))
	case 1:
		w.toController(act(wire.JobVerb_VERB_HOLD))
	case 2:
		w.toController(act(wire.JobVerb_VERB_SUSPEND))
	case 3:
		w.toController(act(wire.JobVerb_VERB_RESUME))
	default:
		w.toController(&controller.Signal{Head: head, Request: &wire.SignalRequest{Cancel: true, Select: &wire.JobSelect{Jobs: []*wire.JobRef{ref}}}})
	}
}

// calm ends the faults and lets everything come to its end, then counts.
func (w *world) calm() {
	w.faults = false
	for range 3000 {
		for _, n := range w.nodes {
			if n.session == 0 {
				n.connect()
			}
			for len(n.in) > 0 {
				n.obey()
			}
			for _, r := range n.sorted() {
				n.advance(r)
			}
			for len(n.out) > 0 {
				w.hear(n)
			}
		}
		for len(w.hooks) > 0 {
			w.hookEnds()
		}
		for range 5 {
			w.commit()
			w.pass()
		}
		w.tick(5)
		w.free()
		if w.problem != "" || w.quiet() {
			break
		}
	}
	w.count()
}

// free releases what was held and brings back what was suspended.
func (w *world) free() {
	head := controller.Head{Actor: controller.Actor{Operator: true, Admin: true}}
	for _, k := range sortedKeys(w.jobs) {
		st := w.jobs[k].State
		verb := wire.JobVerb_VERB_NONE
		switch {
		case st.State == wire.BaseState_PENDING && st.Priority == 0:
			verb = wire.JobVerb_VERB_RELEASE
		case st.State == wire.BaseState_SUSPENDED:
			verb = wire.JobVerb_VERB_RESUME
		default:
			continue
		}
		w.toController(&controller.JobAction{Head: head, Request: &wire.JobActionRequest{Verb: verb, Jobs: []*wire.JobRef{{JobId: st.JobId}}}})
	}
	for _, n := range w.nodes {
		if st := w.rows[n.name]; st != nil && st.Flags&uint32(wire.NodeFlag_NF_DRAIN) != 0 {
			w.toController(&controller.Update{Head: head, Request: &wire.UpdateRequest{Entity: "node", Target: n.name,
				Fields: []*wire.FieldUpdate{{Key: "State", Value: "RESUME"}}}})
		}
	}
}

func (w *world) quiet() bool {
	for _, j := range w.jobs {
		if model.Active(j.State.State, j.State.Flags) {
			return false
		}
	}
	for _, n := range w.nodes {
		if len(n.runs) > 0 || len(n.in)+len(n.out) > 0 {
			return false
		}
	}
	return len(w.replay) == 0 && w.batch == nil
}

// count compares what is left with what must be.
func (w *world) count() {
	if w.problem != "" {
		return
	}
	for _, k := range sortedKeys(w.jobs) {
		j := w.jobs[k].State
		if model.Active(j.State, j.Flags) {
			w.fail("job %d (key %d) waits for ever: %v", j.JobId, k, j)
		}
		for a := uint32(1); a <= j.Attempt; a++ {
			if w.history[ref{k, a}] == nil {
				w.fail("attempt %d of job key %d is not accounted for", a, k)
			}
		}
		if j.Attempt == 0 && w.history[ref{k, 0}] == nil {
			w.fail("job key %d ended without a record", k)
		}
	}
	for k := range w.acked {
		if _, ok := w.jobs[k]; !ok {
			w.fail("acknowledged job %d is lost", k)
		}
	}
	for n := range w.pump.View().Nodes() {
		if n.AllocCPUs != 0 || n.AllocMem != 0 || n.Jobs != 0 {
			w.fail("node %s still holds %d CPUs of %d jobs", n.Conf.Name, n.AllocCPUs, n.Jobs)
		}
	}
	for _, n := range w.nodes {
		for k := range n.runs {
			w.fail("node %s was never let go of run %d.%d", n.name, k.key, k.attempt)
		}
	}
}
