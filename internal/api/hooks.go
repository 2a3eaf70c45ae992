package api

import (
	"context"
	"sync"
	"time"

	"muster/internal/conf"
	"muster/internal/controller"
)

// Hooks are the controller's own programs for jobs. Each may be several
// programs and globs.
type Hooks struct {
	Dir            string   // of slurm.conf; relative names stand below it
	Prolog, Epilog []string // PrologSlurmctld, EpilogSlurmctld
	Timeout        time.Duration
}

// mostHooks is how many hooks run at the same time.
const mostHooks = 64

// hookRunner runs hooks beside the reducer. Its goroutines end with the
// programs, which have a time limit, or with Close.
type hookRunner struct {
	server *Server
	slots  chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func (h *hookRunner) init(s *Server) {
	h.server, h.slots = s, make(chan struct{}, mostHooks)
	h.ctx, h.cancel = context.WithCancel(context.Background())
}

// Close ends what hooks and mails still run and waits for it.
func (s *Server) Close() {
	s.hooks.cancel()
	s.hooks.all.Wait()
	s.mail.close()
}

// RunHook starts a hook; HookDone is posted at its end.
func (s *Server) RunHook(hook controller.Hook) {
	s.hooks.all.Go(func() {
		select {
		case s.hooks.slots <- struct{}{}:
			defer func() { <-s.hooks.slots }()
		case <-s.hooks.ctx.Done():
			return
		}
		err := s.hooks.run(hook)
		if s.hooks.ctx.Err() != nil {
			return // the next start runs it again
		}
		done := &controller.HookDone{Kind: hook.Kind, Key: hook.State.Key, Attempt: hook.State.Attempt}
		if err != nil {
			done.Failed = err.Error()
			s.Log.Error("hook failed", "job", hook.State.JobId, "err", err)
		}
		s.Core.Post(done)
	})
}

func (h *hookRunner) run(hook controller.Hook) error {
	programs, name := h.server.rules().Hooks.Prolog, "prolog_slurmctld"
	if hook.Kind == controller.EpilogSlurmctld {
		programs, name = h.server.rules().Hooks.Epilog, "epilog_slurmctld"
	}
	env := append(h.server.jobEnvironment(hook.Spec, hook.State), "SLURM_SCRIPT_CONTEXT="+name)
	paths, err := conf.ExpandPrograms(h.server.rules().Hooks.Dir, programs)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := runProgram(h.ctx, p, nil, env, h.server.rules().Hooks.Timeout); err != nil {
			return err
		}
	}
	return nil
}
