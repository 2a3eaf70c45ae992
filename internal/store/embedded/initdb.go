package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// TemplateVariable names an environment variable: a folder in which the result
// of initdb is kept and from which it is copied, so that tests that start many
// databases pay for it once.
const TemplateVariable = "MUSTER_INITDB_TEMPLATE"

// initialise makes the data folder unless it is there. It appears whole or not
// at all: a crash leaves a folder of another name, which the next try removes.
func (s *Server) initialise(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.data, "PG_VERSION")); err == nil {
		return nil
	}
	fresh := s.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("removing an unfinished database: %w", err)
	}
	var err error
	if template := os.Getenv(TemplateVariable); template != "" {
		err = s.fromTemplate(ctx, template, fresh)
	} else {
		err = s.initdb(ctx, fresh)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, s.data); err != nil {
		return fmt.Errorf("putting the new database in its place: %w", err)
	}
	return syncFolder(filepath.Dir(s.data))
}

// initdb makes a database cluster with data checksums, bytes-safe (C locale),
// whose only way in is the unix socket.
func (s *Server) initdb(ctx context.Context, dir string) error {
	if err := s.owner.makeFolder(dir); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	cmd := exec.CommandContext(ctx, s.binaries.path("initdb"), "-D", dir, "-k", "-U", superuser,
		"-E", "UTF8", "--locale=C", "-T", "simple", "--auth-local=trust", "--auth-host=reject")
	cmd.SysProcAttr = s.owner.attributes()
	cmd.Dir = "/"
	cmd.Env = serverEnvironment()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("initdb in %s: %w: %s", dir, err, lastLine(out.String()))
	}
	if err := includeSettings(dir); err != nil {
		return fmt.Errorf("initdb in %s: %w", dir, err)
	}
	return nil
}

// fromTemplate copies the template, which the first that asks makes.
func (s *Server) fromTemplate(ctx context.Context, template, dir string) error {
	source := filepath.Join(template, strconv.Itoa(s.binaries.Major))
	if _, err := os.Stat(filepath.Join(source, "PG_VERSION")); errors.Is(err, os.ErrNotExist) {
		if err := s.initdb(ctx, dir); err != nil {
			return err
		}
		if err := os.MkdirAll(template, 0o755); err != nil {
			return fmt.Errorf("making the template's folder: %w", err)
		}
		tmp := source + "." + strconv.Itoa(os.Getpid()) + "." + filepath.Base(filepath.Dir(dir))
		if err := copyTree(owner{}, dir, tmp); err != nil {
			return fmt.Errorf("keeping the template: %w", err)
		}
		if err := os.Rename(tmp, source); err != nil { // somebody was faster
			return os.RemoveAll(tmp)
		}
		return nil
	}
	if err := copyTree(s.owner, source, dir); err != nil {
		return fmt.Errorf("copying the template of %s: %w", TemplateVariable, err)
	}
	return nil
}

func copyTree(o owner, from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			err = os.Mkdir(target, 0o700)
		case d.Type().IsRegular():
			err = copyFile(path, target)
		default:
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		if err != nil {
			return err
		}
		return o.give(target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

func syncFolder(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", dir, err)
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], "FATAL") || strings.Contains(lines[i], "error:") || strings.Contains(lines[i], "PANIC") {
			return strings.TrimSpace(lines[i])
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// serverEnvironment is all that the server's programs see: no PG* variable of
// the caller changes what they do.
func serverEnvironment() []string {
	return []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "LANG=C", "TZ=UTC"}
}
