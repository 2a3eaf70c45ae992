package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConformance runs the cases against Debian's real Slurm (MUSTER_TARGET=slurm)
// and, unless it is the quick run (CONFORMANCE_QUICK=1) or some cases only, writes
// docs/conformance.md.
func TestConformance(t *testing.T) {
	if os.Getenv("MUSTER_TARGET") != TargetSlurm {
		t.Skip("MUSTER_TARGET=slurm is not set")
	}
	cases := load(t)
	quick := os.Getenv("CONFORMANCE_QUICK") != ""
	if quick {
		cases = quickCases(cases)
	}
	s := newSuite(t, TargetSlurm)
	// Written when every case has ended, also on failures.
	if report := os.Getenv("CONFORMANCE_REPORT"); report != "" && !quick {
		t.Cleanup(func() { require.NoError(t, writeReport(report, s.results)) })
	}
	s.run(t, cases)
}

// TestCases runs the same cases against Muster.
func TestCases(t *testing.T) {
	if target := os.Getenv("MUSTER_TARGET"); target != "" && target != TargetMuster {
		t.Skip("MUSTER_TARGET is " + target)
	}
	if testing.Short() {
		t.Skip("-short")
	}
	cases := load(t)
	newSuite(t, TargetMuster).run(t, cases)
}

func load(t *testing.T) []Case {
	if os.Geteuid() != 0 {
		t.Skip("the cases run as several users: root is needed")
	}
	cases, err := LoadCases(filepath.Join("..", "cases"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	require.NoError(t, ensureUsers())
	return cases
}

func newSuite(t *testing.T, target string) *suite {
	// Not t.TempDir: other users must reach it, and socket paths are short.
	dir, err := os.MkdirTemp("", "cases")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("CONFORMANCE_KEEP") != "" {
			t.Log("kept: " + dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return &suite{target: target, dir: dir}
}

// quickCount is how many cases the quick run has, about.
const quickCount = 50

// quickCases are some of one configuration that do not wait for long, from all
// over the list.
func quickCases(cases []Case) []Case {
	var short []Case
	for _, c := range cases {
		if c.Config == "base" && !c.Slow {
			short = append(short, c)
		}
	}
	every := max((len(short)+quickCount-1)/quickCount, 1)
	var quick []Case
	for i := 0; i < len(short); i += every {
		quick = append(quick, short[i])
	}
	return quick
}
