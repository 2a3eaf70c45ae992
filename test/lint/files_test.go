package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxLines keeps a file readable in one sitting.
const maxLines = 600

func TestFileLength(t *testing.T) {
	for _, f := range sources(t) {
		if !f.generated {
			lines := strings.Count(f.text, "\n")
			assert.LessOrEqual(t, lines, maxLines, "%s has %d lines: split it by subject", f.path, lines)
		}
	}
}

// TestPackageComments: each package says what it is for.
func TestPackageComments(t *testing.T) {
	commented := map[string]bool{}
	for _, f := range sources(t) {
		commented[f.dir] = commented[f.dir] || f.syntax.Doc != nil && !f.generated
	}
	for dir, ok := range commented {
		assert.True(t, ok, "%s has no package comment", dir)
	}
}

// Names that say nothing collect everything.
var emptyNames = regexp.MustCompile(`^(utils?|common|helpers?|misc|shared|base|stuff)$`)

func TestPackageNames(t *testing.T) {
	for _, f := range sources(t) {
		name := f.syntax.Name.Name
		assert.False(t, emptyNames.MatchString(name), "%s: name package %s after what it holds", f.path, name)
		assert.False(t, emptyNames.MatchString(filepath.Base(f.dir)), "%s: name the folder after what it holds", f.path)
	}
}

// TestTextIsOurOwn: the project's text speaks of the project, not of the machine
// on which it was written.
func TestTextIsOurOwn(t *testing.T) {
	machine := []string{`(?m)(^|[\s"'=(])/work/`, `proxy\.golang\.org`, `sum\.golang\.org`, `registry\.npmjs\.org`, `index\.docker\.io`}
	for _, host := range moduleProxies(t) {
		machine = append(machine, regexp.QuoteMeta(host))
	}
	deny := regexp.MustCompile(strings.Join(machine, "|"))
	paths, err := projectFiles()
	require.NoError(t, err)
	for _, p := range paths {
		if p == "test/lint/files_test.go" || p == "go.sum" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		require.NoError(t, err)
		if at := deny.FindIndex(text); at != nil {
			t.Errorf("%s:%d speaks of this machine: %q", p, 1+strings.Count(string(text[:at[0]]), "\n"), text[at[0]:at[1]])
		}
	}
}

// moduleProxies are the hosts from which modules come here.
func moduleProxies(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOPROXY").Output()
	require.NoError(t, err)
	return regexp.MustCompile(`([\w-]+\.)+[a-z]{2,}`).FindAllString(string(out), -1)
}
