package lint

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/command/option"
)

var update = flag.Bool("update", false, "write the lists of docs/compatibility.md anew")

// TestOptionLists holds docs/compatibility.md against the option table: what is
// refused, and what is accepted without effect.
func TestOptionLists(t *testing.T) {
	path := filepath.Join(root, "docs", "compatibility.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := string(text)
	for mark, status := range map[string]option.Status{"refused": option.NotYet, "accepted": option.Accepted} {
		begin, end := "<!-- "+mark+" options: begin -->\n", "<!-- "+mark+" options: end -->"
		before, rest, ok := strings.Cut(want, begin)
		require.True(t, ok, "%s has no %q", path, begin)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok, "%s has no %q", path, end)
		want = before + begin + optionTable(status) + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "write it anew with: go test ./test/lint -run TestOptionLists -update")
}

func optionTable(status option.Status) string {
	var lines []string
	for _, e := range option.Table() {
		if e.Status == status {
			lines = append(lines, "| `--"+e.Long+"` | "+programs(e.In)+" | "+strings.ReplaceAll(e.Help, "|", `\|`)+" |\n")
		}
	}
	slices.Sort(lines)
	return "| option | of | |\n|---|---|---|\n" + strings.Join(lines, "")
}

func programs(set option.Program) string {
	var names []string
	for _, p := range []option.Program{option.Sbatch, option.Srun, option.Salloc} {
		if set&p != 0 {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, ", ")
}
