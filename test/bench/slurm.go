package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"muster/test/bench/processes"
	"muster/test/conformance/oracle"
)

// slurm is Debian's, with munge, slurmdbd and MariaDB, private to a folder.
type slurm struct {
	dir       string
	cluster   *oracle.Cluster
	restarted *exec.Cmd // the controller, once we have started it again
}

func (s *slurm) name() string               { return "slurm" }
func (s *slurm) folder() string             { return s.dir }
func (s *slurm) program(name string) string { return filepath.Join("/usr/bin", name) }
func (s *slurm) env() []string              { return s.cluster.Env() }

func (s *slurm) start(ctx context.Context, want shape) error {
	text, err := configuration(s.name())
	if err != nil {
		return err
	}
	s.cluster, err = oracle.Start(ctx, oracle.Config{
		Dir: s.dir, Nodes: want.Nodes, CPUs: want.CPUs, Threads: 1, Memory: want.Memory, Conf: text,
	})
	return err
}

func (s *slurm) stop() error {
	if s.cluster == nil {
		return nil
	}
	var errs []error
	if s.restarted != nil {
		errs = append(errs, end(s.restarted))
		s.restarted = nil
	}
	errs = append(errs, s.cluster.Stop(), os.RemoveAll(s.dir))
	s.cluster = nil
	return errors.Join(errs...)
}

func (s *slurm) killController() error {
	if cmd := s.restarted; cmd != nil {
		s.restarted = nil
		if err := cmd.Process.Kill(); err != nil {
			return fmt.Errorf("kill slurmctld: %w", err)
		}
		_ = cmd.Wait() // says only that it was killed
		return nil
	}
	for _, p := range processes.Family(s.dir) {
		if p.Program == "slurmctld" {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				return fmt.Errorf("kill slurmctld: %w", err)
			}
			return processes.AwaitEnd(p.PID)
		}
	}
	return errors.New("no slurmctld runs")
}

func (s *slurm) startController() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log", "slurmctld.out"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open slurmctld's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("/usr/sbin/slurmctld", "-D", "-f", s.cluster.ConfPath())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start slurmctld again: %w", err)
	}
	s.restarted = cmd
	return nil
}

// end asks a process to end and makes it.
func end(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end slurmctld: %w", err)
	}
	kill := time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait() // says only how it was ended
	return nil
}
