package conf

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
)

// DefaultPath is where slurm.conf is looked for, CopyPath where a node without
// files of its own keeps the copy it got from the controller.
const (
	DefaultPath = "/etc/slurm/slurm.conf"
	CopyPath    = "/run/slurm/conf/slurm.conf"
)

// Find names the slurm.conf to use: SLURM_CONF, else DefaultPath, else CopyPath.
// It is DefaultPath when there is neither, so that an error names the usual place.
func Find() string {
	if p := os.Getenv("SLURM_CONF"); p != "" {
		return p
	}
	for _, p := range []string{DefaultPath, CopyPath} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return DefaultPath
}

// Load reads slurm.conf and, where they exist beside it, gres.conf and cgroup.conf.
// The error is Errors, unless slurm.conf itself cannot be read.
func Load(path string) (*Config, error) { return load(path, false) }

// LoadClient reads what a command needs: the parameters, but neither nodes,
// partitions nor the other files, so that it takes as little time with 10,000 nodes
// as with one.
func LoadClient(path string) (*Config, error) { return load(path, true) }

func load(path string, client bool) (*Config, error) {
	rep := &report{}
	lines, err := readFile(path, rep)
	if err != nil {
		return nil, err
	}
	c := &Config{Path: path}
	c.raw = readRaw(lines, client, rep)
	c.fill(c.raw)
	sum := sha256.New()
	hashLines(sum, "slurm.conf", lines)
	if !client {
		c.buildNodes(c.raw)
		c.buildPartitions(c.raw)
		if err := c.loadBeside(rep, sum); err != nil {
			return nil, err
		}
	}
	c.Hash = hex.EncodeToString(sum.Sum(nil))[:16]
	c.Notices, c.Files = rep.notices, rep.files
	if err := rep.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// loadBeside reads the files that may stand next to slurm.conf.
func (c *Config) loadBeside(rep *report, sum hash.Hash) error {
	gres, err := readOptional(filepath.Join(c.Dir(), "gres.conf"), rep)
	if err != nil {
		return err
	}
	c.buildGres(gres, rep)
	hashLines(sum, "gres.conf", gres)
	cgroup, err := readOptional(filepath.Join(c.Dir(), "cgroup.conf"), rep)
	if err != nil {
		return err
	}
	c.Cgroup = buildCgroup(cgroup, rep)
	hashLines(sum, "cgroup.conf", cgroup)
	return nil
}

func readOptional(path string, rep *report) ([]line, error) {
	lines, err := readFile(path, rep)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return lines, err
}

// hashLines adds what a file says, without comments, blank lines and places.
func hashLines(sum hash.Hash, name string, lines []line) {
	fmt.Fprintf(sum, "[%s]\n", name)
	for _, l := range lines {
		fmt.Fprintf(sum, "%s\n", l.text)
	}
}

// Text is a parameter's value as it stands in slurm.conf; empty when it does not.
func (c *Config) Text(name string) string {
	given := c.raw.params[strings.ToLower(name)]
	if len(given) == 0 {
		return ""
	}
	return given[len(given)-1].value
}

// ExpandPrograms gives the files that Prolog and the like name: absolute paths as
// they are, relative ones below dir, globs in order of their matches. A glob that
// matches nothing is nothing; a plain name is kept whether it exists or not.
func ExpandPrograms(dir string, patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		if !hasGlob(p) {
			out = append(out, p)
			continue
		}
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

func hasGlob(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '*', '?', '[':
			return true
		}
	}
	return false
}

func orDefault(s, def string) string { return cmp.Or(s, def) }
