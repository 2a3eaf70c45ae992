package client

import (
	"context"
	"time"
)

// patience is how long a call may go without an answer. What the command does
// with a part of a long answer is not the controller's time: a list is written
// to a pipe that may be read slowly, and by people.
type patience struct {
	timer *time.Timer
	limit time.Duration
}

type patienceKey struct{}

// withPatience returns a context that ends with ErrTimeout after limit.
func withPatience(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{timer: time.AfterFunc(limit, func() { cancel(ErrTimeout) }), limit: limit}
	return context.WithValue(ctx, patienceKey{}, p), func() {
		p.timer.Stop()
		cancel(nil)
	}
}

// Use does something with a part of an answer, inside of a call of Do. Its time
// does not count, and afterwards the controller has the whole time again.
func Use(ctx context.Context, use func() error) error {
	p, ok := ctx.Value(patienceKey{}).(*patience)
	if !ok || !p.timer.Stop() {
		return use() // no limit, or it is over already
	}
	defer p.timer.Reset(p.limit)
	return use()
}
