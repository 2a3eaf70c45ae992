// Package hosts makes machines out of namespaces for tests: each has a network,
// mount and UTS namespace and a folder of its own, and all hang on one switch.
//
// It knows nothing of what runs on them, and touches nothing outside of its
// namespaces and its folder. Everything is gone when the test has ended.
package hosts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Host is one machine of the test: a process that holds its namespaces, and a
// folder with its configuration.
type Host struct {
	Name, Addr, Dir string
	site            *Site
	holder          *exec.Cmd
	daemons         []*exec.Cmd
}

// Site is the whole of it. A bridge in the login node's namespace would make
// that node special, so a fifth namespace is the switch.
type Site struct {
	Dir   string // where the hosts' folders lie
	Bin   string // MUSTER_BIN
	Hosts map[string]*Host
	t     *testing.T
	sw    *exec.Cmd
}

const waitTime = 30 * time.Second

// New makes a site with hosts of these names, at 10.77.0.1 and up in their order.
// It skips the test where that is not possible.
func New(t *testing.T, names ...string) *Site {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces")
	}
	for _, tool := range []string{"ip", "unshare", "nsenter", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	bin := os.Getenv("MUSTER_BIN")
	if bin == "" {
		t.Skip("needs MUSTER_BIN: the folder that `make build` fills")
	}
	dir, err := os.MkdirTemp("", "muster-hosts.")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	s := &Site{t: t, Dir: dir, Bin: bin, Hosts: map[string]*Host{}}
	t.Cleanup(s.close)
	s.sw = s.hold("switch")
	s.in(s.sw, "ip", "link", "add", "br0", "type", "bridge")
	s.in(s.sw, "ip", "link", "set", "br0", "up")
	for i, name := range names {
		s.addHost(name, fmt.Sprintf("10.77.0.%d", i+1))
	}
	return s
}

// hold starts a process that keeps new namespaces alive.
func (s *Site) hold(name string) *exec.Cmd {
	s.t.Helper()
	ready := filepath.Join(s.Dir, name+".ready")
	script := fmt.Sprintf("hostname %s && mount -t tmpfs tmpfs /run && mkdir /run/slurm /run/munge && "+
		"ip link set lo up && touch %s && exec sleep infinity", name, ready)
	cmd := exec.Command("unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c", script)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(s.t, cmd.Start())
	s.Await("the namespaces of "+name, func() bool { _, err := os.Stat(ready); return err == nil })
	return cmd
}

func (s *Site) addHost(name, addr string) {
	s.t.Helper()
	h := &Host{Name: name, Addr: addr, Dir: filepath.Join(s.Dir, name), site: s}
	for _, d := range []string{"etc", "state", "spool", "log"} {
		require.NoError(s.t, os.MkdirAll(filepath.Join(h.Dir, d), 0o755))
	}
	h.holder = s.hold(name)
	s.Hosts[name] = h
	s.in(s.sw, "ip", "link", "add", "v"+name, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(h.holder.Process.Pid))
	s.in(s.sw, "ip", "link", "set", "v"+name, "master", "br0", "up")
	s.in(h.holder, "ip", "addr", "add", addr+"/24", "dev", "eth0")
	s.in(h.holder, "ip", "link", "set", "eth0", "up")
}

// Cut takes the cables of hosts out of the switch; Mend puts them in again.
func (s *Site) Cut(names ...string)  { s.links("down", names) }
func (s *Site) Mend(names ...string) { s.links("up", names) }

func (s *Site) links(state string, names []string) {
	s.t.Helper()
	for _, name := range names {
		s.in(s.sw, "ip", "link", "set", "v"+name, state)
	}
}

// enter is a command inside the namespaces of a holder.
func enter(ctx context.Context, holder *exec.Cmd, args ...string) *exec.Cmd {
	words := append([]string{"-t", strconv.Itoa(holder.Process.Pid), "-n", "-m", "-u"}, args...)
	return exec.CommandContext(ctx, "nsenter", words...)
}

func (s *Site) in(holder *exec.Cmd, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	out, err := enter(ctx, holder, args...).CombinedOutput()
	require.NoError(s.t, err, "%v: %s", args, out)
}

// Result is what a command left.
type Result struct {
	Out, Err string
	Code     int
}

// Run runs a command on a host as a user.
func (h *Host) Run(uid int, args ...string) Result {
	s := h.site
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	id := strconv.Itoa(uid)
	words := append([]string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "env",
		"SLURM_CONF=" + filepath.Join(h.Dir, "etc", "slurm.conf"),
		"PATH=" + s.Bin + "/bin:" + s.Bin + "/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}, args...)
	cmd := enter(ctx, h.holder, words...)
	cmd.Dir = "/tmp"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		s.t.Fatalf("%v on %s did not end: %s%s", args, h.Name, stdout.String(), stderr.String())
	}
	code := 0
	if err != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return Result{stdout.String(), stderr.String(), code}
}

// Start starts a daemon on a host, its output in a log file.
func (h *Host) Start(args ...string) *exec.Cmd {
	s := h.site
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(h.Dir, "log", filepath.Base(args[0])+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(s.t, err)
	defer log.Close()
	cmd := enter(context.Background(), h.holder, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(s.t, cmd.Start())
	h.daemons = append(h.daemons, cmd)
	return cmd
}

// Stop ends the daemons with these names and waits for them.
func (h *Host) Stop(names ...string) {
	h.site.t.Helper()
	var rest []*exec.Cmd
	for _, d := range h.daemons {
		if !slices.ContainsFunc(names, func(n string) bool { return hasWord(d.Args, n) }) {
			rest = append(rest, d)
			continue
		}
		_ = d.Process.Signal(syscall.SIGTERM)
		_ = d.Wait() // ended by our signal
	}
	h.daemons = rest
}

// hasWord tells whether a command line runs the program called name.
func hasWord(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return filepath.Base(a) == name })
}

// Await asks again and again until the condition holds. Other processes change
// what is asked for, so there is no event to wait on.
func (s *Site) Await(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, holds, waitTime, 20*time.Millisecond, "%s did not come about; logs: %s", what, s.Dir)
}

func (s *Site) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(s.Dir, "*", "log", "*.log"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if len(text) > 4000 {
			text = text[len(text)-4000:]
		}
		fmt.Fprintf(&b, "== %s\n%s\n", strings.TrimPrefix(f, s.Dir), text)
	}
	return b.String()
}

// endShepherds ends what is left of jobs: a shepherd outlives its daemon.
func (s *Site) endShepherds() {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		text, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(text), s.Dir+"/") || !strings.Contains(string(text), "stepd") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

func (s *Site) close() {
	if s.t.Failed() {
		s.t.Log(s.logs())
	}
	for _, h := range s.Hosts {
		for _, d := range h.daemons {
			_ = d.Process.Signal(syscall.SIGTERM)
			_ = d.Wait() // ended by our signal
		}
	}
	s.endShepherds()
	for _, h := range s.Hosts {
		_ = h.holder.Process.Kill()
		_ = h.holder.Wait()
	}
	if s.sw != nil {
		_ = s.sw.Process.Kill()
		_ = s.sw.Wait()
	}
	_ = os.RemoveAll(s.Dir)
}
