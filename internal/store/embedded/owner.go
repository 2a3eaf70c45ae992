package embedded

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is who the server runs as. PostgreSQL refuses to run as root.
type owner struct {
	uid, gid int
	name     string
	change   bool // we are root and become it
}

// findOwner names the server's user: ourselves; for root the user asked for,
// or `postgres` where that is root too.
func findOwner(name string) (owner, error) {
	if os.Geteuid() != 0 {
		return owner{uid: os.Geteuid(), gid: os.Getegid(), name: "uid " + strconv.Itoa(os.Geteuid())}, nil
	}
	if name == "" || name == "root" {
		name = "postgres"
	}
	u, err := user.Lookup(name)
	if err != nil {
		return owner{}, fmt.Errorf("PostgreSQL does not run as root and the user %q is not known here: create it, or set SlurmUser to an ordinary user: %w", name, err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return owner{}, fmt.Errorf("user %q has the uid %q", name, u.Uid)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return owner{}, fmt.Errorf("user %q has the gid %q", name, u.Gid)
	}
	if uid == 0 {
		return findOwner("postgres")
	}
	return owner{uid: uid, gid: gid, name: name, change: true}, nil
}

// attributes start a child as the owner in its own session, so that neither a
// terminal's ^C nor our own end reaches it.
func (o owner) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if o.change {
		a.Credential = &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
	}
	return a
}

func (o owner) give(path string) error {
	if !o.change {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}

// makeFolder makes a folder that only the owner can enter.
func (o owner) makeFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	if int(st.Uid) == os.Geteuid() && o.change {
		if err := o.give(path); err != nil {
			return err
		}
	} else if int(st.Uid) != o.uid {
		return fmt.Errorf("%s belongs to uid %d, not to %s: remove it", path, st.Uid, o.name)
	}
	return os.Chmod(path, 0o700)
}

// checkReach makes sure that the owner can enter every folder above path. Only
// the last one, which is ours, is opened for it; the others are named.
func (o owner) checkReach(state string) error {
	if !o.change {
		return nil
	}
	for dir := state; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !o.searches(info) {
			if dir != state {
				return fmt.Errorf("the database's user %s cannot enter %s, a folder above StateSaveLocation: chmod o+x %s, or choose another StateSaveLocation", o.name, dir, dir)
			}
			if err := os.Chmod(dir, info.Mode().Perm()|0o001); err != nil {
				return fmt.Errorf("letting the database's user %s enter %s: %w", o.name, dir, err)
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (o owner) searches(info os.FileInfo) bool {
	st := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case int(st.Uid) == o.uid:
		return mode&0o100 != 0
	case int(st.Gid) == o.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
