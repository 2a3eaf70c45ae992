package stepd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"muster/internal/node/steplink"
)

// onUserThread runs f on a thread of its own that has become the user: in the
// step's cgroups, with the user's ids, groups, umask, niceness and working
// directory. The kernel keeps all of these per thread; what is forked there
// inherits them, the rest of this process stays as it was. The thread ends with
// f and is never used again. Whatever hangs in the user's file systems hangs
// there.
//
// f is told of a working directory that could not be entered (it is in /tmp
// then).
func onUserThread(spec *steplink.Spec, f func(cwd error) error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := becomeUser(spec); err != nil {
			result <- err
			return
		}
		result <- f(enterWorkDir(spec.WorkDir))
	}()
	return <-result
}

func becomeUser(spec *steplink.Spec) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("separating the working directory: %w", err)
	}
	if !spec.V2 {
		for _, dir := range spec.Cgroups {
			if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0); err != nil {
				return fmt.Errorf("entering the step's cgroup: %w", err)
			}
		}
	}
	if spec.Nice != 0 {
		// A niceness below what is allowed leaves the process where it is.
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, int(spec.Nice))
	}
	unix.Umask(int(spec.Umask))
	if !spec.BecomeUser {
		return nil
	}
	groups := append([]uint32{}, spec.Groups...)
	var first unsafe.Pointer
	if len(groups) > 0 {
		first = unsafe.Pointer(&groups[0])
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 {
		return fmt.Errorf("setting the groups of uid %d: %w", spec.UID, errno)
	}
	gid, uid := uintptr(spec.GID), uintptr(spec.UID)
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return fmt.Errorf("becoming gid %d: %w", spec.GID, errno)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return fmt.Errorf("becoming uid %d: %w", spec.UID, errno)
	}
	return nil
}

// enterWorkDir returns why the directory was replaced by /tmp.
func enterWorkDir(dir string) error {
	err := unix.Chdir(dir)
	if err == nil {
		return nil
	}
	_ = unix.Chdir("/tmp") // staying in / is as good
	return err
}

// openOutput opens an output file as the user whose thread this is, and makes
// the folders that lead to it.
func openOutput(path string, appendTo bool) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if appendTo {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := openBlocking(path, flags)
	if errors.Is(err, syscall.ENOENT) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		file, err = openBlocking(path, flags)
	}
	return file, err
}

// openBlocking keeps the file out of the runtime's poller: it is made for
// another process, which wants it blocking.
func openBlocking(path string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o666)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}
