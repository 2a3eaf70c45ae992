package profile

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServe(t *testing.T) {
	dir, err := os.MkdirTemp("", "pprof") // short: it holds a socket
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	t.Setenv(Folder, dir)
	require.NoError(t, Serve(t.Context(), "ctld"))
	path := filepath.Join(dir, "ctld.sock")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	reply, err := client.Get("http://ctld/debug/pprof/goroutine?debug=1")
	require.NoError(t, err)
	defer reply.Body.Close()
	assert.Equal(t, http.StatusOK, reply.StatusCode)
}

func TestOffWithoutTheVariable(t *testing.T) {
	t.Setenv(Folder, "")
	assert.NoError(t, Serve(t.Context(), "ctld"))
}
