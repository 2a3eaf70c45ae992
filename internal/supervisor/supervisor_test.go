package supervisor

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var log bytes.Buffer
	Ready(slog.New(slog.NewTextHandler(&log, nil)), true)
	said := make([]byte, 100)
	n, err := systemd.Read(said)
	require.NoError(t, err)
	assert.Equal(t, "READY=1", string(said[:n]))
	_, there := os.LookupEnv("NOTIFY_SOCKET")
	assert.False(t, there, "jobs must not find it")
	assert.Empty(t, log.String())
}

func TestNobodyWaits(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	var log bytes.Buffer
	Ready(slog.New(slog.NewTextHandler(&log, nil)), false)
	assert.Empty(t, log.String())
	Ready(slog.New(slog.NewTextHandler(&log, nil)), true)
	assert.Contains(t, log.String(), "does not listen")
}
