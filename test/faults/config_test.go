package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConfigErrors: with a mistake in its files the controller does not start,
// and says where it is.
func TestConfigErrors(t *testing.T) {
	needRoot(t)
	t.Parallel()
	const plain = "ClusterName=c\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser=root\nAuthType=auth/slurm\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n"
	const secret = "postgres://u:sesame@127.0.0.1:1/x"
	for name, c := range map[string]struct {
		conf, file, text string
		mode             os.FileMode
		want             []string
	}{
		"misspelt key":     {conf: plain + "SlurmdTimeuot=5\n", want: []string{"slurm.conf:7", "SlurmdTimeuot", "SlurmdTimeout"}},
		"bad value":        {conf: plain + "SlurmdTimeout=soon\n", want: []string{"slurm.conf:7", "SlurmdTimeout", "soon"}},
		"undefined node":   {conf: plain + "PartitionName=q Nodes=n2\n", want: []string{"slurm.conf:7", "n2"}},
		"node twice":       {conf: plain + "NodeName=n1 CPUs=2\n", want: []string{"slurm.conf:7", "n1"}},
		"readable secret":  {conf: plain, file: "muster.conf", text: "DatabaseURL=" + secret + "\n", mode: 0o644, want: []string{"muster.conf", "0600", "chmod 600"}},
		"readable dbd":     {conf: plain, file: "slurmdbd.conf", text: "StorageHost=127.0.0.1\nStoragePass=sesame\n", mode: 0o640, want: []string{"slurmdbd.conf", "0600"}},
		"not an URL":       {conf: plain, file: "muster.conf", text: "DatabaseURL=sesame\n", mode: 0o600, want: []string{"muster.conf:1", "DatabaseURL"}},
		"unknown database": {conf: plain, file: "muster.conf", text: "DatabaseUrll=" + secret + "\n", mode: 0o600, want: []string{"muster.conf:1", "DatabaseUrll"}},
	} {
		t.Run(name, func(t *testing.T) {
			cl := prepare(t, 0)
			etc := filepath.Join(cl.dir, "etc")
			require.NoError(t, os.MkdirAll(etc, 0o755))
			text := c.conf + "StateSaveLocation=" + cl.dir + "/state\nSlurmctldPidFile=" + cl.dir + "/pid\nAuthInfo=socket=" + cl.dir + "/sack\n"
			require.NoError(t, os.WriteFile(filepath.Join(etc, "slurm.conf"), []byte(text), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(etc, "slurm.key"), make([]byte, 32), 0o600))
			if c.file != "" {
				require.NoError(t, os.WriteFile(filepath.Join(etc, c.file), []byte(c.text), c.mode))
			}
			r := cl.run("ctld", "-D", "-f", filepath.Join(etc, "slurm.conf"))
			assert.Equal(t, 1, r.code, r.err)
			for _, want := range c.want {
				assert.Contains(t, r.err, want)
			}
			assert.NotContains(t, r.out+r.err, "sesame", "a password is shown")
			assert.False(t, fileExists(filepath.Join(cl.dir, "state", "pg")), "a database was made")
		})
	}
}

// TestPasswords: the database's password is seen nowhere.
func TestPasswords(t *testing.T) {
	t.Parallel()
	db := startServer(t)
	const secret = "sesame0815"
	require.Equal(t, "", db.query("CREATE ROLE keeper LOGIN SUPERUSER PASSWORD '"+secret+"'"))
	hba := "host all muster 127.0.0.1/32 trust\nhost all keeper 127.0.0.1/32 scram-sha-256\n"
	require.NoError(t, os.WriteFile(filepath.Join(db.dir, "pg_hba.conf"), []byte(hba), 0o644))
	require.Equal(t, "t", db.query("SELECT pg_reload_conf()"))
	c := prepare(t, 0).up("--nodes", "1", "--cpus", "2", "--mem", "1000",
		"--database", strings.Replace(url(db.port), "muster@", "keeper:"+secret+"@", 1))
	// The connection string of a wrong password is what errors would quote.
	path := filepath.Join(c.dir, "etc", "muster.conf")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	c.daemon("stop", "ctld")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), secret, secret+"x", 1)), 0o600))
	r := c.run("ctld", "-D", "-f", filepath.Join(c.dir, "etc", "slurm.conf"))
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "password authentication failed")
	shown := r.out + r.err
	require.NoError(t, os.WriteFile(path, text, 0o600))
	c.daemon("start", "ctld")
	c.awaitNode("node1", "idle")
	c.ok("sbatch", "--wait", "-o", "/dev/null", "--mem=10", "--wrap", "true")
	shown += c.ok("scontrol", "show", "config")
	for _, verb := range []string{"ping", "show job", "show node", "show partition", "reconfigure"} {
		shown += c.ok(append([]string{"scontrol"}, strings.Fields(verb)...)...)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		words, _ := os.ReadFile(f)
		if filepath.Base(filepath.Dir(f)) != strconv.Itoa(os.Getpid()) {
			shown += string(words)
		}
	}
	logs, _ := filepath.Glob(filepath.Join(c.dir, "log", "*"))
	require.NotEmpty(t, logs)
	for _, f := range logs {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		shown += string(text)
	}
	assert.NotContains(t, shown, secret)
}

// TestUnprivileged brings a cluster up, runs jobs and takes it down as an
// ordinary user.
func TestUnprivileged(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := prepare(t, 1).up("--nodes", "2", "--cpus", "4", "--mem", "1000")
	out := filepath.Join(c.work, "out")
	c.ok("sbatch", "--wait", "-N2", "-o", out, "--mem=10", "--wrap", "id -u; srun -n2 id -u")
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, "1\n1\n1\n", string(text))
	long := c.submit("--wrap", "sleep 1000")
	c.awaitState(long, "RUNNING")
	c.daemon("kill", "ctld")
	c.daemon("kill", "node1")
	c.daemon("start", "ctld")
	c.daemon("start", "node1")
	c.awaitState(long, "RUNNING")
	c.ok("scancel", long)
	c.awaitState(long, "CANCELLED")
	c.awaitNode("node1", "idle")
	c.awaitNode("node2", "idle")
}
