package accounting

import (
	"strconv"
	"strings"

	"muster/internal/model"
)

// tres is a TRES text in sacct's order, with amounts in the unit that was asked for.
func (r *Row) tres(text string) string {
	text = model.SortedTRES(text)
	if r.Unit == 0 && !r.NoConvert || !strings.Contains(text, "mem=") {
		return text
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		if name, value, ok := strings.Cut(part, "="); ok && name == "mem" {
			parts[i] = name + "=" + r.unit(value)
		}
	}
	return strings.Join(parts, ",")
}

// unit puts an amount of memory, such as "1.50G", in the unit of --units, or with
// --noconvert in megabytes, which it was asked for in.
func (r *Row) unit(value string) string {
	want := r.Unit
	switch {
	case value == "" || want == 0 && !r.NoConvert:
		return value
	case want == 0:
		want = 'M'
	}
	const units = "MGTPE"
	power := strings.IndexByte(units, value[len(value)-1])
	n, err := strconv.ParseFloat(strings.TrimRight(value, units), 64)
	if err != nil {
		return value
	}
	for range power {
		n *= 1024
	}
	return string(model.AppendAmountIn(nil, uint64(n), 'M', want))
}
