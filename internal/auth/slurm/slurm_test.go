package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
)

func testKey(t testing.TB) Key {
	key, err := NewKey(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	return key
}

func pair(t testing.TB, key Key, cluster string, now func() time.Time) (*Issuer, *Checker) {
	i, err := NewIssuer(key, cluster, 0)
	require.NoError(t, err)
	c, err := NewChecker(key, cluster)
	require.NoError(t, err)
	i.now, c.now = now, now
	return i, c
}

func binding(b byte) []byte { return bytes.Repeat([]byte{b}, auth.BindingSize) }

func TestTokens(t *testing.T) {
	ctx := context.Background()
	start := time.UnixMilli(1_700_000_000_000)
	now := start
	issuer, checker := pair(t, testKey(t), "c1", func() time.Time { return now })
	token, err := issuer.Issue(1000, 100, binding(1))
	require.NoError(t, err)

	_, err = checker.Check(ctx, token, binding(2))
	assert.ErrorContains(t, err, "made for another connection")
	_, err = checker.Check(ctx, token, nil)
	assert.ErrorContains(t, err, "made for another connection")

	id, err := checker.Check(ctx, token, binding(1))
	require.NoError(t, err)
	host, _ := os.Hostname()
	assert.Equal(t, auth.Identity{UID: 1000, GID: 100, Host: host, Method: auth.MethodSlurm}, id)
	_, err = checker.Check(ctx, token, binding(1))
	assert.ErrorContains(t, err, "used before")

	token, err = issuer.Issue(1000, 100, binding(1))
	require.NoError(t, err)
	now = start.Add(DefaultTTL)
	_, err = checker.Check(ctx, token, binding(1))
	assert.ErrorContains(t, err, "expired 0s ago")
	now = start.Add(-maxSkew - time.Second)
	_, err = checker.Check(ctx, token, binding(1))
	assert.ErrorContains(t, err, "31s in the future: set the clocks")
	now = start.Add(-maxSkew)
	_, err = checker.Check(ctx, token, binding(1))
	assert.NoError(t, err)

	issuer.ttl = maxLife + time.Second
	token, err = issuer.Issue(1000, 100, binding(1))
	require.NoError(t, err)
	_, err = checker.Check(ctx, token, binding(1))
	assert.ErrorContains(t, err, "claims a life of 10m1s")
	_, err = NewIssuer(testKey(t), "c1", maxLife+time.Second)
	assert.ErrorContains(t, err, "a ttl of 10m1s is more than")
	_, err = issuer.Issue(1, 1, nil)
	assert.ErrorContains(t, err, "needs the binding")
}

func TestForgedTokens(t *testing.T) {
	ctx := context.Background()
	issuer, checker := pair(t, testKey(t), "c1", time.Now)
	token, err := issuer.Issue(1000, 100, binding(1))
	require.NoError(t, err)
	for i := range token {
		forged := bytes.Clone(token)
		forged[i] ^= 1
		_, err := checker.Check(ctx, forged, binding(1))
		require.ErrorContains(t, err, "not made with this cluster's slurm.key", "byte %d", i)
	}
	for n := range token {
		_, err := checker.Check(ctx, token[:n], binding(1))
		require.Error(t, err, "cut to %d bytes", n)
	}
	other, err := NewKey(bytes.Repeat([]byte("x"), 32))
	require.NoError(t, err)
	foreign, _ := pair(t, other, "c1", time.Now)
	token, err = foreign.Issue(0, 0, binding(1))
	require.NoError(t, err)
	_, err = checker.Check(ctx, token, binding(1))
	assert.ErrorContains(t, err, "not made with this cluster's slurm.key")

	sameKey, _ := pair(t, testKey(t), "c2", time.Now)
	token, err = sameKey.Issue(0, 0, binding(1))
	require.NoError(t, err)
	_, err = checker.Check(ctx, token, binding(1))
	assert.Error(t, err, "a token of another cluster with the same key")
}

func TestEmptyKeyMakesNothing(t *testing.T) {
	_, err := NewIssuer(Key{}, "c", 0)
	assert.ErrorContains(t, err, "no key is loaded")
	_, err = NewChecker(Key{}, "c")
	assert.ErrorContains(t, err, "no key is loaded")
	key := testKey(t)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v %s", key, key, key, key), "kkk")
}

func TestNonces(t *testing.T) {
	n := newNonces(time.Minute)
	n.limit = 1000
	at := time.Unix(0, 0)
	one := [nonceSize]byte{1}
	assert.True(t, n.add(one, at))
	assert.False(t, n.add(one, at.Add(59*time.Second)))
	assert.False(t, n.add(one, at.Add(61*time.Second)), "in the older generation")
	assert.True(t, n.add(one, at.Add(time.Hour)))
	for i := range 10000 {
		n.add([nonceSize]byte{byte(i), byte(i >> 8), 9}, at.Add(time.Hour))
		require.LessOrEqual(t, len(n.newer)+len(n.older), 2*n.limit)
	}
}

func TestKeyFile(t *testing.T) {
	me := uint32(os.Geteuid())
	dir := t.TempDir()
	path := filepath.Join(dir, KeyFile)
	_, err := LoadKey(path, me)
	assert.ErrorContains(t, err, "there is none")

	require.NoError(t, CreateKey(path, os.Geteuid(), os.Getegid()))
	key, err := LoadKey(path, me)
	require.NoError(t, err)
	assert.Len(t, key.secret, createdKey)
	assert.ErrorIs(t, CreateKey(path, os.Geteuid(), os.Getegid()), os.ErrExist, "a key is never replaced")
	again, err := LoadKey(path, me)
	require.NoError(t, err)
	assert.Equal(t, key.secret, again.secret)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing else is left behind")

	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o700} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = LoadKey(path, me)
		assert.ErrorContains(t, err, "chmod 0600 "+path, "%o", mode)
	}
	require.NoError(t, os.Chmod(path, 0o400))
	_, err = LoadKey(path, me)
	assert.NoError(t, err)

	short := filepath.Join(dir, "short")
	require.NoError(t, os.WriteFile(short, []byte("fifteen bytes.."), 0o600))
	_, err = LoadKey(short, me)
	assert.ErrorContains(t, err, "15 bytes, at least 16")
	_, err = LoadKey(dir, me)
	assert.ErrorContains(t, err, "not a regular file")

	if me == 0 {
		require.NoError(t, os.Chown(path, 4242, 4242))
		_, err = LoadKey(path, 64030)
		assert.ErrorContains(t, err, "belongs to uid 4242, must belong to SlurmUser (uid 64030): chown 64030")
		_, err = LoadKey(path, 4242)
		assert.NoError(t, err)
	}
}

func FuzzToken(f *testing.F) {
	issuer, _ := pair(f, testKey(f), "c1", time.Now)
	_, checker := pair(f, testKey(f), "another", time.Now) // whose key made none of the seeds
	good, err := issuer.Issue(1, 2, binding(3))
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)-macSize])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := checker.Check(context.Background(), data, binding(3)); err == nil {
			t.Fatal("accepted a token that was not issued")
		}
		// The parser itself, as if the mac had been right: what it accepts it
		// writes again byte for byte.
		parsed, err := parse(data)
		if err != nil {
			return
		}
		sealed, err := parsed.seal(checker.key)
		if err != nil || !bytes.Equal(sealed[:len(sealed)-macSize], data) {
			t.Fatalf("%x came back as %x: %v", data, sealed, err)
		}
	})
}

func BenchmarkIssueAndCheck(b *testing.B) {
	issuer, checker := pair(b, testKey(b), "c1", time.Now)
	for b.Loop() {
		token, _ := issuer.Issue(1, 2, binding(3))
		if _, err := checker.Check(context.Background(), token, binding(3)); err != nil {
			b.Fatal(err)
		}
	}
}
