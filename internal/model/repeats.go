package model

import (
	"fmt"
	"strings"
)

// Repeats writes counts as Slurm does: 6,2 and 4(x2).
func Repeats(counts []uint32) string {
	var out strings.Builder
	for i := 0; i < len(counts); {
		j := i
		for j < len(counts) && counts[j] == counts[i] {
			j++
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%d", counts[i])
		if j-i > 1 {
			fmt.Fprintf(&out, "(x%d)", j-i)
		}
		i = j
	}
	return out.String()
}
