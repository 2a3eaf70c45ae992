package slurm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// KeyFile is the usual name of the key, beside slurm.conf.
const KeyFile = "slurm.key"

const (
	minKey     = 16
	maxKey     = 64 << 10
	createdKey = 1024 // what Slurm's guide makes, too
)

// Key is the content of slurm.key. It prints as nothing.
type Key struct{ secret []byte }

func (Key) String() string   { return "(slurm.key)" }
func (Key) GoString() string { return "(slurm.key)" }

// NewKey takes a secret that is already in memory.
func NewKey(secret []byte) (Key, error) {
	if len(secret) < minKey {
		return Key{}, fmt.Errorf("the key has %d bytes, at least %d are needed; make one with: dd if=/dev/random of=%s bs=1024 count=1", len(secret), minKey, KeyFile)
	}
	return Key{secret: append([]byte(nil), secret...)}, nil
}

// LoadKey reads slurm.key. The file must belong to owner (SlurmUser; without
// root, whoever runs the daemons) or to root, and be closed to everyone else.
func LoadKey(path string, owner uint32) (Key, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Key{}, fmt.Errorf("auth/slurm needs the cluster's key, and there is none: %w", err)
		}
		return Key{}, fmt.Errorf("reading the key of auth/slurm: %w", err)
	}
	defer f.Close()
	if err := checkKeyFile(f, path, owner); err != nil {
		return Key{}, err
	}
	secret, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return Key{}, fmt.Errorf("reading the key of auth/slurm: %w", err)
	}
	if len(secret) > maxKey {
		return Key{}, fmt.Errorf("%s: more than %d bytes cannot be a key", path, maxKey)
	}
	key, err := NewKey(secret)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

func checkKeyFile(f *os.File, path string, owner uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("reading the key of auth/slurm: %w", &fs.PathError{Op: "stat", Path: path, Err: err})
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%s: not a regular file", path)
	}
	if st.Uid != owner && st.Uid != 0 {
		return fmt.Errorf("%s: belongs to uid %d, must belong to SlurmUser (uid %d): chown %d %s", path, st.Uid, owner, owner, path)
	}
	if mode := st.Mode & 0o7777; mode&^0o600 != 0 {
		return fmt.Errorf("%s: has mode %04o, must be 0600 so that no user can read it: chmod 0600 %s (and make a new key if others could read this one)", path, mode, path)
	}
	return nil
}

// CreateKey makes a new key file of mode 0600 that belongs to uid and gid. It
// never replaces one.
func CreateKey(path string, uid, gid int) error {
	secret := make([]byte, createdKey)
	rand.Read(secret)
	f, err := os.CreateTemp(filepath.Dir(path), ".slurm.key-") // 0600
	if err != nil {
		return fmt.Errorf("making the key of auth/slurm: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.Write(secret); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Chown(uid, gid)
	}
	if err == nil {
		err = os.Link(f.Name(), path) // fails if there is one already
	}
	if err != nil {
		return fmt.Errorf("making the key of auth/slurm: %w", err)
	}
	return nil
}
