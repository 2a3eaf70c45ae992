package queue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/wire"
)

// ordered lists the ids of the sample's jobs in an order.
func ordered(t *testing.T, sort string) string {
	t.Helper()
	lines := shown(t, ParseTable("%A"), sort, false, active)
	return strings.Join(strings.Fields(lines)[1:], " ")
}

func TestOrders(t *testing.T) {
	for sort, want := range map[string]string{
		"":           "8 4 1 2 18 19 6 5 3",
		"cluster":    "8 4 1 2 18 19 6 5 3",
		"i":          "1 2 18 19 3 4 5 6 8",
		"-i":         "8 6 5 4 3 19 18 2 1",
		"-+i":        "1 2 18 19 3 4 5 6 8",
		"S":          "1 2 18 19 4 8 3 5 6", // without a start: last, in the reverse of the natural order
		"-S":         "8 4 1 2 18 19 3 5 6",
		"S,i":        "1 2 18 19 4 8 6 5 3",
		"N":          "1 2 18 19 3 5 6 4 8", // without nodes: after the others, reversed
		"-N":         "8 4 6 5 3 1 2 18 19",
		"C,-i":       "6 5 3 19 18 2 1 4 8",
		"P,-t,-i":    "19 18 2 1 8 6 5 3 4",
		"b,i":        "1 2 18 19 3 4 5 6 8",
		"cluster,-i": "8 6 5 4 3 19 18 2 1",
	} {
		assert.Equal(t, want, ordered(t, sort), "sort %q", sort)
	}
	order, err := ParseSort("b,i")
	require.NoError(t, err)
	assert.Equal(t, "Invalid sort specification: b", order.Complaint)
}

func TestNodesAreCounted(t *testing.T) {
	assert.Less(t, string(counted(nil, "node2")), string(counted(nil, "node10")))
	assert.Less(t, string(counted(nil, "a10")), string(counted(nil, "b2")))
	assert.Equal(t, "login", string(counted(nil, "login"))[:5])
}

func TestStepOrders(t *testing.T) {
	step := func(id uint32, user string, n int32, start int64) *Row {
		r := NewRow(view(), &wire.JobInfo{Spec: &wire.JobSpec{UserName: user}, State: &wire.JobState{JobId: id, Partition: "debug"}})
		r.Step = &wire.StepState{Step: n, Start: start}
		return &r
	}
	rows := []*Row{
		step(7, "bob", int32(wire.StepNumber_STEP_BATCH), 10), step(5, "eve", 1, 20), step(5, "eve", 0, 30),
		step(5, "eve", int32(wire.StepNumber_STEP_BATCH), 40),
	}
	for sort, want := range map[string]string{
		"P,i": "5.0 5.1 5.batch 7.batch",
		"-i":  "7.batch 5.batch 5.1 5.0",
		"w,#": "5.batch 5.0 5.1 7.batch", // as they were made; such letters are no error for steps
		"u":   "7.batch 5.batch 5.0 5.1",
		"S":   "7.batch 5.1 5.0 5.batch",
	} {
		order, err := ParseStepSort(sort)
		require.NoError(t, err)
		list := NewList(stepColumns.parse("%i"), order, false)
		for _, r := range rows {
			list.Add(r, 0)
		}
		list.Sort()
		var out strings.Builder
		require.NoError(t, list.Write(&out))
		assert.Equal(t, want, strings.Join(strings.Fields(out.String()), " "), "sort %q", sort)
	}
}

func TestLinesOutliveChunks(t *testing.T) {
	order, err := ParseSort("-i")
	require.NoError(t, err)
	list := NewList(ParseTable("%5000i|"), order, true)
	for id := range uint32(200) {
		r := NewRow(view(), &wire.JobInfo{State: &wire.JobState{JobId: id + 1}})
		list.Add(&r, 0)
	}
	r := NewRow(view(), &wire.JobInfo{State: &wire.JobState{JobId: 900, ArrayJobId: 900, ArrayPending: "0-99"}})
	list.Add(&r, 0)
	list.Sort()
	var out strings.Builder
	require.NoError(t, list.Write(&out))
	ids := strings.Fields(strings.ReplaceAll(out.String(), "|", ""))
	require.Len(t, ids, 300)
	assert.Equal(t, []string{"900_0", "900_1"}, ids[:2], "the tasks of one array stay in their order")
	assert.Equal(t, []string{"900_99", "200", "199"}, ids[99:102])
	assert.Equal(t, "1", ids[299])
	assert.Greater(t, len(list.text), 2)
}
