package oracle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// daemon is one process that runs in the foreground under our care, in a
// session of its own so that a Ctrl-C at the terminal does not reach it before
// Stop does.
type daemon struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // set before done is closed
}

// spawn starts a daemon as uid:gid (0:0 for root) with its output in a log.
func (c *Cluster) spawn(name string, uid, gid uint32, env []string, argv ...string) (*daemon, error) {
	log, err := os.OpenFile(filepath.Join(c.cfg.Dir, "log", name+".out"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer log.Close()
	d := &daemon{name: name, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	d.cmd.Dir = c.cfg.Dir
	d.cmd.Env = append(os.Environ(), env...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if uid != 0 {
		d.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.done)
	}()
	c.daemons = append(c.daemons, d)
	return d, nil
}

// alive returns an error if the daemon has ended.
func (d *daemon) alive() error {
	select {
	case <-d.done:
		return fmt.Errorf("%s ended: %v", d.name, d.err)
	default:
		return nil
	}
}

// stop ends the daemon: SIGTERM, and SIGKILL if that is not enough.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.done:
		return nil
	case <-time.After(15 * time.Second):
	}
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", d.name, err)
	}
	<-d.done
	return nil
}
