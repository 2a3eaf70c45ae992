package faults

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/test/hosts"
)

// network is a controller and two nodes, each on a host of its own.
type network struct {
	*hosts.Site
	t    *testing.T
	ctl  *hosts.Host
	work string
}

func startNetwork(t *testing.T) *network {
	t.Helper()
	s := hosts.New(t, "ctl", "n1", "n2")
	n := &network{Site: s, t: t, ctl: s.Hosts["ctl"], work: filepath.Join(s.Dir, "work")}
	require.NoError(t, os.Mkdir(n.work, 0o755))
	require.NoError(t, os.Chmod(filepath.Join(n.ctl.Dir, "state"), 0o711))
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	text := fmt.Sprintf(`ClusterName=net
SlurmctldHost=ctl(10.77.0.1)
SlurmUser=root
AuthType=auth/slurm
StateSaveLocation=%s/state
SlurmdSpoolDir=%s/%%n/spool
ProctrackType=proctrack/linuxproc
SlurmdTimeout=10
ReturnToService=1
SlurmdParameters=config_overrides
NodeName=n1 NodeAddr=10.77.0.2 CPUs=4 RealMemory=1000
NodeName=n2 NodeAddr=10.77.0.3 CPUs=4 RealMemory=1000 Weight=9
PartitionName=p Nodes=ALL Default=YES State=UP
`, n.ctl.Dir, s.Dir)
	for _, h := range s.Hosts {
		etc := filepath.Join(h.Dir, "etc")
		require.NoError(t, os.WriteFile(filepath.Join(etc, "slurm.conf"), []byte(text), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(etc, "slurm.key"), key, 0o600))
	}
	n.ctl.Start(filepath.Join(s.Bin, "sbin", "ctld"), "-D", "-f", filepath.Join(n.ctl.Dir, "etc", "slurm.conf"))
	public := filepath.Join(n.ctl.Dir, "etc", "muster.pub")
	s.Await("the controller", func() bool { return n.ctl.Run(0, "squeue", "-h").Code == 0 })
	pub, err := os.ReadFile(public)
	require.NoError(t, err)
	for _, name := range []string{"n1", "n2"} {
		h := s.Hosts[name]
		require.NoError(t, os.WriteFile(filepath.Join(h.Dir, "etc", "muster.pub"), pub, 0o644))
		h.Start(filepath.Join(s.Bin, "sbin", "noded"), "-D", "--declared", "-N", name, "-f", filepath.Join(h.Dir, "etc", "slurm.conf"))
	}
	n.node("n1", "idle")
	n.node("n2", "idle")
	return n
}

// node waits until a node is in a state, as sinfo shows it.
func (n *network) node(name, want string) {
	n.t.Helper()
	n.Await(name+" "+want, func() bool {
		return strings.TrimSpace(n.ctl.Run(0, "sinfo", "-h", "-N", "-n", name, "-o", "%T").Out) == want
	})
}

func (n *network) submit(args ...string) string {
	n.t.Helper()
	r := n.ctl.Run(0, append([]string{"sbatch", "--parsable", "-D", n.work, "-o", "/dev/null", "--mem=10"}, args...)...)
	require.Equal(n.t, 0, r.Code, r.Err)
	return strings.TrimSpace(r.Out)
}

func (n *network) job(id, want string) {
	n.t.Helper()
	n.Await("job "+id+" "+want, func() bool {
		return strings.TrimSpace(n.ctl.Run(0, "squeue", "-h", "-t", "all", "-j", id, "-o", "%T %B").Out) == want
	})
}

// ends are the attempts of a job in the accounting.
func (n *network) ends(id string) string {
	r := n.ctl.Run(0, "sacct", "-X", "-n", "-P", "-D", "-j", id, "-o", "State,ExitCode")
	return strings.TrimSpace(r.Out)
}

func (n *network) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(n.work, name))
	return strings.TrimSpace(string(text))
}

// TestNetworkCut cuts a node off for less and for more than SlurmdTimeout.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	n := startNetwork(t)

	t.Log("a job that ends during a short cut keeps its exit status")
	short := n.submit("-w", "n2", "--wrap", "echo x >>short; while [ ! -e cut ]; do sleep 0.1; done; echo end >>short; exit 7")
	n.job(short, "RUNNING n2")
	n.Cut("n2")
	require.NoError(t, os.WriteFile(filepath.Join(n.work, "cut"), nil, 0o644))
	n.Await("the end of the script", func() bool { return n.file("short") == "x\nend" })
	n.Mend("n2")
	n.job(short, "FAILED n2")
	assert.Equal(t, "FAILED|7:0", n.ends(short))
	n.node("n2", "idle")

	t.Log("a long cut takes the node down and its jobs elsewhere")
	moving := n.submit("--wrap",
		`echo $$ >pid.${SLURM_RESTART_COUNT:-0}; while [ ! -e go ]; do sleep 0.1; done; echo ${SLURM_RESTART_COUNT:-0} >>ended; exit 9`)
	n.job(moving, "RUNNING n1")
	fixed := n.submit("-w", "n1", "--no-requeue", "--wrap", "sleep 1000")
	n.job(fixed, "RUNNING n1")
	n.Await("the first attempt's number", func() bool { return n.file("pid.0") != "" })
	n.Cut("n1")
	begin := time.Now()
	n.Await("a node that does not respond", func() bool {
		return strings.HasSuffix(strings.TrimSpace(n.ctl.Run(0, "sinfo", "-h", "-N", "-n", "n1", "-o", "%T").Out), "*")
	})
	n.node("n1", "down*")
	assert.Greater(t, time.Since(begin), 9*time.Second, "DOWN before SlurmdTimeout")
	assert.Contains(t, n.ctl.Run(0, "sinfo", "-h", "-R", "-o", "%E").Out, "Not responding")
	n.job(fixed, "NODE_FAIL n1")
	n.job(moving, "RUNNING n2")
	assert.True(t, n.lives("pid.0"), "the old attempt is not touched while the node is away")

	t.Log("at reconnection the old attempt is killed and does not count")
	n.Mend("n1")
	n.Await("the end of the old attempt", func() bool { return !n.lives("pid.0") })
	n.node("n1", "idle")
	n.job(moving, "RUNNING n2")
	require.NoError(t, os.WriteFile(filepath.Join(n.work, "go"), nil, 0o644))
	n.job(moving, "FAILED n2")
	assert.Equal(t, "1", n.file("ended"), "which attempt ran to its end")
	assert.Equal(t, "NODE_FAIL|0:0\nFAILED|9:0", n.ends(moving))
	assert.Equal(t, "NODE_FAIL|0:0", n.ends(fixed))
	n.node("n2", "idle")
}

// lives tells whether the process that a file names exists.
func (n *network) lives(file string) bool {
	pid, err := strconv.Atoi(n.file(file))
	return err == nil && syscall.Kill(pid, 0) == nil
}
