package model

import (
	"sort"
	"strconv"
	"strings"
)

// Gres is a count of one generic resource; Type is empty when it does not matter.
type Gres struct {
	Name, Type string
	Count      uint64
}

// TRES is what a job asks for or holds, counted over all of its nodes.
type TRES struct {
	CPUs    uint64
	Memory  uint64 // MiB; 0 = not counted
	Nodes   uint64
	Billing uint64
	Gres    []Gres // of types that AccountingStorageTRES names
}

// String writes "cpu=1,mem=100M,node=1,billing=1,gres/gpu=1", as scontrol does.
func (t TRES) String() string {
	b := make([]byte, 0, 64)
	add := func(name string, n uint64) {
		if n == 0 {
			return
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, name...)
		b = append(b, '=')
		b = strconv.AppendUint(b, n, 10)
	}
	add("cpu", t.CPUs)
	if t.Memory > 0 {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, "mem="...)
		b = AppendMiB(b, t.Memory)
	}
	add("node", t.Nodes)
	add("billing", t.Billing)
	for _, g := range t.Gres {
		name := "gres/" + g.Name
		if g.Type != "" {
			name += ":" + g.Type
		}
		add(name, g.Count)
	}
	return string(b)
}

// AppendMiB writes an amount of memory as Slurm does in TRES and %m.
func AppendMiB(b []byte, mib uint64) []byte { return AppendAmount(b, mib, 'M') }

// AppendAmount writes an amount given in unit (0 = none, K, M, G, …) in the
// largest unit that keeps it exact to a half: 16384M is 16G, 64000M is 62.50G,
// 32000M stays.
func AppendAmount(b []byte, n uint64, unit byte) []byte {
	const units = "KMGTPE"
	i := strings.IndexByte(units, unit)
	half := false
	for i < len(units)-1 && !half && n >= 1024 && n%512 == 0 {
		half = n%1024 != 0
		n /= 1024
		i++
	}
	b = strconv.AppendUint(b, n, 10)
	if half {
		b = append(b, ".50"...)
	}
	if i < 0 {
		return b
	}
	return append(b, units[i])
}

// AppendAmountIn writes an amount given in unit in another one, for those who
// ask for it: two decimals where it is not whole.
func AppendAmountIn(b []byte, n uint64, unit, want byte) []byte {
	const units = "KMGTPE"
	f := float64(n)
	for i, j := strings.IndexByte(units, unit), strings.IndexByte(units, want); i != j; {
		if i < j {
			f /= 1024
			i++
		} else {
			f *= 1024
			i--
		}
	}
	if f == float64(uint64(f)) {
		b = strconv.AppendUint(b, uint64(f), 10)
	} else {
		b = strconv.AppendFloat(b, f, 'f', 2, 64)
	}
	return append(b, want)
}

// SortedTRES is a TRES text with its parts in the order of their names, as the
// accounting shows it.
func SortedTRES(text string) string {
	if text == "" {
		return ""
	}
	parts := strings.Split(text, ",")
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

// TRESValue is the value of one part of a TRES text, "" when it is not there.
func TRESValue(text, name string) string {
	for len(text) > 0 {
		var part string
		part, text, _ = strings.Cut(text, ",")
		if k, v, ok := strings.Cut(part, "="); ok && k == name {
			return v
		}
	}
	return ""
}
