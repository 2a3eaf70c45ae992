package stepd

import (
	"bufio"
	"net"
	"sync"
	"syscall"
	"time"

	"muster/internal/node/steplink"
)

// conn is a connection to a node daemon: the socket that this process was born
// with, or one made later to the step's socket.
type conn struct {
	step *step
	sock net.Conn
	in   *bufio.Reader
	then chan<- []byte // of the socket this process was born with: gets the next step

	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte // whole frames
	sent    map[*stream]uint64
	sentEOF map[*stream]bool
	reader  bool
	closed  bool
	idle    bool
}

// queueBound is how many frames may wait for a peer that does not read. They
// are few in a step's life; a peer that lets them pile up is gone.
const queueBound = 1 << 16

func (s *step) serve(sock net.Conn, in *bufio.Reader, next chan<- []byte) *conn {
	c := &conn{step: s, sock: sock, in: in, then: next, sent: make(map[*stream]uint64), sentEOF: make(map[*stream]bool)}
	c.changed.L = &c.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		sock.Close() // it came too late; the end stands in the status file
		return c
	}
	s.conns[c] = struct{}{}
	go c.write()
	go c.read()
	return c
}

func (c *conn) read() {
	for {
		kind, body, err := steplink.ReadFrame(c.in)
		if err == nil && kind == steplink.KindSpec && c.then != nil {
			c.then <- body // the reader goes over to the next step
			return
		}
		if err != nil || !c.handle(kind, body) {
			c.close()
			if c.then != nil {
				close(c.then)
			}
			return
		}
	}
}

func (c *conn) close() {
	c.step.mu.Lock()
	delete(c.step.conns, c)
	c.step.mu.Unlock()
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	c.sock.Close()
}

// handle does what a frame says; false ends the connection.
func (c *conn) handle(kind steplink.Kind, body []byte) bool {
	s := c.step
	switch kind {
	case steplink.KindHello:
		var hello steplink.Hello
		if steplink.Unmarshal(body, &hello) != nil {
			return false
		}
		c.greet(&hello)
	case steplink.KindSignal:
		var sig steplink.Signal
		if steplink.Unmarshal(body, &sig) != nil {
			return false
		}
		s.mu.Lock()
		switch {
		case sig.Message != "":
			s.messageLocked(sig.Message)
		case sig.All:
			s.signalAll(syscall.Signal(sig.Signal))
		default:
			s.signalTasks(syscall.Signal(sig.Signal))
		}
		s.mu.Unlock()
	case steplink.KindTerminate:
		var t steplink.Terminate
		if steplink.Unmarshal(body, &t) != nil {
			return false
		}
		s.terminate(t)
	case steplink.KindSuspend:
		s.suspend()
	case steplink.KindResume:
		s.resume()
	case steplink.KindInput:
		var d steplink.Data
		if steplink.Unmarshal(body, &d) != nil {
			return false
		}
		return c.input(&d)
	case steplink.KindTaken:
		var d steplink.Data
		if steplink.Unmarshal(body, &d) != nil {
			return false
		}
		if st := s.stream(d.Stream, d.Task); st != nil {
			st.taken(d.Offset, d.EOF)
		}
	case steplink.KindRelease:
		s.mu.Lock()
		streams := s.streams
		s.mu.Unlock()
		for _, st := range streams {
			st.release()
		}
	}
	return true // an unknown frame is of a newer daemon, which expects no answer
}

// greet answers a connection: how the step stands, and from where its output
// follows.
func (c *conn) greet(hello *steplink.Hello) {
	s := c.step
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.launched {
		c.push(steplink.KindStarted, steplink.Marshal(s.startedLocked()))
	}
	if s.end.KillFailed {
		c.push(steplink.KindUnkillable, nil)
	}
	for _, text := range s.texts {
		if hello.Reader {
			c.push(steplink.KindText, []byte(text))
		}
	}
	for _, t := range s.tasks {
		if t.done && hello.Reader {
			c.push(steplink.KindExit, steplink.Marshal(steplink.Exit{Task: t.spec.Rank, Status: int32(t.status), OOM: s.oomKilled()}))
		}
	}
	if s.final != nil && !hello.Reader {
		c.push(steplink.KindDone, s.final)
	}
	if !hello.Reader {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reader = true
	for _, from := range hello.From {
		for _, st := range s.streams {
			if st.number == from.Stream && st.task == from.Task {
				c.sent[st] = from.Offset
			}
		}
	}
	c.changed.Broadcast()
}

func (s *step) stream(number, task uint32) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.number == number && st.task == task {
			return st
		}
	}
	return nil
}

// AllTasks as the task of input means each of them.
const AllTasks = ^uint32(0)

func (c *conn) input(d *steplink.Data) bool {
	c.step.mu.Lock()
	tasks := c.step.tasks
	c.step.mu.Unlock()
	for _, t := range tasks {
		if t.stdin == nil || d.Task != AllTasks && d.Task != t.spec.Rank {
			continue
		}
		if !t.stdin.put(d) {
			return false
		}
	}
	return true
}

// inputProgress tells readers how far a task has its input.
func (s *step) inputProgress(task uint32, offset uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toReaders(steplink.KindInputTaken, steplink.Marshal(steplink.Data{Task: task, Offset: offset}))
}

func (c *conn) isReader() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reader
}

// broadcast queues a frame for every peer. The step's mutex is held.
func (s *step) broadcast(kind steplink.Kind, body []byte) {
	for c := range s.conns {
		c.push(kind, body)
	}
}

// toReaders queues a frame for those who follow the output; one who comes
// later gets it with the greeting. The step's mutex is held.
func (s *step) toReaders(kind steplink.Kind, body []byte) {
	for c := range s.conns {
		if c.isReader() {
			c.push(kind, body)
		}
	}
}

func (s *step) wakeReaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

type frameBuffer struct{ bytes []byte }

func (b *frameBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

func encode(kind steplink.Kind, body []byte) []byte {
	var b frameBuffer
	_ = steplink.WriteFrame(&b, kind, body) // a buffer does not fail
	return b.bytes
}

func (c *conn) push(kind steplink.Kind, body []byte) {
	frame := encode(kind, body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.queue) >= queueBound {
		return
	}
	c.queue = append(c.queue, frame)
	c.changed.Broadcast()
}

// write sends what is queued, and output to a reader.
func (c *conn) write() {
	for {
		frame, ok := c.next()
		if !ok {
			return
		}
		if _, err := c.sock.Write(frame); err != nil {
			c.close()
			return
		}
	}
}

// next waits for something to send. Output comes first, so that an exit does
// not overtake what the task wrote before it... as far as it has been read.
func (c *conn) next() ([]byte, bool) {
	for {
		var streams []*stream
		c.mu.Lock()
		reader := c.reader
		c.mu.Unlock()
		if reader {
			c.step.mu.Lock()
			streams = c.step.streams
			c.step.mu.Unlock()
		}
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, false
		}
		if frame := c.output(streams); frame != nil {
			c.mu.Unlock()
			return frame, true
		}
		if len(c.queue) > 0 {
			frame := c.queue[0]
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return frame, true
		}
		if reader == c.reader && len(streams) == 0 || reader == c.reader && c.nothingNew(streams) {
			c.idle = true
			c.changed.Broadcast()
			c.changed.Wait()
			c.idle = false
		}
		c.mu.Unlock()
	}
}

const outputChunk = 32 << 10

func (c *conn) output(streams []*stream) []byte {
	for _, st := range streams {
		data, at, eof := st.next(c.sent[st], outputChunk)
		if len(data) == 0 && (!eof || c.sentEOF[st]) {
			continue
		}
		c.sent[st] = at + uint64(len(data))
		c.sentEOF[st] = eof
		return encode(steplink.KindOutput, steplink.Marshal(steplink.Data{
			Stream: st.number, Task: st.task, Offset: at, Bytes: data, EOF: eof,
		}))
	}
	return nil
}

func (c *conn) nothingNew(streams []*stream) bool {
	for _, st := range streams {
		data, _, eof := st.next(c.sent[st], 1)
		if len(data) > 0 || eof && !c.sentEOF[st] {
			return false
		}
	}
	return true
}

// flushTime is how long a peer may take to hear the last words; they stand in
// the status file as well.
const flushTime = 10 * time.Second

// flush waits until everything queued was sent.
func (c *conn) flush() {
	_ = c.sock.SetWriteDeadline(time.Now().Add(flushTime))
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && (len(c.queue) > 0 || !c.idle) {
		c.changed.Wait()
	}
}
