package setup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
)

func TestCluster(t *testing.T) {
	conf, state := t.TempDir(), t.TempDir()
	var before [3]string
	for round := range 2 {
		require.NoError(t, Cluster(conf, state, os.Geteuid(), os.Getegid()))
		for i, path := range []string{filepath.Join(conf, slurm.KeyFile), filepath.Join(state, pki.KeyFile), filepath.Join(conf, pki.PublicFile)} {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if round == 1 {
				assert.Equal(t, before[i], string(text), "what exists is left as it is")
			}
			before[i] = string(text)
		}
	}
	_, err := slurm.LoadKey(filepath.Join(conf, slurm.KeyFile), uint32(os.Geteuid()))
	require.NoError(t, err)
	controller, err := pki.OpenController(state)
	require.NoError(t, err)
	assert.NoError(t, controller.WritePublic(conf))
}
