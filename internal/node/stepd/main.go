package stepd

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"muster/internal/node/steplink"
)

// ControlFD is the socket to the node daemon that a shepherd is born with.
const ControlFD = 3

// Main is the whole program. It returns its exit status, which nobody depends
// on: the step's end stands in its status file.
func Main() int {
	sock, err := bornSocket()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stepd: is started by noded only:", err)
		return 1
	}
	if err := shepherd(sock); err != nil {
		fmt.Fprintln(os.Stderr, "stepd:", err)
		return 1
	}
	return 0
}

func bornSocket() (net.Conn, error) {
	file := os.NewFile(ControlFD, "control")
	defer file.Close()
	return net.FileConn(file)
}

// shepherd carries a step from its description to its end, and then the next
// one if noded has it: the start of a process is most of what a step costs.
func shepherd(sock net.Conn) error {
	mask := unix.Umask(0)
	unix.Umask(mask)
	in := bufio.NewReader(sock)
	kind, body, err := steplink.ReadFrame(in)
	if err != nil {
		return fmt.Errorf("reading the step's description: %w", err)
	}
	if kind != steplink.KindSpec {
		return fmt.Errorf("frame %d instead of the step's description", kind)
	}
	for {
		next := make(chan []byte, 1)
		again, err := oneStep(sock, in, body, next)
		if err != nil || !again {
			return err
		}
		unix.Umask(mask)
		var ok bool
		if body, ok = <-next; !ok {
			return nil // noded needs no further step, or is gone
		}
	}
}

// oneStep carries one step. It tells whether this process may carry another;
// its description then arrives in next.
func oneStep(sock net.Conn, in *bufio.Reader, body []byte, next chan []byte) (again bool, err error) {
	spec := new(steplink.Spec)
	if err := steplink.Unmarshal(body, spec); err != nil {
		return false, err
	}
	setTitle(spec)
	if spec.Protocol != steplink.Protocol {
		return false, refuse(sock, fmt.Errorf("noded speaks protocol %d, stepd %d: install both of one version", spec.Protocol, steplink.Protocol))
	}
	claim, err := steplink.NewClaim(spec.Dir, spec.Name)
	if errors.Is(err, steplink.ErrClaimed) {
		return false, steplink.WriteFrame(sock, steplink.KindClaimed, nil)
	}
	if err != nil {
		return false, refuse(sock, err)
	}
	// Whatever the tasks leave behind becomes our child.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return false, refuse(sock, fmt.Errorf("becoming a sub-reaper: %w", err))
	}
	listener, err := listen(spec)
	if err != nil {
		return false, refuse(sock, err)
	}
	defer listener.Close()
	// No collection before the tasks run: it would wait for a thread that waits
	// for an exec, and a short job needs none.
	debug.SetGCPercent(-1)
	s := newStep(spec, claim)
	born := s.serve(sock, in, next)
	go s.accept(listener)
	s.run()
	return s.retire(born, listener), nil
}

// refuse reports a step that cannot be run as its end.
func refuse(sock net.Conn, cause error) error {
	end := steplink.End{Failure: cause.Error()}
	if err := steplink.WriteFrame(sock, steplink.KindDone, steplink.Marshal(end)); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// listen opens the step's socket. The path goes through the folder's
// descriptor: a socket's name has room for 107 bytes only.
func listen(spec *steplink.Spec) (*net.UnixListener, error) {
	dir, err := unix.Open(spec.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the run's folder: %w", err)
	}
	defer unix.Close(dir)
	path := "/proc/self/fd/" + strconv.Itoa(dir) + strings.TrimPrefix(steplink.SocketPath(spec.Dir, spec.Name), spec.Dir)
	old := syscall.Umask(0o077)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("opening the step's socket in %s: %w", spec.Dir, err)
	}
	listener.SetUnlinkOnClose(false) // noded removes the folder as a whole
	return listener, nil
}

func (s *step) accept(listener *net.UnixListener) {
	for {
		sock, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		if !s.allowed(sock) {
			sock.Close()
			continue
		}
		s.serve(sock, bufio.NewReader(sock), nil)
	}
}

// allowed lets in only those who run as this process does.
func (s *step) allowed(sock *net.UnixConn) bool {
	raw, err := sock.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		ok = err == nil && cred.Uid == uint32(os.Geteuid())
	})
	return err == nil && ok
}
