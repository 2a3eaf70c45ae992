package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/sched"
)

// ErrTryAgain answers requests that were under way when the lead was lost or
// the loop ended; nothing is known to have come of them.
var ErrTryAgain = errors.New("the controller cannot take the request now; try again")

// ErrFenced says that another controller leads.
var ErrFenced = errors.New("the lead was lost")

// Options are what a Loop is made of.
type Options struct {
	Store    Store
	Effects  Effects
	Settings *Settings
	Clock    func() time.Time
	Log      *slog.Logger
	Plan     func(*sched.Snapshot) *sched.Plan

	OnPass func(took time.Duration, looked, queue int) // after each pass; may be nil
	OnAway func(bool)                                  // the database is away, or back; may be nil
}

// Loop owns the state: one goroutine applies events, one commits, one plans.
type Loop struct {
	opts  Options
	queue chan Event
	done  chan struct{} // closed when Run has ended
	first chan struct{} // closed when the first view is there
	view  atomic.Pointer[View]
	dog   watchdog

	mu      sync.Mutex
	tickets map[uint64]chan any
	number  uint64
	over    bool

	// Run's own.
	pump    *Pump
	exec    executor
	commits chan *flight
	ends    chan ending
	plans   chan planned
	parts   []*PlanReady // of the plan being applied
	replay  []Event      // after a refusal
	planner planner
}

// queueLength is how many events may wait.
const queueLength = 4096

// NewLoop makes a loop; Run runs it.
func NewLoop(o Options) *Loop {
	if o.OnPass == nil {
		o.OnPass = func(time.Duration, int, int) {}
	}
	if o.OnAway == nil {
		o.OnAway = func(bool) {}
	}
	l := &Loop{
		opts: o, queue: make(chan Event, queueLength), done: make(chan struct{}), first: make(chan struct{}),
		tickets: map[uint64]chan any{}, commits: make(chan *flight, 1), ends: make(chan ending, 1), plans: make(chan planned, 1),
	}
	l.exec = executor{out: o.Effects, answer: l.answer, log: func(e logLine) {
		o.Log.Log(context.Background(), slog.Level(e.level), e.msg, e.args...)
	}}
	return l
}

// Do hands a request in and waits until it is committed.
func (l *Loop) Do(ctx context.Context, ev Event) (any, error) {
	r, ok := ev.(request)
	if !ok {
		return nil, fmt.Errorf("%T is not a request", ev)
	}
	reply := make(chan any, 1)
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return nil, ErrTryAgain
	}
	l.number++
	ticket := l.number
	l.tickets[ticket] = reply
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.tickets, ticket)
		l.mu.Unlock()
	}()
	r.head().ticket = ticket
	select {
	case l.queue <- ev:
	case <-l.done:
		return nil, ErrTryAgain
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case m := <-reply:
		return m, nil
	case <-l.done:
		select { // it may have been answered last thing
		case m := <-reply:
			return m, nil
		default:
			return nil, ErrTryAgain
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Post hands a fact in. It waits while the queue is full.
func (l *Loop) Post(ev Event) {
	select {
	case l.queue <- ev:
	case <-l.done:
	}
}

// View is the last committed state; nil before the tables are loaded.
func (l *Loop) View() *View { return l.view.Load() }

// Next waits for a view after v; after nil it is the first one.
func (l *Loop) Next(ctx context.Context, v *View) (*View, error) {
	wait := l.first
	if v != nil {
		wait = v.next
	}
	select {
	case <-wait:
		return l.view.Load(), nil
	case <-l.done:
		return nil, ErrTryAgain
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer gives a request its reply.
func (l *Loop) answer(ticket uint64, reply any) {
	l.mu.Lock()
	ch := l.tickets[ticket]
	l.mu.Unlock()
	if ch != nil {
		select {
		case ch <- reply:
		default: // a repeat of an answered one
		}
	}
}

// Run loads the tables and works until ctx ends or the lead is lost.
func (l *Loop) Run(ctx context.Context) error {
	var helpers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer helpers.Wait()
	defer l.end()
	defer cancel()
	t, err := l.opts.Store.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the tables: %w", err)
	}
	if l.pump, err = NewPump(l.opts.Settings, t, l.now()); err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	l.view.Store(l.pump.View())
	close(l.first)
	helpers.Go(func() { l.commitAll(ctx) })
	helpers.Go(func() { l.dog.watch(ctx, l.opts.Log) })
	err = l.work(ctx, &helpers)
	cancel()
	return err
}

// end answers all who still wait.
func (l *Loop) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	close(l.done)
}

func (l *Loop) now() int64 { return l.opts.Clock().Unix() }

// work is the reducer's goroutine.
func (l *Loop) work(ctx context.Context, helpers *sync.WaitGroup) error {
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		l.dog.begin()
		l.applyOwn()
		l.seal()
		l.plan(ctx, helpers)
		queue := l.queue
		if l.pump.Full() || len(l.replay) > 0 {
			queue = nil
		}
		alarm.Reset(l.nextAlarm())
		var soon chan struct{}
		if l.ownWork() {
			soon = always
		}
		l.dog.idle()
		select {
		case <-ctx.Done():
			l.lastCommit()
			return ctx.Err()
		case e := <-l.ends:
			if err := l.landed(ctx, e); err != nil {
				return err
			}
		case ev := <-queue:
			l.dog.begin()
			l.take(ev)
		case p := <-l.plans:
			l.planned(p)
		case <-alarm.C:
		case <-soon:
		}
	}
}

var always = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// atOnce bounds the events between two looks at everything else.
const atOnce = 256

// take applies an event and what else waits.
func (l *Loop) take(ev Event) {
	for n := 1; ; n++ {
		l.pump.Feed(ev, l.now())
		if n == atOnce || l.pump.Full() || l.pump.State().rows() >= batchRows {
			return
		}
		select {
		case ev = <-l.queue:
		default:
			return
		}
	}
}

// applyOwn applies what the loop itself has to apply: due timers, events to
// repeat after a refusal, the next part of a plan.
func (l *Loop) applyOwn() {
	if l.pump.Full() {
		return
	}
	now := l.now()
	if len(l.replay) > 0 {
		if l.pump.Busy() {
			return
		}
		l.pump.alone = true
		l.pump.Feed(l.replay[0], now)
		l.replay = l.replay[1:]
		return
	}
	l.pump.alone = false
	if t := l.pump.State().NextTimer(); t != 0 && t <= now {
		l.pump.Feed(&Tick{}, now)
	}
	if len(l.parts) > 0 && !l.pump.Full() {
		l.pump.Feed(l.parts[0], now)
		l.parts = l.parts[1:]
	}
}

// ownWork tells whether applyOwn could go on at once.
func (l *Loop) ownWork() bool {
	if l.pump.Full() {
		return false
	}
	return len(l.parts) > 0 || len(l.replay) > 0 && !l.pump.Busy()
}

// nextAlarm is how long the loop may sleep.
func (l *Loop) nextAlarm() time.Duration {
	wait := time.Hour
	now := l.opts.Clock()
	if t := l.pump.State().NextTimer(); t != 0 && !l.pump.Full() {
		wait = min(wait, time.Unix(t, 0).Sub(now))
	}
	if w, ok := l.planner.wait(l.pump.State(), now); ok {
		wait = min(wait, w)
	}
	return max(wait, 0)
}

// seal sends what was collected to the committer, if it is free. What needs no
// commit is done at once.
func (l *Loop) seal() {
	for {
		b, ok := l.pump.Next()
		if !ok {
			return
		}
		if b != nil {
			l.commits <- l.pump.flying
			return
		}
		l.release()
	}
}

// release shows the batch in flight and carries out its effects.
func (l *Loop) release() {
	effects := l.pump.Committed()
	l.view.Store(l.pump.View())
	l.pump.wake()
	for _, e := range effects {
		e.do(&l.exec)
	}
}
