package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muster/internal/wire"
)

// parentOf is a script that prints its shepherd's process id.
const parentOf = "#!/bin/sh\necho $PPID\n"

func TestShepherdCarriesOneStepAfterAnother(t *testing.T) {
	for mode, options := range modes(t) {
		t.Run(mode, func(t *testing.T) {
			n := startNode(t, openDir(t), options...)
			n.runJob(1, parentOf, func(o *wire.RunOrder) { o.Spec.Umask = 0o777 })
			for key := int64(2); key < 6; key++ {
				fact := n.runJob(key, fmt.Sprintf("#!/bin/sh\necho $PPID; umask; exit %d\n", key))
				assert.EqualValues(t, key<<8, fact.BatchExitStatus)
			}
			require.NoError(t, os.Chmod(filepath.Join(n.work, "out-1"), 0o600))
			first := n.output("out-1")
			for key := 2; key < 6; key++ {
				assert.Equal(t, first+"0022\n", n.output(fmt.Sprint("out-", key)))
			}
			line, err := os.ReadFile("/proc/" + first[:len(first)-1] + "/cmdline")
			require.NoError(t, err)
			assert.Contains(t, string(line), "job5.batch", "its title names the newest step")
		})
	}
}

func TestShepherdOfAKilledStepIsNotKept(t *testing.T) {
	n := startNode(t, openDir(t))
	n.send(n.order(1, "#!/bin/sh\necho $PPID; exec sleep 100\n"))
	n.waitStage(t, 1, wire.RunStage_STAGE_RUNNING)
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, Now: true}}})
	n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	n.runJob(2, parentOf)
	assert.NotEqual(t, n.output("out-1"), n.output("out-2"))
}

// A step goes to another shepherd when the idle one has died unseen.
func TestIdleShepherdDied(t *testing.T) {
	n := startNode(t, openDir(t))
	n.runJob(1, parentOf)
	n.idle.mu.Lock()
	require.Len(t, n.idle.list, 1)
	pid := n.idle.list[0].proc.Pid
	n.idle.mu.Unlock()
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	fact := n.runJob(2, parentOf)
	assert.Empty(t, fact.Failure)
	assert.Zero(t, fact.BatchExitStatus)
	assert.NotEqual(t, n.output("out-1"), n.output("out-2"))
}

func TestIdleShepherdsEnd(t *testing.T) {
	n := startNode(t, openDir(t))
	n.runJob(1, parentOf)
	n.idle.mu.Lock()
	require.Len(t, n.idle.list, 1)
	s := n.idle.list[0]
	n.idle.mu.Unlock()
	n.expire(s)
	assert.Nil(t, n.idleShepherd())
	assert.ErrorIs(t, unix.Kill(s.proc.Pid, 0), unix.ESRCH)
}
