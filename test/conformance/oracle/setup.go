package oracle

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// needed are the programs of the Debian packages that make up the oracle.
var needed = []string{"slurmctld", "slurmd", "slurmdbd", "sbatch", "srun", "munged", "mariadbd", "mariadb-install-db"}

var packages = []string{"slurm-wlm", "slurmdbd", "munge", "mariadb-server"}

// sbinPath makes programs of /usr/sbin found for whoever starts us.
const sbinPath = "/usr/sbin:/usr/bin:/sbin:/bin"

// ensurePackages installs Debian's packages when a program is missing.
func ensurePackages(ctx context.Context) error {
	if missing() == "" {
		return nil
	}
	for _, args := range [][]string{
		{"update", "-q"},
		append([]string{"install", "-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		// Nothing may be started by the packages' own scripts.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", args[0], err)
		}
	}
	if name := missing(); name != "" {
		return fmt.Errorf("%s is missing even after installing %v", name, packages)
	}
	return nil
}

func missing() string {
	for _, name := range needed {
		if _, err := program(name); err != nil {
			return name
		}
	}
	return ""
}

func program(name string) (string, error) {
	for _, dir := range filepath.SplitList(sbinPath) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %s not found in %s", name, sbinPath)
}

func (c *Cluster) makeFolders() error {
	if err := os.RemoveAll(c.cfg.Dir); err != nil {
		return fmt.Errorf("empty the cluster's folder: %w", err)
	}
	for _, name := range []string{"", "etc", "log", "state", "spool", "dev"} {
		if err := os.MkdirAll(filepath.Join(c.cfg.Dir, name), 0o755); err != nil {
			return fmt.Errorf("make the cluster's folder: %w", err)
		}
	}
	// Slurm wants a device file for each GPU; what is behind it does not matter.
	for i := range c.cfg.GPUs {
		path := filepath.Join(c.cfg.Dir, "dev", "gpu"+strconv.Itoa(i))
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(195, uint32(i)))); err != nil {
			return fmt.Errorf("make a device file: %w", err)
		}
	}
	return nil
}

func (c *Cluster) choosePorts() error {
	want := []*int{&c.ports.ctld, &c.ports.dbd, &c.ports.sql}
	c.ports.slurmd = make([]int, c.cfg.Nodes)
	for i := range c.ports.slurmd {
		want = append(want, &c.ports.slurmd[i])
	}
	for _, p := range want {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("choose a port: %w", err)
		}
		// Held until all are chosen, so that no two are equal.
		defer l.Close()
		*p = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// ids returns a system user's uid and gid.
func ids(name string) (uid, gid uint32, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, fmt.Errorf("look up user %s: %w", name, err)
	}
	un, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return 0, 0, fmt.Errorf("uid of %s: %w", name, err)
	}
	gn, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return 0, 0, fmt.Errorf("gid of %s: %w", name, err)
	}
	return uint32(un), uint32(gn), nil
}
