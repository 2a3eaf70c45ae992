package processes

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFamily(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", "sleep 100 & wait", dir+"/x")
	require.NoError(t, cmd.Start())
	var found []Process
	require.Eventually(t, func() bool { found = Family(dir); return len(found) == 2 }, 10*time.Second, 10*time.Millisecond)
	programs := map[string]int{}
	for _, p := range found {
		programs[p.Program] = p.PID
	}
	assert.Equal(t, cmd.Process.Pid, programs["sh"])
	require.Contains(t, programs, "sleep")
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, exec.Command("kill", "-9", strconv.Itoa(programs["sleep"])).Run())
	assert.Error(t, cmd.Wait())
	assert.NoError(t, AwaitEnd(cmd.Process.Pid))
	require.Eventually(t, func() bool { return len(Family(dir)) == 0 }, 10*time.Second, 10*time.Millisecond)
}
