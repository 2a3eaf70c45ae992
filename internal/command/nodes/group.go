package nodes

import (
	"slices"

	"muster/internal/model"
	"muster/internal/wire"
)

// Filter says which nodes are shown.
type Filter struct {
	Names      map[string]bool // nil = all
	States     []stateFilter   // empty = all; any of them
	Dead       bool            // those that do not answer
	Responding bool            // those that do
	Reasons    bool            // those that somebody gave a reason for
}

func (f *Filter) keeps(n *wire.NodeInfo) bool {
	silent := model.NodeHas(n, wire.NodeFlag_NF_NO_RESPOND)
	switch {
	case f.Names != nil && !f.Names[n.State.Name] && !f.Names[n.State.Hostname]:
		return false
	case f.Dead && !silent, f.Responding && silent:
		return false
	case f.Reasons && n.State.Reason == "":
		return false
	}
	if len(f.States) == 0 {
		return true
	}
	for _, want := range f.States {
		if want(n) {
			return true
		}
	}
	return false
}

// Rows gathers nodes into rows. With byNode each node of each partition has its
// own; otherwise what the format shows decides, and a partition of which no node
// is left still has one.
func (t *Table) Rows(c *Context, parts []*wire.PartitionInfo, nodes []*wire.NodeInfo, f *Filter, byNode bool) []*Row {
	byName := make(map[string]*wire.NodeInfo, len(nodes))
	for _, n := range nodes {
		byName[n.State.Name] = n
	}
	g := grouping{table: t, context: c, rows: make(map[string]*Row), in: make(map[*Row]map[string]bool), byNode: byNode}
	for place, p := range parts {
		kept := false
		for _, name := range p.NodeNames {
			if n := byName[name]; n != nil && f.keeps(n) {
				g.put(p, place, n)
				kept = true
			}
		}
		if !kept && !byNode && !f.Reasons && t.partitions() {
			g.put(p, place, nil)
		}
	}
	return g.list
}

// partitions tells whether the format names partitions; one of which no node is
// left is shown only then.
func (t *Table) partitions() bool {
	return slices.ContainsFunc(t.keys, func(f *field) bool { return f.letter == 'P' || f.letter == 'R' })
}

type grouping struct {
	table   *Table
	context *Context
	rows    map[string]*Row
	in      map[*Row]map[string]bool // nodes that a row has; they may come by several partitions
	list    []*Row
	byNode  bool
	key     []byte
}

func (g *grouping) put(p *wire.PartitionInfo, place int, n *wire.NodeInfo) {
	one := &Row{Context: g.context, Part: p, place: place}
	g.key = g.key[:0]
	if n != nil {
		one.Nodes = []*wire.NodeInfo{n}
		g.key = append(g.key, '+')
	}
	if g.byNode {
		g.key = append(append(g.key, p.Name...), 0)
		g.key = append(append(g.key, n.State.Name...), 0)
	}
	for _, f := range g.table.keys {
		g.key = append(f.cell(g.key, one), 0)
	}
	row := g.rows[string(g.key)]
	if row == nil {
		g.rows[string(g.key)] = one
		g.list = append(g.list, one)
		if n != nil {
			g.in[one] = map[string]bool{n.State.Name: true}
		}
		return
	}
	if n != nil && !g.in[row][n.State.Name] {
		g.in[row][n.State.Name] = true
		row.Nodes = append(row.Nodes, n)
	}
}
