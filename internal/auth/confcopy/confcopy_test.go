package confcopy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type source struct {
	files []File
	err   error
}

func (s source) Fetch(context.Context) ([]File, error) { return s.files, s.err }

func TestUpdate(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "slurm")
	dir := filepath.Join(parent, "conf")
	ctx := context.Background()
	first := []File{{Name: "slurm.conf", Content: []byte("one")}, {Name: "prolog.sh", Content: []byte("#!"), Executable: true}}
	require.NoError(t, Update(ctx, dir, source{files: first}))
	require.NoError(t, Update(ctx, dir, source{files: []File{{Name: "slurm.conf", Content: []byte("two")}}}))

	content := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "slurm.conf"))
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, "two", content())
	assert.NoFileExists(t, filepath.Join(dir, "prolog.sh"), "no file of the old set remains")
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "the link and one set")

	for name, bad := range map[string]source{
		"fetching the configuration from the controller: away": {err: errors.New("away")},
		"slurm.conf is not among the files":                    {files: []File{{Name: "gres.conf"}}},
		`"../x" is not the name of a configuration file`:       {files: []File{{Name: "../x"}}},
		`".x" is not the name of a configuration file`:         {files: []File{{Name: ".x"}}},
		"slurm.conf comes twice":                               {files: []File{{Name: "slurm.conf"}, {Name: "slurm.conf"}}},
	} {
		assert.ErrorContains(t, Update(ctx, dir, bad), name)
		assert.Equal(t, "two", content(), "the old copy stays")
	}
}

func TestForeignFolderIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "conf")
	require.NoError(t, os.Mkdir(dir, 0o755))
	assert.ErrorContains(t, Replace(dir, []File{{Name: "slurm.conf"}}), "was not made by this daemon")
}
