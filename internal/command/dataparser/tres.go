package dataparser

import (
	"strconv"
	"strings"
)

// The numbers that accounting has for what every cluster counts (TRES).
var tresIDs = map[string]int64{
	"cpu": 1, "mem": 2, "energy": 3, "node": 4, "billing": 5, "fs/disk": 6, "vmem": 7, "pages": 8,
}

// firstOwnTRES is the number of the first that AccountingStorageTRES adds.
const firstOwnTRES = 1001

// TRESNames gives each trackable resource of a cluster its number, for the value
// of AccountingStorageTRES.
func TRESNames(storage string) map[string]int64 {
	ids := make(map[string]int64, len(tresIDs)+4)
	for name, id := range tresIDs {
		ids[name] = id
	}
	next := int64(firstOwnTRES)
	for name := range strings.SplitSeq(storage, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || ids[name] != 0 {
			continue
		}
		ids[name] = next
		next++
	}
	return ids
}

// TRES writes a text such as "cpu=2,mem=100M,gres/gpu=1" as a list. Memory is
// counted in MiB.
func (w *Writer) TRES(key, text string, ids map[string]int64) {
	w.List(key)
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		kind, rest, _ := strings.Cut(name, "/")
		w.Object("")
		w.String("type", kind)
		w.String("name", rest)
		w.Int("id", ids[name])
		w.Int("count", tresCount(value))
		w.End()
	}
	w.End()
}

// tresCount reads "4", and "100M" or "1.50G" as MiB.
func tresCount(value string) int64 {
	if value == "" {
		return 0
	}
	scale := 1.0
	switch unit := value[len(value)-1]; unit {
	case 'M':
	case 'K':
		scale = 1.0 / 1024
	case 'G':
		scale = 1024
	case 'T':
		scale = 1 << 20
	case 'P':
		scale = 1 << 30
	default:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	n, err := strconv.ParseFloat(value[:len(value)-1], 64)
	if err != nil {
		return 0
	}
	return int64(n * scale)
}
