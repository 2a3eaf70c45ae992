package nodes

import (
	"cmp"
	"time"

	"muster/internal/model"
	"muster/internal/wire"
)

// Context is what rows are shown under.
type Context struct {
	Now        time.Time
	TimeFormat string
	UserName   func(uid uint32) string
}

// Row is one line: the nodes of a partition, or of several, that look the same.
type Row struct {
	*Context
	Part  *wire.PartitionInfo
	Nodes []*wire.NodeInfo
	place int // of the partition in the configuration
}

// first is any of the row's nodes; nil for a partition in which none is left.
func (r *Row) first() *wire.NodeInfo {
	if len(r.Nodes) == 0 {
		return nil
	}
	return r.Nodes[0]
}

// tally counts nodes or CPUs by what they are doing.
type tally struct{ alloc, idle, other, total uint64 }

func (r *Row) nodeTally() tally {
	var t tally
	for _, n := range r.Nodes {
		switch {
		case n.State.Base != wire.NodeBase_NODE_DOWN && model.NodeBusy(n):
			t.alloc++
		case model.NodeUsable(n):
			t.idle++
		default:
			t.other++
		}
		t.total++
	}
	return t
}

func (r *Row) cpuTally() tally {
	var t tally
	for _, n := range r.Nodes {
		cpus := uint64(model.NodeCPUs(n))
		alloc := min(uint64(n.AllocCpus), cpus)
		switch {
		case n.State.Base == wire.NodeBase_NODE_DOWN:
			t.other += cpus
		case model.NodeUsable(n):
			t.alloc += alloc
			t.idle += cpus - alloc
		default:
			t.alloc += alloc
			t.other += cpus - alloc
		}
		t.total += cpus
	}
	return t
}

// bounds are the least and the greatest of what the row's nodes have.
func bounds[T cmp.Ordered](r *Row, of func(*wire.NodeInfo) T) (least, most T) {
	for i, n := range r.Nodes {
		v := of(n)
		if i == 0 || v < least {
			least = v
		}
		if i == 0 || v > most {
			most = v
		}
	}
	return least, most
}

// stateRank orders states as Slurm's numbers do, on which the order of sinfo's
// rows rests: flags weigh more than the base state.
func stateRank(n *wire.NodeInfo) uint64 {
	rank := uint64(0)
	switch n.State.Base {
	case wire.NodeBase_NODE_DOWN:
		rank = 1
	case wire.NodeBase_NODE_IDLE:
		rank = 2
		if n.AllocCpus > 0 {
			rank = 5
			if n.AllocCpus >= model.NodeCPUs(n) {
				rank = 3
			}
		}
	case wire.NodeBase_NODE_ERROR:
		rank = 4
	case wire.NodeBase_NODE_FUTURE:
		rank = 6
	}
	for i, f := range [...]wire.NodeFlag{
		wire.NodeFlag_NF_RESERVED, wire.NodeFlag_NF_CLOUD, wire.NodeFlag_NF_DRAIN, wire.NodeFlag_NF_COMPLETING,
		wire.NodeFlag_NF_NO_RESPOND, wire.NodeFlag_NF_POWERED_DOWN, wire.NodeFlag_NF_FAIL, wire.NodeFlag_NF_POWERING_UP,
		wire.NodeFlag_NF_MAINT, wire.NodeFlag_NF_REBOOT_REQUESTED, wire.NodeFlag_NF_POWERING_DOWN, wire.NodeFlag_NF_DYNAMIC,
		wire.NodeFlag_NF_REBOOT_ISSUED, wire.NodeFlag_NF_PLANNED, wire.NodeFlag_NF_INVALID_REG,
	} {
		if model.NodeHas(n, f) {
			rank |= 1 << (i + 4)
		}
	}
	return rank
}
