package node

import (
	"testing"

	"muster/internal/node/cgroup"
	"muster/internal/node/journal"
	"muster/internal/wire"
)

var cgroupDefault = cgroup.Options{}

// BenchmarkJobs runs jobs of `exit 0`, 32 at a time, from launch to gone.
func BenchmarkJobs(b *testing.B) {
	for mode, options := range map[string][]option{"descendants": nil, "cgroups": {withLimits(b, cgroupDefault, nil)}} {
		b.Run(mode, func(b *testing.B) {
			n := startNode(b, openDir(b), options...)
			done := 0
			const parallel = 32
			gone := func() int {
				count := 0
				for _, f := range n.ledger.runs {
					if f.Stage == wire.RunStage_STAGE_GONE {
						count++
					}
				}
				return count
			}
			b.ResetTimer()
			for i := range b.N {
				order := n.order(int64(i+1), "#!/bin/sh\nexit 0\n")
				order.Spec.StdOut = "/dev/null"
				n.send(order)
				if i-done >= parallel {
					n.wait(b, "room", func() bool { done = gone(); return i-done < parallel })
				}
			}
			n.wait(b, "the end", func() bool { return gone() == b.N })
			b.StopTimer()
			for i := range b.N {
				n.forget(journal.ID{Key: int64(i + 1), Attempt: 1})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
