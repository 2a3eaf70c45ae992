package controller

import (
	"fmt"
	"slices"

	"muster/internal/wire"
)

var (
	errStepCPUs   = refusal(2046, "More processors requested than permitted")
	errStepMemory = refusal(2044, "Memory required by task is not available")
)

// whyNot says of what a step asks for more than its job has: rooms are the
// job's, with nobody else in them.
func whyNot(rooms []room, nodes int, tasks, cpt uint32, req *wire.StepRequest) ([]string, *wire.Refusal) {
	bare := &wire.StepRequest{
		MinNodes: req.MinNodes, MaxNodes: req.MaxNodes, NtasksPerNode: req.NtasksPerNode, Overcommit: req.Overcommit,
	}
	if !fits(rooms, nodes, tasks, cpt, bare) {
		return nil, errStepCPUs
	}
	bare.MemKind, bare.Mem = req.MemKind, req.Mem
	if !fits(rooms, nodes, tasks, cpt, bare) {
		return nil, errStepMemory
	}
	var messages []string
	for _, g := range req.GresPerNode {
		have := uint64(0)
		for i := range rooms {
			have = max(have, countGres(rooms[i].gres, g))
		}
		if g.Count > have {
			messages = append(messages, fmt.Sprintf("Step requested gres_per_node=%s is more than the job's gres_per_node=%s",
				stepGresText(g, g.Count), stepGresText(g, have)))
		}
	}
	return messages, errGres
}

func stepGresText(g *wire.GresRequest, count uint64) string {
	if g.Type == "" {
		return fmt.Sprintf("%s:%d", g.Name, count)
	}
	return fmt.Sprintf("%s:%s:%d", g.Name, g.Type, count)
}

// stepGresShort tells whether the devices that a step asks for as a whole are
// more than the job has.
func stepGresShort(rooms []room, req *wire.StepRequest) bool {
	return slices.ContainsFunc(req.GresPerStep, func(g *wire.GresRequest) bool {
		have := uint64(0)
		for i := range rooms {
			have += countGres(rooms[i].gres, g)
		}
		return g.Count > have
	})
}
