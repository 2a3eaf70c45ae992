package srun

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
)

const (
	streamStdin  = 0
	streamStdout = 1
	streamStderr = 2
)

// longestLine bounds what is kept of a line that does not end.
const longestLine = 32 << 10

// output puts the tasks' output together: whole lines, never mixed within one,
// each task's in its order.
type output struct {
	mu         sync.Mutex
	to         [3]io.Writer // by stream; nil = thrown away
	only       [3]int       // the one task that is shown, -1 = all
	unbuffered bool
	label      bool
	width      int // of the label's number
	held       map[place][]byte
}

// place is one stream of one task.
type place struct {
	stream, task uint32
}

func newOutput(stdout, stderr io.Writer, tasks uint32) *output {
	return &output{
		to: [3]io.Writer{nil, stdout, stderr}, only: [3]int{-1, -1, -1},
		width: len(strconv.FormatUint(uint64(max(tasks, 1)-1), 10)),
		held:  make(map[place][]byte),
	}
}

// take accepts what a task has written.
func (o *output) take(stream, task uint32, data []byte, eof bool) error {
	if stream != streamStdout && stream != streamStderr {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to[stream] == nil || o.only[stream] >= 0 && o.only[stream] != int(task) {
		return nil
	}
	at := place{stream, task}
	text := append(o.held[at], data...)
	whole := text
	if !o.unbuffered && !eof && len(text) < longestLine {
		whole = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	if rest := text[len(whole):]; len(rest) > 0 {
		o.held[at] = append([]byte(nil), rest...)
	} else {
		delete(o.held, at)
	}
	return o.write(stream, task, whole)
}

// finish writes what is left of lines that never ended.
func (o *output) finish() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var failed error
	for at, text := range o.held {
		if err := o.write(at.stream, at.task, text); err != nil {
			failed = err
		}
	}
	clear(o.held)
	return failed
}

func (o *output) write(stream, task uint32, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if o.label {
		text = o.labelled(task, text)
	}
	_, err := o.to[stream].Write(text)
	return err
}

// labelled puts the task's number before each line; the last one is ended, so
// that the next label begins a line.
func (o *output) labelled(task uint32, text []byte) []byte {
	prefix := fmt.Sprintf("%*d: ", o.width, task)
	out := make([]byte, 0, len(text)+len(prefix))
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		out = append(append(append(out, prefix...), line...), '\n')
		text = rest
	}
	return out
}
