//go:build linux && (amd64 || arm64)

package stepd

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The runtime's own preparations for a fork, as package syscall uses them.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// vforkSyscall makes the system call after which there are two of us, on one
// stack.
//
//go:noescape
func vforkSyscall(number, a1, a2 uintptr) (r1, errno uintptr)

// child is a process to be, prepared so far that no memory is allocated
// between fork and exec. Working directory, umask and groups are those of the
// calling thread, and its effective ids become all of the child's.
//
// Package syscall's own fork cannot set resource limits and cannot put the
// process id into the environment (SLURM_TASK_PID); a second program that does
// both would double the price of starting a job.
type child struct {
	path    *byte
	argv    []*byte // ends with nil
	env     []*byte // ends with nil
	pid     []byte  // digits and NUL go here; inside a string of env
	fds     [3]int
	limits  []childLimit
	errFD   int   // where the errno of a failed exec is written
	cgroups []int // open for writing: where the child enters its cgroups
	become  bool  // to be the user for good
	uid     uintptr
	gid     uintptr
}

type childLimit struct {
	resource uintptr
	limit    unix.Rlimit
}

// cloneFlags: the child borrows our memory until its exec, and this thread
// waits. To copy the tables of the memory costs more than all the rest of a
// launch.
const cloneFlags = unix.CLONE_VFORK | unix.CLONE_VM | uintptr(syscall.SIGCHLD)

// fork starts the child. Everything after the clone happens in this one
// function, because the child runs on this very stack, which must neither grow
// nor be left: it may call only what is marked nosplit.
//
//go:noinline
//go:norace
//go:nocheckptr
func fork(c *child) (pid int, errno syscall.Errno) {
	var (
		r1    uintptr
		e     uintptr
		i     int
		n     uintptr
		digit [20]byte
		code  [4]byte
	)
	beforeFork()
	r1, e = vforkSyscall(syscall.SYS_CLONE, cloneFlags, 0)
	if e != 0 || r1 != 0 {
		// The parent, after the child's exec.
		afterFork()
		if e != 0 {
			return 0, syscall.Errno(e)
		}
		return int(r1), 0
	}

	// In the child.
	afterForkInChild()
	if _, _, errno = syscall.RawSyscall(syscall.SYS_SETPGID, 0, 0, 0); errno != 0 {
		goto fail
	}
	code[0] = '0' // the process that writes
	for i = 0; i < len(c.cgroups); i++ {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(c.cgroups[i]), uintptr(unsafe.Pointer(&code[0])), 1); errno != 0 {
			goto fail
		}
	}
	if c.become {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_SETRESGID, c.gid, c.gid, c.gid); errno != 0 {
			goto fail
		}
		if _, _, errno = syscall.RawSyscall(syscall.SYS_SETRESUID, c.uid, c.uid, c.uid); errno != 0 {
			goto fail
		}
	}
	for i = 0; i < len(c.limits); i++ {
		_, _, errno = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, c.limits[i].resource, uintptr(unsafe.Pointer(&c.limits[i].limit)), 0, 0, 0)
		if errno != 0 {
			goto fail
		}
	}
	for i = 0; i < len(c.fds); i++ {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_DUP3, uintptr(c.fds[i]), uintptr(i), 0); errno != 0 {
			goto fail
		}
	}
	if len(c.pid) > 0 {
		n, _, _ = syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
		i = 0
		for n > 0 {
			digit[i] = byte('0' + n%10)
			n /= 10
			i++
		}
		for n = 0; i > 0 && int(n) < len(c.pid)-1; n++ {
			i--
			c.pid[n] = digit[i]
		}
		c.pid[n] = 0
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(c.path)), uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.env[0])))
fail:
	code[0], code[1] = byte(errno), byte(errno>>8)
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(c.errFD), uintptr(unsafe.Pointer(&code[0])), uintptr(len(code)))
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
}

// start forks the child and waits until it has begun its program. The error
// of a child that could not is its errno; the child itself must still be
// waited for.
func start(c *child) (pid int, err error) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return 0, err
	}
	c.errFD = pipe[1]
	syscall.ForkLock.Lock()
	pid, errno := fork(c)
	syscall.ForkLock.Unlock()
	syscall.Close(pipe[1])
	defer syscall.Close(pipe[0])
	if errno != 0 {
		return 0, errno
	}
	var code [4]byte
	for {
		n, err := syscall.Read(pipe[0], code[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return pid, nil // the pipe was closed by the exec
		}
		return pid, syscall.Errno(uint32(code[0]) | uint32(code[1])<<8)
	}
}
