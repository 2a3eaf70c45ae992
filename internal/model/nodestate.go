package model

import (
	"strings"

	"muster/internal/wire"
)

// nodeAllocation is what a node's held CPUs make of its base state.
func nodeBase(n *wire.NodeInfo) string {
	switch n.State.Base {
	case wire.NodeBase_NODE_DOWN:
		return "DOWN"
	case wire.NodeBase_NODE_ERROR:
		return "ERROR"
	case wire.NodeBase_NODE_FUTURE:
		return "FUTURE"
	case wire.NodeBase_NODE_IDLE:
		switch {
		case n.AllocCpus == 0:
			return "IDLE"
		case n.AllocCpus < NodeCPUs(n):
			return "MIXED"
		}
		return "ALLOCATED"
	}
	return "UNKNOWN"
}

// NodeCPUs is the number of CPUs of a node that jobs may use.
func NodeCPUs(n *wire.NodeInfo) uint32 {
	if n.EffectiveCpus != 0 {
		return n.EffectiveCpus
	}
	return n.Cpus
}

// NodeHas tells whether a flag stands on a node. COMPLETING is derived.
func NodeHas(n *wire.NodeInfo, f wire.NodeFlag) bool {
	if f == wire.NodeFlag_NF_COMPLETING && n.Completing {
		return true
	}
	return n.State.Flags&uint32(f) != 0
}

// nodeFlagWords is the order in which scontrol lists flags after the base state.
var nodeFlagWords = [...]struct {
	flag wire.NodeFlag
	word string
}{
	{wire.NodeFlag_NF_CLOUD, "CLOUD"},
	{wire.NodeFlag_NF_COMPLETING, "COMPLETING"},
	{wire.NodeFlag_NF_DRAIN, "DRAIN"},
	{wire.NodeFlag_NF_DYNAMIC, "DYNAMIC_NORM"},
	{wire.NodeFlag_NF_INVALID_REG, "INVALID_REG"},
	{wire.NodeFlag_NF_FAIL, "FAIL"},
	{wire.NodeFlag_NF_MAINT, "MAINTENANCE"},
	{wire.NodeFlag_NF_POWERING_DOWN, "POWERING_DOWN"},
	{wire.NodeFlag_NF_POWERED_DOWN, "POWERED_DOWN"},
	{wire.NodeFlag_NF_POWERING_UP, "POWERING_UP"},
	{wire.NodeFlag_NF_REBOOT_ISSUED, "REBOOT_ISSUED"},
	{wire.NodeFlag_NF_REBOOT_REQUESTED, "REBOOT_REQUESTED"},
	{wire.NodeFlag_NF_RESERVED, "RESERVED"},
	{wire.NodeFlag_NF_NO_RESPOND, "NOT_RESPONDING"},
	{wire.NodeFlag_NF_PLANNED, "PLANNED"},
}

// NodeStateFull is the state as scontrol shows it: "IDLE+DRAIN",
// "DOWN+NOT_RESPONDING".
func NodeStateFull(n *wire.NodeInfo) string {
	var b strings.Builder
	b.WriteString(nodeBase(n))
	for _, f := range nodeFlagWords {
		if NodeHas(n, f.flag) {
			b.WriteByte('+')
			b.WriteString(f.word)
		}
	}
	return b.String()
}

// NodeStateName is the one word that sinfo shows for a node: short as in its
// STATE column, long as with %T (there in lower case), each with its suffix.
func NodeStateName(n *wire.NodeInfo) StateName {
	name := nodeWord(n)
	if s := nodeSuffix(n); s != "" {
		name.Short += s
		name.Long += s
	}
	return name
}

func nodeWord(n *wire.NodeInfo) StateName {
	base := nodeBase(n)
	busy := base == "ALLOCATED" || base == "MIXED" || NodeHas(n, wire.NodeFlag_NF_COMPLETING)
	switch {
	case NodeHas(n, wire.NodeFlag_NF_INVALID_REG):
		return StateName{"inval", "inval"}
	case NodeHas(n, wire.NodeFlag_NF_MAINT) && !busy && base != "DOWN" && !NodeHas(n, wire.NodeFlag_NF_DRAIN):
		return StateName{"maint", "maint"}
	case NodeHas(n, wire.NodeFlag_NF_DRAIN):
		if busy {
			return StateName{"drng", "draining"}
		}
		return StateName{"drain", "drained"}
	case NodeHas(n, wire.NodeFlag_NF_FAIL):
		if busy {
			return StateName{"failg", "failing"}
		}
		return StateName{"fail", "fail"}
	case base == "DOWN":
		return StateName{"down", "down"}
	case base == "ERROR":
		return StateName{"err", "error"}
	case base == "FUTURE":
		return StateName{"futr", "future"}
	case base == "ALLOCATED" && NodeHas(n, wire.NodeFlag_NF_COMPLETING):
		return StateName{"alloc", "allocated+"}
	case base == "ALLOCATED":
		return StateName{"alloc", "allocated"}
	case base == "MIXED":
		return StateName{"mix", "mixed"}
	case NodeHas(n, wire.NodeFlag_NF_COMPLETING):
		return StateName{"comp", "completing"}
	case base == "IDLE" && NodeHas(n, wire.NodeFlag_NF_RESERVED):
		return StateName{"resv", "reserved"}
	case base == "IDLE" && NodeHas(n, wire.NodeFlag_NF_PLANNED):
		return StateName{"plnd", "planned"}
	case base == "IDLE":
		return StateName{"idle", "idle"}
	}
	return StateName{"unk", "unknown"}
}

func nodeSuffix(n *wire.NodeInfo) string {
	switch {
	case NodeHas(n, wire.NodeFlag_NF_POWERING_DOWN):
		return "%"
	case NodeHas(n, wire.NodeFlag_NF_POWERED_DOWN):
		return "~"
	case NodeHas(n, wire.NodeFlag_NF_POWERING_UP):
		return "#"
	case NodeHas(n, wire.NodeFlag_NF_REBOOT_ISSUED):
		return "^"
	case NodeHas(n, wire.NodeFlag_NF_REBOOT_REQUESTED):
		return "@"
	case NodeHas(n, wire.NodeFlag_NF_NO_RESPOND):
		return "*"
	}
	return ""
}

// NodeUsable tells whether a node's idle CPUs count as idle: not down, drained
// or failed.
func NodeUsable(n *wire.NodeInfo) bool {
	const out = uint32(wire.NodeFlag_NF_DRAIN | wire.NodeFlag_NF_FAIL | wire.NodeFlag_NF_INVALID_REG)
	if n.State.Flags&out != 0 {
		return false
	}
	b := n.State.Base
	return b != wire.NodeBase_NODE_DOWN && b != wire.NodeBase_NODE_ERROR && b != wire.NodeBase_NODE_FUTURE
}

// NodeBusy tells whether something of a job holds CPUs of the node.
func NodeBusy(n *wire.NodeInfo) bool { return n.AllocCpus > 0 || n.Completing }
