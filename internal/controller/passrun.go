package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"muster/internal/sched"
)

// startsAtOnce is how many starts of a plan are applied between other events.
const startsAtOnce = 256

// planner runs one pass at a time.
type planner struct {
	epoch   uint64 // raised when memory was made anew: a plan of an older one is dropped
	running bool
	next    time.Time // not before
}

// planned is a pass's result.
type planned struct {
	epoch   uint64
	plan    *sched.Plan
	reasons *reasons
	took    time.Duration
	queue   int
}

func (p *planner) drop() { p.epoch++ }

// wait tells how long until a pass that is wanted may begin.
func (p *planner) wait(s *State, now time.Time) (time.Duration, bool) {
	if p.running || !s.PassWanted() {
		return 0, false
	}
	return p.next.Sub(now), true
}

// plan begins a pass when one is wanted and due. While a plan is still being
// applied, none begins.
func (l *Loop) plan(ctx context.Context, helpers *sync.WaitGroup) {
	p := &l.planner
	now := l.opts.Clock()
	if wait, ok := p.wait(l.pump.State(), now); !ok || wait > 0 || len(l.parts) > 0 || len(l.replay) > 0 {
		return
	}
	shot := l.pump.State().Shoot()
	p.running = true
	epoch := p.epoch
	l.dog.passBegins()
	helpers.Go(func() {
		defer l.dog.passEnds()
		begun := l.opts.Clock()
		out := planned{epoch: epoch, queue: shot.queued}
		out.plan = l.runPass(shot.Snapshot())
		if out.plan != nil {
			out.reasons = newReasons(shot.old, out.plan, shot.blocked, shot.snap.Now)
		}
		out.took = l.opts.Clock().Sub(begun)
		select {
		case l.plans <- out:
		case <-ctx.Done():
		}
	})
}

// runPass runs the pass; one that panics is given up, and the cluster goes on.
func (l *Loop) runPass(snap *sched.Snapshot) (plan *sched.Plan) {
	defer func() {
		if r := recover(); r != nil {
			l.opts.Log.Error("the pass failed", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			plan = nil
		}
	}()
	return l.opts.Plan(snap)
}

// passPause is the least pause between passes: what comes in meanwhile is
// decided together, for a few milliseconds that nobody notices.
const passPause = 4 * time.Millisecond

// planned takes a plan to be applied in parts.
func (l *Loop) planned(p planned) {
	l.planner.running = false
	l.planner.next = l.opts.Clock().Add(max(p.took, passPause))
	if p.plan == nil {
		l.planner.next = l.opts.Clock().Add(5 * time.Second)
		l.pump.State().wantPass()
		return
	}
	l.opts.OnPass(p.took, p.plan.Looked, p.queue)
	if p.epoch != l.planner.epoch {
		return
	}
	l.parts = planParts(p.plan, p.reasons)
}

// planParts cuts a plan into parts that are applied between other events.
func planParts(plan *sched.Plan, r *reasons) []*PlanReady {
	var parts []*PlanReady
	starts := plan.Starts
	for len(starts) > startsAtOnce {
		parts = append(parts, &PlanReady{Starts: starts[:startsAtOnce]})
		starts = starts[startsAtOnce:]
	}
	return append(parts, &PlanReady{Starts: starts, Last: true, reasons: r})
}

// Ready makes the events of a plan for this snapshot.
func (sh *Shot) Ready(plan *sched.Plan) []*PlanReady {
	return planParts(plan, newReasons(sh.old, plan, sh.blocked, sh.snap.Now))
}
