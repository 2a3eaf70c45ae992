package api

import (
	"context"
	"os"

	"google.golang.org/protobuf/proto"

	"muster/internal/controller"
	"muster/internal/hostlist"
	"muster/internal/wire"
)

// Nodes streams nodes in the order of the configuration.
func (s *Server) Nodes(r *wire.NodesRequest, stream wire.DRPCCtld_NodesStream) error {
	v := s.Core.View()
	if !s.rules().Policy.MaySeeNodes(caller(stream.Context())) {
		return stream.Send(&wire.NodesPage{Refusal: refusal(codeAccessDenied, textAccessDenied)})
	}
	nodes, why := selectNodes(v, r)
	if why != nil {
		return stream.Send(&wire.NodesPage{Refusal: why})
	}
	page, size, now := []*wire.NodeInfo(nil), 0, s.Clock().Unix()
	sent := false
	for _, n := range nodes {
		info := s.nodeInfo(n)
		page = append(page, info)
		if size += proto.Size(info); size >= pageBytes {
			if err := stream.Send(&wire.NodesPage{Nodes: page, Now: now}); err != nil {
				return err
			}
			page, size, sent = nil, 0, true
		}
	}
	if len(page) == 0 && sent {
		return nil
	}
	return stream.Send(&wire.NodesPage{Nodes: page, Now: now})
}

func selectNodes(v *controller.View, r *wire.NodesRequest) ([]*controller.NodeView, *wire.Refusal) {
	var out []*controller.NodeView
	if r.Names == "" {
		for n := range v.Nodes() {
			out = append(out, n)
		}
		return out, nil
	}
	names, err := hostlist.Expand(r.Names)
	if err != nil {
		return nil, refusal(codeInvalidNode, err.Error())
	}
	for _, name := range names {
		n, ok := v.Node(name)
		if !ok {
			return nil, refusal(codeInvalidNode, "Node "+name+" not found")
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *Server) nodeInfo(n *controller.NodeView) *wire.NodeInfo {
	c := n.Conf
	info := &wire.NodeInfo{
		State: n.State, Cpus: c.CPUs, Boards: c.Boards, Sockets: c.Sockets, CoresPerSocket: c.CoresPerSocket,
		ThreadsPerCore: c.ThreadsPerCore, RealMemory: c.RealMemory, TmpDisk: c.TmpDisk, Gres: c.Gres,
		CoreSpecCount: c.CoreSpecCount, MemSpecLimit: c.MemSpecLimit, CpuSpecList: c.CPUSpecList, Port: c.Port,
		Partitions: n.Partitions, AllocCpus: n.AllocCPUs, AllocMem: n.AllocMem, AllocCores: n.AllocCores,
		GresUsed: n.GresUsed, AllocTres: n.AllocTRES, CfgTres: n.CfgTRES, Completing: n.Completing,
		EffectiveCpus: n.Effective, RunningJobs: n.Jobs,
	}
	if load, heard, ok := s.sessions.load(c.Name); ok {
		info.LastHeard = heard
		if load != nil {
			info.CpuLoad, info.FreeMem = load.CpuLoad, load.FreeMem
		}
	}
	return info
}

// Partitions lists partitions in the order of the configuration.
func (s *Server) Partitions(ctx context.Context, r *wire.PartitionsRequest) (*wire.PartitionsReply, error) {
	if !s.rules().Policy.MaySeePartitions(caller(ctx)) {
		return &wire.PartitionsReply{Refusal: refusal(codeAccessDenied, textAccessDenied)}, nil
	}
	v, reply := s.Core.View(), &wire.PartitionsReply{}
	if r.Name != "" {
		p, ok := v.Partition(r.Name)
		if !ok || !r.All && !s.usableBy(ctx)(p) {
			return &wire.PartitionsReply{Refusal: refusal(codeInvalidPartition, "Partition "+r.Name+" not found")}, nil
		}
		reply.Partitions = append(reply.Partitions, p)
		return reply, nil
	}
	usable := s.usableBy(ctx)
	for _, p := range v.Partitions {
		if r.All || !p.Hidden && usable(p) {
			reply.Partitions = append(reply.Partitions, p)
		}
	}
	return reply, nil
}

// Config is what `scontrol show config` prints.
func (s *Server) Config(context.Context, *wire.ConfigRequest) (*wire.ConfigReply, error) {
	conf, cgroup := s.Process.ShowConfig()
	return &wire.ConfigReply{Config: conf, Cgroup: cgroup, Now: s.Clock().Unix(), Cluster: s.ClusterName}, nil
}

// ConfFiles are what a configless host keeps.
func (s *Server) ConfFiles(_ context.Context, r *wire.ConfFilesRequest) (*wire.ConfFilesReply, error) {
	hash, files := s.Process.ConfFiles()
	if hash == r.Hash {
		return &wire.ConfFilesReply{Hash: hash}, nil
	}
	return &wire.ConfFilesReply{Hash: hash, Files: files}, nil
}

// Ping tells who leads.
func (s *Server) Ping(context.Context, *wire.PingRequest) (*wire.PingReply, error) {
	term, id, away := s.currentLead()
	host := s.Host
	if host == "" {
		host, _ = os.Hostname()
	}
	return &wire.PingReply{
		Version: s.Version, Host: host, Leader: term > 0, Cluster: s.ClusterName, ClusterId: id,
		Now: s.Clock().Unix(), Controllers: s.Controllers, DatabaseAway: away,
	}, nil
}
