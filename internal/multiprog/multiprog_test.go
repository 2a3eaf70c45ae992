package multiprog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	words, err := Parse("m.conf", []byte("# comment\n0   echo 'a b' %t %o\n\n1-2,4 \\\n run \"%t of\" %o '%t'\n3\tx\\ y \\%t\n* rest\n"), 6, []string{"-v"})
	require.NoError(t, err)
	assert.Equal(t, [][]string{
		{"echo", "a b", "0", "0", "-v"}, {"run", `"1`, `of"`, "0", "%t", "-v"}, {"run", `"2`, `of"`, "1", "%t", "-v"},
		{"x y", "%t", "-v"}, {"run", `"4`, `of"`, "2", "%t", "-v"}, {"rest", "-v"},
	}, words)
	words, err = Parse("m.conf", []byte("* true"), 2, nil)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"true"}, {"true"}}, words)
	words, err = Parse("m.conf", []byte("0 echo it's\n1 true"), 2, nil)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{}, {"true"}}, words, "a quote that is not closed leaves nothing to run")
	const line = "\nLine 1 of configuration file m.conf invalid"
	for text, want := range map[string]string{
		"0 a\n1 b":   "Configuration file m.conf invalid, no record for task id 2",
		"0-2 a\n1 b": "Duplicate record for task 1\nLine 2 of configuration file m.conf invalid",
		"x a":        "Invalid task range specification (x)" + line,
		"2-1 a":      "Invalid task range specification (2-1)" + line,
		"0-3 a":      "Invalid task id, 3 >= ntasks" + line,
		"0-2":        "Line 1 of configuration file m.conf invalid",
	} {
		_, err := Parse("m.conf", []byte(text), 3, nil)
		assert.EqualError(t, err, want, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("0-1 a 'b' %t\n* x"), 3)
	f.Fuzz(func(t *testing.T, text []byte, tasks int) {
		if tasks < 0 || tasks > 100 {
			return
		}
		words, err := Parse("f", text, tasks, nil)
		if err == nil && len(words) != tasks {
			t.Fatalf("%d tasks, %d lines of words", tasks, len(words))
		}
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Fatal("an error without text")
		}
	})
}
