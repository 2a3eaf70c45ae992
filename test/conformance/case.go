package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"muster/test/conformance/clusters"
)

// Case is what the harness knows of one file before it runs.
type Case struct {
	Name, File string
	Title      string
	Config     string
	Since      string // place in the documentation that is newer than the oracle
	Differs    string // why Muster differs on purpose
	Serial     bool
	Slow       bool
	ExactNodes bool // recording leaves the names of nodes
	files      map[string]bool
}

// LoadCases reads the headers of all cases in a folder, sorted by name.
func LoadCases(dir string) ([]Case, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, fmt.Errorf("list the cases: %w", err)
	}
	sort.Strings(paths)
	var cases []Case
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a case: %w", err)
		}
		c, err := parseCase(path, data)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func parseCase(path string, data []byte) (Case, error) {
	c := Case{
		Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), File: path,
		Config: "base", files: map[string]bool{},
	}
	archive := txtar.Parse(data)
	for _, f := range archive.Files {
		c.files[f.Name] = true
	}
	for line := range strings.Lines(string(archive.Comment)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		c.header(strings.TrimSpace(text))
	}
	if c.Title == "" {
		return c, fmt.Errorf("%s: the first line must be a comment that says what the case shows", path)
	}
	if _, err := clusters.Named(c.Config); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Case) header(text string) {
	key, value, _ := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	switch {
	case c.Title == "":
		c.Title = text
	case key == "configs":
		c.Config = value
	case key == "since":
		c.Since = value
	case key == "differs":
		c.Differs = value
	case text == "serial":
		c.Serial = true
	case text == "exact nodes":
		c.ExactNodes = true
	case text == "slow":
		c.Slow = true
	}
}

// RunsOn says whether the case can run against a target.
func (c Case) RunsOn(target string) bool {
	return target != TargetSlurm || c.Since == "" || c.files["want.slurm"]
}

// wantFile is the name of the expectation for a target: NAME.TARGET where the
// case has one, NAME otherwise.
func (c Case) wantFile(name, target string) string {
	if own := name + "." + target; c.files[own] {
		return own
	}
	return name
}
