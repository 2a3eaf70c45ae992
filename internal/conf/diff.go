package conf

import (
	"reflect"
	"slices"
	"strings"
)

// Change is a parameter whose value differs between two configurations.
type Change struct {
	Key      string
	Old, New string // "***" for passwords
	Restart  bool   // takes effect only when the daemons are started again
}

// Delta is what a reconfiguration changes. Names stand in the order of the file
// that has them.
type Delta struct {
	Changes []Change

	NodesAdded, NodesRemoved, NodesChanged                []string
	PartitionsAdded, PartitionsRemoved, PartitionsChanged []string
	GresChanged, CgroupChanged                            bool
}

// Empty tells whether nothing differs.
func (d Delta) Empty() bool { return reflect.DeepEqual(d, Delta{}) }

// NeedRestart gives the parameters among the changes that need a restart.
func (d Delta) NeedRestart() []string {
	var out []string
	for _, c := range d.Changes {
		if c.Restart {
			out = append(out, c.Key)
		}
	}
	return out
}

// Diff tells what changes from old to new. Spelling and places do not count.
func Diff(old, new *Config) Delta {
	d := Delta{
		Changes:       diffParams(old.raw, new.raw),
		GresChanged:   !slices.EqualFunc(old.Gres, new.Gres, sameGres),
		CgroupChanged: old.Cgroup != new.Cgroup,
	}
	d.NodesAdded, d.NodesRemoved, d.NodesChanged = diffItems(old.Nodes, new.Nodes,
		func(n NodeConf) string { return n.Name },
		func(a, b NodeConf) bool { a.Pos, b.Pos = Pos{}, Pos{}; return reflect.DeepEqual(a, b) })
	d.PartitionsAdded, d.PartitionsRemoved, d.PartitionsChanged = diffItems(old.Partitions, new.Partitions,
		func(p PartitionConf) string { return p.Name },
		func(a, b PartitionConf) bool { a.Pos, b.Pos = Pos{}, Pos{}; return reflect.DeepEqual(a, b) })
	return d
}

func sameGres(a, b GresConf) bool {
	a.Pos, b.Pos = Pos{}, Pos{}
	return reflect.DeepEqual(a, b)
}

func diffParams(old, new *raw) []Change {
	var out []Change
	for _, p := range Params() {
		a, b := effective(old, &p), effective(new, &p)
		if a == b || p.Kind != KPath && p.Kind != KString && strings.EqualFold(a, b) {
			continue
		}
		if p.is(secret) {
			a, b = hiddenText, hiddenText
		}
		out = append(out, Change{p.Name, a, b, p.Restart()})
	}
	return out
}

func effective(r *raw, p *Param) string {
	if p.is(multi) {
		return strings.Join(r.all(p.Name), ",")
	}
	return r.str(p.Name)
}

func diffItems[T any](old, new []T, name func(T) string, same func(a, b T) bool) (added, removed, changed []string) {
	before := make(map[string]T, len(old))
	for _, o := range old {
		before[name(o)] = o
	}
	after := make(map[string]bool, len(new))
	for _, n := range new {
		after[name(n)] = true
		o, was := before[name(n)]
		switch {
		case !was:
			added = append(added, name(n))
		case !same(o, n):
			changed = append(changed, name(n))
		}
	}
	for _, o := range old {
		if !after[name(o)] {
			removed = append(removed, name(o))
		}
	}
	return added, removed, changed
}
