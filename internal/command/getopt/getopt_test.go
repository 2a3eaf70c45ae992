package getopt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

var table = []Option{
	{"exclusive", 0, Optional, 1},
	{"job-name", 'J', Required, 2},
	{"jobid", 0, Required, 3},
	{"no-kill", 'k', Optional, 4},
	{"nodes", 'N', Required, 5},
	{"ntasks", 'n', Required, 6},
	{"ntasks-per-core", 0, Required, 7},
	{"ntasks-per-node", 0, Required, 8},
	{"requeue", 0, None, 9},
	{"share", 's', None, 10},
	{"shared", 's', None, 10},
}

func show(found []Match) string {
	var out []string
	for _, m := range found {
		text := m.Option.Long
		if m.HasValue {
			text += "=" + m.Value
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ args, found, rest, err string }{
		{"-N4 -n 2 x -n 3", "nodes=4 ntasks=2", "x -n 3", ""},
		{"-sN4", "share nodes=4", "", ""},
		{"-sk -k1 -k 1", "share no-kill no-kill=1 no-kill", "1", ""},
		{"--nodes=4 --nodes 5 --exclusive --exclusive=user", "nodes=4 nodes=5 exclusive exclusive=user", "", ""},
		{"--job-=x --jobi=3", "job-name=x jobid=3", "", ""},
		{"--sha", "share", "", ""},
		{"--nodes= a", "nodes=", "a", ""},
		{"-n=2", "ntasks==2", "", ""},
		{"-n -2", "ntasks=-2", "", ""},
		{"-- -n 2", "", "-n 2", ""},
		{"- -n 2", "", "- -n 2", ""},
		{"--foo=1", "", "", "unrecognized option '--foo=1'"},
		{"--foo", "", "", "unrecognized option '--foo'"},
		{"-sz", "share", "", "invalid option -- 'z'"},
		{"-s -J", "share", "", "option requires an argument -- 'J'"},
		{"--job-n", "", "", "option '--job-name' requires an argument"},
		{"--requ=1", "", "", "option '--requeue' doesn't allow an argument"},
		{"--ntask=2", "", "", "option '--ntask=2' is ambiguous; possibilities: '--ntasks' '--ntasks-per-core' '--ntasks-per-node'"},
		{"--ntasks=2", "ntasks=2", "", ""},
	} {
		found, rest, err := Parse(table, strings.Fields(c.args), Stop)
		text := ""
		if err != nil {
			text = err.Error()
		}
		assert.Equal(t, c.err, text, c.args)
		assert.Equal(t, c.found, show(found), c.args)
		assert.Equal(t, c.rest, strings.Join(rest, " "), c.args)
	}
}

func TestPermute(t *testing.T) {
	found, rest, err := Parse(table, []string{"12", "-J", "x", "13", "--", "-k"}, Permute)
	assert.NoError(t, err)
	assert.Equal(t, "job-name=x", show(found))
	assert.Equal(t, []string{"12", "13", "-k"}, rest)
}

func FuzzParse(f *testing.F) {
	f.Add("-N4\x00--job=x\x00y")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		found, rest, err := Parse(table, args, Permute)
		if err == nil && len(found)+len(rest) > len(strings.Join(args, "x")) {
			t.Errorf("%q: more results than bytes", line)
		}
	})
}
