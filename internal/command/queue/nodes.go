package queue

import (
	"context"
	"os"
	"strings"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/hostlist"
	"muster/internal/wire"
)

// findNodes puts the nodes of --nodelist into the selection, found by their own
// names or those of their hosts; a name that no node has is an error.
func (q *Query) findNodes(ctx context.Context, p *command.Program, c *client.Client) (int, bool) {
	names, err := hostlist.Expand(q.Nodes)
	if err != nil {
		p.Error("Invalid node name %s", q.Nodes)
		return command.ExitError, false
	}
	known, err := loadNodes(ctx, c)
	if err != nil {
		p.Raw("slurm_load_node error: %v", err)
		return command.ExitError, false
	}
	q.Select.Nodes = nil
	for _, name := range names {
		found, ok := known[name]
		if !ok && name == "localhost" {
			found, ok = known[hostName()]
			name = hostName()
		}
		if !ok {
			p.Error("Invalid node name %s", name)
			return command.ExitError, false
		}
		q.Select.Nodes = append(q.Select.Nodes, found...)
	}
	return 0, true
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	host, _, _ = strings.Cut(host, ".")
	return host
}

// loadNodes maps names of nodes and of hosts to nodes.
func loadNodes(ctx context.Context, c *client.Client) (map[string][]string, error) {
	nodes, err := c.LoadNodes(ctx, &wire.NodesRequest{All: true})
	if err != nil {
		return nil, err
	}
	known := make(map[string][]string, len(nodes.List))
	for _, n := range nodes.List {
		name, host := n.State.GetName(), n.State.GetHostname()
		known[name] = []string{name}
		if host != "" && host != name {
			known[host] = append(known[host], name)
		}
	}
	return known, nil
}

// loadTiers returns the tier of each partition.
func loadTiers(ctx context.Context, c *client.Client) (map[string]uint32, error) {
	tiers := map[string]uint32{}
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		reply, err := ctld.Partitions(ctx, &wire.PartitionsRequest{All: true})
		for _, part := range reply.GetPartitions() {
			tiers[part.Name] = part.PriorityTier
		}
		return err
	})
	return tiers, err
}
