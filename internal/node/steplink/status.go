package steplink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A step's files in the folder of its run. The claim is made by whoever comes
// first, the shepherd (with its process id) or a node daemon that gives the
// step up; it holds the space for the end, and is renamed when that is in it.
func claimPath(dir, name string) string { return filepath.Join(dir, name+".run") }
func endPath(dir, name string) string   { return filepath.Join(dir, name+".end") }

// SocketPath is where the shepherd of a step listens.
func SocketPath(dir, name string) string { return filepath.Join(dir, name+".sock") }

const statusSize = 2048

// ErrClaimed says that a step already belongs to another.
var ErrClaimed = errors.New("the step was already started or given up")

// Claim is a claimed status file.
type Claim struct {
	file      *os.File
	dir, name string
}

// NewClaim takes the step for this process and the space for its end.
func NewClaim(dir, name string) (*Claim, error) {
	if _, err := os.Lstat(endPath(dir, name)); err == nil {
		return nil, ErrClaimed
	}
	file, err := os.OpenFile(claimPath(dir, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrClaimed
	}
	if err != nil {
		return nil, fmt.Errorf("claiming the step: %w", err)
	}
	// Held for the life of this process: by it others know that it lives.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the step's claim: %w", err)
	}
	block := make([]byte, statusSize)
	copy(block, strconv.Itoa(os.Getpid())+"\n")
	if _, err := file.Write(block); err != nil {
		file.Close()
		os.Remove(claimPath(dir, name))
		return nil, fmt.Errorf("taking the space for the exit status in %s: %w", dir, err)
	}
	return &Claim{file: file, dir: dir, name: name}, nil
}

// Finish writes the end where it outlives a crash of the machine.
func (c *Claim) Finish(end End) error {
	const longest = statusSize - 256 // leaves room for the numbers
	if len(end.Failure) > longest {
		end.Failure = end.Failure[:longest]
	}
	body := Marshal(end)
	block := make([]byte, 8, statusSize)
	binary.BigEndian.PutUint32(block, uint32(len(body)))
	binary.BigEndian.PutUint32(block[4:], crc32.ChecksumIEEE(body))
	block = append(block, body...)
	if _, err := c.file.WriteAt(block, 0); err != nil {
		return fmt.Errorf("writing the exit status: %w", err)
	}
	if err := syscall.Fdatasync(int(c.file.Fd())); err != nil {
		return fmt.Errorf("syncing the exit status: %w", err)
	}
	if err := os.Rename(claimPath(c.dir, c.name), endPath(c.dir, c.name)); err != nil {
		return fmt.Errorf("naming the exit status: %w", err)
	}
	return c.file.Close()
}

// ReadEnd reads the end of a step. fs.ErrNotExist: it has not ended.
func ReadEnd(dir, name string) (*End, error) {
	data, err := os.ReadFile(endPath(dir, name))
	if err != nil {
		return nil, err
	}
	if len(data) < 8 {
		return nil, fmt.Errorf("%s: %w", endPath(dir, name), errShort)
	}
	size := binary.BigEndian.Uint32(data)
	if uint64(size) > uint64(len(data)-8) || crc32.ChecksumIEEE(data[8:8+size]) != binary.BigEndian.Uint32(data[4:]) {
		return nil, fmt.Errorf("%s: checksum does not match", endPath(dir, name))
	}
	end := new(End)
	return end, Unmarshal(data[8:8+size], end)
}

// RemoveEnd removes the end of a step that nobody asks for any more.
func RemoveEnd(dir, name string) error {
	err := os.Remove(endPath(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Standing is how a step's files say it stands.
type Standing int

// The standings of a step.
const (
	Unclaimed Standing = iota // nobody has started it
	Alive                     // its shepherd lives
	Dead                      // its shepherd died before it could write the end
	Ended                     // the end is there to be read
)

// Stand looks at a step's files. Where Alive is the answer, the step may end
// at any time.
func Stand(dir, name string) (Standing, error) {
	if _, err := os.Lstat(endPath(dir, name)); err == nil {
		return Ended, nil
	}
	file, err := os.OpenFile(claimPath(dir, name), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(endPath(dir, name)); err == nil {
			return Ended, nil // it was renamed between our two looks
		}
		return Unclaimed, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the step's claim: %w", err)
	}
	defer file.Close()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return Alive, nil
	}
	if err != nil {
		return 0, fmt.Errorf("testing the step's claim: %w", err)
	}
	if _, err := os.Lstat(endPath(dir, name)); err == nil {
		return Ended, nil
	}
	return Dead, nil
}

// WriteEnd writes the end of a step whose shepherd is dead.
func WriteEnd(dir, name string, end End) error {
	if err := os.Remove(claimPath(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("taking over the step: %w", err)
	}
	claim, err := NewClaim(dir, name)
	if err != nil {
		return err
	}
	return claim.Finish(end)
}

// Steps lists the names of the steps that have files in dir.
func Steps(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	seen := make(map[string]bool)
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		name := e.Name()[:len(e.Name())-len(ext)]
		if (ext == ".run" || ext == ".end") && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}
