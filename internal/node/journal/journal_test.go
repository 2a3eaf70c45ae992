package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func reopen(t *testing.T, j *Journal, dir string) *Journal {
	t.Helper()
	if j != nil {
		require.NoError(t, j.Close())
	}
	j, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { j.Close() })
	return j
}

func TestRemembers(t *testing.T) {
	dir := t.TempDir()
	j := reopen(t, nil, dir)
	a, b := ID{1, 1}, ID{2, 3}
	require.NoError(t, j.Launch(a, []byte("order a")))
	require.NoError(t, j.Launch(b, []byte("order b")))
	require.NoError(t, j.State(b, []byte("ended")))
	require.NoError(t, j.SetMemory([]byte("cluster")))
	require.NoError(t, j.Forget(a))
	j = reopen(t, j, dir)
	assert.Equal(t, map[ID]Record{b: {Order: []byte("order b"), State: []byte("ended")}}, j.Runs())
	assert.Equal(t, "cluster", string(j.Memory()))
}

func TestSecondDaemonIsRefused(t *testing.T) {
	dir := t.TempDir()
	reopen(t, nil, dir)
	_, err := Open(dir)
	assert.ErrorContains(t, err, "in use by another noded")
}

func TestTornEnd(t *testing.T) {
	for cut := 1; cut < header+len("order b"); cut++ {
		dir := t.TempDir()
		j := reopen(t, nil, dir)
		require.NoError(t, j.Launch(ID{1, 1}, []byte("order a")))
		require.NoError(t, j.Launch(ID{2, 1}, []byte("order b")))
		require.NoError(t, os.Truncate(filepath.Join(dir, fileName), j.size-int64(cut)))
		j = reopen(t, j, dir)
		assert.Len(t, j.Runs(), 1)
		require.NoError(t, j.Launch(ID{3, 1}, []byte("order c")))
		j = reopen(t, j, dir)
		assert.Len(t, j.Runs(), 2, "what follows a torn entry is read")
	}
}

func TestConcurrentLaunches(t *testing.T) {
	dir := t.TempDir()
	j := reopen(t, nil, dir)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { assert.NoError(t, j.Launch(ID{int64(i), 1}, fmt.Appendf(nil, "order %d", i))) })
	}
	wg.Wait()
	j = reopen(t, j, dir)
	assert.Len(t, j.Runs(), 200)
}

func TestCompacts(t *testing.T) {
	dir := t.TempDir()
	j := reopen(t, nil, dir)
	require.NoError(t, j.Launch(ID{7, 7}, []byte("stays")))
	big := make([]byte, 1<<20)
	for i := range 20 {
		id := ID{int64(i), 1}
		require.NoError(t, j.Launch(id, big))
		require.NoError(t, j.Forget(id))
	}
	assert.Less(t, j.size, int64(10<<20))
	j = reopen(t, j, dir)
	assert.Equal(t, map[ID]Record{{7, 7}: {Order: []byte("stays")}}, j.Runs())
}

func BenchmarkLaunch(b *testing.B) {
	j, err := Open(b.TempDir())
	require.NoError(b, err)
	order := make([]byte, 4<<10)
	b.RunParallel(func(pb *testing.PB) {
		for i := int64(0); pb.Next(); i++ {
			if err := j.Launch(ID{i, 1}, order); err != nil {
				b.Fatal(err)
			}
		}
	})
}
