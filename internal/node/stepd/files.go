package stepd

import (
	"fmt"
	"os"
	"syscall"

	"muster/internal/node/steplink"
)

// opener opens output files, each path once: tasks that write to the same file
// share its offset.
type opener struct {
	appendTo bool
	open     map[string]*os.File
}

func newOpener(appendTo bool) *opener {
	return &opener{appendTo: appendTo, open: make(map[string]*os.File)}
}

func (o *opener) output(path string) (*os.File, error) {
	if file := o.open[path]; file != nil {
		return file, nil
	}
	file, err := openOutput(path, o.appendTo)
	if err != nil {
		return nil, fmt.Errorf("could not open output file %s: %s", path, errorText(err))
	}
	o.open[path] = file
	return file, nil
}

// close closes what was opened; the tasks have their own copies.
func (o *opener) close() {
	for _, file := range o.open {
		file.Close()
	}
}

// taskFiles are the three standard streams of a task and what to close when it
// has them.
type taskFiles struct {
	fds   [3]int
	ours  []*os.File
	input *input
}

func (t *taskFiles) close() {
	for _, file := range t.ours {
		file.Close()
	}
}

func (s *step) openStreams(spec *steplink.Task, files *opener) (*taskFiles, error) {
	t := new(taskFiles)
	if err := s.openInput(t, spec); err != nil {
		t.close()
		return nil, err
	}
	for i, path := range []string{spec.Stdout, spec.Stderr} {
		number := i + 1
		if number == 2 && path == "" && spec.Stdout != "" && !spec.StderrRelayed {
			t.fds[2] = t.fds[1]
			continue
		}
		if path == "" && s.spec.Relay {
			if err := s.openRelay(t, number, spec.Rank); err != nil {
				t.close()
				return nil, err
			}
			continue
		}
		if path == "" {
			path = os.DevNull
		}
		file, err := files.output(path)
		if err != nil {
			t.close()
			return nil, err
		}
		t.fds[number] = int(file.Fd())
		if number == 2 {
			s.keepStderr(t.fds[2])
		}
	}
	if t.fds[1] == t.fds[2] {
		s.keepStderr(t.fds[2])
	}
	return t, nil
}

// keepStderr keeps the first task's standard error for the step's messages.
func (s *step) keepStderr(fd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stderr != nil {
		return
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	own, err := syscall.Dup(fd)
	if err != nil {
		return
	}
	syscall.CloseOnExec(own)
	s.stderr = os.NewFile(uintptr(own), "stderr")
}

func (s *step) openInput(t *taskFiles, spec *steplink.Task) error {
	path := spec.Stdin
	relayed := path == "" && s.spec.Relay && (!s.spec.StdinOne || s.spec.StdinTo == spec.Rank)
	if relayed {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("making a pipe for standard input: %w", err)
		}
		t.ours = append(t.ours, r)
		t.fds[0] = int(r.Fd())
		t.input = newInput(s, spec.Rank, w)
		return nil
	}
	if path == "" {
		path = os.DevNull
	}
	file, err := openBlocking(path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("could not open input file %s: %s", path, errorText(err))
	}
	t.ours = append(t.ours, file)
	t.fds[0] = int(file.Fd())
	return nil
}

func (s *step) openRelay(t *taskFiles, number int, rank uint32) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe for output: %w", err)
	}
	t.ours = append(t.ours, w)
	t.fds[number] = int(w.Fd()) // Fd makes it blocking, as the task wants it
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, newStream(s, uint32(number), rank, r))
	return nil
}
