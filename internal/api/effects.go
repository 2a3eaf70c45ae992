package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"muster/internal/auth/credential"
	"muster/internal/controller"
	"muster/internal/wire"
)

// Send hands an order to a node's session.
func (s *Server) Send(node string, number uint64, order *wire.NodeOrder) {
	if ses := s.sessions.live(node, number); ses != nil {
		ses.put(outgoing{order: order})
	}
}

// Launch hands a run order to a node's session, whose sender completes it.
func (s *Server) Launch(node string, number uint64, run *wire.RunOrder) {
	if ses := s.sessions.live(node, number); ses != nil {
		ses.put(outgoing{run: run})
	}
}

// Registered answers a registration.
func (s *Server) Registered(node string, number uint64, why string) {
	ses := s.sessions.live(node, number)
	if ses == nil {
		return
	}
	term, id, _ := s.currentLead()
	generation := s.Core.View().Number
	ses.put(outgoing{order: &wire.NodeOrder{Body: &wire.NodeOrder_Registered{Registered: &wire.Registered{
		Error: why, ClusterId: id, Generation: generation, Term: term, ConfHash: s.ConfHash(),
		ClusterName: s.ClusterName, Controllers: s.Controllers, Heartbeat: uint32(s.Heartbeat / time.Second),
	}}}})
}

// CloseSession ends a node's session.
func (s *Server) CloseSession(node string, number uint64, why string) {
	if ses := s.sessions.live(node, number); ses != nil {
		ses.cancel(errors.New(why))
	}
}

// retryContent is the pause before contents are asked for again while the
// database is away.
const retryContent = 200 * time.Millisecond

// completeLaunch puts in what the reducer does not know, and signs. It is nil
// when the launch cannot be made up.
func (s *Server) completeLaunch(ctx context.Context, ses *session, run *wire.RunOrder) *wire.NodeOrder {
	_, id, _ := s.currentLead()
	generation := s.Core.View().Number
	run.ClusterId, run.Generation, run.ClusterName = id, generation, s.ClusterName
	run.NodeAddrs = s.addresses(run.Alloc)
	if run.BatchHost && run.Spec.Batch {
		var err error
		if run.Script, err = s.contentPatiently(ctx, run.Spec.Uid, run.Spec.Script); err == nil {
			run.Environment, err = s.contentPatiently(ctx, run.Spec.Uid, run.Spec.Environment)
		}
		if err != nil {
			if ctx.Err() == nil {
				s.Core.Post(&controller.LaunchLost{Node: ses.node, Key: run.Key, Attempt: run.Attempt, Why: err.Error()})
			}
			return nil
		}
	}
	payload, err := proto.Marshal(run)
	if err != nil {
		s.Core.Post(&controller.LaunchLost{Node: ses.node, Key: run.Key, Attempt: run.Attempt, Why: err.Error()})
		return nil
	}
	return &wire.NodeOrder{Body: &wire.NodeOrder_Launch{Launch: s.Sign(credential.Launch, payload)}}
}

// contentPatiently reads a content, and asks again while the store does not
// answer. A content that is not there is an error at once.
func (s *Server) contentPatiently(ctx context.Context, uid uint32, ref *wire.ContentRef) ([]byte, error) {
	for {
		data, err := s.content(ctx, uid, ref)
		if err == nil || errors.Is(err, ErrNoContent) || ctx.Err() != nil {
			return data, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryContent):
		}
	}
}

// ErrNoContent is what Accounting.Content returns for a content that is gone.
var ErrNoContent = errors.New("the content is not in the store")

func (s *Server) addresses(alloc []*wire.NodeAlloc) string {
	var b []byte
	for i, a := range alloc {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%s=%s", a.Node, s.address(a.Node))
	}
	return string(b)
}

// address is where a node's step service listens.
func (s *Server) address(node string) string {
	if ses := s.sessions.of(node); ses != nil && ses.addr != "" {
		return ses.addr
	}
	if n, ok := s.Core.View().Node(node); ok {
		return fmt.Sprintf("%s:%d", n.Conf.Addr, n.Conf.Port)
	}
	return node
}
