// Package confcopy keeps a copy of the cluster's configuration files on a host
// that has none of its own ("configless"): sackd and noded fetch them from the
// controller and keep them where commands look last, /run/slurm/conf.
//
// It does not know how files are fetched; a Source does. A new set replaces the
// old one at once: a command reads all files of one set.
package confcopy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DefaultDir is where commands look for the copy.
const DefaultDir = "/run/slurm/conf"

// File is one configuration file.
type File struct {
	Name       string // without a folder
	Content    []byte
	Executable bool // a hook that travels with the configuration
}

// Source fetches the files from the controller.
type Source interface {
	Fetch(ctx context.Context) ([]File, error)
}

// Update fetches the files and puts them in place. If anything fails, the old
// copy stays as it is.
func Update(ctx context.Context, dir string, source Source) error {
	files, err := source.Fetch(ctx)
	if err != nil {
		return fmt.Errorf("fetching the configuration from the controller: %w", err)
	}
	if err := Replace(dir, files); err != nil {
		return fmt.Errorf("keeping the configuration in %s: %w", dir, err)
	}
	return nil
}

// Replace puts a set of files in place. dir becomes a link to a folder beside
// it, so that the change is one rename.
func Replace(dir string, files []File) error {
	if err := check(files); err != nil {
		return err
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return errors.New("it exists and was not made by this daemon: remove it")
	}
	parent, name := filepath.Split(dir)
	old, _ := os.Readlink(dir) // empty at the first time
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	set, err := os.MkdirTemp(parent, "."+name+"-")
	if err != nil {
		return err
	}
	if err := fill(set, files); err != nil {
		os.RemoveAll(set)
		return err
	}
	link := set + ".link"
	if err := os.Symlink(filepath.Base(set), link); err != nil {
		os.RemoveAll(set)
		return err
	}
	if err := os.Rename(link, dir); err != nil {
		os.Remove(link)
		os.RemoveAll(set)
		return err
	}
	if strings.HasPrefix(old, "."+name+"-") && !strings.Contains(old, "/") {
		os.RemoveAll(filepath.Join(parent, old))
	}
	return nil
}

func check(files []File) error {
	seen := make(map[string]bool)
	for _, file := range files {
		switch {
		case file.Name == "" || file.Name[0] == '.' || strings.ContainsAny(file.Name, "/\x00"):
			return fmt.Errorf("%q is not the name of a configuration file", file.Name)
		case seen[file.Name]:
			return fmt.Errorf("%s comes twice", file.Name)
		}
		seen[file.Name] = true
	}
	if !seen["slurm.conf"] {
		return errors.New("slurm.conf is not among the files")
	}
	return nil
}

func fill(dir string, files []File) error {
	for _, file := range files {
		mode := fs.FileMode(0o644)
		if file.Executable {
			mode = 0o755
		}
		path := filepath.Join(dir, file.Name)
		if err := os.WriteFile(path, file.Content, mode); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			return err
		}
	}
	return os.Chmod(dir, 0o755)
}
