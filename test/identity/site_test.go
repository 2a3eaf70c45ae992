package identity

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Users of the test; Debian has both.
const (
	daemonUID = 1
	binUID    = 2
)

func (s *site) conf(authType string) string {
	return fmt.Sprintf(`ClusterName=site
SlurmctldHost=ctl(10.77.0.1)
SlurmUser=root
AuthType=%s
StateSaveLocation=%s
SlurmdSpoolDir=%s/%%n/spool
ProctrackType=proctrack/linuxproc
ReturnToService=1
SlurmdParameters=config_overrides
NodeName=n1 NodeAddr=10.77.0.3 CPUs=4 RealMemory=1000
NodeName=n2 NodeAddr=10.77.0.4 CPUs=4 RealMemory=1000
PartitionName=p Nodes=ALL Default=YES State=UP
`, authType, filepath.Join(s.hosts["ctl"].dir, "state"), s.dir)
}

// up configures and starts the four hosts.
func (s *site) up(authType string) {
	s.t.Helper()
	require.NoError(s.t, os.Chmod(filepath.Join(s.hosts["ctl"].dir, "state"), 0o711))
	key := make([]byte, 32)
	_, err := rand.Read(key)
	require.NoError(s.t, err)
	for _, h := range s.hosts {
		etc := filepath.Join(h.dir, "etc")
		require.NoError(s.t, os.WriteFile(filepath.Join(etc, "slurm.conf"), []byte(s.conf(authType)), 0o644))
		if authType == "auth/slurm" {
			require.NoError(s.t, os.WriteFile(filepath.Join(etc, "slurm.key"), key, 0o600))
		} else {
			s.munge(h, key)
		}
	}
	ctl := s.hosts["ctl"]
	ctl.start(s, filepath.Join(s.bin, "sbin", "ctld"), "-D", "-f", filepath.Join(ctl.dir, "etc", "slurm.conf"))
	public := filepath.Join(ctl.dir, "etc", "muster.pub")
	s.await("muster.pub", func() bool { _, err := os.Stat(public); return err == nil })
	text, err := os.ReadFile(public)
	require.NoError(s.t, err)
	for _, name := range []string{"login", "n1", "n2"} {
		require.NoError(s.t, os.WriteFile(filepath.Join(s.hosts[name].dir, "etc", "muster.pub"), text, 0o644))
	}
	login := s.hosts["login"]
	if authType == "auth/slurm" {
		login.start(s, filepath.Join(s.bin, "sbin", "sackd"), "-D", "-f", filepath.Join(login.dir, "etc", "slurm.conf"))
	}
	for _, name := range []string{"n1", "n2"} {
		h := s.hosts[name]
		h.start(s, filepath.Join(s.bin, "sbin", "noded"), "-D", "--declared", "-N", name, "-f", filepath.Join(h.dir, "etc", "slurm.conf"))
	}
	s.await("both nodes idle", func() bool {
		return login.run(s, 0, "sinfo", "-h", "-t", "idle", "-o", "%D").out == "2\n"
	})
}

// munge starts a munged with the common key in the host's own /run.
func (s *site) munge(h *host, key []byte) {
	s.t.Helper()
	dir := filepath.Join(h.dir, "munge")
	require.NoError(s.t, os.MkdirAll(dir, 0o711))
	file := filepath.Join(dir, "key")
	require.NoError(s.t, os.WriteFile(file, key, 0o400))
	h.start(s, "munged", "--foreground", "--force", "--key-file="+file, "--socket=/run/munge/munge.socket.2",
		"--pid-file="+dir+"/pid", "--log-file="+dir+"/log", "--seed-file="+dir+"/seed", "--num-threads=2")
	s.await("munged on "+h.name, func() bool { return h.run(s, daemonUID, "munge", "-n").code == 0 })
}

// TestHosts is the everyday life of the site, once with each AuthType.
func TestHosts(t *testing.T) {
	for _, authType := range []string{"auth/slurm", "auth/munge"} {
		t.Run(filepath.Base(authType), func(t *testing.T) {
			s := newSite(t)
			s.up(authType)
			s.jobs()
			s.strangers()
			s.secrets(authType)
			s.secondSession()
		})
	}
}

// jobs: a user of the login node runs a job that spans both nodes.
func (s *site) jobs() {
	t, login := s.t, s.hosts["login"]
	t.Helper()
	work := filepath.Join(s.dir, "work")
	require.NoError(t, os.MkdirAll(work, 0o777))
	require.NoError(t, os.Chmod(work, 0o777))
	r := login.run(s, daemonUID, "sbatch", "--parsable", "--wait", "-N2", "-D", work, "-o", "job.out", "--mem=100",
		"--wrap=id -u; srun -l sh -c 'echo $(id -u) $SLURMD_NODENAME'")
	require.Equal(t, 0, r.code, "%s%s", r.out, r.err)
	text, err := os.ReadFile(filepath.Join(work, "job.out"))
	require.NoError(t, err)
	assert.Equal(t, "1\n0: 1 n1\n1: 1 n2\n", sortLines(string(text)))
	r = login.run(s, daemonUID, "sacct", "-X", "-n", "-P", "-j", strings.TrimSpace(r.out), "-o", "User,State")
	assert.Equal(t, "daemon|COMPLETED\n", r.out, r.err)
}

// sortLines sorts the lines of srun, which come in any order.
func sortLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 2 && strings.HasPrefix(lines[1], "1:") {
		lines[1], lines[2] = lines[2], lines[1]
	}
	return strings.Join(lines, "")
}

// strangers: nobody touches another's job; root does.
func (s *site) strangers() {
	t, login := s.t, s.hosts["login"]
	t.Helper()
	r := login.run(s, daemonUID, "sbatch", "--parsable", "-o", "/dev/null", "--mem=100", "--wrap=sleep 300")
	require.Equal(t, 0, r.code, r.err)
	id := strings.TrimSpace(r.out)
	for _, args := range [][]string{
		{"scancel", "-v", id}, {"scontrol", "requeue", id}, {"scontrol", "hold", id}, {"scontrol", "suspend", id},
		{"scontrol", "update", "jobid=" + id, "timelimit=1"}, {"scontrol", "write", "batch_script", id, "-"},
	} {
		r := login.run(s, binUID, args...)
		assert.Contains(t, r.err+r.out, "Access/permission denied", "%v", args)
	}
	for _, args := range [][]string{
		{"scontrol", "reconfigure"}, {"scontrol", "shutdown"},
		{"scontrol", "update", "nodename=n1", "state=drain", "reason=x"}, {"scontrol", "write", "snapshot", "-"},
	} {
		r := login.run(s, binUID, args...)
		assert.NotEqual(t, 0, r.code, "%v", args)
	}
	r = login.run(s, binUID, "squeue", "-h", "-j", id, "-o", "%T")
	assert.Contains(t, []string{"RUNNING\n", "CONFIGURING\n", "PENDING\n"}, r.out)
	r = login.run(s, 0, "scancel", id)
	assert.Equal(t, 0, r.code, r.err)
}

// secrets: no user can read a key.
func (s *site) secrets(authType string) {
	t := s.t
	t.Helper()
	for _, h := range s.hosts {
		for _, dir := range []string{"etc", "state", "spool"} {
			r := h.run(s, binUID, "sh", "-c", "cat "+filepath.Join(h.dir, dir)+"/*key* 2>/dev/null; true")
			assert.Empty(t, r.out, "keys in %s of %s", dir, h.name)
		}
	}
	if authType != "auth/slurm" {
		return
	}
	// A key of one's own is worth nothing.
	login := s.hosts["login"]
	own := filepath.Join(s.dir, "own")
	require.NoError(t, os.MkdirAll(own, 0o777))
	require.NoError(t, os.Chmod(own, 0o777))
	r := login.run(s, binUID, "sh", "-c", fmt.Sprintf(
		"cp %[1]s/etc/slurm.conf %[1]s/etc/muster.pub %[2]s && head -c 32 /dev/urandom >%[2]s/slurm.key && chmod 600 %[2]s/slurm.key && "+
			"MUSTER_SACK_SOCKET=/nonexistent SLURM_CONF=%[2]s/slurm.conf squeue", login.dir, own))
	assert.NotEqual(t, 0, r.code, "%s%s", r.out, r.err)
}

// secondSession: while a node's daemon lives, another one under its name is
// refused, and the first goes on.
func (s *site) secondSession() {
	t, n2, ctl := s.t, s.hosts["n2"], s.hosts["ctl"]
	t.Helper()
	conf := filepath.Join(n2.dir, "etc", "slurm.conf")
	cmd := n2.start(s, filepath.Join(s.bin, "sbin", "noded"), "-D", "--declared", "-N", "n1", "-f", conf)
	s.await("the refusal of a second n1", func() bool {
		text, _ := os.ReadFile(filepath.Join(ctl.dir, "log", "ctld.log"))
		return strings.Contains(string(text), "another session of this node is alive")
	})
	_ = cmd.Process.Kill()
	r := s.hosts["login"].run(s, 0, "sinfo", "-h", "-N", "-o", "%N %t")
	assert.Contains(t, r.out, "n1 idle")
}
