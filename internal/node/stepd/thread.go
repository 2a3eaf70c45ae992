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

// asUser runs f on a thread that acts as the user: with the user's effective
// ids and groups, in the user's working directory. The kernel keeps ids per
// thread, so the rest of this process stays as it was; what is forked there
// becomes the user for good before its exec. Whatever hangs in the user's file
// systems hangs there.
//
// Only effective ids are changed: the user may never signal this process.
//
// f is told of a working directory that could not be entered (it is in /tmp
// then).
func asUser(spec *steplink.Spec, f func(cwd error) error) error {
	runtime.LockOSThread()
	unix.Umask(int(spec.Umask))
	if err := become(spec); err != nil {
		return err // and this thread is used for nothing else
	}
	result := f(enterWorkDir(spec.WorkDir))
	_ = unix.Chdir("/") // not to hold the user's file system
	if err := unbecome(spec); err != nil {
		return errors.Join(result, err)
	}
	runtime.UnlockOSThread()
	return result
}

const keep = ^uintptr(0)

func become(spec *steplink.Spec) error {
	if !spec.BecomeUser {
		return nil
	}
	if err := setGroups(spec.Groups); err != nil {
		return fmt.Errorf("setting the groups of uid %d: %w", spec.UID, err)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(spec.GID), keep); errno != 0 {
		return fmt.Errorf("becoming gid %d: %w", spec.GID, errno)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(spec.UID), keep); errno != 0 {
		return fmt.Errorf("becoming uid %d: %w", spec.UID, errno)
	}
	return nil
}

func unbecome(spec *steplink.Spec) error {
	if !spec.BecomeUser {
		return nil
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, keep, 0, keep); errno != 0 {
		return fmt.Errorf("becoming root again: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESGID, keep, 0, keep); errno != 0 {
		return fmt.Errorf("becoming root again: %w", errno)
	}
	return setGroups(nil)
}

// setGroups is the bare system call: the library's would change all threads.
func setGroups(groups []uint32) error {
	var first *uint32
	if len(groups) > 0 {
		first = &groups[0]
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(first)), 0); errno != 0 {
		return errno
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
