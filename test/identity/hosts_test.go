// Package identity tests who may do what across hosts: a login node, a
// controller and two compute nodes, each in network, mount and UTS namespaces
// of its own.
package identity

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// host is one machine of the test: a process that holds its namespaces, and a
// folder with its configuration.
type host struct {
	name, addr, dir string
	holder          *exec.Cmd
	daemons         []*exec.Cmd
}

// site is the whole of it. A bridge in the login node's namespace would make
// that node special, so a fifth namespace is the switch.
type site struct {
	t     *testing.T
	dir   string
	bin   string
	hosts map[string]*host
	sw    *exec.Cmd
}

const waitTime = 30 * time.Second

func newSite(t *testing.T) *site {
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
	dir, err := os.MkdirTemp("", "muster-id.")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	s := &site{t: t, dir: dir, bin: bin, hosts: map[string]*host{}}
	t.Cleanup(s.close)
	s.sw = s.hold("switch")
	s.in(s.sw, "ip", "link", "add", "br0", "type", "bridge")
	s.in(s.sw, "ip", "link", "set", "br0", "up")
	for i, name := range []string{"ctl", "login", "n1", "n2"} {
		s.addHost(name, fmt.Sprintf("10.77.0.%d", i+1))
	}
	return s
}

// hold starts a process that keeps new namespaces alive.
func (s *site) hold(name string) *exec.Cmd {
	s.t.Helper()
	ready := filepath.Join(s.dir, name+".ready")
	script := fmt.Sprintf("hostname %s && mount -t tmpfs tmpfs /run && mkdir /run/slurm /run/munge && "+
		"ip link set lo up && touch %s && exec sleep infinity", name, ready)
	cmd := exec.Command("unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c", script)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(s.t, cmd.Start())
	s.await("the namespaces of "+name, func() bool { _, err := os.Stat(ready); return err == nil })
	return cmd
}

func (s *site) addHost(name, addr string) {
	s.t.Helper()
	h := &host{name: name, addr: addr, dir: filepath.Join(s.dir, name)}
	for _, d := range []string{"etc", "state", "spool", "log"} {
		require.NoError(s.t, os.MkdirAll(filepath.Join(h.dir, d), 0o755))
	}
	h.holder = s.hold(name)
	s.hosts[name] = h
	s.in(s.sw, "ip", "link", "add", "v"+name, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(h.holder.Process.Pid))
	s.in(s.sw, "ip", "link", "set", "v"+name, "master", "br0", "up")
	s.in(h.holder, "ip", "addr", "add", addr+"/24", "dev", "eth0")
	s.in(h.holder, "ip", "link", "set", "eth0", "up")
}

// enter is a command inside the namespaces of a holder.
func enter(ctx context.Context, holder *exec.Cmd, args ...string) *exec.Cmd {
	words := append([]string{"-t", strconv.Itoa(holder.Process.Pid), "-n", "-m", "-u"}, args...)
	return exec.CommandContext(ctx, "nsenter", words...)
}

func (s *site) in(holder *exec.Cmd, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	out, err := enter(ctx, holder, args...).CombinedOutput()
	require.NoError(s.t, err, "%v: %s", args, out)
}

// result is what a command left.
type result struct {
	out, err string
	code     int
}

// run runs a command on a host as a user.
func (h *host) run(s *site, uid int, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	id := strconv.Itoa(uid)
	words := append([]string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "env",
		"SLURM_CONF=" + filepath.Join(h.dir, "etc", "slurm.conf"),
		"PATH=" + s.bin + "/bin:" + s.bin + "/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}, args...)
	cmd := enter(ctx, h.holder, words...)
	cmd.Dir = "/tmp"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		s.t.Fatalf("%v on %s did not end: %s%s", args, h.name, stdout.String(), stderr.String())
	}
	code := 0
	if err != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return result{stdout.String(), stderr.String(), code}
}

// start starts a daemon on a host, its output in a log file.
func (h *host) start(s *site, args ...string) *exec.Cmd {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(h.dir, "log", filepath.Base(args[0])+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(s.t, err)
	defer log.Close()
	cmd := enter(context.Background(), h.holder, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(s.t, cmd.Start())
	h.daemons = append(h.daemons, cmd)
	return cmd
}

// await asks again and again until the condition holds. Other processes change
// what is asked for, so there is no event to wait on.
func (s *site) await(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, holds, waitTime, 20*time.Millisecond, "%s did not come about; logs: %s", what, s.dir)
}

func (s *site) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(s.dir, "*", "log", "*.log"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if len(text) > 4000 {
			text = text[len(text)-4000:]
		}
		fmt.Fprintf(&b, "== %s\n%s\n", strings.TrimPrefix(f, s.dir), text)
	}
	return b.String()
}

func (s *site) close() {
	if s.t.Failed() {
		s.t.Log(s.logs())
	}
	for _, name := range []string{"n1", "n2", "login", "ctl"} {
		h := s.hosts[name]
		if h == nil {
			continue
		}
		for _, d := range h.daemons {
			_ = d.Process.Signal(syscall.SIGTERM)
			_ = d.Wait() // ended by our signal
		}
	}
	for _, h := range s.hosts {
		_ = h.holder.Process.Kill()
		_ = h.holder.Wait()
	}
	if s.sw != nil {
		_ = s.sw.Process.Kill()
		_ = s.sw.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
