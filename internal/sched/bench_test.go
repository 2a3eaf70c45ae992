package sched_test

import (
	"fmt"
	"testing"

	"muster/internal/sched"
	"muster/internal/wire"
)

// BenchmarkRun is a pass over 10,000 jobs of one shape on 1,000 nodes that can
// hold 8,000 of them, and over 100,000 on full ones.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		jobs, free int
	}{{10_000, 8}, {100_000, 0}} {
		b.Run(fmt.Sprintf("jobs=%d/free=%d", c.jobs, c.free), func(b *testing.B) {
			s := benchSnapshot(c.jobs, c.free)
			b.ReportAllocs()
			for b.Loop() {
				plan := sched.Run(s)
				if len(plan.Starts) != min(c.jobs, 1000*c.free) {
					b.Fatalf("%d starts", len(plan.Starts))
				}
			}
		})
	}
}

func benchSnapshot(jobs, free int) *sched.Snapshot {
	s := &sched.Snapshot{}
	s.Opts.SelectCores, s.Opts.SelectMemory = true, true
	part := sched.Partition{Name: "p", Up: true, Info: &wire.PartitionInfo{Name: "p", MaxNodes: 0xffffffff}}
	for i := range 1000 {
		n := sched.Node{Name: fmt.Sprintf("n%d", i), Usable: true, Sockets: 1, CoresPerSocket: 8, ThreadsPerCore: 1, Memory: 16000}
		n.Held = sched.NewCores(8)
		for c := range 8 - free {
			n.Held.Add(c)
		}
		s.Nodes = append(s.Nodes, n)
		part.Nodes = append(part.Nodes, i)
	}
	s.Parts = []sched.Partition{part}
	for i := range jobs {
		s.Jobs = append(s.Jobs, sched.Job{Key: int64(i + 1), JobID: uint32(i + 1), Priority: 1, Submit: int64(i), Tasks: 1, Partitions: []int{0},
			Spec: &wire.JobSpec{NumTasks: 1, MemKind: wire.MemKind_MEM_PER_NODE, Mem: 100}})
	}
	return s
}
