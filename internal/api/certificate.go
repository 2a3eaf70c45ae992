package api

import (
	"context"

	"muster/internal/wire"
)

// Certificate gives a node its certificate, once the connection has proved
// that a daemon's user speaks.
func (s *Server) Certificate(ctx context.Context, r *wire.CertRequest) (*wire.CertReply, error) {
	c := caller(ctx)
	if !s.rules().Policy.MayEnrolNode(c, r.Node) {
		s.Log.Warn("node certificate refused", "node", r.Node, "from", c.ID.String())
		return &wire.CertReply{Error: "this identity may not serve node " + r.Node}, nil
	}
	if _, ok := s.Core.View().Node(r.Node); !ok {
		return &wire.CertReply{Error: "node " + r.Node + " is not in slurm.conf"}, nil
	}
	cert, err := s.IssueNode(r.Csr, r.Node, c.ID.UID, c.ID.GID)
	if err != nil {
		return &wire.CertReply{Error: err.Error()}, nil //nolint:nilerr // it travels in the reply
	}
	return &wire.CertReply{Certificate: cert}, nil
}
