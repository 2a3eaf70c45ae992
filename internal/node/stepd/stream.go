package stepd

import (
	"os"
	"sync"

	"muster/internal/node/steplink"
)

// streamBound is how much output of one stream is kept until a reader has
// taken it; beyond it the task blocks.
const streamBound = 256 << 10

// stream is one output stream of a task on its way to a reader. What was read
// from the task is kept until the reader has acknowledged it, so that a reader
// that comes back goes on where it was.
type stream struct {
	step   *step
	number uint32
	task   uint32

	mu       sync.Mutex
	changed  sync.Cond
	base     uint64 // offset of buf[0] in the stream; all before it was taken
	buf      []byte
	eof      bool
	eofTaken bool // the reader knows that the stream ends
	released bool // nobody will read it: discard
}

func newStream(s *step, number, task uint32, pipe *os.File) *stream {
	st := &stream{step: s, number: number, task: task}
	st.changed.L = &st.mu
	go st.fill(pipe)
	return st
}

// fill reads what the task writes.
func (st *stream) fill(pipe *os.File) {
	defer pipe.Close()
	chunk := make([]byte, 32<<10)
	for {
		n, err := pipe.Read(chunk)
		st.mu.Lock()
		for len(st.buf) > 0 && len(st.buf)+n > streamBound && !st.released {
			st.changed.Wait()
		}
		if !st.released {
			st.buf = append(st.buf, chunk[:n]...)
		}
		st.eof = err != nil
		st.changed.Broadcast()
		st.mu.Unlock()
		st.step.wakeReaders()
		if err != nil {
			return
		}
	}
}

// next returns what follows after offset, and whether the stream ends there.
func (st *stream) next(offset uint64, limit int) (data []byte, at uint64, eof bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if offset < st.base {
		offset = st.base // taken by an earlier reader
	}
	rest := st.buf[min(offset-st.base, uint64(len(st.buf))):]
	if len(rest) > limit {
		return append([]byte(nil), rest[:limit]...), offset, false
	}
	return append([]byte(nil), rest...), offset, st.eof
}

// taken notes that the reader has everything before offset.
func (st *stream) taken(offset uint64, eof bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if offset > st.base {
		n := min(offset-st.base, uint64(len(st.buf)))
		st.buf = append(st.buf[:0], st.buf[n:]...)
		st.base += n
	}
	st.eofTaken = st.eofTaken || eof
	st.changed.Broadcast()
}

func (st *stream) release() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.released = true
	st.base += uint64(len(st.buf))
	st.buf = nil
	st.changed.Broadcast()
}

// waitTaken waits until the reader has the whole stream.
func (st *stream) waitTaken() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for !st.released && !(st.eof && st.eofTaken && len(st.buf) == 0) {
		st.changed.Wait()
	}
}

// inputBound is how much standard input may wait for a task. A sender keeps to
// a smaller window: it sends on only as input is acknowledged.
const inputBound = 1 << 20

// input is the relayed standard input of a task.
type input struct {
	step *step
	task uint32

	mu      sync.Mutex
	changed sync.Cond
	queue   []byte
	next    uint64 // offset after the last byte accepted
	done    uint64 // offset up to which the task has it
	eof     bool
	closed  bool // the task reads no more
}

func newInput(s *step, task uint32, pipe *os.File) *input {
	in := &input{step: s, task: task}
	in.changed.L = &in.mu
	go in.drain(pipe)
	return in
}

// put accepts a piece; false says that more came than the window allows.
func (in *input) put(d *steplink.Data) bool {
	in.mu.Lock()
	if in.closed { // it reads no more: everything counts as taken
		in.next = max(in.next, d.Offset+uint64(len(d.Bytes)))
		done := in.next
		in.mu.Unlock()
		in.step.inputProgress(in.task, done)
		return true
	}
	defer in.mu.Unlock()
	data := d.Bytes
	if d.Offset < in.next { // a repeat
		data = data[min(in.next-d.Offset, uint64(len(data))):]
	}
	if len(in.queue)+len(data) > inputBound {
		return false
	}
	in.next += uint64(len(data))
	in.queue = append(in.queue, data...)
	in.eof = in.eof || d.EOF
	in.changed.Broadcast()
	return true
}

// drain hands the input to the task, and tells of each piece that it took.
func (in *input) drain(pipe *os.File) {
	defer pipe.Close()
	for {
		in.mu.Lock()
		for len(in.queue) == 0 && !in.eof {
			in.changed.Wait()
		}
		data := in.queue
		in.queue = nil
		in.mu.Unlock()
		if len(data) == 0 {
			return
		}
		_, err := pipe.Write(data)
		in.mu.Lock()
		in.done += uint64(len(data))
		if err != nil {
			in.closed, in.queue, in.done = true, nil, in.next
		}
		done := in.done
		in.mu.Unlock()
		in.step.inputProgress(in.task, done)
		if err != nil {
			return
		}
	}
}
