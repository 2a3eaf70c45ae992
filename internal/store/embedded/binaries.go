package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// ErrNotInstalled says that no PostgreSQL server binaries were found.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed (looked in /usr/lib/postgresql, /usr/pgsql-* and PATH): install the package postgresql, or name a database in slurmdbd.conf or muster.conf")

// MinVersion is the oldest major version whose SQL the store speaks.
const MinVersion = 13

// Binaries is a folder with a server's programs, and their major version.
type Binaries struct {
	Dir   string
	Major int
}

func (b Binaries) path(program string) string { return filepath.Join(b.Dir, program) }

// Find lists the installed servers, newest first. With dir set it looks there
// and nowhere else.
func Find(dir string) ([]Binaries, error) {
	var found []Binaries
	seen := map[int]bool{}
	for _, d := range candidates(dir) {
		major, ok := majorOf(d)
		if !ok || seen[major] || major < MinVersion {
			continue
		}
		seen[major] = true
		found = append(found, Binaries{Dir: d, Major: major})
	}
	if len(found) == 0 {
		return nil, ErrNotInstalled
	}
	sort.Slice(found, func(i, k int) bool { return found[i].Major > found[k].Major })
	return found, nil
}

func candidates(dir string) []string {
	if dir != "" {
		return []string{dir}
	}
	var dirs []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} {
		matches, _ := filepath.Glob(pattern) // the patterns are well-formed
		dirs = append(dirs, matches...)
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
	}
	return dirs
}

// majorOf asks the folder's postgres for its version. A folder with the client
// programs alone does not count.
func majorOf(dir string) (int, bool) {
	for _, program := range []string{"postgres", "initdb"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() {
			return 0, false
		}
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, false
	}
	// postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return 0, false
	}
	digits := fields[2]
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	major, err := strconv.Atoi(digits)
	return major, err == nil
}

// choose picks the binaries for a data folder: those that wrote it, or the
// newest ones for a folder that does not exist yet.
func choose(found []Binaries, data string) (Binaries, error) {
	raw, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return found[0], nil
	}
	if err != nil {
		return Binaries{}, fmt.Errorf("reading the version of the database in %s: %w", data, err)
	}
	wrote, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return Binaries{}, fmt.Errorf("%s/PG_VERSION holds %q, not a version", data, raw)
	}
	for _, b := range found {
		if b.Major == wrote {
			return b, nil
		}
	}
	return Binaries{}, &VersionError{Data: data, Wrote: wrote, Installed: found[0].Major}
}

// VersionError says that a data folder belongs to a PostgreSQL that is not
// installed.
type VersionError struct {
	Data             string
	Wrote, Installed int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the database in %s was written by PostgreSQL %d, and PostgreSQL %d is installed: "+
		"install postgresql-%d beside it, run `ctld --dump FILE`, move the folder away, run `ctld --restore FILE`",
		e.Data, e.Wrote, e.Installed, e.Wrote)
}
