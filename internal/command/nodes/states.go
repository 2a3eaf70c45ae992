package nodes

import (
	"strings"

	"muster/internal/model"
	"muster/internal/wire"
)

// stateFilter tells whether a node is in a state that was asked for.
type stateFilter func(*wire.NodeInfo) bool

func hasFlag(f wire.NodeFlag) stateFilter {
	return func(n *wire.NodeInfo) bool { return model.NodeHas(n, f) }
}

func hasBase(b wire.NodeBase) stateFilter {
	return func(n *wire.NodeInfo) bool { return n.State.Base == b }
}

// word is a state as it may be asked for: whole, or no shorter than shortest.
type word struct {
	name string
	is   stateFilter
}

func stateWords() []word {
	drain := hasFlag(wire.NodeFlag_NF_DRAIN)
	return []word{
		{"alloc", isAllocated}, {"allocated", isAllocated},
		{"cloud", hasFlag(wire.NodeFlag_NF_CLOUD)},
		{"comp", hasFlag(wire.NodeFlag_NF_COMPLETING)}, {"completing", hasFlag(wire.NodeFlag_NF_COMPLETING)},
		{"down", hasBase(wire.NodeBase_NODE_DOWN)},
		{"drain", drain},
		{"drained", func(n *wire.NodeInfo) bool { return drain(n) && !model.NodeBusy(n) }},
		{"draining", func(n *wire.NodeInfo) bool { return drain(n) && model.NodeBusy(n) }},
		{"drng", func(n *wire.NodeInfo) bool { return drain(n) && model.NodeBusy(n) }},
		{"error", hasBase(wire.NodeBase_NODE_ERROR)},
		{"fail", hasFlag(wire.NodeFlag_NF_FAIL)},
		{"failing", func(n *wire.NodeInfo) bool { return model.NodeHas(n, wire.NodeFlag_NF_FAIL) && model.NodeBusy(n) }},
		{"future", hasBase(wire.NodeBase_NODE_FUTURE)}, {"futr", hasBase(wire.NodeBase_NODE_FUTURE)},
		{"idle", func(n *wire.NodeInfo) bool { return n.State.Base == wire.NodeBase_NODE_IDLE && n.AllocCpus == 0 }},
		{"inval", hasFlag(wire.NodeFlag_NF_INVALID_REG)},
		{"maint", hasFlag(wire.NodeFlag_NF_MAINT)},
		{"mix", isMixed}, {"mixed", isMixed},
		{"no_respond", hasFlag(wire.NodeFlag_NF_NO_RESPOND)},
		{"planned", hasFlag(wire.NodeFlag_NF_PLANNED)}, {"plnd", hasFlag(wire.NodeFlag_NF_PLANNED)},
		{"power_down", hasFlag(wire.NodeFlag_NF_POWERED_DOWN)},
		{"powered_down", hasFlag(wire.NodeFlag_NF_POWERED_DOWN)},
		{"powering_down", hasFlag(wire.NodeFlag_NF_POWERING_DOWN)},
		{"powering_up", hasFlag(wire.NodeFlag_NF_POWERING_UP)},
		{"reboot_issued", hasFlag(wire.NodeFlag_NF_REBOOT_ISSUED)},
		{"reboot_requested", hasFlag(wire.NodeFlag_NF_REBOOT_REQUESTED)}, {"reboot", hasFlag(wire.NodeFlag_NF_REBOOT_REQUESTED)},
		{"resv", hasFlag(wire.NodeFlag_NF_RESERVED)}, {"reserved", hasFlag(wire.NodeFlag_NF_RESERVED)},
		{"unk", hasBase(wire.NodeBase_NODE_UNKNOWN)}, {"unknown", hasBase(wire.NodeBase_NODE_UNKNOWN)},
	}
}

func isMixed(n *wire.NodeInfo) bool {
	return n.State.Base == wire.NodeBase_NODE_IDLE && n.AllocCpus > 0 && n.AllocCpus < model.NodeCPUs(n)
}

// isAllocated includes nodes of which only a part is allocated, as in sinfo -t alloc.
func isAllocated(n *wire.NodeInfo) bool {
	return n.State.Base == wire.NodeBase_NODE_IDLE && n.AllocCpus > 0
}

// validStates is Slurm's list, which it prints after a word that is none.
const validStates = "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,reserved,perfctrs,cloud," +
	"completing,powering_down,powered_down,power_down,powering_up,fail,maint,reboot,reboot^,unknown"

// parseStates reads "idle,mix" and "drain&idle". The second result is the word
// that is no state.
func parseStates(list string) (filters []stateFilter, bad string) {
	if list == "" {
		return []stateFilter{func(*wire.NodeInfo) bool { return false }}, "" // an empty list chooses none
	}
	known := stateWords()
	for _, group := range strings.Split(list, ",") {
		if group == "" {
			continue
		}
		if strings.EqualFold(group, "all") {
			return nil, ""
		}
		var all []stateFilter
		for _, w := range strings.Split(group, "&") {
			is := stateOf(known, w)
			if is == nil {
				return nil, w
			}
			all = append(all, is)
		}
		filters = append(filters, func(n *wire.NodeInfo) bool {
			for _, is := range all {
				if !is(n) {
					return false
				}
			}
			return true
		})
	}
	return filters, ""
}

func stateOf(known []word, w string) stateFilter {
	for _, k := range known {
		if strings.EqualFold(k.name, w) {
			return k.is
		}
	}
	return nil
}
