package pki

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const maxFile = 256 << 10

// readPrivate reads a file that only its owner, this process, may read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	me := uint32(os.Geteuid())
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s: not a regular file", path)
	case st.Uid != me && st.Uid != 0:
		return nil, fmt.Errorf("%s: belongs to uid %d, must belong to uid %d: chown %d %s", path, st.Uid, me, me, path)
	case st.Mode&0o077 != 0:
		return nil, fmt.Errorf("%s: has mode %04o, must be 0600 so that no user can read it: chmod 0600 %s", path, st.Mode&0o7777, path)
	case st.Size > maxFile:
		return nil, fmt.Errorf("%s: %d bytes cannot be a key", path, st.Size)
	}
	content := make([]byte, st.Size)
	n, err := io.ReadFull(f, content)
	return content[:n], err
}

// writeFile puts a whole file in place, synced. Without replace it fails with
// fs.ErrExist when there is one, so that of two first starts only one wins.
func writeFile(path string, content []byte, mode fs.FileMode, replace bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if replace {
		err = os.Rename(f.Name(), path)
	} else {
		err = os.Link(f.Name(), path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}
