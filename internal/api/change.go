package api

import (
	"context"
	"errors"
	"io"
	"strings"

	"muster/internal/controller"
	"muster/internal/wire"
)

// Signal is scancel.
func (s *Server) Signal(ctx context.Context, r *wire.SignalRequest) (*wire.JobOutcomes, error) {
	return do[*wire.JobOutcomes](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
		return &controller.Signal{Head: h, Request: r}
	})
}

// JobAction holds, releases, requeues, suspends and resumes.
func (s *Server) JobAction(ctx context.Context, r *wire.JobActionRequest) (*wire.JobOutcomes, error) {
	return do[*wire.JobOutcomes](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
		return &controller.JobAction{Head: h, Request: r}
	})
}

// Update changes a job, a node or a partition.
func (s *Server) Update(ctx context.Context, r *wire.UpdateRequest) (*wire.UpdateReply, error) {
	if r.Entity != "job" && !s.rules().Policy.MayAdmin(caller(ctx)) {
		return &wire.UpdateReply{Refusal: refusal(codeInvalidUser, textInvalidUser)}, nil
	}
	var groups []uint32
	if r.Entity == "partition" {
		groups = s.allowedGroups(ctx, r.Fields)
	}
	return do[*wire.UpdateReply](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
		return &controller.Update{Head: h, Request: r, Groups: groups}
	})
}

// allowedGroups looks up what AllowGroups names, before the reducer sees it. A
// group that does not exist lets nobody in, as in Slurm.
func (s *Server) allowedGroups(ctx context.Context, fields []*wire.FieldUpdate) []uint32 {
	for _, f := range fields {
		if strings.EqualFold(f.Key, "AllowGroups") && !strings.EqualFold(f.Value, "ALL") {
			gids, missing := s.Users.GroupIDs(ctx, strings.Split(f.Value, ","))
			for _, err := range missing {
				s.Log.Warn("AllowGroups: this group lets nobody in", "error", err)
			}
			return gids
		}
	}
	return nil
}

// Admin is what only administrators may ask.
func (s *Server) Admin(ctx context.Context, r *wire.AdminRequest) (*wire.AdminReply, error) {
	if !s.rules().Policy.MayAdmin(caller(ctx)) {
		return &wire.AdminReply{Refusal: refusal(codeInvalidUser, textInvalidUser)}, nil
	}
	switch r.Verb {
	case "reconfigure":
		return s.reconfigure(ctx, r)
	case "shutdown":
		s.shutdown()
		return &wire.AdminReply{}, nil
	case "setdebug":
		if err := s.Process.SetDebug(r.Argument); err != nil {
			return &wire.AdminReply{Refusal: refusal(1, err.Error())}, nil //nolint:nilerr // it travels in the reply
		}
		return &wire.AdminReply{}, nil
	case "adopt", "kill":
		return do[*wire.AdminReply](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
			return &controller.Adopt{Head: h, Argument: strings.TrimSpace(r.Verb + " " + r.Argument)}
		})
	default:
		return &wire.AdminReply{Refusal: refusal(1, textNotYetSupported+r.Verb)}, nil
	}
}

func (s *Server) reconfigure(ctx context.Context, r *wire.AdminRequest) (*wire.AdminReply, error) {
	reply, err := s.Process.Reconfigure(ctx, s.actor(ctx), string(r.RequestId))
	if errors.Is(err, controller.ErrTryAgain) {
		return nil, tryAgain(err.Error())
	}
	if err != nil {
		return &wire.AdminReply{Refusal: refusal(1, err.Error())}, nil //nolint:nilerr // it travels in the reply
	}
	if reply.Refusal == nil {
		s.sessions.broadcast(&wire.NodeOrder{Body: &wire.NodeOrder_Reconfigure{Reconfigure: true}})
	}
	return reply, nil
}

// shutdown ends the nodes and then the controller, as `scontrol shutdown` does.
func (s *Server) shutdown() {
	s.sessions.broadcast(&wire.NodeOrder{Body: &wire.NodeOrder_Shutdown{Shutdown: true}})
	s.Process.Shutdown()
}

// Wait answers when a job, or all tasks of an array, have ended.
func (s *Server) Wait(ctx context.Context, r *wire.WaitRequest) (*wire.WaitReply, error) {
	v, worst, known := s.Core.View(), int32(0), false
	for {
		done := true
		for j := range v.Lookup(r.JobId) {
			known = true
			if !finished(j.State) {
				done = false
				continue
			}
			worst = worse(worst, exitStatus(j.State))
		}
		if !known {
			return &wire.WaitReply{Refusal: refusal(codeInvalidJob, textInvalidJob)}, nil
		}
		if done {
			return &wire.WaitReply{ExitStatus: worst}, nil
		}
		next, err := s.Core.Next(ctx, v)
		if err != nil {
			return nil, err
		}
		v = next
	}
}

func finished(st *wire.JobState) bool {
	return st.State > wire.BaseState_SUSPENDED && st.Flags&uint32(wire.StateFlag_FLAG_COMPLETING) == 0
}

// exitStatus is the wait status that a waiting sbatch passes on: that of the
// script, and 1 for an end that has none (cancelled while pending, a limit).
func exitStatus(st *wire.JobState) int32 {
	if st.ExitStatus == 0 && st.State != wire.BaseState_COMPLETED {
		return 1 << 8
	}
	return st.ExitStatus
}

// worse is the higher of two wait statuses: a signal counts as exit code 1.
func worse(a, b int32) int32 {
	code := func(s int32) int32 {
		if s&0x7f != 0 {
			return 1
		}
		return s >> 8
	}
	if code(b) > code(a) {
		return b
	}
	return a
}

// Snapshot streams the whole state, for the simulator.
func (s *Server) Snapshot(r *wire.AdminRequest, stream wire.DRPCCtld_SnapshotStream) error {
	if !s.rules().Policy.MayAdmin(caller(stream.Context())) {
		return stream.Send(&wire.SnapshotPage{Refusal: refusal(codeInvalidUser, textInvalidUser)})
	}
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(writeSnapshot(pw, s.Core.View(), s.Clock().Unix())) }()
	defer pr.Close()
	buf := make([]byte, pageBytes)
	for {
		n, err := io.ReadFull(pr, buf)
		if n > 0 {
			if err := stream.Send(&wire.SnapshotPage{Data: buf[:n]}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}
