package api

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"muster/internal/auth/credential"
	"muster/internal/controller"
	"muster/internal/wire"
)

// CreateStep asks for a step in a running job, and signs its credential.
func (s *Server) CreateStep(ctx context.Context, r *wire.StepRequest) (*wire.StepReply, error) {
	grant, err := do[*controller.StepGrant](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
		return &controller.CreateStep{Head: h, Request: r}
	})
	if err != nil || grant.Credential == nil {
		return replyOf(grant), err
	}
	_, id, _ := s.currentLead()
	grant.Credential.ClusterId = id
	payload, err := proto.Marshal(grant.Credential)
	if err != nil {
		return nil, fmt.Errorf("step credential: %w", err)
	}
	reply := grant.Reply
	if reply.Credential, err = proto.Marshal(s.Sign(credential.Step, payload)); err != nil {
		return nil, fmt.Errorf("step credential: %w", err)
	}
	for _, n := range reply.Nodes {
		n.Addr = s.address(n.Name)
	}
	reply.Cluster = s.ClusterName
	return reply, nil
}

// EndStep is sent by an srun that has seen its step end or gives it up.
func (s *Server) EndStep(ctx context.Context, r *wire.StepEndRequest) (*wire.UpdateReply, error) {
	return do[*wire.UpdateReply](ctx, s, r.RequestId, func(h controller.Head) controller.Event {
		return &controller.EndStep{Head: h, Request: r}
	})
}

// replyOf is the reply of a grant that may not exist.
func replyOf(g *controller.StepGrant) *wire.StepReply {
	if g == nil {
		return nil
	}
	return g.Reply
}
