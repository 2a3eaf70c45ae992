package control

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/command"
	"muster/internal/command/dataparser"
	"muster/internal/command/nodes"
	"muster/internal/command/queue"
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
	want, list, ok := s.wantedNodes(ctx, id)
	if !ok {
		return
	}
	byName := make(map[string]bool, len(want))
	for _, name := range want {
		byName[name] = false
	}
	list = slices.DeleteFunc(list, func(n *wire.NodeInfo) bool {
		if _, named := byName[n.State.Name]; named {
			byName[n.State.Name] = true
		} else if want != nil {
			return true
		}
		return !s.future && n.State.Base == wire.NodeBase_NODE_FUTURE
	})
	var failures []dataparser.Failure
	for _, name := range want {
		if !byName[name] {
			failures = append(failures, s.missing("Node %s not found", name))
		}
	}
	w := s.dump.Begin(s.p)
	w.List("nodes")
	name := func(uid uint32) string { return s.names.NameOf(ctx, uid) }
	for _, n := range list {
		nodes.WriteNode(w, n, name)
	}
	w.End()
	s.finishDump(ctx, w, failures...)
}

func (s *session) dumpPartitions(ctx context.Context, id string) {
	list, ok := s.loadPartitions(ctx, id)
	if !ok {
		return
	}
	var failures []dataparser.Failure
	if id != "" && len(list) == 0 {
		failures = append(failures, s.missing("Partition %s not found", id))
	}
	w := s.dump.Begin(s.p)
	w.List("partitions")
	for _, p := range list {
		nodes.WritePartition(w, p)
	}
	w.End()
	s.finishDump(ctx, w, failures...)
}

// missing says that what was named is not there, and is that failure.
func (s *session) missing(format, name string) dataparser.Failure {
	s.fail(format, name)
	return dataparser.Failure{Text: fmt.Sprintf(format, name), Source: "scontrol"}
}

func (s *session) dumpPing(ctx context.Context) {
	hosts, up := s.askAll(ctx)
	w := s.dump.Begin(s.p)
	w.List("pings")
	for i, h := range hosts {
		w.Object("")
		w.String("hostname", h.host)
		w.Bool("responding", h.up)
		w.Int("latency", h.took.Microseconds())
		w.Bool("primary", i == 0)
		w.String("status", h.state())
		w.End()
	}
	w.End()
	if code := dataparser.Finish(ctx, s.p, w, s.c.Meta(s.words)); code != 0 || !up {
		s.code = command.ExitError
	}
}
