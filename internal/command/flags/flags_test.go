package flags

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"muster/internal/command"
	"muster/internal/command/getopt"
)

var table = append([]Flag{
	{Long: "jobs", Short: 'j', Arg: getopt.Optional, Key: 1, Meta: "ids", Help: "only these"},
	{Long: "job", Arg: getopt.Optional, Key: 1},
	{Long: "noheader", Short: 'h', Key: 2, Help: "no header"},
	{Long: "json", Arg: getopt.Optional, Key: 3, Later: true},
}, Common...)

func given(t *testing.T, words ...string) (given []Value, rest []string, errs string, code int, stop bool) {
	t.Helper()
	var out bytes.Buffer
	p := command.New("squeue", nil)
	p.Stderr = &out
	given, rest, code, stop = Read(p, table, Glue(words, "j", "jobs", "job"), getopt.Permute)
	return given, rest, out.String(), code, stop
}

// An optional value may be the next word, as people write it, unless that is an option.
func TestOptionalValues(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
		rest  []string
	}{
		{[]string{"-j", "12"}, "12", nil},
		{[]string{"-j12"}, "12", nil},
		{[]string{"-hj", "12"}, "12", nil},
		{[]string{"--jobs", "12"}, "12", nil},
		{[]string{"--jobs=12"}, "12", nil},
		{[]string{"-j", "-h"}, "", nil},
		{[]string{"-j"}, "", nil},
		{[]string{"--", "-j", "12"}, "none", []string{"-j", "12"}},
	} {
		values, rest, errs, _, stop := given(t, c.words...)
		assert.False(t, stop)
		assert.Empty(t, errs)
		assert.Equal(t, c.rest, rest, "%v", c.words)
		got := "none"
		for _, v := range values {
			if v.Key == 1 {
				got = v.Text
			}
		}
		assert.Equal(t, c.want, got, "%v", c.words)
	}
}

func TestRefusals(t *testing.T) {
	_, _, errs, code, stop := given(t, "--json")
	assert.True(t, stop)
	assert.Equal(t, 1, code)
	assert.Equal(t, "squeue: error: not supported yet: --json\n", errs)
	_, _, errs, code, stop = given(t, "--nosuch")
	assert.True(t, stop)
	assert.Equal(t, 1, code)
	assert.Equal(t, "squeue: unrecognized option '--nosuch'\nTry \"squeue --help\" for more information\n", errs)
}

func TestWords(t *testing.T) {
	assert.Equal(t, []string{"a", "b c", "d"}, Words("a,, b c ,d,"))
	assert.Empty(t, Words(""))
}
