package srun

import (
	"io"
	"sync"
)

// inputWindow is how much standard input may be on its way to a task; a node
// holds no more than a few of these.
const inputWindow = 512 << 10

const inputPiece = 32 << 10

// input reads standard input once and hands it to every task that wants it, no
// faster than the slowest takes it.
type input struct {
	send func(task uint32, offset uint64, data []byte, eof bool)

	mu      sync.Mutex
	changed sync.Cond
	sent    uint64
	taken   map[uint32]uint64 // by task
	over    bool              // the step has ended
}

func newInput(tasks []uint32, send func(uint32, uint64, []byte, bool)) *input {
	in := &input{send: send, taken: make(map[uint32]uint64, len(tasks))}
	in.changed.L = &in.mu
	for _, task := range tasks {
		in.taken[task] = 0
	}
	return in
}

// run hands on what comes, until its end or the step's.
func (in *input) run(from io.Reader) {
	piece := make([]byte, inputPiece)
	for in.room() {
		n, err := from.Read(piece)
		data := append([]byte(nil), piece[:n]...)
		in.mu.Lock()
		offset := in.sent
		in.sent += uint64(n)
		tasks := make([]uint32, 0, len(in.taken))
		for task := range in.taken {
			tasks = append(tasks, task)
		}
		in.mu.Unlock()
		for _, task := range tasks {
			in.send(task, offset, data, err != nil)
		}
		if err != nil {
			return
		}
	}
}

// room waits until every task has room for another piece; false says that
// there is nobody left to read.
func (in *input) room() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		if in.over || len(in.taken) == 0 {
			return false
		}
		full := false
		for _, taken := range in.taken {
			full = full || in.sent-taken+inputPiece > inputWindow
		}
		if !full {
			return true
		}
		in.changed.Wait()
	}
}

// ack notes how much a task has taken.
func (in *input) ack(task uint32, offset uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if taken, known := in.taken[task]; known && offset > taken && offset <= in.sent {
		in.taken[task] = offset
		in.changed.Broadcast()
	}
}

// drop forgets a task that has ended.
func (in *input) drop(task uint32) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.taken, task)
	in.changed.Broadcast()
}

func (in *input) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over = true
	in.changed.Broadcast()
}
