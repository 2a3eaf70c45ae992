package control

import (
	"context"
	"slices"

	"muster/internal/command/dataparser"
	"muster/internal/command/nodes"
	"muster/internal/command/queue"
	"muster/internal/hostlist"
	"muster/internal/wire"
)

// What show prints with --json and --yaml.

func (s *session) dumpJobs(ctx context.Context, id string) {
	req, ok := s.jobsRequest(id)
	if !ok {
		return
	}
	view := queue.NewContext(s.p.Getenv)
	view.Cluster = s.c.Conf.Cluster
	if code := queue.DumpJobs(ctx, s.p, s.c, &s.dump, s.c.Meta(s.words), req, view, nil); code != 0 {
		s.code = code
	}
}

func (s *session) finishDump(ctx context.Context, w *dataparser.Writer, failures ...dataparser.Failure) {
	w.Time("last_update", s.style.Now.Unix())
	if code := dataparser.Finish(ctx, s.p, w, s.c.Meta(s.words), failures...); code != 0 {
		s.code = code
	}
}

func (s *session) dumpNodes(ctx context.Context, id string) {
	var want []string
	if id != "" {
		var err error
		if want, err = hostlist.Expand(id); err != nil {
			s.fail("scontrol: error: %v", err)
			return
		}
	}
	list, refusal, err := s.loadNodes(ctx, &wire.NodesRequest{All: true})
	switch {
	case err != nil:
		s.fail("slurm_load_node error: %v", err)
		return
	case refusal.GetCode() != 0:
		s.fail("slurm_load_node error: %s", refusal.Message)
		return
	}
	list = slices.DeleteFunc(list, func(n *wire.NodeInfo) bool {
		return !s.future && n.State.Base == wire.NodeBase_NODE_FUTURE || want != nil && !slices.Contains(want, n.State.Name)
	})
	if want != nil && len(list) == 0 {
		s.fail("Node %s not found", id)
		return
	}
	w := s.dump.Begin(s.p)
	w.List("nodes")
	name := func(uid uint32) string { return s.names.NameOf(ctx, uid) }
	for _, n := range list {
		nodes.WriteNode(w, n, name)
	}
	w.End()
	s.finishDump(ctx, w)
}

func (s *session) dumpPartitions(ctx context.Context, id string) {
	list, ok := s.loadPartitions(ctx, id)
	if !ok {
		return
	}
	if id != "" && len(list) == 0 {
		s.fail("Partition %s not found", id)
		return
	}
	w := s.dump.Begin(s.p)
	w.List("partitions")
	for _, p := range list {
		nodes.WritePartition(w, p)
	}
	w.End()
	s.finishDump(ctx, w)
}
