package controller

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/wire"
)

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemory: 100,000 separate jobs stay far below 1 GiB, an array of a
// million tasks below 10 MiB, and a batch of one job does not copy them all.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a long queue")
	}
	w := newWorld(t, bigSettings(10))
	before := heapInUse()
	for i := range 100000 {
		w.pump.Feed(&Submit{Head: Head{Actor: owner}, Spec: &wire.JobSpec{
			Name: fmt.Sprint("job", i), Uid: 1000, Batch: true, NumTasks: 1, TimeLimit: 60, WorkDir: fmt.Sprint("/home/u/", i),
			StdOut: "/home/u/slurm-%j.out", SubmitLine: fmt.Sprintf("sbatch -n1 -t60 job%d.sh", i),
		}}, w.now)
		if i%500 == 0 {
			w.flush()
			w.batch = nil
		}
	}
	w.flush()
	w.batch, w.reply = nil, nil
	w.reply = map[uint64]any{}
	used := heapInUse() - before
	t.Logf("100,000 jobs: %d MiB", used>>20)
	require.Less(t, used, uint64(512<<20))

	before = heapInUse()
	id := w.queued(func(s *wire.JobSpec) { s.Array = "0-999999" })
	w.batch = nil
	after := heapInUse()
	require.Equal(t, uint32(1000000), w.job(id).State.ArrayTaskCount)
	require.Less(t, int64(after)-int64(before), int64(10<<20))

	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	for range 100 {
		w.queued(nil)
	}
	runtime.ReadMemStats(&m1)
	require.Less(t, (m1.TotalAlloc-m0.TotalAlloc)/100, uint64(100<<10), "bytes a commit beside 100,000 jobs")
	runtime.KeepAlive(w)
}
