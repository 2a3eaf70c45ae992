package hooks

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long anything may take to come about on a busy machine.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait for daemons: all clusters may run side by side.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// cluster is a devcluster of one test.
type cluster struct {
	*testing.T
	dir  string // of the cluster
	work string // where jobs write; every user may
	bin  string
	id   *syscall.Credential // who runs commands; nil = root
}

// result is what a command left.
type result struct {
	out, err string
	code     int
}

// prepare makes the folders of a test's cluster; up starts it.
func prepare(t *testing.T) *cluster {
	t.Helper()
	bin := os.Getenv("MUSTER_BIN")
	if bin == "" {
		t.Skip("needs MUSTER_BIN: the folder that `make build` fills")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: jobs run as several users, below cgroups")
	}
	base, err := os.MkdirTemp("", "muster-h.")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(base, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	c := &cluster{T: t, dir: filepath.Join(base, "c"), work: filepath.Join(base, "work"), bin: bin}
	require.NoError(t, os.Mkdir(c.work, 0o777))
	require.NoError(t, os.Chmod(c.work, 0o1777))
	return c
}

// up starts the cluster with these words for `devcluster up` and lines for
// slurm.conf.
func (c *cluster) up(words, conf string) {
	c.Helper()
	path := filepath.Join(filepath.Dir(c.dir), "extra.conf")
	require.NoError(c, os.WriteFile(path, []byte(conf), 0o644))
	c.Cleanup(c.down)
	c.devcluster("up", append(strings.Fields(words), "--conf", path)...)
}

func (c *cluster) down() {
	if c.Failed() {
		files, _ := filepath.Glob(filepath.Join(c.dir, "log", "*.log"))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			c.Logf("== %s\n%s", filepath.Base(f), text[max(0, len(text)-4000):])
		}
	}
	if _, err := os.Stat(c.dir); err == nil {
		r := c.run("devcluster", "down", "--dir", c.dir)
		assert.Equal(c, 0, r.code, "devcluster down: %s%s", r.out, r.err)
	}
}

// sub runs a subtest on the cluster.
func (c *cluster) sub(name string, f func(c *cluster)) {
	c.Run(name, func(t *testing.T) {
		inner := *c
		inner.T = t
		f(&inner)
	})
}

// as makes commands run as another user, with that user's groups.
func (c *cluster) as(name string) *cluster {
	c.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		c.Skipf("needs the user %s", name)
	}
	id := &syscall.Credential{Uid: number(u.Uid), Gid: number(u.Gid)}
	groups, err := u.GroupIds()
	require.NoError(c, err)
	for _, g := range groups {
		id.Groups = append(id.Groups, number(g))
	}
	other := *c
	other.id = id
	return &other
}

func number(text string) uint32 {
	n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	return uint32(n)
}

// command is a program of the cluster with its environment.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	path := args[0]
	for _, d := range []string{"bin", "sbin"} {
		if p := filepath.Join(c.bin, d, args[0]); exists(p) {
			path = p
		}
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env = []string{"SLURM_CONF=" + filepath.Join(c.dir, "etc", "slurm.conf"), "LC_ALL=C", "HOME=" + c.work,
		"PATH=" + c.bin + "/bin:" + c.bin + "/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, name := range []string{"TZ", "MUSTER_INITDB_TEMPLATE"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Dir, cmd.WaitDelay = c.work, time.Second
	if c.id != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.id}
	}
	return cmd
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// finish runs a prepared command.
func finish(cmd *exec.Cmd) result {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{stdout.String(), stderr.String(), 0}
	if err != nil {
		r.code = -1
		if cmd.ProcessState != nil {
			r.code = cmd.ProcessState.ExitCode()
		} else {
			r.err += fmt.Sprintf("(%v)", err)
		}
	}
	return r
}

// run runs a command of the cluster.
func (c *cluster) run(args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	return finish(c.command(ctx, args...))
}

// ok runs a command that must succeed and returns its output without the last
// line's end.
func (c *cluster) ok(args ...string) string {
	c.Helper()
	r := c.run(args...)
	require.Equal(c, 0, r.code, "%.200q: %s%s", args, r.out, r.err)
	return strings.TrimSuffix(r.out, "\n")
}

func (c *cluster) devcluster(verb string, args ...string) {
	c.Helper()
	c.ok(append([]string{"devcluster", verb, "--dir", c.dir}, args...)...)
}

// submit is an sbatch that must be acknowledged. Without words of its own the
// job needs 10 MB and says nothing.
func (c *cluster) submit(args ...string) string {
	c.Helper()
	return c.ok(append([]string{"sbatch", "--parsable", "-o", "/dev/null"}, args...)...)
}

// squeue is a field of a job in the queue, ended jobs included.
func (c *cluster) squeue(id, format string) string {
	return strings.TrimSpace(c.run("squeue", "-h", "-t", "all", "-j", id, "-o", format).out)
}

// show is a field of `scontrol show job`.
func (c *cluster) show(id, field string) string {
	for _, w := range strings.Fields(c.run("scontrol", "-o", "show", "job", id).out) {
		if v, ok := strings.CutPrefix(w, field+"="); ok {
			return v
		}
	}
	return ""
}

// sacct is what the accounts say of a job, one line a row.
func (c *cluster) sacct(id, fields string, more ...string) string {
	c.Helper()
	return c.ok(append([]string{"sacct", "-n", "-P", "-j", id, "-o", fields}, more...)...)
}

func (c *cluster) await(what string, holds func() bool) {
	c.Helper()
	if holds() {
		return
	}
	require.Eventually(c, holds, patience, 40*time.Millisecond, what)
}

// awaitField waits until a field of squeue has the value.
func (c *cluster) awaitField(id, format, want string) {
	c.Helper()
	last := ""
	end := time.Now().Add(patience)
	c.await(fmt.Sprintf("job %s: %s", id, want), func() bool {
		if last = c.squeue(id, format); last != want && time.Now().Add(time.Second).After(end) {
			c.Logf("job %s is %q, not %q: %s", id, last, want, c.run("scontrol", "show", "job", id).out)
		}
		return last == want
	})
}

func (c *cluster) awaitState(id, want string) { c.Helper(); c.awaitField(id, "%T", want) }

// awaitAcct waits until the accounts have the job in the state.
func (c *cluster) awaitAcct(id, want string) {
	c.Helper()
	c.await("job "+id+" "+want+" in sacct", func() bool {
		return c.run("sacct", "-n", "-P", "-X", "-j", id, "-o", "state").out == want+"\n"
	})
}

func (c *cluster) nodeState(name string) string {
	return strings.TrimSpace(c.run("sinfo", "-h", "-N", "-n", name, "-o", "%T").out)
}

func (c *cluster) awaitNode(name, want string) {
	c.Helper()
	c.await("node "+name+" "+want, func() bool { return c.nodeState(name) == want })
}

func (c *cluster) reason(node string) string {
	return strings.TrimSpace(c.run("sinfo", "-h", "-N", "-n", node, "-o", "%E").out)
}

// read is a file of the work folder, empty if it is not there.
func (c *cluster) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(c.work, name))
	return string(text)
}

// write makes a file of the work folder and returns its path.
func (c *cluster) write(name, text string, mode os.FileMode) string {
	c.Helper()
	path := filepath.Join(c.work, name)
	require.NoError(c, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(c, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(c, os.Chmod(path, mode))
	return path
}

func (c *cluster) log(daemon string) string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "log", daemon+".log"))
	return string(text)
}
