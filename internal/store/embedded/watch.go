package embedded

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// watchEvery is how soon the end of an adopted server is seen; that of our own
// child is seen at once.
const watchEvery = 200 * time.Millisecond

// Watch starts the server again whenever it ends, until ctx does or Stop is
// called. It has nothing to do with what is in the database: clients reconnect.
func (s *Server) Watch(ctx context.Context) {
	pause := 100 * time.Millisecond
	for s.waitEnd(ctx) {
		s.log.Error("the database server has ended; starting it again", "log", s.logPath)
		for {
			err := s.ensure(ctx)
			if err == nil {
				pause = 100 * time.Millisecond
				break
			}
			if ctx.Err() != nil || s.isStopping() {
				return
			}
			s.log.Error("the database server does not start", "error", err, "again_in", pause)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, 5*time.Second)
		}
	}
}

// waitEnd returns true when the server has ended without being asked to.
func (s *Server) waitEnd(ctx context.Context) bool {
	s.mu.Lock()
	pid, exited := s.pid, s.exited
	s.mu.Unlock()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-exited:
			return !s.isStopping()
		case <-tick.C:
			if s.isStopping() {
				return false
			}
			if exited == nil && !alive(pid) {
				return true
			}
		}
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// Grace is how long an orderly end may take before it is made a hard one,
// which costs a recovery at the next start and loses nothing.
const Grace = 30 * time.Second

// Stop ends the server: SIGINT, and SIGQUIT after Grace.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	pid, exited := s.pid, s.exited
	s.mu.Unlock()
	if pid == 0 || !alive(pid) {
		return nil
	}
	for _, try := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, Grace}, {syscall.SIGQUIT, Grace}} {
		if err := syscall.Kill(pid, try.signal); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("stopping the database server (process %d): %w", pid, err)
		}
		if s.gone(ctx, pid, exited, try.wait) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stopping the database server (process %d): %w", pid, ctx.Err())
		}
	}
	return fmt.Errorf("the database server (process %d) does not end", pid)
}

func (s *Server) gone(ctx context.Context, pid int, exited <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return true
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-tick.C:
			if exited == nil && !alive(pid) {
				return true
			}
		}
	}
}
