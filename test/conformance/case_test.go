package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCase(t *testing.T) {
	c, err := parseCase("x/name.txtar", []byte("# What it shows.\n# configs: threads\n# serial\n# slow\n# since: 23.02 notes: x\nrun true\n# not: a header\n-- want.slurm --\n"))
	require.NoError(t, err)
	assert.Equal(t, "name", c.Name)
	assert.Equal(t, "What it shows.", c.Title)
	assert.Equal(t, "threads", c.Config)
	assert.Equal(t, "23.02 notes: x", c.Since)
	assert.True(t, c.Serial)
	assert.True(t, c.Slow)
	assert.True(t, c.RunsOn(TargetSlurm), "it has an expectation of its own for Slurm")
	assert.Equal(t, "want.slurm", c.wantFile("want", TargetSlurm))
	assert.Equal(t, "want", c.wantFile("want", TargetMuster))

	newer, err := parseCase("n.txtar", []byte("# New.\n# since: 24.05\nrun true\n-- want --\n"))
	require.NoError(t, err)
	assert.False(t, newer.RunsOn(TargetSlurm))
	assert.True(t, newer.RunsOn(TargetMuster))

	_, err = parseCase("n.txtar", []byte("run true\n"))
	assert.ErrorContains(t, err, "must be a comment")
	_, err = parseCase("n.txtar", []byte("# T.\n# configs: nosuch\nrun true\n"))
	assert.ErrorContains(t, err, "no cluster configuration")
}

// TestEveryCaseCompares: a case without an expectation would show nothing.
func TestEveryCaseCompares(t *testing.T) {
	cases, err := LoadCases("../cases")
	require.NoError(t, err)
	for _, c := range cases {
		assert.True(t, c.files["want"], "%s has no want", c.File)
	}
}
