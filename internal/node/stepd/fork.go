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

// child is a process to be, prepared so far that no memory is allocated
// between fork and exec. Identity, working directory, umask, cgroups and
// niceness are those of the calling thread.
//
// Package syscall's own fork cannot set resource limits and cannot put the
// process id into the environment (SLURM_TASK_PID); a second program that does
// both would double the price of starting a job.
type child struct {
	path   *byte
	argv   []*byte // ends with nil
	env    []*byte // ends with nil
	pid    []byte  // digits and NUL go here; inside a string of env
	fds    [3]int
	limits []childLimit
	errFD  int // where the errno of a failed exec is written
	cgroup int // v2: folder that the child is born in, else -1
}

type childLimit struct {
	resource uintptr
	limit    unix.Rlimit
}

const cloneIntoCgroup = 0x200000000

// cloneArgs is the kernel's struct clone_args.
type cloneArgs struct {
	flags, pidFD, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// fork starts the child. Everything after the clone happens in this one
// function, because the child's stack must not grow: it may call only what is
// marked nosplit.
//
//go:noinline
//go:norace
//go:nocheckptr
func fork(c *child) (pid int, errno syscall.Errno) {
	var (
		r1    uintptr
		i     int
		n     uintptr
		digit [20]byte
		code  [4]byte
		args  = cloneArgs{flags: cloneIntoCgroup, exitSignal: uint64(syscall.SIGCHLD), cgroup: uint64(c.cgroup)}
	)
	beforeFork()
	if c.cgroup >= 0 {
		r1, _, errno = syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	} else {
		r1, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	}
	if errno != 0 || r1 != 0 {
		afterFork()
		return int(r1), errno
	}

	// In the child.
	afterForkInChild()
	if _, _, errno = syscall.RawSyscall(syscall.SYS_SETPGID, 0, 0, 0); errno != 0 {
		goto fail
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
