package stepd

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// contextVariable tells a hook which of the hooks it is.
const contextVariable = "SLURM_SCRIPT_CONTEXT"

// runTaskProlog runs the task prologs as the user and returns the environment
// with what their output asks for. It runs as the user.
func (s *step) runTaskProlog(env []string, fds *taskFiles) []string {
	for _, program := range s.spec.TaskProlog {
		out, err := s.runHook(program, append(without(env, contextVariable), contextVariable+"=prolog_task"), fds)
		if err != nil {
			s.mu.Lock()
			s.messageLocked("TaskProlog " + program + ": " + errorText(err))
			s.mu.Unlock()
			continue
		}
		env = applyHookOutput(env, out, fds.fds[1])
	}
	return env
}

// applyHookOutput obeys the lines `export NAME=value`, `unset NAME` and
// `print text`; others mean nothing.
func applyHookOutput(env []string, out []byte, stdout int) []string {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(strings.TrimLeft(lines.Text(), " \t"), " ")
		switch verb {
		case "print":
			_, _ = syscall.Write(stdout, []byte(rest+"\n")) // the user's file may be full
		case "export":
			if name, _, ok := strings.Cut(strings.TrimSpace(rest), "="); ok {
				env = append(without(env, strings.TrimSpace(name)), strings.TrimSpace(rest))
			}
		case "unset":
			env = without(env, strings.TrimSpace(rest))
		}
	}
	return env
}

func without(env []string, name string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, name+"=") {
			kept = append(kept, e)
		}
	}
	return kept
}

// runTaskEpilog runs the task epilogs as the user, once for each task.
func (s *step) runTaskEpilog() {
	s.mu.Lock()
	started := len(s.tasks)
	s.mu.Unlock()
	if len(s.spec.TaskEpilog) == 0 || started == 0 {
		return
	}
	err := asUser(s.spec, func(error) error {
		null, err := openBlocking(os.DevNull, os.O_RDWR)
		if err != nil {
			return err
		}
		defer null.Close()
		fd := int(null.Fd())
		for _, t := range s.tasks {
			env := append(append(without(s.spec.Env, contextVariable), t.spec.Env...), contextVariable+"=epilog_task")
			for _, program := range s.spec.TaskEpilog {
				if _, err := s.runHook(program, env, &taskFiles{fds: [3]int{fd, fd, fd}}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		s.mu.Lock()
		s.messageLocked("TaskEpilog: " + errorText(err))
		s.mu.Unlock()
	}
}

// hookOutputBound is how much of a hook's output is taken.
const hookOutputBound = 4 << 20

// runHook runs a program of the administrator as the user and returns its
// standard output. It ends with its time limit at the latest.
func (s *step) runHook(program string, env []string, fds *taskFiles) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := newChild(program, []string{program}, env, [3]int{fds.fds[0], int(w.Fd()), fds.fds[2]}, nil)
	if err != nil {
		w.Close()
		return nil, err
	}
	s.forUser(c)
	// The reaper must know of the child before it can end: with the mutex held
	// until it is noted, its end waits.
	s.mu.Lock()
	pid, err := start(c)
	w.Close()
	status := make(chan syscall.WaitStatus, 1)
	if pid != 0 && err == nil {
		if s.usage.hooks == nil {
			s.usage.hooks = make(map[int]chan syscall.WaitStatus)
		}
		s.usage.hooks[pid] = status
	}
	s.mu.Unlock()
	s.wakeReaper()
	if err != nil {
		return nil, err
	}
	if s.spec.Timeout > 0 {
		timer := time.AfterFunc(time.Duration(s.spec.Timeout)*time.Second, func() {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			r.Close()
		})
		defer timer.Stop()
	}
	out, _ := io.ReadAll(io.LimitReader(r, hookOutputBound)) // cut off by the time limit
	if st := <-status; st != 0 {
		return nil, &hookError{st}
	}
	return out, nil
}

type hookError struct{ status syscall.WaitStatus }

func (e *hookError) Error() string {
	if e.status.Signaled() {
		return "ended by signal " + e.status.Signal().String()
	}
	return "exit code " + strconv.Itoa(e.status.ExitStatus())
}
