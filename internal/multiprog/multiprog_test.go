package multiprog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	words, err := Parse("m.conf", []byte("# comment\n0   echo 'a b' %t %o\n\n1-2,4 \\\n run \"%t of\" %o\n3\tx\\ y z\n5-99 rest\n"), 6, []string{"-v"})
	require.NoError(t, err)
	assert.Equal(t, [][]string{
		{"echo", "a b", "0", "0", "-v"}, {"run", "1 of", "0", "-v"}, {"run", "2 of", "1", "-v"},
		{"x y", "z", "-v"}, {"run", "4 of", "2", "-v"}, {"rest", "-v"},
	}, words)
	words, err = Parse("m.conf", []byte("* true"), 2, nil)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"true"}, {"true"}}, words)
	for text, want := range map[string]string{
		"0 a\n1 b":    "Configuration file m.conf invalid, no record for task id 2",
		"0-2 a\n1 b":  "Configuration file m.conf invalid, task 1 has two records",
		"x a":         `Line 1 of configuration file m.conf invalid: task "x"`,
		"2-1 a":       `Line 1 of configuration file m.conf invalid: tasks "2-1"`,
		"0-2":         "Line 1 of configuration file m.conf invalid: 0-2",
		"\n0-2 a 'b ": "Line 2 of configuration file m.conf invalid: 0-2 a 'b",
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
