package batchscript

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"#!/bin/sh\n", ""},
		{"#!/bin/sh", ""},
		{"#!\n", ""},
		{"#!/usr/bin/env -i /bin/zsh\n", ""},
		{"#!/bin/bash   # comment\n", ""},
		{"#!/bin/sh\n\r x\n", ""},
		{"#!/bin/sh\n# \xff\xfe é 🚀\n", ""},
		{"", "Batch script is empty!"},
		{" \n\n\t", "Batch script contains only whitespace!"},
		{"x", "This does not look like a batch script.  The first|line must start with #! followed by the path to an interpreter.|For instance: #!/bin/sh"},
		{"\n#!/bin/sh\n", "This does not look like a batch script.  The first|line must start with #! followed by the path to an interpreter.|For instance: #!/bin/sh"},
		{"\xef\xbb\xbf#!/bin/sh\n", "This does not look like a batch script.  The first|line must start with #! followed by the path to an interpreter.|For instance: #!/bin/sh"},
		{"#!/bin/sh\n:\r\n:\n", `Batch script contains DOS line breaks (\r\n)|instead of expected UNIX line breaks (\n).`},
		{"#!/bin/sh\n\x00", `The Slurm controller does not allow scripts that|contain a NULL character '\0'.`},
	} {
		err := Check([]byte(c.body))
		if c.want == "" {
			assert.NoError(t, err, "%q", c.body)
			continue
		}
		var refused *RefusedError
		if assert.ErrorAs(t, err, &refused, "%q", c.body) {
			assert.Equal(t, c.want, strings.Join(refused.Lines, "|"), "%q", c.body)
		}
	}
}

// Where directives count: the rows A1 to A10 and A18 of what real scripts hold.
func TestWhereDirectivesCount(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"A1", "#SBATCH -J a\n\n \t \n# c\n#SBATCH -n 2\n", "2:-J a|6:-n 2"},
		{"A2", "#SBATCH -J a\nset -e\n#SBATCH -n 2\n", "2:-J a"},
		{"A3", "##SBATCH -n 2\n###SBATCH -n 2\n# SBATCH -n 2\n# #SBATCH -n 2\n#sbatch -n 2\n#Sbatch -n 2\n", ""},
		{"A4", " #SBATCH -n 2\n#SBATCH -J a\n", "3:-J a"},
		{"A5", "#SBATCH--time=1\n#SBATCH-J x\n", "2:--time=1|3:-J x"},
		{"A6", "#SBATCH\t-J\tx\n", "2:-J x"},
		{"A7", "#SBATCH\n#SBATCH   \n", ""},
		{"A9", "cat > gen.sh <<EOT\n#SBATCH -J x\nEOT\n", ""},
		{"A10", "#SBATCH -J x", "2:-J x"},
		{"A18", "#PBS -N x\n#SBATCH -J y\n", "3:-J y"},
		{"A19", "#SBATCH hetjob\n#SBATCHhetjob # c\n", "2:hetjob|3:hetjob"},
	} {
		found, err := Directives([]byte("#!/bin/sh\n"+c.body), SBATCH)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, show(found), c.name)
	}
	found, err := Directives([]byte("#!/bin/sh\n#PBS -N x\n# PBS -N y\n#pbs -N z\n#PBS-N y\n"), PBS)
	require.NoError(t, err)
	assert.Equal(t, "2:-N x|5:-N y", show(found))
}

// Inside of one directive: rows B1 to B19, and what Slurm 22.05 answered.
func TestWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`-c 32 --mem 32G -t 00:05:00`, `-c|32|--mem|32G|-t|00:05:00`},
		{`--opt        v`, `--opt|v`},
		{`-n 5 # five, don't "`, `-n|5`},
		{`-n 5 # Only "1" !`, `-n|5`},
		{`--comment=a#b c`, `--comment=a`},
		{`--comment="a # b" # c`, `--comment=a # b`},
		{`--comment='a"b'"c'd"e`, `--comment=a"bc'de`},
		{`--job-name=Big simulation`, `--job-name=Big|simulation`},
		{`a\ b`, `a|b`},
		{`-J cont \`, `-J|cont`},
		{`-J cont\`, `-J|cont`},
		{`-J cont \\`, `-J|cont|\`},
		{`--comment=a\b`, `--comment=ab`},
		{`--comment=a\\b`, `--comment=a\b`},
		{`--comment="a\"b"`, `--comment=a"b`},
		{`--comment=a\"b`, `--comment=a"b`},
		{`--comment=a\#b`, `--comment=a#b`},
		{`--comment='a\'b'`, `--comment=a'b`},
		{"--comment=`x y`", "--comment=`x|y`"},
		{`-o $HOME/~/$(date).out;`, `-o|$HOME/~/$(date).out;`},
		{`'' -n 2`, ``},
		{`-J '' -n 2`, `-J`},
		{`--comment='' -n 2`, `--comment=|-n|2`},
		{`"-J x"`, `-J x`},
		{`-J "x#y"z#w`, `-J|x#yz`},
		{"-J x\v-n\f2", `-J|x|-n|2`},
		{"-J é\xff", "-J|é\xff"},
	} {
		found, err := Directives([]byte("#!/bin/sh\n#SBATCH "+c.text+"\n"), SBATCH)
		require.NoError(t, err, c.text)
		var words []string
		for _, d := range found {
			words = append(words, d.Words...)
		}
		assert.Equal(t, c.want, strings.Join(words, "|"), c.text)
	}
}

func TestUnmatchedQuotes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{` -J "x`, "line 2: Unmatched `\"` in [ \"x]"},
		{` -J 'x`, "line 2: Unmatched `'` in [ 'x]"},
		{` -n 2  -J   "x  # y  `, "line 2: Unmatched `\"` in [   \"x  # y  ]"},
		{` --comment="a\\"b"`, "line 2: Unmatched `\"` in [--comment=\"a\\\\\"b\"]"},
	} {
		_, err := Directives([]byte("#!/bin/sh\n#SBATCH"+c.text+"\n"), SBATCH)
		assert.EqualError(t, err, c.want)
	}
}

func TestWrap(t *testing.T) {
	script := Wrap("echo \"$0\"; exit 3")
	require.NoError(t, Check(script))
	lines := strings.Split(string(script), "\n")
	assert.Equal(t, "#!/bin/sh", lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "#"))
	assert.Equal(t, []string{"", "echo \"$0\"; exit 3", ""}, lines[2:])
}

func show(found []Directive) string {
	var out []string
	for _, d := range found {
		out = append(out, string(rune('0'+d.Line))+":"+strings.Join(d.Words, " "))
	}
	return strings.Join(out, "|")
}

func FuzzDirectives(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n#SBATCH -J 'a b' # c\n\n#PBS -N x\n:\n#SBATCH -n 2"))
	f.Add([]byte("#SBATCH \"\\"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range []string{SBATCH, PBS, BSUB} {
			found, err := Directives(body, kind)
			last := 0
			for _, d := range found {
				if d.Line <= last || len(d.Words) == 0 {
					t.Fatalf("line %d after %d with %q", d.Line, last, d.Words)
				}
				last = d.Line
				for _, word := range d.Words {
					if word == "" || strings.Contains(word, "\n") {
						t.Fatalf("word %q", word)
					}
				}
			}
			if err != nil && !bytes.ContainsAny(body, `"'`) {
				t.Fatalf("no quote, and yet %v", err)
			}
		}
		_ = Check(body)
	})
}
