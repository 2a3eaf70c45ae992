package stepd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"muster/internal/node/steplink"
	"muster/internal/startlimit"
)

// StatusNoOutput is the wait status of a step whose output could not be
// opened: Slurm's 0:53.
const StatusNoOutput = 53

// startTasks starts the tasks. It runs as the user.
func (s *step) startTasks(cwd error) error {
	files := newOpener(s.spec.Append)
	defer files.close()
	limits := s.limits()
	for i := range s.spec.Tasks {
		spec := &s.spec.Tasks[i]
		fds, err := s.openStreams(spec, files)
		if err != nil {
			s.mu.Lock()
			s.end.Status = StatusNoOutput
			s.mu.Unlock()
			return &userError{err.Error()}
		}
		if cwd != nil && i == 0 {
			text := fmt.Sprintf("couldn't chdir to `%s': %s: going to /tmp instead", s.spec.WorkDir, errorText(cwd))
			s.mu.Lock()
			s.messageLocked(text)
			s.messageLocked(text) // as Slurm does: once for the step, once for its task
			s.mu.Unlock()
		}
		if err := s.startTask(spec, fds, limits); err != nil {
			return err
		}
	}
	return nil
}

// startTask starts one task. A program that cannot be executed is a task that
// ends at once with the error's number.
func (s *step) startTask(spec *steplink.Task, fds *taskFiles, limits []childLimit) error {
	defer fds.close()
	env := append(append([]string(nil), s.spec.Env...), spec.Env...)
	env = s.runTaskProlog(env, fds)
	argv := spec.Argv
	if len(argv) == 0 {
		argv = []string{""} // --multi-prog left nothing to run: the kernel refuses it
	}
	path, err := lookPath(argv[0], env)
	if err != nil {
		path = argv[0] // the kernel's error is the one to tell
	}
	c, err := newChild(path, argv, env, fds.fds, limits)
	if err != nil {
		return &userError{err.Error()}
	}
	s.forUser(c)
	pid, err := s.startRetrying(c)
	if pid == 0 {
		return fmt.Errorf("starting a process: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && path == "":
		s.messageLocked("No executable program specified for this task")
	case err != nil:
		s.messageLocked("execve(): " + execError(path, err))
	}
	t := &task{spec: spec, pid: pid, stdin: fds.input}
	s.tasks = append(s.tasks, t)
	s.byPid[pid] = t
	s.alive++
	if end, ok := s.early[pid]; ok {
		delete(s.early, pid)
		s.taskEnded(t, end.status)
	}
	return nil
}

// forUser lets a child enter the step's cgroups and become the user.
func (s *step) forUser(c *child) {
	c.cgroups = s.entries
	c.become, c.uid, c.gid = s.spec.BecomeUser, uintptr(s.spec.UID), uintptr(s.spec.GID)
}

// openCgroups opens the files through which processes enter the step's
// cgroups, while this process may.
func (s *step) openCgroups() error {
	name := "tasks" // of v1: moves its writer without the lock that all forks take
	if s.spec.V2 {
		name = "cgroup.procs"
	}
	for _, dir := range s.spec.Cgroups {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("opening the step's cgroup: %w", err)
		}
		s.entries = append(s.entries, fd)
	}
	return nil
}

// startRetrying tries again while another process still holds the program open
// for writing (a fork that has not yet come to its exec).
func (s *step) startRetrying(c *child) (int, error) {
	for try := 0; ; try++ {
		pid, err := start(c)
		s.wakeReaper()
		if err != syscall.ETXTBSY || try == 50 {
			return pid, err
		}
		pause := unix.Timespec{Nsec: 2e6}
		_ = unix.Nanosleep(&pause, nil)
	}
}

func execError(path string, err error) string {
	if errors.Is(err, syscall.ENOENT) {
		if interpreter := interpreterOf(path); interpreter != "" {
			return fmt.Sprintf("bad interpreter(%s): %s", interpreter, errorText(err))
		}
	}
	return path + ": " + errorText(err)
}

func interpreterOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 256)
	n, _ := file.Read(head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	if !bytes.HasPrefix(line, []byte("#!")) {
		return ""
	}
	words := bytes.Fields(line[2:])
	if len(words) == 0 {
		return ""
	}
	return string(words[0])
}

// errorText is the C library's text of an error.
func errorText(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	text := errno.Error()
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// lookPath finds a program as execvp does, with the task's own PATH.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	list := "/bin:/usr/bin"
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			list = value
		}
	}
	for _, dir := range strings.Split(list, ":") {
		if dir == "" {
			dir = "."
		}
		path := filepath.Join(dir, name)
		if dir == "." {
			path = "./" + name
		}
		var stat unix.Stat_t
		if unix.Stat(path, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil {
			return path, nil
		}
	}
	return "", syscall.ENOENT
}

// newChild turns text into what the kernel takes.
func newChild(path string, argv, env []string, fds [3]int, limits []childLimit) (*child, error) {
	c := &child{fds: fds, limits: limits}
	var err error
	if c.path, err = syscall.BytePtrFromString(path); err != nil {
		return nil, fmt.Errorf("program %q: %w", path, err)
	}
	if c.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	const name = "SLURM_TASK_PID="
	kept := env[:0:0]
	for _, e := range env {
		if !strings.HasPrefix(e, name) && strings.IndexByte(e, 0) < 0 {
			kept = append(kept, e)
		}
	}
	if c.env, err = syscall.SlicePtrFromStrings(kept); err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	own := make([]byte, len(name)+12)
	copy(own, name)
	c.pid = own[len(name):]
	c.env = append(c.env[:len(c.env)-1], &own[0], nil)
	return c, nil
}

// limits are the soft limits of the tasks; hard ones stay as they are.
func (s *step) limits() []childLimit {
	nofile := startlimit.NoFile
	limits := []childLimit{{resource: syscall.RLIMIT_NOFILE, limit: unix.Rlimit{Cur: nofile.Cur, Max: nofile.Max}}}
	for _, want := range s.spec.Limits {
		var now unix.Rlimit
		if unix.Getrlimit(int(want.Resource), &now) != nil {
			continue // a resource that this kernel does not know
		}
		soft := min(want.Soft, now.Max)
		if want.Resource == syscall.RLIMIT_NOFILE {
			limits[0].limit.Cur = soft
		} else if soft != now.Cur {
			limits = append(limits, childLimit{uintptr(want.Resource), unix.Rlimit{Cur: soft, Max: now.Max}})
		}
	}
	return limits
}
