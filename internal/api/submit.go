package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/users"
	"muster/internal/wire"
)

// DefaultQOS is the one QOS there is: Slurm's accounting makes it first, and
// others cannot be made yet.
const DefaultQOS = "normal"

// Submit completes the request with who sends it and hands it on. The answer
// comes when the job is committed.
func (s *Server) Submit(ctx context.Context, r *wire.SubmitRequest) (*wire.SubmitReply, error) {
	if r.Spec == nil {
		return &wire.SubmitReply{Refusal: refusal(codeBadScript, "the request has no job in it")}, nil
	}
	if s.rules().MaxScript > 0 && len(r.Script) > s.rules().MaxScript {
		return &wire.SubmitReply{Refusal: refusal(codeBadScript,
			"Pathname of a file, directory or other parameter too long")}, nil
	}
	spec := proto.CloneOf(r.Spec)
	if why, err := s.identify(ctx, r, spec); why != nil || err != nil {
		return &wire.SubmitReply{Refusal: why}, err
	}
	if spec.Qos == "" {
		spec.Qos = DefaultQOS
	} else if spec.Qos != DefaultQOS {
		return &wire.SubmitReply{Refusal: refusal(codeInvalidQOS, "Invalid qos specification")}, nil
	}
	ev := &controller.Submit{Spec: spec, TestOnly: r.TestOnly}
	ev.Contents = appendContent(ev.Contents, spec.Uid, r.Script, &spec.Script)
	ev.Contents = appendContent(ev.Contents, spec.Uid, r.Environment, &spec.Environment)
	for _, c := range ev.Contents {
		s.contents.add(c.UID, c.Hash[:], c.Data)
	}
	return do[*wire.SubmitReply](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
		ev.Head = h
		return ev
	})
}

// identify sets the user, and looks his names and groups up before the
// reducer sees the job.
func (s *Server) identify(ctx context.Context, r *wire.SubmitRequest, spec *wire.JobSpec) (*wire.Refusal, error) {
	c := caller(ctx)
	spec.Uid, spec.Gid = c.ID.UID, c.ID.GID
	if r.AsUidSet {
		if !s.rules().Policy.MaySubmitAs(c, r.AsUid) {
			return refusal(codeInvalidUser, "Invalid user id"), nil
		}
		spec.Uid = r.AsUid
	}
	u, err := s.Users.LookupUID(ctx, spec.Uid)
	switch {
	case errors.Is(err, users.ErrNotFound):
		spec.UserName = "" // shown as a number
	case err != nil:
		return nil, fmt.Errorf("look up uid %d: %w", spec.Uid, err)
	default:
		spec.UserName = u.Name
		if r.AsUidSet {
			spec.Gid = u.GID
		}
		groups, err := s.Users.Groups(ctx, u)
		if err != nil {
			return nil, fmt.Errorf("look up the groups of %s: %w", u.Name, err)
		}
		spec.Gids = groups
	}
	if r.AsGidSet {
		if !s.rules().Policy.IsSuper(c) && r.AsGid != spec.Gid {
			return refusal(codeInvalidUser, "Invalid group id"), nil
		}
		spec.Gid = r.AsGid
	}
	spec.GroupName = s.Users.GroupName(ctx, spec.Gid)
	return nil, nil
}

func appendContent(list []model.Content, uid uint32, data []byte, ref **wire.ContentRef) []model.Content {
	*ref = nil
	if len(data) == 0 {
		return list
	}
	h := sha256.Sum256(data)
	*ref = &wire.ContentRef{Hash: h[:], Size: uint64(len(data))}
	return append(list, model.Content{UID: uid, Hash: h, Data: data})
}

// Content hands out a job's script or environment to those who may read it.
func (s *Server) Content(ctx context.Context, r *wire.ContentRequest) (*wire.ContentReply, error) {
	jobs := jobsOf(s.Core.View(), r.Job)
	if len(jobs) == 0 {
		return &wire.ContentReply{Refusal: refusal(codeInvalidJob, textInvalidJob)}, nil
	}
	spec := jobs[0].Spec
	if !s.rules().Policy.MayReadScript(caller(ctx), spec.Uid) {
		return &wire.ContentReply{Refusal: refusal(codeInvalidUser, textInvalidUser)}, nil
	}
	ref := spec.Script
	if r.Environment {
		ref = spec.Environment
	}
	data, err := s.content(ctx, spec.Uid, ref)
	if err != nil {
		return nil, err
	}
	return &wire.ContentReply{Content: data, Name: spec.Name}, nil
}
