package store

import (
	"fmt"

	"muster/internal/model"
	"muster/internal/wire"
)

// bordering is how near to a month's border an end must be for a corrected one
// to be looked for on the other side.
const bordering = 3 * 24 * 3600

var runTypes = []uint32{
	int4s, int8s, int8s, int8s, int8s, int8s, int8s, int8s, int2s, int8s, int8s, int8s, int8s, int8s, int8s,
	byteas, byteas, byteas, byteas, byteas, byteas, byteas, byteas,
}

func (r *rows) runs(b *model.Batch) error {
	type attempt struct {
		key     model.JobKey
		attempt uint32
	}
	id := func(run *wire.RunRecord) attempt {
		return attempt{run.GetState().GetKey(), run.GetState().GetAttempt()}
	}
	put, move := newTable("run_put", runTypes...), newTable("run_move", int8s, int8s, int4s)
	newest := last(b.Runs, id)
	for i, run := range b.Runs {
		if newest[id(run)] != i {
			continue
		}
		if run.GetState() == nil {
			return errNoState
		}
		if err := r.run(&put, run); err != nil {
			return fmt.Errorf("attempt %d of job key %d: %w", run.State.GetAttempt(), run.State.GetKey(), err)
		}
		for _, month := range otherMonths(run.State.GetEnd()) {
			move.rows++
			move.columns[0].int8(run.State.GetKey())
			move.columns[1].int8(int64(run.State.GetAttempt()))
			move.columns[2].int4(int32(month))
		}
	}
	r.add(move, put)
	return nil
}

func (r *rows) run(t *table, run *wire.RunRecord) error {
	s, spec := run.GetState(), run.GetSpec()
	month := monthOf(s.GetEnd())
	if s.GetEnd() > 0 {
		r.months[month] = true
		r.seen(s.GetEnd())
	}
	task := int64(-1)
	if s.GetIsArrayTask() {
		task = int64(s.GetArrayTaskId())
	}
	since := s.GetEligible()
	if since == 0 {
		since = s.GetSubmit()
	}
	partition := s.GetPartition()
	if partition == "" {
		partition = spec.GetPartition()
	}
	t.rows++
	c := t.columns
	c[0].int4(int32(month))
	c[8].int2(int16(s.GetState()))
	for i, v := range []int64{s.GetKey(), int64(s.GetAttempt()), int64(s.GetJobId()), int64(s.GetArrayJobId()), task,
		int64(spec.GetUid()), int64(spec.GetGid())} {
		c[1+i].int8(v)
	}
	for i, v := range []int64{int64(s.GetFlags()), since, s.GetEnd(), int64(s.GetNumCpus()), int64(s.GetNumNodes()),
		int64(s.GetTimeLimit())} {
		c[9+i].int8(v)
	}
	for i, v := range []string{spec.GetName(), spec.GetAccount(), partition, spec.GetQos(), spec.GetWckey(),
		s.GetReason(), nodeList(s.GetAlloc())} {
		c[15+i].text(v)
	}
	return c[22].message(run)
}

// otherMonths are those in which an earlier row of a run that ends near a
// month's border may lie.
func otherMonths(end int64) []int {
	if end <= 0 {
		return nil
	}
	month := monthOf(end)
	switch {
	case end-firstOf(month) < bordering:
		return []int{month - 1}
	case firstOf(month+1)-end < bordering:
		return []int{month + 1}
	}
	return nil
}
