package conf

import (
	"strings"

	"muster/internal/hostlist"
)

// NodeSet is a name for nodes, to be used in partitions.
type NodeSet struct {
	Name  string
	Nodes []string // in the order of the file
}

func (c *Config) buildNodeSets(r *raw) {
	known := []string{"NodeSet", "Feature", "Nodes"}
	seen := map[string]Pos{}
	for _, l := range r.nodeSets {
		a := collect(l.pairs, known, "NodeSet", r.report)
		if first, dup := seen[l.name]; dup {
			r.errorf(l.Pos, "NodeSet %s is defined twice (first at %s)", l.name, first)
			continue
		}
		seen[l.name] = l.Pos
		if _, isNode := c.Node(l.name); isNode {
			r.errorf(l.Pos, "NodeSet %s has the name of a node", l.name)
		}
		feature, nodes := a["feature"].value, a["nodes"].value
		if feature == "" && nodes == "" {
			r.errorf(l.Pos, "NodeSet %s needs Feature or Nodes", l.name)
			continue
		}
		member := map[string]bool{}
		if nodes != "" {
			for _, n := range c.resolve(r, a["nodes"].Pos, "NodeSet "+l.name, nodes) {
				member[n] = true
			}
		}
		set := NodeSet{Name: l.name}
		for i := range c.Nodes {
			n := &c.Nodes[i]
			if member[n.Name] || feature != "" && containsFold(n.Features, feature) {
				set.Nodes = append(set.Nodes, n.Name)
			}
		}
		c.NodeSets = append(c.NodeSets, set)
	}
}

// resolve expands a list of node names, node sets and ALL. Nodes that are not
// defined are reported.
func (c *Config) resolve(r *raw, p Pos, what, text string) []string {
	names, err := hostlist.Expand(text)
	if err != nil {
		r.errorf(p, "%s: %v", what, err)
		return nil
	}
	sets := map[string][]string{}
	for _, s := range c.NodeSets {
		sets[s.Name] = s.Nodes
	}
	known := r.nodeIndex(c)
	var out []string
	for _, n := range names {
		switch _, isNode := known[n]; {
		case isNode:
			out = append(out, n)
		case strings.EqualFold(n, "ALL"):
			for i := range c.Nodes {
				out = append(out, c.Nodes[i].Name)
			}
		case sets[n] != nil:
			out = append(out, sets[n]...)
		default:
			if !isEmptySet(c.NodeSets, n) {
				r.errorf(p, "%s: node %s is not defined%s", what, n, suggestNode(n, known))
			}
		}
	}
	return hostlist.Uniq(out)
}

func isEmptySet(sets []NodeSet, name string) bool {
	for _, s := range sets {
		if s.Name == name {
			return true
		}
	}
	return false
}

// nodeIndex gives the places of all nodes by name.
func (r *raw) nodeIndex(c *Config) map[string]Pos {
	if r.index == nil || len(r.index) != len(c.Nodes) {
		r.index = make(map[string]Pos, len(c.Nodes))
		for i := range c.Nodes {
			r.index[c.Nodes[i].Name] = c.Nodes[i].Pos
		}
	}
	return r.index
}
