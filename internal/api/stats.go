package api

import (
	"context"
	"sync"
	"time"

	"muster/internal/wire"
)

// passStats are the figures of the passes since the start.
type passStats struct {
	mu                                  sync.Mutex
	last, most, total, cycles, depth, q uint64
	when                                int64
}

// Passed notes a pass: how long it took, how many jobs it looked at and how
// many were waiting.
func (s *Server) Passed(took time.Duration, looked, queue int) {
	p := &s.pass
	p.mu.Lock()
	defer p.mu.Unlock()
	us := uint64(took.Microseconds())
	p.last, p.most, p.total = us, max(p.most, us), p.total+us
	p.cycles++
	p.depth += uint64(looked)
	p.q = uint64(queue)
	p.when = s.Clock().Unix()
}

// Stats is the head of sdiag.
func (s *Server) Stats(context.Context, *wire.StatsRequest) (*wire.StatsReply, error) {
	st := s.Core.View().Stats()
	p := &s.pass
	p.mu.Lock()
	defer p.mu.Unlock()
	return &wire.StatsReply{
		Now: s.Clock().Unix(), Since: s.started.Unix(),
		JobsSubmitted: st.Submitted, JobsStarted: st.Started, JobsCompleted: st.Completed,
		JobsCanceled: st.Canceled, JobsFailed: st.Failed,
		JobsPending: uint64(st.Pending), JobsRunning: uint64(st.Running), JobsStatesTs: s.Clock().Unix(),
		LastCycle: p.last, MaxCycle: p.most, Cycles: p.cycles, TotalCycle: p.total,
		CycleDepth: p.depth, QueueLength: p.q, LastCycleWhen: p.when,
		Commits: st.Commits, Rows: st.Rows,
	}, nil
}
