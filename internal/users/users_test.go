package users

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeGetent puts a getent of our own first on PATH. It appends its arguments
// to a log and answers from the given script body.
func fakeGetent(t *testing.T, body string) (calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$*\" >>" + log + "\n" + body + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "getent"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		text, err := os.ReadFile(log)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		require.NoError(t, err)
		return lines(text)
	}
}

const directory = `
rc=0
db=$1; shift 2
for key; do
  case "$db:$key" in
  passwd:ana|passwd:5001) echo "ana:x:5001:600:Ana,,,:/home/ana:/bin/bash";;
  passwd:"sp ace") echo "sp ace:x:5002:600::/home/s:/bin/sh";;
  passwd:5003) echo "bo:x:5003:601::/home/bo:/bin/sh";;
  group:phys|group:600) echo "phys:x:600:";;
  group:gpu|group:700) echo "gpu:x:700:ana,bo";;
  initgroups:ana) echo "ana                   700 600 710";;
  initgroups:*) echo "$key";;
  *) rc=2;;
  esac
done
exit $rc`

func TestLookups(t *testing.T) {
	calls := fakeGetent(t, directory)
	ctx := context.Background()
	r := NewResolver(Options{})

	u, err := r.Lookup(ctx, "ana")
	require.NoError(t, err)
	assert.Equal(t, User{"ana", 5001, 600, "Ana,,,", "/home/ana", "/bin/bash"}, u)
	assert.Equal(t, "ana", r.NameOf(ctx, 5001), "by number, from the answer by name")
	assert.Equal(t, []string{"passwd -- ana"}, calls())

	_, err = r.Lookup(ctx, "nosuch")
	assert.ErrorIs(t, err, ErrNotFound)
	assert.EqualError(t, err, `no user "nosuch" is known here`)
	_, err = r.Lookup(ctx, "nosuch")
	assert.ErrorIs(t, err, ErrNotFound)
	assert.Len(t, calls(), 2, "a negative answer is kept")

	assert.Equal(t, "77", r.NameOf(ctx, 77), "a user without a name is a number")
	assert.Equal(t, "phys", r.GroupName(ctx, 600))
	assert.Equal(t, "601", r.GroupName(ctx, 601))

	gids, err := r.Groups(ctx, u)
	require.NoError(t, err)
	assert.Equal(t, []uint32{600, 700, 710}, gids, "the primary group first, once")
	ids, missing := r.GroupIDs(ctx, []string{"gpu", " ", "nosuch"})
	assert.Equal(t, []uint32{700}, ids)
	assert.Len(t, missing, 1)
	assert.ErrorIs(t, missing[0], ErrNotFound)

	gids, err = r.Groups(ctx, User{Name: "sp ace", UID: 5002, GID: 600})
	require.NoError(t, err)
	assert.Equal(t, []uint32{600}, gids)
}

func TestNamesThatAreNone(t *testing.T) {
	calls := fakeGetent(t, directory)
	r := NewResolver(Options{})
	for _, name := range []string{"", "5001", "a:b", "a\nb", "a\x00b", strings.Repeat("a", 300)} {
		_, err := r.Lookup(context.Background(), name)
		assert.ErrorIs(t, err, ErrNotFound, "%q", name)
	}
	assert.Empty(t, calls(), "such names never reach the name service")

	uid, err := r.ParseUser(context.Background(), "5001")
	require.NoError(t, err)
	assert.EqualValues(t, 5001, uid)
	uid, err = r.ParseUser(context.Background(), "ana")
	require.NoError(t, err)
	assert.EqualValues(t, 5001, uid)
}

func TestBatch(t *testing.T) {
	calls := fakeGetent(t, directory)
	r := NewResolver(Options{})
	want := map[uint32]string{5001: "ana", 5003: "bo", 9: "9"}
	for range 2 {
		assert.Equal(t, want, r.NamesOf(context.Background(), []uint32{5001, 9, 5003, 5001}))
	}
	assert.Equal(t, []string{"passwd -- 5001 9 5003"}, calls(), "one process for all, none the second time")
	assert.Equal(t, map[uint32]string{600: "phys", 1: "1"}, r.GroupNamesOf(context.Background(), []uint32{600, 1}))

	many := make([]uint32, 600)
	for i := range many {
		many[i] = uint32(100000 + i)
	}
	assert.Len(t, r.NamesOf(context.Background(), many), 600)
	assert.Len(t, calls(), 2+3)
}

func TestTimeout(t *testing.T) {
	fakeGetent(t, "exec sleep 60")
	r := NewResolver(Options{Timeout: 50 * time.Millisecond})
	start := time.Now()
	_, err := r.Lookup(context.Background(), "ana")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, ErrNotFound, "silence is not a negative answer")
	assert.ErrorContains(t, err, "getent passwd ana: the name service did not answer in time")
	assert.Equal(t, "5001", r.NameOf(context.Background(), 5001))
	assert.Equal(t, map[uint32]string{1: "1"}, r.NamesOf(context.Background(), []uint32{1}))
	assert.Less(t, time.Since(start), 10*time.Second)
}

func TestTimeoutWithGrandchild(t *testing.T) {
	fakeGetent(t, "sleep 5 & wait") // the pipe outlives getent
	r := NewResolver(Options{Timeout: 50 * time.Millisecond})
	start := time.Now()
	_, err := r.Lookup(context.Background(), "ana")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(start), 4*time.Second)
}

func TestCallersContext(t *testing.T) {
	fakeGetent(t, "exec sleep 60")
	r := NewResolver(Options{Timeout: time.Second})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := r.Lookup(ctx, "ana")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestStaleAnswersServeAnOutage(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "away")
	fakeGetent(t, "[ -e "+marker+" ] && { echo oops >&2; exit 1; }\n"+directory)
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	advance := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	r := NewResolver(Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	ctx := context.Background()
	u, err := r.Lookup(ctx, "ana")
	require.NoError(t, err)
	_, err = r.Groups(ctx, u)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(marker, nil, 0o600))
	advance(10 * time.Minute)
	_, err = r.Lookup(ctx, "ana")
	require.NoError(t, err, "stale, but served")
	gids, err := r.Groups(ctx, u)
	require.NoError(t, err)
	assert.Len(t, gids, 3)
	advance(time.Hour)
	_, err = r.Lookup(ctx, "ana")
	assert.ErrorContains(t, err, "oops")
	assert.NotErrorIs(t, err, ErrNotFound)
}

func TestOneQuestionForManyCallers(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	calls := fakeGetent(t, "until [ -e "+gate+" ]; do sleep 0.01; done\n"+directory)
	r := NewResolver(Options{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			u, err := r.Lookup(context.Background(), "ana")
			assert.NoError(t, err)
			assert.EqualValues(t, 5001, u.UID)
		})
	}
	require.Eventually(t, func() bool { return len(calls()) > 0 }, 5*time.Second, time.Millisecond)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	wg.Wait()
	assert.Len(t, calls(), 1)
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache[int, int](Options{Entries: 64}.withDefaults())
	for i := range 10000 {
		c.put(i, i, true)
		require.LessOrEqual(t, len(c.entries), 64)
	}
	e, fresh, ok := c.get(9999)
	assert.True(t, fresh && ok)
	assert.Equal(t, 9999, e.value)
}

func TestBadAnswers(t *testing.T) {
	for _, line := range []string{"ana", ":x:1:1:::", "ana:x:one:1:a:b:c", "ana:x:1:4294967296:a:b:c", "a:x:-1:1:a:b:c"} {
		fakeGetent(t, fmt.Sprintf("echo '%s'", line))
		_, err := NewResolver(Options{}).Lookup(context.Background(), "ana")
		assert.ErrorContains(t, err, "getent", "%q", line)
	}
}

func TestRealNameService(t *testing.T) {
	r := NewResolver(Options{})
	u, err := r.Lookup(context.Background(), "root")
	require.NoError(t, err)
	assert.Zero(t, u.UID)
	assert.Equal(t, "root", r.NameOf(context.Background(), 0))
	_, err = r.Lookup(context.Background(), "-x")
	assert.ErrorIs(t, err, ErrNotFound, "a name like an option stays a name")
	gids, err := r.Groups(context.Background(), u)
	require.NoError(t, err)
	assert.Equal(t, u.GID, gids[0])
}

func TestSelf(t *testing.T) {
	p, err := Self()
	require.NoError(t, err)
	assert.EqualValues(t, os.Geteuid(), p.UID)
	assert.Contains(t, p.Groups, p.GID)
}

func BenchmarkLookupCached(b *testing.B) {
	r := NewResolver(Options{})
	r.keepUser(User{Name: "ana", UID: 5001})
	for b.Loop() {
		_ = r.NameOf(context.Background(), 5001)
	}
}

func BenchmarkGetent(b *testing.B) {
	r := NewResolver(Options{})
	for b.Loop() {
		r.Forget()
		_ = r.NameOf(context.Background(), 0)
	}
}
