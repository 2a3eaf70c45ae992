package stepd

import (
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"muster/internal/node/steplink"
)

// retire lets go of everything that belongs to a step that has ended, and tells
// the node daemon that this process may carry another. False: it may not, and
// ends. Only after a step that nothing has disturbed does a process go on, so
// that no step depends on what became of another.
func (s *step) retire(born *conn, listener net.Listener) bool {
	if !s.clean(born) {
		return false
	}
	listener.Close()
	s.mu.Lock()
	s.retired = true
	var others []*conn
	for c := range s.conns {
		if c != born {
			others = append(others, c)
		}
	}
	s.mu.Unlock()
	for _, c := range others {
		c.close()
	}
	close(s.leaving)
	<-s.reaperDone // at once: there are no children
	for _, fd := range s.entries {
		unix.Close(fd)
	}
	if s.stderr != nil {
		s.stderr.Close()
	}
	born.push(steplink.KindIdle, nil)
	born.flush()
	return born.detach()
}

// clean tells whether the step ran and ended by itself, leaves no process and
// was followed by the daemon that started it.
func (s *step) clean(born *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, connected := s.conns[born]; !connected {
		return false
	}
	disturbed := s.unwritten || s.ending != nil || s.suspended || s.end.Killed || s.end.KillFailed || s.end.Failure != ""
	if !s.spec.Reuse || s.spec.Extern || disturbed || len(s.tasks) == 0 || len(s.streams) > 0 {
		return false
	}
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// detach ends the writing to a connection without closing it. False: the peer
// is gone.
func (c *conn) detach() bool {
	_ = c.sock.SetWriteDeadline(time.Time{})
	c.mu.Lock()
	defer c.mu.Unlock()
	open := !c.closed
	c.closed = true
	c.changed.Broadcast()
	return open
}

// setTitle lets ps show which step this process carries: the place of the
// arguments is written over, as far as it reaches.
func setTitle(spec *steplink.Spec) {
	if len(os.Args) != 3 {
		return
	}
	room := unsafe.Slice(unsafe.StringData(os.Args[1]), len(os.Args[1])+1+len(os.Args[2]))
	n := copy(room, steplink.Title(spec))
	n += copy(room[n:], "\x00")
	n += copy(room[n:], spec.Dir)
	clear(room[n:])
}
