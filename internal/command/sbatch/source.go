package sbatch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"muster/internal/batchscript"
	"muster/internal/command"
)

// source is the script with its names.
type source struct {
	body    []byte
	name    string // for messages about its lines
	job     string // default name of the job
	command string // what `scontrol show job` shows; empty = nothing
	argv    []string
}

// maxScript bounds what is read: far above what a controller takes, and below
// what would fill a login node's memory.
const maxScript = 64 << 20

// find reads the script: of --wrap, of a file, or of standard input.
func find(p *command.Program, wrap string, wrapped bool, words []string) (*source, error) {
	if wrapped {
		if len(words) > 0 {
			return nil, fmt.Errorf("Script arguments not permitted with --wrap option")
		}
		return &source{body: batchscript.Wrap(wrap), name: "wrap", job: "wrap"}, nil
	}
	if len(words) == 0 {
		body, err := readAll(p.Stdin)
		if err != nil {
			return nil, fmt.Errorf("reading the script from standard input: %w", err)
		}
		return &source{body: body, name: "stdin", job: "sbatch"}, nil
	}
	path := search(p, words[0])
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("Unable to open file %s", words[0])
	}
	defer file.Close()
	body, err := readAll(file)
	if err != nil {
		body = nil // a folder; an empty script is what is said of it
	}
	return &source{body: body, name: words[0], job: filepath.Base(path), command: path, argv: words[1:]}, nil
}

func readAll(file *os.File) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(file, maxScript+1))
	if err == nil && len(body) > maxScript {
		return nil, fmt.Errorf("the script has more than %d bytes", maxScript)
	}
	return body, err
}

// search finds a script as a shell finds a program, the current folder first. A
// path that begins with a dot or a slash stays as it was typed.
func search(p *command.Program, name string) string {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return name
	}
	cwd, err := unix.Getwd()
	if err != nil {
		return name
	}
	folders := []string{cwd}
	if !strings.Contains(name, "/") {
		folders = append(folders, filepath.SplitList(p.Getenv("PATH"))...)
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && unix.Access(path, unix.R_OK) == nil {
			return path
		}
	}
	return name
}
