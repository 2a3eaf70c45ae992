package api

import (
	"context"
	"sync"

	"muster/internal/controller"
	"muster/internal/wire"
)

// usableBy tells which partitions the caller's groups let him use; operators see
// all. The groups are looked up when a partition asks for some.
func (s *Server) usableBy(ctx context.Context) func(*wire.PartitionInfo) bool {
	c := caller(ctx)
	groups := sync.OnceValue(func() []uint32 {
		u, err := s.Users.LookupUID(ctx, c.ID.UID)
		if err != nil {
			return nil
		}
		gids, err := s.Users.Groups(ctx, u)
		if err != nil {
			return nil
		}
		return gids
	})
	return func(p *wire.PartitionInfo) bool {
		if p.AllowGroups == "" || s.rules().Policy.MayOperate(c) {
			return true
		}
		return controller.MayUse(p, c.ID.UID, c.ID.GID, groups())
	}
}

// hiddenFrom tells which partitions' jobs the caller does not see unless he asks
// for all.
func (s *Server) hiddenFrom(ctx context.Context) func(*wire.PartitionInfo) bool {
	if s.rules().Policy.IsSuper(caller(ctx)) {
		return func(*wire.PartitionInfo) bool { return false }
	}
	usable := s.usableBy(ctx)
	return func(p *wire.PartitionInfo) bool { return p.Hidden || !usable(p) }
}
