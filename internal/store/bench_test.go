package store_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/store/storetest"
	"muster/internal/wire"
)

// BenchmarkJobLives takes jobs through their lives: submitted, started,
// acknowledged, running, ended with a record, purged. One operation is a job;
// transitions/s counts what each of its commits writes.
func BenchmarkJobLives(b *testing.B) {
	for _, size := range []int{1, 20, 100, 500} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { benchLives(b, size) })
	}
}

func benchLives(b *testing.B, size int) {
	s := lead(b, storetest.Database(b), "bench")
	number, rows := next(b, s), 0
	put := func(batch *model.Batch) {
		batch.Number = number
		commit(b, s, batch)
		number++
		rows += batch.Rows()
	}
	key := int64(0)
	b.ResetTimer()
	for done := 0; done < b.N; done += size {
		jobs := make([]model.JobPut, min(size, b.N-done))
		submit := &model.Batch{}
		for i := range jobs {
			key++
			jobs[i] = storetest.Job(key)
			jobs[i].Spec.SubmitLine, jobs[i].Spec.WorkDir = "sbatch --wrap true", "/home/user"
			submit.Jobs = append(submit.Jobs, jobs[i])
			submit.Requests = append(submit.Requests, model.RequestResult{ID: fmt.Sprintf("%016x", key), UID: 1000, At: storetest.Now, Reply: []byte("reply")})
		}
		submit.Counters = model.Counters{NextKey: key + 1, NextJobID: uint32(key + 1)}
		put(submit)
		for _, stage := range []wire.RunStage{wire.RunStage_STAGE_NONE, wire.RunStage_STAGE_ACCEPTED, wire.RunStage_STAGE_RUNNING} {
			batch := &model.Batch{}
			for i := range jobs {
				state := storetest.Running(jobs[i])
				state.Alloc[0].Stage = stage
				batch.Jobs = append(batch.Jobs, model.JobPut{State: state})
			}
			put(batch)
		}
		end := &model.Batch{}
		for i := range jobs {
			run := storetest.Ended(jobs[i])
			end.Jobs = append(end.Jobs, model.JobPut{State: proto.Clone(run.State).(*wire.JobState)})
			end.Runs = append(end.Runs, run)
		}
		put(end)
		purge := &model.Batch{}
		for i := range jobs {
			purge.Purged = append(purge.Purged, jobs[i].State.Key)
		}
		put(purge)
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(rows)/seconds, "rows/s")
	b.ReportMetric(6*float64(b.N)/seconds, "transitions/s")
}

// BenchmarkLoad loads 100,000 pending jobs.
func BenchmarkLoad(b *testing.B) {
	s := lead(b, storetest.Database(b), "bench")
	number := next(b, s)
	for key := int64(0); key < 100_000; {
		batch := &model.Batch{Number: number}
		for range 1000 {
			key++
			batch.Jobs = append(batch.Jobs, storetest.Job(key))
		}
		commit(b, s, batch)
		number++
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := s.Load(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
