package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExpand(t *testing.T) {
	vars := map[string]string{"J": "12", "W": "/tmp/w"}
	for text, want := range map[string]string{
		"id {{J}} in {{W}}/x": "id 12 in /tmp/w/x",
		"{{J:6}}|":            "    12|",
		"{{J:-6}}|":           "12    |",
		"{{J.batch:-10}}|":    "12.batch  |",
		"{{J_[0-3%2]:12}}|":   "  12_[0-3%2]|",
		"at {{time}} {{J}}":   "at {{time}} 12",
	} {
		got, err := expand(text, vars)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := expand("{{NOSUCH}}", vars)
	assert.ErrorContains(t, err, "no variable NOSUCH")
	_, err = expand("{{nosuch}}", vars)
	assert.ErrorContains(t, err, "neither a mask nor a variable")
}

func TestMatchLine(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"plain", "plain", true},
		{"plain", "plain ", false},
		{"a.c", "abc", false},
		{"End={{time}} x", "End=2026-11-30T21:36:04 x", true},
		{"End={{time}} x", "End=Unknown x", false},
		{"{{id}}", "12a", false},
		{"[{{int:5}}]", "[   12]", true},
		{"[{{int:5}}]", "[  12]", false},
		{"[{{int:-5}}]", "[12   ]", true},
		{"[{{int:-5}}]", "[   12]", false},
		{"{{nodes}}", "node[1-2,4]", true},
		{"{{nodes}}", "node5", false},
		{"{{int}}.{{int}}", "1x2", false},
	} {
		ok, err := matchLine(c.want, c.got)
		require.NoError(t, err)
		assert.Equal(t, c.ok, ok, "%q against %q", c.want, c.got)
	}
}

func TestEntry(t *testing.T) {
	assert.Equal(t, "$ cmd\nout\n! wrong\n=> exit 3\n", entry("cmd", []byte("out\n"), []byte("wrong\n"), 3))
	assert.Equal(t, "$ cmd\nout\n(no newline at the end)\n", entry("cmd", []byte("out"), nil, 0))
	assert.Equal(t, "$ cmd\n", entry("cmd", nil, nil, 0))
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		same            bool
	}{
		{"equal", "a\nb {{int}}\n", "a\nb 7\n", true},
		{"a line is missing", "a\nb\n", "a\n", false},
		{"a line is too many", "a\n", "a\nb\n", false},
		{"order", "a\nb\n", "b\na\n", false},
		{"an empty expectation is no wildcard", "", "a\n", false},
	} {
		diff, err := compare(c.want, c.got)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.same, diff == "", c.name)
	}
	_, err := compare("{{nosuch}}\n", "x\n")
	assert.Error(t, err)
}

func TestAutoMask(t *testing.T) {
	vars := map[string]string{"J": "20012", "W": "/tmp/w"}
	in := "$ squeue -j 20012 -w node1\n             20012     debug R node1\n20012.batch  batch node[1-2]\n/tmp/w/slurm-20012.out 2026-11-30T21:36:04\n"
	want := "$ squeue -j {{J}} -w node1\n{{J:18}}     debug R {{node}}\n{{J.batch:-13}}batch {{nodes}}\n{{W}}/slurm-{{J}}.out {{time}}\n"
	assert.Equal(t, want, autoMask(in, vars, false))
}
