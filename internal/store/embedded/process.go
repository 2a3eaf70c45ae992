package embedded

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postmaster is what a server wrote into its postmaster.pid.
type postmaster struct {
	pid    int
	socket string
}

// livePostmaster reads postmaster.pid and makes sure that the process is that
// server, not another that got its number: a postmaster stands in its data
// folder.
func livePostmaster(data string) (postmaster, bool) {
	raw, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return postmaster{}, false
	}
	lines := strings.Split(string(raw), "\n")
	if len(lines) < 5 || lines[4] == "" {
		return postmaster{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return postmaster{}, false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil || cwd != data || !alive(pid) {
		return postmaster{}, false
	}
	return postmaster{pid: pid, socket: lines[4]}, true
}

// alive tells a living process from a zombie or none.
func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, ok := strings.Cut(string(raw), ") ")
	return ok && after[0] != 'Z' && after[0] != 'X'
}

// passing are complaints of a server that a little time mends: after a kill -9
// its children may hold the shared memory for a moment longer, and it may not
// yet be reaped; or one that a killed controller has just started is not ready
// to be adopted.
func passing(err error) bool {
	return strings.Contains(err.Error(), "still in use") || strings.Contains(err.Error(), "already exists")
}

// launch starts the server and waits until it answers; for a while it tries
// again, or adopts the one that turns out to live.
func (s *Server) launch(ctx context.Context) error {
	s.socket = socketFolder(filepath.Dir(s.data))
	if err := s.owner.makeFolder(s.socket); err != nil {
		return fmt.Errorf("making the folder of the database's socket: %w", err)
	}
	if err := writeSettings(s.owner, s.data, s.socket); err != nil {
		return fmt.Errorf("writing the database's settings: %w", err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := s.launchOnce(ctx)
		if err == nil {
			return nil
		}
		if !passing(err) || time.Now().After(deadline) {
			return fmt.Errorf("starting the database server in %s (its log is %s): %w", s.data, s.logPath, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if pm, ok := livePostmaster(s.data); ok {
			return s.adopt(ctx, pm)
		}
	}
}

func (s *Server) launchOnce(ctx context.Context) error {
	log, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the database's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.binaries.path("postgres"), "-D", s.data)
	cmd.SysProcAttr = s.owner.attributes()
	cmd.Dir = "/"
	cmd.Env = serverEnvironment()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { // ends with the server
		_ = cmd.Wait()
		close(exited)
	}()
	s.set(cmd.Process.Pid, exited)
	if err := s.waitReady(ctx, cmd.Process.Pid, exited); err != nil {
		s.end(exited, cmd.Process.Pid)
		return err
	}
	s.log.Info("started the database server", "pid", cmd.Process.Pid, "version", s.binaries.Major)
	return nil
}

// end stops a server that did not become ready, so that none is left behind.
func (s *Server) end(exited <-chan struct{}, pid int) {
	_ = syscall.Kill(pid, syscall.SIGINT)
	select {
	case <-exited:
	case <-time.After(5 * time.Second):
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
	s.set(0, nil)
}

// lastWords is the last complaint in the server's log.
func (s *Server) lastWords() string {
	f, err := os.Open(s.logPath)
	if err != nil {
		return "it has ended, and its log cannot be read: " + err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 4096 {
		_, _ = f.Seek(-4096, io.SeekEnd)
	}
	tail, _ := io.ReadAll(f)
	return "it has ended: " + lastLine(string(tail))
}
