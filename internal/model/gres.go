package model

import (
	"slices"
	"strconv"

	"muster/internal/wire"
)

// GresText is what of a generic resource is held on one node, as Slurm writes
// it: "gpu:a100:2(IDX:0-1)".
func GresText(g *wire.GresAlloc) string {
	text := GresName(g) + ":" + strconv.FormatUint(g.Count, 10)
	if len(g.Index) > 0 {
		text += "(IDX:" + NumberRanges(g.Index) + ")"
	}
	return text
}

// GresName is "gpu:a100", or "gpu" where the type does not matter.
func GresName(g *wire.GresAlloc) string {
	if g.Type == "" {
		return g.Name
	}
	return g.Name + ":" + g.Type
}

// NumberRanges writes numbers in ascending order, runs as "first-last".
func NumberRanges(ids []uint32) string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var b []byte
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(ids[i]), 10)
		if j > i {
			b = append(b, '-')
			b = strconv.AppendUint(b, uint64(ids[j]), 10)
		}
		i = j + 1
	}
	return string(b)
}
