package startlimit_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/startlimit"
)

func TestMain(m *testing.M) {
	if os.Getenv("SHOW_LIMIT") != "" {
		if startlimit.NoFile.Cur == 77 && startlimit.NoFile.Max > 77 {
			os.Exit(0)
		}
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// TestSoftLimit: the runtime raises the soft limit; what was there before counts.
func TestSoftLimit(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.Command("sh", "-c", "ulimit -Sn 77; SHOW_LIMIT=1 exec "+self).CombinedOutput()
	assert.NoError(t, err, strings.TrimSpace(string(out)))
}
