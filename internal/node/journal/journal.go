// Package journal keeps what a node must not forget: the launches that it has
// accepted and not yet been allowed to forget, and which cluster it belongs
// to. It is one file, written at its end only; many launches that arrive
// together share one fsync.
//
// It must not know what a run goes through: a record is a key and bytes.
package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ID names a run.
type ID struct {
	Key     int64
	Attempt uint32
}

// Record is what is kept of a run: the launch order, and the newest state.
type Record struct {
	Order []byte
	State []byte // empty: none was noted
}

// Kinds of entries. The values are on disk.
const (
	entryLaunch = 1
	entryState  = 2
	entryForget = 3
	entryMemory = 4 // what the node remembers beside its runs
)

const (
	fileName   = "journal"
	header     = 4 + 4 + 1 + 8 + 4 // length, checksum, kind, key, attempt
	maxEntry   = 64 << 20
	compactMin = 8 << 20 // bytes; below it a file is not worth rewriting
)

// ErrFull says that the spool has no room. Nothing was accepted.
var ErrFull = errors.New("the spool directory is full")

// Journal is an open journal. Its methods may be called by many at once.
type Journal struct {
	dir string

	mu      sync.Mutex
	changed sync.Cond
	file    *os.File
	size    int64
	live    map[ID]*Record
	memory  []byte
	bytes   int64  // of live records
	written uint64 // entries handed to the kernel
	synced  uint64 // of them, on the disk
	syncing bool
	broken  error // of an fsync: what is on the disk is unknown from then on
}

// Open reads the journal in dir, or begins one.
func Open(dir string) (*Journal, error) {
	j := &Journal{dir: dir, live: make(map[ID]*Record)}
	j.changed.L = &j.mu
	file, err := os.OpenFile(filepath.Join(dir, fileName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	if !lock(file) {
		file.Close()
		return nil, fmt.Errorf("%s is in use by another noded", dir)
	}
	j.file = file
	if err := j.load(); err != nil {
		file.Close()
		return nil, err
	}
	return j, nil
}

// lockPatience is how long a lock may still be held by what a killed daemon was
// just forking: a child has its parent's files until its exec.
const lockPatience = 2 * time.Second

func lock(file *os.File) bool {
	for end := time.Now().Add(lockPatience); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || time.Now().After(end) {
			return err == nil
		}
	}
}

// load reads all entries. What follows the last whole one was being written
// when the machine went down: it was never acknowledged, and is cut off.
func (j *Journal) load() error {
	in := bufio.NewReaderSize(j.file, 1<<20)
	for {
		kind, id, body, err := readEntry(in)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, errTorn) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("reading the journal: %w", err)
			}
			break
		}
		j.apply(kind, id, body)
		j.size += int64(header + len(body))
	}
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cutting the journal's end: %w", err)
	}
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		return err
	}
	return nil
}

var errTorn = errors.New("torn entry")

func readEntry(in io.Reader) (kind byte, id ID, body []byte, err error) {
	var head [header]byte
	if _, err = io.ReadFull(in, head[:]); err != nil {
		return
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxEntry {
		return 0, id, nil, errTorn
	}
	body = make([]byte, size)
	if _, err = io.ReadFull(in, body); err != nil {
		return
	}
	sum := crc32.Update(crc32.ChecksumIEEE(head[8:]), crc32.IEEETable, body)
	if sum != binary.BigEndian.Uint32(head[4:]) {
		return 0, id, nil, errTorn
	}
	id = ID{int64(binary.BigEndian.Uint64(head[9:])), binary.BigEndian.Uint32(head[17:])}
	return head[8], id, body, nil
}

func appendEntry(to []byte, kind byte, id ID, body []byte) []byte {
	var head [header]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(body)))
	head[8] = kind
	binary.BigEndian.PutUint64(head[9:], uint64(id.Key))
	binary.BigEndian.PutUint32(head[17:], id.Attempt)
	sum := crc32.Update(crc32.ChecksumIEEE(head[8:]), crc32.IEEETable, body)
	binary.BigEndian.PutUint32(head[4:], sum)
	return append(append(to, head[:]...), body...)
}

func (j *Journal) apply(kind byte, id ID, body []byte) {
	r := j.live[id]
	switch kind {
	case entryLaunch:
		j.live[id] = &Record{Order: body}
		j.bytes += int64(len(body))
	case entryState:
		if r != nil {
			j.bytes += int64(len(body) - len(r.State))
			r.State = body
		}
	case entryForget:
		if r != nil {
			j.bytes -= int64(len(r.Order) + len(r.State))
			delete(j.live, id)
		}
	case entryMemory:
		j.memory = body
	}
}

// Runs returns the runs that are kept.
func (j *Journal) Runs() map[ID]Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	runs := make(map[ID]Record, len(j.live))
	for id, r := range j.live {
		runs[id] = *r
	}
	return runs
}

// Memory returns what SetMemory last stored.
func (j *Journal) Memory() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.memory
}

// Launch stores an accepted launch and returns when it is on the disk.
func (j *Journal) Launch(id ID, order []byte) error {
	return j.durable(entryLaunch, id, order)
}

// SetMemory stores what the node remembers, and returns when it is on the disk.
func (j *Journal) SetMemory(memory []byte) error {
	return j.durable(entryMemory, ID{}, memory)
}

// State notes how a run stands. It outlives a crash of noded, not one of the
// machine, which ends all runs anyway.
func (j *Journal) State(id ID, state []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := j.write(entryState, id, state)
	return err
}

// Forget drops a run.
func (j *Journal) Forget(id ID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.write(entryForget, id, nil); err != nil {
		return err
	}
	if j.size > compactMin && j.size > 4*j.bytes && !j.syncing {
		return j.compact()
	}
	return nil
}

// write appends an entry. The mutex is held.
func (j *Journal) write(kind byte, id ID, body []byte) (uint64, error) {
	if j.broken != nil {
		return 0, j.broken
	}
	entry := appendEntry(make([]byte, 0, header+len(body)), kind, id, body)
	if _, err := j.file.Write(entry); err != nil {
		// Part of it may stand there; the next entry must not follow it.
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = fmt.Errorf("cutting a half-written entry off: %w", cut)
		} else if _, back := j.file.Seek(j.size, io.SeekStart); back != nil {
			j.broken = back
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return 0, fmt.Errorf("%w (%s)", ErrFull, j.dir)
		}
		return 0, fmt.Errorf("writing the journal: %w", err)
	}
	j.size += int64(len(entry))
	j.written++
	j.apply(kind, id, body)
	return j.written, nil
}

// durable writes an entry and waits for an fsync that covers it. One fsync is
// under way at a time; all who came meanwhile share the next.
func (j *Journal) durable(kind byte, id ID, body []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	mine, err := j.write(kind, id, body)
	if err != nil {
		return err
	}
	for j.synced < mine && j.broken == nil {
		if j.syncing {
			j.changed.Wait()
			continue
		}
		j.sync()
	}
	return j.broken
}

func (j *Journal) sync() {
	covered, file := j.written, j.file
	j.syncing = true
	j.mu.Unlock()
	err := syscall.Fdatasync(int(file.Fd()))
	j.mu.Lock()
	j.syncing = false
	if err != nil {
		j.broken = fmt.Errorf("syncing the journal: %w", err)
	} else {
		j.synced = max(j.synced, covered)
	}
	j.changed.Broadcast()
}

// compact rewrites the journal with what is live. The mutex is held; no sync
// is under way.
func (j *Journal) compact() error {
	path := filepath.Join(j.dir, fileName)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("rewriting the journal: %w", err)
	}
	size, err := j.writeLive(file)
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil { // the old file goes on
		file.Close()
		os.Remove(path + ".new")
		return fmt.Errorf("rewriting the journal: %w", err)
	}
	j.file.Close()
	j.file, j.size, j.synced = file, size, j.written
	return syncDir(j.dir)
}

func (j *Journal) writeLive(file *os.File) (int64, error) {
	out := bufio.NewWriterSize(file, 1<<20)
	var size int64
	put := func(kind byte, id ID, body []byte) {
		n, _ := out.Write(appendEntry(nil, kind, id, body)) // Flush tells
		size += int64(n)
	}
	put(entryMemory, ID{}, j.memory)
	for id, r := range j.live {
		put(entryLaunch, id, r.Order)
		if len(r.State) > 0 {
			put(entryState, id, r.State)
		}
	}
	if err := out.Flush(); err != nil {
		return 0, err
	}
	return size, file.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Close closes the file. Nothing is lost by not calling it.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = os.ErrClosed
	}
	return j.file.Close()
}
