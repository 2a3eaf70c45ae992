// Package identity tests who may do what across hosts: a login node, a
// controller and two compute nodes, each in network, mount and UTS namespaces
// of its own.
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

	"muster/test/hosts"
)

// site is the four hosts with their cluster.
type site struct {
	*hosts.Site
	t *testing.T
}

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
`, authType, filepath.Join(s.Hosts["ctl"].Dir, "state"), s.Dir)
}

// up configures and starts the four hosts.
func (s *site) up(authType string) {
	s.t.Helper()
	require.NoError(s.t, os.Chmod(filepath.Join(s.Hosts["ctl"].Dir, "state"), 0o711))
	key := make([]byte, 32)
	_, err := rand.Read(key)
	require.NoError(s.t, err)
	for _, h := range s.Hosts {
		etc := filepath.Join(h.Dir, "etc")
		require.NoError(s.t, os.WriteFile(filepath.Join(etc, "slurm.conf"), []byte(s.conf(authType)), 0o644))
		if authType == "auth/slurm" {
			require.NoError(s.t, os.WriteFile(filepath.Join(etc, "slurm.key"), key, 0o600))
		} else {
			s.munge(h, key)
		}
	}
	ctl := s.Hosts["ctl"]
	ctl.Start(filepath.Join(s.Bin, "sbin", "ctld"), "-D", "-f", filepath.Join(ctl.Dir, "etc", "slurm.conf"))
	public := filepath.Join(ctl.Dir, "etc", "muster.pub")
	s.Await("muster.pub", func() bool { _, err := os.Stat(public); return err == nil })
	text, err := os.ReadFile(public)
	require.NoError(s.t, err)
	for _, name := range []string{"login", "n1", "n2"} {
		require.NoError(s.t, os.WriteFile(filepath.Join(s.Hosts[name].Dir, "etc", "muster.pub"), text, 0o644))
	}
	login := s.Hosts["login"]
	if authType == "auth/slurm" {
		login.Start(filepath.Join(s.Bin, "sbin", "sackd"), "-D", "-f", filepath.Join(login.Dir, "etc", "slurm.conf"))
	}
	for _, name := range []string{"n1", "n2"} {
		h := s.Hosts[name]
		h.Start(filepath.Join(s.Bin, "sbin", "noded"), "-D", "--declared", "-N", name, "-f", filepath.Join(h.Dir, "etc", "slurm.conf"))
	}
	s.Await("both nodes idle", func() bool {
		return login.Run(0, "sinfo", "-h", "-t", "idle", "-o", "%D").Out == "2\n"
	})
}

// munge starts a munged with the common key in the host's own /run.
func (s *site) munge(h *hosts.Host, key []byte) {
	s.t.Helper()
	dir := filepath.Join(h.Dir, "munge")
	require.NoError(s.t, os.MkdirAll(dir, 0o711))
	file := filepath.Join(dir, "key")
	require.NoError(s.t, os.WriteFile(file, key, 0o400))
	h.Start("munged", "--foreground", "--force", "--key-file="+file, "--socket=/run/munge/munge.socket.2",
		"--pid-file="+dir+"/pid", "--log-file="+dir+"/log", "--seed-file="+dir+"/seed", "--num-threads=2")
	s.Await("munged on "+h.Name, func() bool { return h.Run(daemonUID, "munge", "-n").Code == 0 })
}

// TestHosts is the everyday life of the site, once with each AuthType.
func TestHosts(t *testing.T) {
	for _, authType := range []string{"auth/slurm", "auth/munge"} {
		t.Run(filepath.Base(authType), func(t *testing.T) {
			s := &site{hosts.New(t, "ctl", "login", "n1", "n2"), t}
			s.up(authType)
			s.jobs()
			s.strangers()
			s.secrets()
			s.attacks(authType)
			s.secondSession(authType)
			s.configless(authType)
		})
	}
}

// jobs: a user of the login node runs a job that spans both nodes.
func (s *site) jobs() {
	t, login := s.t, s.Hosts["login"]
	t.Helper()
	work := filepath.Join(s.Dir, "work")
	require.NoError(t, os.MkdirAll(work, 0o777))
	require.NoError(t, os.Chmod(work, 0o777))
	r := login.Run(daemonUID, "sbatch", "--parsable", "--wait", "-N2", "-D", work, "-o", "job.out", "--mem=100",
		"--wrap=id -u; srun -l sh -c 'echo $(id -u) $SLURMD_NODENAME'")
	require.Equal(t, 0, r.Code, "%s%s", r.Out, r.Err)
	text, err := os.ReadFile(filepath.Join(work, "job.out"))
	require.NoError(t, err)
	assert.Equal(t, "1\n0: 1 n1\n1: 1 n2\n", sortLines(string(text)))
	r = login.Run(daemonUID, "sacct", "-X", "-n", "-P", "-j", strings.TrimSpace(r.Out), "-o", "User,State")
	assert.Equal(t, "daemon|COMPLETED\n", r.Out, r.Err)
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
	t, login := s.t, s.Hosts["login"]
	t.Helper()
	r := login.Run(daemonUID, "sbatch", "--parsable", "-o", "/dev/null", "--mem=100", "--wrap=sleep 300")
	require.Equal(t, 0, r.Code, r.Err)
	id := strings.TrimSpace(r.Out)
	for _, args := range [][]string{
		{"scancel", "-v", id}, {"scontrol", "requeue", id}, {"scontrol", "hold", id}, {"scontrol", "suspend", id},
		{"scontrol", "update", "jobid=" + id, "timelimit=1"}, {"scontrol", "write", "batch_script", id, "-"},
	} {
		r := login.Run(binUID, args...)
		assert.Regexp(t, "Access/permission denied|Invalid user id", r.Err+r.Out, "%v", args)
	}
	for _, args := range [][]string{
		{"scontrol", "reconfigure"}, {"scontrol", "shutdown"},
		{"scontrol", "update", "nodename=n1", "state=drain", "reason=x"}, {"scontrol", "write", "snapshot", "-"},
	} {
		r := login.Run(binUID, args...)
		assert.NotEqual(t, 0, r.Code, "%v", args)
	}
	r = login.Run(binUID, "squeue", "-h", "-j", id, "-o", "%T")
	assert.Contains(t, []string{"RUNNING\n", "CONFIGURING\n", "PENDING\n"}, r.Out)
	r = login.Run(0, "scancel", id)
	assert.Equal(t, 0, r.Code, r.Err)
}

// secrets: no user can read a key.
func (s *site) secrets() {
	t := s.t
	t.Helper()
	for _, h := range s.Hosts {
		for _, dir := range []string{"etc", "state", "spool"} {
			r := h.Run(binUID, "sh", "-c", "cat "+filepath.Join(h.Dir, dir)+"/*key* 2>/dev/null; true")
			assert.Empty(t, r.Out, "keys in %s of %s", dir, h.Name)
		}
	}
}

// secondSession: while a node's daemon lives, another one under its name is
// refused, and the first goes on.
func (s *site) secondSession(authType string) {
	t, n2, ctl := s.t, s.Hosts["n2"], s.Hosts["ctl"]
	t.Helper()
	// A spool folder and a port of its own: on one host that alone refuses it.
	conf := filepath.Join(n2.Dir, "etc", "second.conf")
	text := strings.Replace(s.conf(authType), "/%n/spool", "/n2/second", 1)
	text = strings.Replace(text, "NodeAddr=10.77.0.3", "NodeAddr=10.77.0.3 Port=7018", 1)
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o644))
	cmd := n2.Start(filepath.Join(s.Bin, "sbin", "noded"), "-D", "--declared", "-N", "n1", "-f", conf)
	s.Await("the refusal of a second n1", func() bool {
		text, _ := os.ReadFile(filepath.Join(ctl.Dir, "log", "ctld.log"))
		return strings.Contains(string(text), "another session of this node is alive")
	})
	_ = cmd.Process.Kill()
	r := s.Hosts["login"].Run(0, "sinfo", "-h", "-N", "-o", "%N %t")
	assert.Contains(t, r.Out, "n1 idle")
}

// configless: hosts that were given nothing but the keys get their files from the
// controller, and commands find them there.
func (s *site) configless(authType string) {
	t, ctl, login, n2 := s.t, s.Hosts["ctl"], s.Hosts["login"], s.Hosts["n2"]
	t.Helper()
	// Its own daemons and files are gone.
	for _, h := range []*hosts.Host{login, n2} {
		h.Stop("sackd", "noded")
		require.NoError(t, os.Remove(filepath.Join(h.Dir, "etc", "slurm.conf")))
	}
	key := func(h *hosts.Host) string { return "--key=" + filepath.Join(h.Dir, "etc", "slurm.key") }
	login.Start(filepath.Join(s.Bin, "sbin", "sackd"), "-D", "--conf-server", "10.77.0.1", key(login))
	n2.Start(filepath.Join(s.Bin, "sbin", "noded"), "-D", "--declared", "-N", "n2", "--conf-server", "10.77.0.9,10.77.0.1:6817", key(n2))
	run := func(uid int, args ...string) hosts.Result {
		return login.Run(uid, append([]string{"env", "-u", "SLURM_CONF"}, args...)...)
	}
	s.Await("commands on a host without files", func() bool { return run(binUID, "squeue", "-h").Code == 0 })
	s.Await("n2 with the controller's files", func() bool {
		return run(binUID, "sinfo", "-h", "-n", "n2", "-t", "idle", "-o", "%D").Out == "1\n"
	})
	r := run(binUID, "sh", "-c", "ls -L /run/slurm/conf; cat /run/slurm/conf/*key* 2>/dev/null; true")
	assert.Equal(t, "muster.pub\nslurm.conf\n", r.Out)

	// A job on the configless node finds the copy, too.
	out := filepath.Join(s.Dir, "work", "configless.out")
	r = run(daemonUID, "sbatch", "--parsable", "--wait", "-w", "n2", "-D", filepath.Dir(out), "-o", out, "--mem=100",
		"--wrap=echo $SLURM_CONF; srun hostname; squeue -h -o %i")
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, 0, r.Code, "%s%s%s", r.Out, r.Err, text)
	assert.Equal(t, "/run/slurm/conf/slurm.conf\nn2\n"+r.Out, string(text))

	// An edit reaches them with the reconfiguration, not before.
	conf := filepath.Join(ctl.Dir, "etc", "slurm.conf")
	require.NoError(t, os.WriteFile(conf, []byte(s.conf(authType)+"Include more.conf\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(ctl.Dir, "etc", "more.conf"), []byte("KillWait=17\n"), 0o644))
	r = ctl.Run(0, "scontrol", "reconfigure")
	require.Equal(t, 0, r.Code, r.Err)
	s.Await("the edit on n2", func() bool {
		return n2.Run(binUID, "cat", "/run/slurm/conf/more.conf").Out == "KillWait=17\n"
	})
	r = run(binUID, "scontrol", "show", "config")
	assert.Regexp(t, "KillWait += 17 sec", r.Out)
}
