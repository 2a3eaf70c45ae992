package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// file is one Go file of the project.
type file struct {
	path      string // below the project's folder
	dir       string
	text      string
	syntax    *ast.File
	generated bool
	test      bool
}

var positions = token.NewFileSet()

// goFiles reads every Go file of the project once.
var goFiles = sync.OnceValues(func() ([]file, error) {
	paths, err := projectFiles()
	if err != nil {
		return nil, err
	}
	var out []file
	for _, p := range paths {
		if !strings.HasSuffix(p, ".go") || strings.Contains(p, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return nil, err
		}
		syntax, err := parser.ParseFile(positions, p, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		out = append(out, file{
			path: p, dir: filepath.Dir(p), text: string(text), syntax: syntax,
			generated: ast.IsGenerated(syntax), test: strings.HasSuffix(p, "_test.go"),
		})
	}
	return out, nil
})

func sources(t *testing.T) []file {
	t.Helper()
	all, err := goFiles()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// imports are the packages that a file imports.
func (f *file) imports() []string {
	var out []string
	for _, i := range f.syntax.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

// uses reports every `package.Name` of a file with its line, for packages that
// are imported under their own name.
func (f *file) uses(report func(selector string, line int)) {
	names := map[string]string{}
	for _, i := range f.syntax.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			// Obj is set where the name is a local variable.
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && names[x.Name] != "" {
				report(names[x.Name]+"."+s.Sel.Name, positions.Position(s.Pos()).Line)
			}
		}
		return true
	})
}

// projectFiles lists what belongs to the project: what git tracks or would
// track, or in an unpacked archive everything that is not built.
func projectFiles() ([]string, error) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		return trackedFiles()
	}
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "build", "bin"}, d.Name()):
			return filepath.SkipDir
		case d.Type().IsRegular():
			rel, err := filepath.Rel(root, path)
			out = append(out, rel)
			return err
		}
		return nil
	})
	return out, err
}

func trackedFiles() ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range strings.Split(string(text), "\x00") {
		// A file that was removed but not yet from the index is no file.
		if info, err := os.Lstat(filepath.Join(root, p)); p != "" && err == nil && info.Mode().IsRegular() {
			out = append(out, p)
		}
	}
	return out, nil
}
