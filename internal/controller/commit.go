package controller

import (
	"context"
	"fmt"
	"time"

	"muster/internal/model"
)

// ending is how a batch ended.
type ending struct {
	outcome model.Outcome // Committed, Fenced or Refused
	err     error
}

// Waits between attempts to commit.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Second
)

// commitAll is the committer's goroutine: one batch after the other, each until
// its end is known.
func (l *Loop) commitAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-l.commits:
			outcome, err := l.commit(ctx, f.batch)
			if ctx.Err() != nil && outcome != model.Committed {
				outcome, err = model.Fenced, ctx.Err()
			}
			l.ends <- ending{outcome, err}
		}
	}
}

// commit sends a batch until it is known what became of it.
func (l *Loop) commit(ctx context.Context, b *model.Batch) (model.Outcome, error) {
	wait, away := retryFirst, false
	defer func() {
		if away {
			l.opts.OnAway(false)
		}
	}()
	for ctx.Err() == nil {
		outcome, err := l.opts.Store.Commit(ctx, b)
		if outcome == model.Unknown {
			outcome, err = l.whatBecame(ctx, b, err)
		}
		if outcome != model.Retry {
			return outcome, err
		}
		if !away {
			away = true
			l.opts.OnAway(true)
			l.opts.Log.Error("the database is away; changes wait", "error", err)
		}
		pause(ctx, wait)
		wait = min(2*wait, retryMost)
	}
	return model.Fenced, ctx.Err()
}

// whatBecame asks the lease row whether a batch was written whose answer was lost.
func (l *Loop) whatBecame(ctx context.Context, b *model.Batch, cause error) (model.Outcome, error) {
	l.opts.Log.Warn("a commit's answer was lost", "batch", b.Number, "error", cause)
	wait := retryFirst
	for ctx.Err() == nil {
		last, err := l.opts.Store.LastBatch(ctx)
		if err == nil {
			return judge(last, b.Number)
		}
		l.opts.OnAway(true)
		pause(ctx, wait)
		wait = min(2*wait, retryMost)
		l.opts.OnAway(false)
	}
	return model.Fenced, ctx.Err()
}

// judge tells from the last number in the tables what became of a batch.
func judge(last, number uint64) (model.Outcome, error) {
	switch {
	case last == number:
		return model.Committed, nil
	case last == number-1:
		return model.Retry, fmt.Errorf("batch %d was not written", number)
	case last < number-1:
		return model.Fenced, fmt.Errorf("THE DATABASE HAS LOST ACKNOWLEDGED WORK: it holds batch %d, %d was committed", last, number-1)
	}
	return model.Fenced, fmt.Errorf("the database holds batch %d, which another controller wrote; ours is %d", last, number)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// landed goes on after a batch has ended.
func (l *Loop) landed(ctx context.Context, e ending) error {
	l.dog.begin()
	switch e.outcome {
	case model.Committed:
		l.release()
		return nil
	case model.Refused:
		return l.refused(ctx, e.err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.opts.Log.Error("the lead was lost", "error", e.err)
	return fmt.Errorf("%w: %w", ErrFenced, e.err)
}

// lastCommit lets a batch in flight end when the loop is told to end: what is
// committed is still answered.
func (l *Loop) lastCommit() {
	if !l.pump.Busy() {
		return
	}
	select {
	case e := <-l.ends:
		if e.outcome == model.Committed {
			l.release()
		}
	case <-time.After(time.Second):
	}
}

// refused handles a batch that the database will never take. Memory is made
// anew; the events are applied again one a batch, and the one that fails alone
// is answered with an error.
func (l *Loop) refused(ctx context.Context, cause error) error {
	bad, later := l.pump.Refused()
	l.opts.Log.Error("the database refused a batch", "events", len(bad), "error", cause)
	l.planner.drop()
	l.parts = nil
	t, err := l.reload(ctx)
	if err != nil {
		return err
	}
	if err := l.pump.Replace(t, l.now()); err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	l.view.Store(l.pump.View())
	l.pump.wake()
	if len(bad) == 1 {
		l.giveUp(bad[0], cause)
		bad = nil
	}
	l.replay = append(repeatable(append(bad, later...)), l.replay...)
	return nil
}

func (l *Loop) reload(ctx context.Context) (*model.Tables, error) {
	wait := retryFirst
	for {
		t, err := l.opts.Store.Load(ctx)
		if err == nil {
			return t, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.opts.Log.Error("the tables cannot be loaded", "error", err)
		pause(ctx, wait)
		wait = min(2*wait, retryMost)
	}
}

// repeatable leaves out parts of plans: those were made for the lost state.
func repeatable(events []Event) []Event {
	var out []Event
	for _, ev := range events {
		if _, isPlan := ev.(*PlanReady); !isPlan {
			out = append(out, ev)
		}
	}
	return out
}

// giveUp answers the one event that the database will not take.
func (l *Loop) giveUp(ev Event, cause error) {
	l.opts.Log.Error("this event cannot be stored and is given up", "event", fmt.Sprintf("%T", ev), "content", describe(ev), "error", cause)
	switch ev := ev.(type) {
	case request:
		l.answer(ev.head().ticket, failed(ev, "The controller could not store the request: "+cause.Error()))
	case *NodeRegister:
		l.opts.Effects.CloseSession(ev.Node, ev.Session, "the registration could not be stored")
	case *NodeReport:
		// Else the node would report it for ever.
		if ev.Run != nil {
			l.pump.state.ackLost(ev.Node, ev.Run, &l.exec)
		}
	}
}

// describe is an event's content for the log, without scripts and environments.
func describe(ev Event) string {
	switch ev := ev.(type) {
	case *Submit:
		return fmt.Sprintf("uid %d: %.200q", ev.Spec.Uid, ev.Spec.SubmitLine)
	case *NodeReport:
		return fmt.Sprintf("node %s: %v %v", ev.Node, ev.Run, ev.Step)
	case *Update:
		return ev.Request.String()
	case *Signal:
		return ev.Request.String()
	case *JobAction:
		return ev.Request.String()
	}
	return ""
}
