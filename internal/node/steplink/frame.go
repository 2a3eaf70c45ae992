package steplink

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Kind says what a frame holds.
type Kind uint8

// Frames to the shepherd.
const (
	KindSpec      Kind = 1 // Spec; first on the socket that a shepherd is born with, and after its KindIdle
	KindHello     Kind = 2 // Hello; first on a connection to its socket
	KindSignal    Kind = 3 // Signal
	KindTerminate Kind = 4 // Terminate
	KindSuspend   Kind = 5 // no body
	KindResume    Kind = 6 // no body
	KindInput     Kind = 7 // Data for standard input
	KindTaken     Kind = 8 // Data without bytes: output up to Offset has been received
	KindRelease   Kind = 9 // no body: nobody will read the output any more
)

// Frames from the shepherd.
const (
	KindStarted    Kind = 65 // Started
	KindOutput     Kind = 66 // Data
	KindExit       Kind = 67 // Exit of a task
	KindText       Kind = 68 // a line for the user's standard error
	KindUnkillable Kind = 69 // processes outlive SIGKILL
	KindDone       Kind = 70 // End; the status file is written
	KindInputTaken Kind = 71 // Data without bytes: input up to Offset has been written
	KindClaimed    Kind = 72 // the step already belongs to another
	KindUsage      Kind = 73 // Usage, sampled
	KindIdle       Kind = 74 // no body, after KindDone: nothing of the step is left here, another may follow
)

// Hello opens a connection to a shepherd's socket.
type Hello struct {
	Protocol uint32
	Reader   bool     // wants the output, from these offsets on
	From     []Offset // streams that are not named begin at 0
}

// Offset is a place in a task's stream.
type Offset struct {
	Stream, Task uint32
	Offset       uint64
}

// Signal goes to the tasks: to the first processes only, or to all.
type Signal struct {
	Signal  uint32
	All     bool
	Message string // in place of a signal: a line for the step's standard error
}

// Terminate ends the step.
type Terminate struct {
	Now      bool
	KillWait uint32
	Message  string // a line for the step's standard error
}

// Data is a piece of a stream.
type Data struct {
	Stream, Task uint32
	Offset       uint64
	Bytes        []byte
	EOF          bool
}

// Started says that the tasks run.
type Started struct {
	Protocol uint32
	Pids     []uint32 // in the order of the tasks
	Start    int64
	Done     bool
}

// Exit is the end of one task.
type Exit struct {
	Task    uint32
	Status  int32
	OOM     bool
	Message string
}

// MaxFrame bounds a frame: a specification holds an environment of 2 MiB and
// the arguments of every task.
const MaxFrame = 64 << 20

const frameHeader = 5

// WriteFrame sends one frame in one write.
func WriteFrame(w io.Writer, kind Kind, body []byte) error {
	frame := make([]byte, frameHeader, frameHeader+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	frame[4] = byte(kind)
	_, err := w.Write(append(frame, body...))
	return err
}

// ReadFrame reads one frame.
func ReadFrame(r io.Reader) (Kind, []byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > MaxFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes, at most %d are allowed", size, MaxFrame)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	return Kind(header[4]), body, nil
}
