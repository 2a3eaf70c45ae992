package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"muster/test/conformance/clusters"
	"muster/test/conformance/oracle"
)

// The targets that cases run against.
const (
	TargetSlurm  = "slurm"
	TargetMuster = "muster"
)

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// running is a cluster that is up.
type running struct {
	env  []string // how the commands find it
	path string   // PATH with its commands first
	stop func() error
}

// start brings up one configuration of a target in a folder.
func start(ctx context.Context, target, config, dir string) (*running, error) {
	shape, err := clusters.Named(config)
	if err != nil {
		return nil, err
	}
	switch target {
	case TargetSlurm:
		return startSlurm(ctx, shape, dir)
	case TargetMuster:
		return startMuster(ctx, shape, dir)
	}
	return nil, fmt.Errorf("no target %q; there are %s and %s", target, TargetSlurm, TargetMuster)
}

func startSlurm(ctx context.Context, shape clusters.Shape, dir string) (*running, error) {
	cluster, err := oracle.Start(ctx, oracle.Config{
		Dir: dir, Nodes: shape.Nodes, CPUs: shape.CPUs, Threads: shape.Threads,
		Memory: shape.Memory, GPUs: shape.GPUs, GPUType: shape.GPUType, LastNode: shape.LastNode, Conf: shape.Conf,
	})
	if err != nil {
		return nil, err
	}
	return &running{env: cluster.Env(), path: systemPath, stop: cluster.Stop}, nil
}

// startMuster uses devcluster, as a user would.
func startMuster(ctx context.Context, shape clusters.Shape, dir string) (*running, error) {
	bins, err := musterBinaries(ctx)
	if err != nil {
		return nil, err
	}
	devcluster := filepath.Join(bins, "bin", "devcluster")
	conf := dir + ".conf"
	if err := os.WriteFile(conf, []byte(shape.Conf), 0o644); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	args := []string{"up", "--dir", dir, "--nodes", fmt.Sprint(shape.Nodes), "--cpus", fmt.Sprint(shape.CPUs),
		"--threads", fmt.Sprint(shape.Threads), "--mem", fmt.Sprint(shape.Memory), "--conf", conf}
	if shape.GPUs > 0 {
		args = append(args, "--gpus", fmt.Sprint(shape.GPUs), "--gpu-type", shape.GPUType)
	}
	if shape.LastNode != "" {
		args = append(args, "--last-node", shape.LastNode)
	}
	stop := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := output(ctx, devcluster, "down", "--dir", dir)
		return err
	}
	if out, err := output(ctx, devcluster, args...); err != nil {
		_ = stop()
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	text, err := output(ctx, "bash", "-c", `eval "$("$0" env --dir "$1")" && printf %s "$SLURM_CONF"`, devcluster, dir)
	if err != nil {
		_ = stop()
		return nil, err
	}
	return &running{
		env:  []string{"SLURM_CONF=" + text},
		path: filepath.Join(bins, "bin") + ":" + filepath.Join(bins, "sbin") + ":" + systemPath,
		stop: stop,
	}, nil
}

// daemons are the programs that belong into sbin.
var daemons = map[string]bool{"ctld": true, "noded": true, "stepd": true, "sackd": true}

// musterBinaries is the folder with bin/ and sbin/: MUSTER_BIN, or made here.
func musterBinaries(ctx context.Context) (string, error) {
	if dir := os.Getenv("MUSTER_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("muster-conformance-bin-%d", os.Getpid()))
	programs, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil {
		return "", fmt.Errorf("list the programs: %w", err)
	}
	var bin, sbin []string
	for _, main := range programs {
		name := filepath.Base(filepath.Dir(main))
		switch {
		case name == "gpuprobe": // needs cgo and a library
		case daemons[name]:
			sbin = append(sbin, "./cmd/"+name)
		default:
			bin = append(bin, "./cmd/"+name)
		}
	}
	for folder, packages := range map[string][]string{"bin": bin, "sbin": sbin} {
		to := filepath.Join(dir, folder)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return "", fmt.Errorf("make the programs' folder: %w", err)
		}
		cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", to + "/"}, packages...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w: %s", strings.Join(packages, " "), err, out)
		}
	}
	return dir, os.Setenv("MUSTER_BIN", dir)
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	// A daemon that a program leaves behind may hold the pipe open.
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
