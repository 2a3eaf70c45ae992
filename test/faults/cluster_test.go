package faults

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cluster is a devcluster of the test.
type cluster struct {
	t    *testing.T
	dir  string // of the cluster
	work string // where jobs write
	bin  string
	uid  int  // who runs everything; 0 = root
	keep bool // the folder holds mounts and cannot be removed by devcluster
}

// result is what a command left.
type result struct {
	out, err string
	code     int
}

// patience is how long anything may take to come about on a busy machine.
const patience = 60 * time.Second

// binaries is the folder that `make build` fills.
func binaries(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("MUSTER_BIN")
	if bin == "" {
		t.Skip("needs MUSTER_BIN: the folder that `make build` fills")
	}
	return bin
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// folder makes a folder that every user can enter and that is removed at the end.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-ft.")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// prepare makes a cluster's folders; up starts it.
func prepare(t *testing.T, uid int) *cluster {
	t.Helper()
	bin := binaries(t)
	base := folder(t)
	c := &cluster{t: t, dir: filepath.Join(base, "c"), work: filepath.Join(base, "work"), bin: bin, uid: uid}
	require.NoError(t, os.Mkdir(c.work, 0o777))
	if uid != os.Geteuid() {
		require.NoError(t, os.Chown(base, uid, uid))
		require.NoError(t, os.Chown(c.work, uid, uid))
	}
	return c
}

// conf writes lines for slurm.conf into a file for `up --conf`.
func (c *cluster) conf(lines ...string) string {
	c.t.Helper()
	path := filepath.Join(filepath.Dir(c.dir), "extra.conf")
	require.NoError(c.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	return path
}

// up starts the cluster. At the end of the test it is taken down, and nothing
// of it may be left on the machine.
func (c *cluster) up(args ...string) *cluster {
	c.t.Helper()
	c.t.Cleanup(c.down)
	r := c.devcluster(append([]string{"up"}, args...)...)
	require.Equal(c.t, 0, r.code, "devcluster up: %s%s", r.out, r.err)
	return c
}

func (c *cluster) down() {
	if c.t.Failed() {
		c.t.Log(c.logs())
	}
	if _, err := os.Stat(c.dir); err != nil {
		return
	}
	words := []string{"down"}
	if c.keep {
		words = append(words, "--keep")
	}
	r := c.devcluster(words...)
	assert.Equal(c.t, 0, r.code, "devcluster down: %s%s", r.out, r.err)
	assert.Empty(c.t, c.processes(), "processes are left")
	assert.Empty(c.t, c.cgroups(), "cgroups of jobs are left")
}

// command is a program of the cluster with its environment.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	env := []string{"SLURM_CONF=" + filepath.Join(c.dir, "etc", "slurm.conf"), "LC_ALL=C", "HOME=" + c.work,
		"PATH=" + c.bin + "/bin:" + c.bin + "/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, name := range []string{"TZ", "MUSTER_INITDB_TEMPLATE"} {
		if v := os.Getenv(name); v != "" && c.uid == os.Geteuid() {
			env = append(env, name+"="+v)
		}
	}
	path := args[0]
	for _, d := range []string{"bin", "sbin"} {
		if p := filepath.Join(c.bin, d, args[0]); fileExists(p) {
			path = p
		}
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, c.work, time.Second
	if c.uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}}
	}
	return cmd
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

// run runs a command of the cluster.
func (c *cluster) run(args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := c.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{stdout.String(), stderr.String(), 0}
	if err != nil {
		r.code = -1
		if cmd.ProcessState != nil {
			r.code = cmd.ProcessState.ExitCode()
		}
		r.err += fmt.Sprintf("(%v)", err)
	}
	return r
}

// ok runs a command that must succeed and returns its output without the last
// line's end.
func (c *cluster) ok(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	require.Equal(c.t, 0, r.code, "%v: %s%s", args, r.out, r.err)
	return strings.TrimSuffix(r.out, "\n")
}

func (c *cluster) devcluster(args ...string) result {
	return c.run(append([]string{"devcluster", args[0], "--dir", c.dir}, args[1:]...)...)
}

// daemon starts, stops or kills a daemon, which must succeed.
func (c *cluster) daemon(verb, name string) {
	c.t.Helper()
	r := c.devcluster(verb, name)
	require.Equal(c.t, 0, r.code, "devcluster %s %s: %s%s", verb, name, r.out, r.err)
}

// submit is an sbatch that must be acknowledged.
func (c *cluster) submit(args ...string) string {
	c.t.Helper()
	return c.ok(append([]string{"sbatch", "--parsable", "-o", "/dev/null", "--mem=10"}, args...)...)
}

// job is what squeue says of a job, or sacct when it has left the queue.
func (c *cluster) state(id string) string {
	return strings.TrimSpace(c.run("squeue", "-h", "-t", "all", "-j", id, "-o", "%T").out)
}

func (c *cluster) nodeState(name string) string {
	return strings.TrimSpace(c.run("sinfo", "-h", "-N", "-n", name, "-o", "%T").out)
}

// await asks again and again until the condition holds. Other processes change
// what is asked for, so there is no event to wait on.
func (c *cluster) await(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s did not come about", what)
		}
	}
}

func (c *cluster) awaitState(id, want string) {
	c.t.Helper()
	last := ""
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if last = c.state(id); last == want {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("job %s is %q, not %s", id, last, want)
		}
	}
}

func (c *cluster) awaitNode(name, want string) {
	c.t.Helper()
	c.await("node "+name+" "+want, func() bool { return c.nodeState(name) == want })
}

// awaitEmpty waits until no job is left that is not ended.
func (c *cluster) awaitEmpty() {
	c.t.Helper()
	c.await("the queue's end", func() bool { r := c.run("squeue", "-h"); return r.code == 0 && r.out == "" })
}

func (c *cluster) log(name string) string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "log", name+".log"))
	return string(text)
}

// grep is the lines of a log that hold a word.
func (c *cluster) grep(name, word string) string {
	var out strings.Builder
	for line := range strings.Lines(c.log(name)) {
		if strings.Contains(line, word) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func (c *cluster) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.dir, "log", "*.log"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if len(text) > 6000 {
			text = text[len(text)-6000:]
		}
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(f), text)
	}
	return b.String()
}

// pid is a daemon's process.
func (c *cluster) pid(name string) int {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "run", name+".pid"))
	require.NoError(c.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(c.t, err)
	return pid
}

// processes lists the daemons and shepherds of the cluster that live.
func (c *cluster) processes() []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && bytes.Contains(text, []byte(c.dir+"/")) {
			out = append(out, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return out
}

// shepherd finds the process of a job's batch shepherd, 0 = none.
func (c *cluster) shepherd(id string) int {
	for _, line := range c.processes() {
		pid, words, _ := strings.Cut(line, " ")
		if !strings.Contains(words, "stepd") {
			continue
		}
		env, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
		for _, f := range env {
			kids, _ := os.ReadFile(f)
			for _, kid := range strings.Fields(string(kids)) {
				text, _ := os.ReadFile("/proc/" + kid + "/environ")
				if bytes.Contains(append([]byte{0}, text...), []byte("\x00SLURM_JOB_ID="+id+"\x00")) {
					n, _ := strconv.Atoi(pid)
					return n
				}
			}
		}
	}
	return 0
}

// cgroups lists what is left of jobs' cgroups: noded names its own after its
// node and its spool folder.
func (c *cluster) cgroups() []string {
	var out []string
	for i := 1; i <= 9; i++ {
		node := fmt.Sprintf("node%d", i)
		h := fnv.New32a()
		_, _ = h.Write([]byte(filepath.Join(c.dir, "spool", node)))
		name := "muster_" + node + "_" + strconv.FormatUint(uint64(h.Sum32()), 36)
		for _, pattern := range []string{"/sys/fs/cgroup/%s/*/", "/sys/fs/cgroup/*/%s/*/"} {
			found, _ := filepath.Glob(fmt.Sprintf(pattern, name))
			out = append(out, found...)
		}
	}
	return out
}

// rounds is how often a random test strikes.
func rounds(least int) int {
	if n, err := strconv.Atoi(os.Getenv("FAULTS_ROUNDS")); err == nil {
		return max(n, 1)
	}
	return least
}

// chance is the random numbers of a test; the seed is printed.
func chance(t *testing.T) *dice {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("FAULTS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("FAULTS_SEED=%d", seed)
	return &dice{r: rand.New(rand.NewPCG(seed, seed))}
}

// dice are random numbers for several goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) upTo(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *dice) pause(most time.Duration) time.Duration {
	return time.Duration(d.upTo(int(most/time.Millisecond))) * time.Millisecond
}
