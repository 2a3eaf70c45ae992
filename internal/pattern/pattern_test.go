package pattern

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExpand(t *testing.T) {
	v := &Values{JobID: 622, ArrayJobID: 225, ArrayTask: 34, Step: "0", StepID: "622.0", Host: "vm", Node: 1, Rank: 7, User: "alice", JobName: "wrap"}
	batch := &Values{JobID: 622, ArrayTask: NoTask, Step: "batch", Host: "vm", User: "alice", JobName: "wrap"}
	for _, c := range []struct {
		values        *Values
		pattern, want string
	}{
		{batch, "slurm-%j.out", "slurm-622.out"},
		{batch, "%A_%a", "622_4294967294"},
		{v, "%A_%a-%b", "225_34-4"},
		{v, "%N-%n-%s-%t-%u-%x-%J", "vm-1-0-7-alice-wrap-622.0"},
		{batch, "%N-%n-%s-%t-%J", "vm-0-batch-0-622"},
		{batch, "z%12j-%0j-%-%q-%3a-%5x-%3t-%.out", "z0000000622-622-%-%q-4294967294-wrap-000-%.out"},
		{v, "%5j %04A %%", "00622 0225 %"},
		{v, "100%", "100%"},
		{v, "100%3", "100%3"},
		{v, `\%j.out`, "%j.out"},
		{v, `a\%j.out`, "a%j.out"},
		{v, `\\%j-%x.out`, `\%j-%x.out`},
		{v, `end\`, "end"},
	} {
		assert.Equal(t, c.want, Expand(c.pattern, c.values), c.pattern)
	}
}

func TestPerTask(t *testing.T) {
	assert.True(t, PerTask("o-%t"))
	assert.True(t, PerTask("o-%3t"))
	assert.False(t, PerTask("o-%j"))
	assert.False(t, PerTask(`\%t`))
}

func FuzzExpand(f *testing.F) {
	f.Add("%5j%%%t", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		out := Expand(pattern, &Values{JobName: name})
		if !strings.ContainsAny(pattern, `%\`) {
			assert.Equal(t, pattern, out)
		}
	})
}
