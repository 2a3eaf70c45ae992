package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Config says what cluster is wanted.
type Config struct {
	Dir     string // absolute, made if missing; emptied at the start
	Nodes   int
	CPUs    int // per node
	Threads int // per core
	Memory  int // MB per node
	GPUs    int // per node
	GPUType string
	// LastNode holds further words of the last node's line.
	LastNode string
	// Conf holds further lines of slurm.conf (partitions, defaults).
	Conf string
}

// Cluster is a running private Slurm.
type Cluster struct {
	cfg     Config
	ports   ports
	daemons []*daemon
}

type ports struct {
	ctld, dbd, sql int
	slurmd         []int
}

// Start brings the whole cluster up and returns when every node is idle.
// On an error everything that was started is stopped again.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("real Slurm for several users can only be started by root")
	}
	if err := ensurePackages(ctx); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.makeFolders(); err != nil {
		return err
	}
	if err := c.choosePorts(); err != nil {
		return err
	}
	if err := c.writeConfig(); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"munged", c.startMunged},
		{"MariaDB", c.startMariaDB},
		{"slurmdbd", c.startSlurmdbd},
		{"slurmctld", c.startSlurmctld},
		{"slurmd", c.startSlurmds},
		{"nodes", c.awaitNodes},
	} {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("start %s: %w", step.name, err)
		}
	}
	return nil
}

// Env returns the variables with which the commands find this cluster.
func (c *Cluster) Env() []string {
	return []string{"SLURM_CONF=" + c.ConfPath()}
}

// ConfPath is the path of the slurm.conf that was written.
func (c *Cluster) ConfPath() string { return filepath.Join(c.cfg.Dir, "etc", "slurm.conf") }

// Stop ends every daemon, the last started first.
func (c *Cluster) Stop() error {
	var errs []error
	for i := len(c.daemons) - 1; i >= 0; i-- {
		errs = append(errs, c.daemons[i].stop())
	}
	c.daemons = nil
	return errors.Join(errs...)
}

// run calls one of Slurm's commands on this cluster and returns its output.
func (c *Cluster) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), c.Env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// poll calls try about ten times a second until it returns nil, the context
// ends or limit has passed; the last error is then returned.
func poll(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", limit, err)
		case <-tick.C:
		}
	}
}
