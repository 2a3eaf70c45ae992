package control

import (
	"fmt"
	"strconv"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/wire"
)

// allocation writes what a job holds: in all, and of each set of nodes on which
// it holds the same.
func (r *jobRecord) allocation() {
	r.line("JOB_GRES=%s", orNull(totalGres(r.state.Alloc)))
	for i := 0; i < len(r.state.Alloc); {
		words := holding(r.state.Alloc[i])
		names := []string{r.state.Alloc[i].Node}
		for i++; i < len(r.state.Alloc) && holding(r.state.Alloc[i]) == words; i++ {
			names = append(names, r.state.Alloc[i].Node)
		}
		r.line("  Nodes=%s %s", hostlist.Compress(names), words)
	}
}

// holding is one node's part: "CPU_IDs=2-3 Mem=500 GRES=gpu:tesla:2(IDX:0-1)".
func holding(a *wire.NodeAlloc) string {
	var gres []string
	for _, g := range a.Gres {
		gres = append(gres, model.GresText(g))
	}
	return fmt.Sprintf("CPU_IDs=%s Mem=%d GRES=%s", model.NumberRanges(cpuIDs(a)), a.Mem, strings.Join(gres, ","))
}

// cpuIDs are the CPUs of the cores that are held, counted core by core.
func cpuIDs(a *wire.NodeAlloc) []uint32 {
	if len(a.Core) == 0 {
		return nil
	}
	threads := max(a.Cpus/uint32(len(a.Core)), 1)
	ids := make([]uint32, 0, len(a.Core)*int(threads))
	for _, c := range a.Core {
		for t := range threads {
			ids = append(ids, c*threads+t)
		}
	}
	return ids
}

func totalGres(alloc []*wire.NodeAlloc) string {
	var names []string
	sum := make(map[string]uint64)
	for _, a := range alloc {
		for _, g := range a.Gres {
			name := model.GresName(g)
			if _, seen := sum[name]; !seen {
				names = append(names, name)
			}
			sum[name] += g.Count
		}
	}
	for i, name := range names {
		names[i] = name + ":" + strconv.FormatUint(sum[name], 10)
	}
	return strings.Join(names, ",")
}

func stepNodes(s *wire.StepState) string {
	names := make([]string, len(s.Alloc))
	for i, a := range s.Alloc {
		names[i] = a.Node
	}
	return hostlist.Compress(names)
}
