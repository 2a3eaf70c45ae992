package devcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopTime is how long a daemon may take to end in order.
const stopTime = 40 * time.Second

func currentUser() (string, error) {
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return strconv.Itoa(os.Geteuid()), nil //nolint:nilerr // a user without a name shows as a number
	}
	return u.Username, nil
}

// command is how a daemon is started.
func (l Layout) command(name string) (*exec.Cmd, error) {
	bin, sbin, err := Binaries()
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(name, "ctld"):
		args := []string{"-D", "-f", l.Conf()}
		if n := strings.TrimPrefix(name, "ctld"); n != "" {
			args = append(args, "--host", "localhost"+n)
		}
		return exec.Command(filepath.Join(sbin, "ctld"), args...), nil
	case name == "hollow":
		return exec.Command(filepath.Join(bin, "devcluster"), "hollow", "--dir", l.Dir), nil
	default:
		return exec.Command(filepath.Join(sbin, "noded"), "-D", "--declared", "-N", name, "-f", l.Conf()), nil
	}
}

// Start starts a daemon in its own session, its output in its log file.
func (l Layout) Start(name string) error {
	if pid, alive := l.alive(name); alive {
		return fmt.Errorf("%s runs already (pid %d)", name, pid)
	}
	cmd, err := l.command(name)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(l.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, l.Dir
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	pid := cmd.Process.Pid
	// Reaped while we live; init's afterwards.
	go cmd.Wait() //nolint:errcheck // its end is seen through alive
	return os.WriteFile(l.pidFile(name), []byte(strconv.Itoa(pid)+"\n"), 0o644)
}

// environment is ours without what a surrounding job or cluster put there.
func environment() []string {
	var out []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SLURM_") {
			out = append(out, v)
		}
	}
	return out
}

// alive tells whether the daemon that the pid file names runs: the same
// command line, not another process that got its number.
func (l Layout) alive(name string) (pid int, ok bool) {
	text, err := os.ReadFile(l.pidFile(name))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid, err == nil && strings.Contains(string(line), l.Dir)
}

// databasePid reads the embedded database's own pid file.
func (l Layout) databasePid() (int, error) {
	found, err := filepath.Glob(l.path("state", "*", "postmaster.pid"))
	if err != nil || len(found) == 0 {
		return 0, fmt.Errorf("no embedded database runs in %s", l.State())
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(first))
}

// Signal sends a signal to a daemon, or to the database (`db`), and waits for
// its end when it is one that ends it.
func (l Layout) Signal(name string, sig syscall.Signal) error {
	var pid int
	if name == "db" {
		p, err := l.databasePid()
		if err != nil {
			return err
		}
		pid = p
		if sig == syscall.SIGTERM {
			sig = syscall.SIGINT // PostgreSQL's fast shutdown
		}
	} else {
		p, ok := l.alive(name)
		if !ok {
			return fmt.Errorf("%s does not run", name)
		}
		pid = p
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return fmt.Errorf("signal %s (pid %d): %w", name, pid, err)
	}
	if sig == syscall.SIGSTOP || sig == syscall.SIGCONT {
		return nil
	}
	if err := waitGone(pid, stopTime); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name != "db" {
		if err := os.Remove(l.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// waitGone waits until the process is no more.
func waitGone(pid int, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || zombie(string(state)) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("pid %d has not ended after %s", pid, limit)
}

func zombie(stat string) bool {
	_, after, _ := strings.Cut(stat, ") ")
	return strings.HasPrefix(after, "Z")
}
