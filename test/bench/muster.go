package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// muster is a cluster made by devcluster.
type muster struct {
	bin, dir string
	up       bool
}

func (m *muster) name() string               { return "muster" }
func (m *muster) folder() string             { return m.dir }
func (m *muster) program(name string) string { return filepath.Join(m.bin, "bin", name) }
func (m *muster) env() []string              { return []string{"SLURM_CONF=" + m.dir + "/etc/slurm.conf"} }

func (m *muster) start(ctx context.Context, s shape) error {
	text, err := configuration(m.name())
	if err != nil {
		return err
	}
	extra := m.dir + ".conf"
	if err := os.WriteFile(extra, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write Muster's configuration: %w", err)
	}
	m.up = true
	return m.devcluster(ctx, "up", "--nodes", strconv.Itoa(s.Nodes), "--cpus", strconv.Itoa(s.CPUs),
		"--mem", strconv.Itoa(s.Memory), "--conf", extra)
}

func (m *muster) stop() error {
	if !m.up {
		return nil
	}
	m.up = false
	return m.devcluster(context.Background(), "down")
}

func (m *muster) killController() error { return m.devcluster(context.Background(), "kill", "ctld") }

func (m *muster) startController() error { return m.devcluster(context.Background(), "start", "ctld") }

// devcluster runs one of its verbs on our cluster.
func (m *muster) devcluster(ctx context.Context, verb string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.program("devcluster"), append([]string{verb, "--dir", m.dir}, args...)...)
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("devcluster %s: %w: %s", verb, err, strings.TrimSpace(string(out)))
	}
	return nil
}
