package method

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
	"muster/internal/auth/slurm"
)

func TestParseInfo(t *testing.T) {
	info, err := ParseInfo("socket=/run/m, ttl=60,cred_expire=120")
	require.NoError(t, err)
	assert.Equal(t, Info{"/run/m", time.Minute, 2 * time.Minute}, info)
	for text, want := range map[string]string{
		"socket=x":       `AuthInfo: socket: "x" is not an absolute path`,
		"ttl=0":          `AuthInfo: ttl: "0" is not a number of seconds`,
		"ttl=1m":         `AuthInfo: ttl: "1m" is not a number of seconds`,
		"use_client_ids": "AuthInfo: use_client_ids: not supported yet",
		"sokcet=/x":      "AuthInfo: sokcet: it is none of",
	} {
		_, err := ParseInfo(text)
		assert.ErrorContains(t, err, want)
	}
}

func TestAuthTypes(t *testing.T) {
	for _, name := range []string{"", "auth/none", "slurm"} {
		_, err := ForCommand(Options{AuthType: name})
		assert.ErrorContains(t, err, "use auth/slurm or auth/munge")
		_, err = ForDaemon(Options{AuthType: name})
		assert.ErrorContains(t, err, "use auth/slurm or auth/munge")
	}
	prover, err := ForCommand(Options{AuthType: "auth/munge"})
	require.NoError(t, err)
	assert.Equal(t, auth.MethodMunge, prover.Method())
	daemon, err := ForDaemon(Options{AuthType: "AUTH/MUNGE"})
	require.NoError(t, err)
	assert.Equal(t, auth.MethodMunge, daemon.Checker.Method())
	assert.Nil(t, daemon.Issuer)
}

func TestKeyHolderNeedsNoService(t *testing.T) {
	if _, err := os.Stat("/run/slurm"); err == nil {
		t.Skip("a token service of this host may answer")
	}
	key := filepath.Join(t.TempDir(), slurm.KeyFile)
	o := Options{AuthType: "auth/slurm", Cluster: "c1", KeyFile: key, KeyOwner: uint32(os.Geteuid())}
	_, err := ForDaemon(o)
	assert.ErrorContains(t, err, "there is none")
	prover, err := ForCommand(o)
	require.NoError(t, err)
	binding := bytes.Repeat([]byte{1}, auth.BindingSize)
	_, err = prover.Prove(context.Background(), binding)
	assert.ErrorContains(t, err, "no token service runs on this host: start sackd")

	require.NoError(t, slurm.CreateKey(key, os.Geteuid(), os.Getegid()))
	token, err := prover.Prove(context.Background(), binding)
	require.NoError(t, err)
	daemon, err := ForDaemon(o)
	require.NoError(t, err)
	id, err := daemon.Checker.Check(context.Background(), token, binding)
	require.NoError(t, err)
	assert.EqualValues(t, os.Geteuid(), id.UID)

	require.NoError(t, os.Chmod(key, 0o644))
	_, err = prover.Prove(context.Background(), binding)
	assert.ErrorContains(t, err, "chmod 0600")
}
