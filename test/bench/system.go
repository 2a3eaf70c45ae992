package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed conf
var confFiles embed.FS

// Shape is the size of a cluster; both systems get the same.
type shape struct {
	Nodes, CPUs, Memory int // CPUs and MB a node, as declared
}

// system is a workload manager that is measured.
type system interface {
	name() string
	// start brings a fresh cluster up and returns when all nodes are idle.
	start(ctx context.Context, s shape) error
	stop() error
	// folder is the place of all that belongs to the cluster: its processes name it.
	folder() string
	// program is the path of one of the commands.
	program(name string) string
	// env is what the commands need beside PATH and HOME.
	env() []string
	// killController ends the controller by SIGKILL; startController starts it
	// again and returns without waiting for it to answer.
	killController() error
	startController() error
}

// configuration returns what stands in conf/ for both and for one system.
func configuration(name string) (string, error) {
	var text strings.Builder
	for _, file := range []string{"both.conf", name + ".conf"} {
		part, err := confFiles.ReadFile("conf/" + file)
		if err != nil {
			return "", fmt.Errorf("read the configuration: %w", err)
		}
		text.Write(part)
	}
	return text.String(), nil
}

// environment is all that a command sees: the same for both systems but for the
// place of the configuration.
func environment(s system) []string {
	path := filepath.Dir(s.program("sbatch")) + ":/usr/sbin:/usr/bin:/sbin:/bin"
	return append([]string{"PATH=" + path, "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/sh", "LANG=C.UTF-8"}, s.env()...)
}

// call runs one of the commands and returns what it printed.
func call(ctx context.Context, s system, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program(name), args...)
	cmd.Env, cmd.Dir = environment(s), os.TempDir()
	cmd.WaitDelay = 2 * time.Second
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %s %s: %w: %s", s.name(), name, strings.Join(args, " "), err, strings.TrimSpace(errors.String()))
	}
	return string(out), nil
}
