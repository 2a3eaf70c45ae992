package node

import (
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/node/steplink"
)

// shepherd is a process that carries steps, and the socket it was born with.
type shepherd struct {
	proc   *os.Process
	sock   net.Conn
	expiry *time.Timer // while it is idle
}

// Shepherds that have no step wait a while for another: to start a process
// costs more than all that it then does for a short step.
const (
	idleShepherds = 16
	idleTime      = 10 * time.Second
)

// idlers are the shepherds without a step.
type idlers struct {
	mu     sync.Mutex
	list   []*shepherd
	closed bool
}

// idleShepherd takes an idle shepherd, the last that became so; nil: there is none.
func (n *Node) idleShepherd() *shepherd {
	n.idle.mu.Lock()
	defer n.idle.mu.Unlock()
	last := len(n.idle.list) - 1
	if last < 0 {
		return nil
	}
	s := n.idle.list[last]
	n.idle.list = n.idle.list[:last]
	s.expiry.Stop()
	return s
}

// release keeps a shepherd that has ended its step for another, or lets it end.
func (n *Node) release(s *shepherd) {
	n.idle.mu.Lock()
	keep := !n.idle.closed && len(n.idle.list) < idleShepherds
	if keep {
		s.expiry = time.AfterFunc(idleTime, func() { n.expire(s) })
		n.idle.list = append(n.idle.list, s)
	}
	n.idle.mu.Unlock()
	if !keep {
		n.dismiss(s)
	}
}

func (n *Node) expire(s *shepherd) {
	n.idle.mu.Lock()
	i := slices.Index(n.idle.list, s)
	if i >= 0 {
		n.idle.list = slices.Delete(n.idle.list, i, i+1)
	}
	n.idle.mu.Unlock()
	if i >= 0 { // else it was taken in the last moment
		n.dismiss(s)
	}
}

// dismissIdle ends the idle shepherds and keeps none from now on.
func (n *Node) dismissIdle() {
	n.idle.mu.Lock()
	list := n.idle.list
	n.idle.list, n.idle.closed = nil, true
	n.idle.mu.Unlock()
	for _, s := range list {
		s.expiry.Stop()
		n.dismiss(s)
	}
}

// dismiss ends a shepherd that has no step: it ends with its socket.
func (n *Node) dismiss(s *shepherd) {
	s.sock.Close()
	_, _ = s.proc.Wait() // nothing depends on its exit status
	n.know(s.proc.Pid, false)
}

// newShepherd starts a shepherd's process in a session of its own, so that the
// end of this daemon does not touch it.
func (n *Node) newShepherd(spec *steplink.Spec) (*shepherd, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the shepherd's socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "stepd"), os.NewFile(uintptr(pair[1]), "stepd")
	defer ours.Close()
	defer theirs.Close()
	sock, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("using the shepherd's socket: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		sock.Close()
		return nil, err
	}
	defer null.Close()
	proc, err := os.StartProcess(n.cfg.Stepd, []string{"stepd", steplink.Title(spec), spec.Dir}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0,updatemaxprocs=0"},
		Files: []*os.File{null, n.stepLog, n.stepLog, theirs},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		sock.Close()
		return nil, fmt.Errorf("starting stepd: %w", err)
	}
	n.know(proc.Pid, true)
	return &shepherd{proc: proc, sock: sock}, nil
}
