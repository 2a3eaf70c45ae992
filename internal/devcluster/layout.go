// Package devcluster brings up and takes down a whole cluster on one machine,
// in one folder: controller, database, node daemons, configuration, logs.
//
// It is for trying, testing and measuring. It must not touch anything outside
// of its folder, and ends only processes that it started.
package devcluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Layout is where things of a cluster lie below its folder.
type Layout struct{ Dir string }

// New makes the layout of a cluster in dir, which need not exist.
func New(dir string) (Layout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Layout{}, err
	}
	return Layout{Dir: abs}, nil
}

func (l Layout) path(p ...string) string { return filepath.Join(append([]string{l.Dir}, p...)...) }

// Conf is the cluster's slurm.conf.
func (l Layout) Conf() string { return l.path("etc", "slurm.conf") }

// Log is the log file of a daemon: `ctld`, a node's name, `hollow`.
func (l Layout) Log(name string) string { return l.path("log", name+".log") }

func (l Layout) pidFile(name string) string { return l.path("run", name+".pid") }

// State is StateSaveLocation.
func (l Layout) State() string { return l.path("state") }

func (l Layout) spool(node string) string { return l.path("spool", node) }

// make creates the folders. Users must be able to read the configuration and
// to reach their jobs' folders.
func (l Layout) make() error {
	for _, d := range []struct {
		name string
		mode os.FileMode
	}{{"", 0o755}, {"etc", 0o755}, {"log", 0o755}, {"run", 0o755}, {"state", 0o711}, {"spool", 0o755}} {
		if err := os.MkdirAll(l.path(d.name), d.mode); err != nil {
			return err
		}
		if err := os.Chmod(l.path(d.name), d.mode); err != nil {
			return err
		}
	}
	return nil
}

// exists tells whether a cluster was made here.
func (l Layout) exists() bool {
	_, err := os.Stat(l.Conf())
	return err == nil
}

// ports finds n free TCP ports of the loopback address.
func ports(n int) ([]int, error) {
	var held []net.Listener
	defer func() {
		for _, h := range held {
			h.Close()
		}
	}()
	var out []int
	for range n {
		h, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("look for a free port: %w", err)
		}
		held = append(held, h)
		out = append(out, h.Addr().(*net.TCPAddr).Port)
	}
	return out, nil
}

// Env is the shell lines that make the commands talk to the cluster.
func (l Layout) Env() (string, error) {
	bin, sbin, err := Binaries()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("export PATH=%s:%s:$PATH\nexport SLURM_CONF=%s\nunset SLURM_JOB_ID SLURM_JOBID\n",
		quote(bin), quote(sbin), quote(l.Conf())), nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Binaries are the folders of the commands and of the daemons, beside the
// running program: `bin/` and `sbin/`.
func Binaries() (bin, sbin string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	bin = filepath.Dir(self)
	sbin = filepath.Join(filepath.Dir(bin), "sbin")
	if _, err := os.Stat(filepath.Join(sbin, "ctld")); err != nil {
		return "", "", fmt.Errorf("no daemons in %s: build them with `make build`", sbin)
	}
	return bin, sbin, nil
}
