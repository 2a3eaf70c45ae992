package controller

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"
)

// watchdog looks whether reducer and pass make progress. Waiting for events or
// for the database is not being stuck.
type watchdog struct {
	reducer, pass atomic.Int64 // begun at (monotonic ns since start), 0 = idle
}

const (
	watchEvery   = 5 * time.Second
	passIsSlow   = 60 * time.Second
	reducerStuck = 120 * time.Second
)

var dogStart = time.Now()

func since() int64 { return int64(time.Since(dogStart)) + 1 }

func (d *watchdog) begin()      { d.reducer.Store(since()) }
func (d *watchdog) idle()       { d.reducer.Store(0) }
func (d *watchdog) passBegins() { d.pass.Store(since()) }
func (d *watchdog) passEnds()   { d.pass.Store(0) }

// watch reports a pass without an end, and ends the process on a stuck reducer:
// its supervisor starts it again from the tables.
func (d *watchdog) watch(ctx context.Context, log *slog.Logger) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	reported := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if at := d.pass.Load(); at != 0 && at != reported && time.Duration(since()-at) > passIsSlow {
			reported = at
			log.Error("a scheduling pass does not end", "after", time.Duration(since()-at), "goroutines", stacks())
		}
		if at := d.reducer.Load(); at != 0 && time.Duration(since()-at) > reducerStuck {
			log.Error("the reducer is stuck; the process ends", "after", time.Duration(since()-at), "goroutines", stacks())
			panic("the reducer is stuck")
		}
	}
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
