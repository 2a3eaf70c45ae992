package store

import (
	"fmt"

	"muster/internal/model"
	"muster/internal/wire"
)

// contentID names a row of content.
type contentID struct {
	uid  uint32
	hash string
}

// jobs writes states; requests only where the batch brings them.
func (r *rows) jobs(b *model.Batch, purged map[model.JobKey]bool) error {
	specs := map[model.JobKey]*wire.JobSpec{}
	for _, p := range b.Jobs {
		if p.State == nil {
			return errNoState
		}
		if p.Spec != nil && !purged[p.State.GetKey()] {
			specs[p.State.GetKey()] = p.Spec
		}
	}
	fresh := newTable("job_new", jobTypes...)
	known := newTable("job_change", jobTypes...)
	newest := last(b.Jobs, func(p model.JobPut) model.JobKey { return p.State.GetKey() })
	for i, p := range b.Jobs {
		key := p.State.GetKey()
		if newest[key] != i || purged[key] {
			continue
		}
		t := &known
		if specs[key] != nil {
			t = &fresh
		}
		if err := r.job(t, p.State); err != nil {
			return fmt.Errorf("job key %d: %w", key, err)
		}
	}
	touch, request, err := jobRequests(specs)
	if err != nil {
		return err
	}
	r.add(touch, fresh, request, known)
	return nil
}

var jobTypes = []uint32{int8s, int8s, int2s, int8s, int8s, int8s, int8s, byteas}

func (r *rows) job(t *table, s *wire.JobState) error {
	t.rows++
	c := t.columns
	c[0].int8(s.GetKey())
	c[1].int8(int64(s.GetJobId()))
	c[2].int2(int16(s.GetState()))
	c[3].int8(int64(s.GetFlags()))
	c[4].int8(int64(s.GetAttempt()))
	c[5].int8(s.GetStart())
	c[6].int8(s.GetEnd())
	r.seen(s.GetSubmit())
	switch s.GetState() {
	case wire.BaseState_RUNNING, wire.BaseState_SUSPENDED:
		r.seen(s.GetStart()) // the end is only expected
	case wire.BaseState_PENDING:
	default:
		r.seen(s.GetEnd())
	}
	return c[7].message(s)
}

// jobRequests writes the requests, and makes sure of the contents they name.
func jobRequests(specs map[model.JobKey]*wire.JobSpec) (touch, request table, err error) {
	touch = newTable("content_touch", int8s, byteas)
	request = newTable("job_request_put", int8s, int8s, byteas, byteas, byteas)
	touched := map[contentID]bool{}
	for key, spec := range specs {
		request.rows++
		request.columns[0].int8(key)
		request.columns[1].int8(int64(spec.GetUid()))
		for i, ref := range []*wire.ContentRef{spec.GetScript(), spec.GetEnvironment()} {
			hash := ref.GetHash()
			if len(hash) == 0 {
				request.columns[2+i].null()
				continue
			}
			request.columns[2+i].bytes(hash)
			id := contentID{spec.GetUid(), string(hash)}
			if !touched[id] {
				touched[id] = true
				touch.rows++
				touch.columns[0].int8(int64(id.uid))
				touch.columns[1].bytes(hash)
			}
		}
		if err := request.columns[4].message(spec); err != nil {
			return touch, request, fmt.Errorf("request of job key %d: %w", key, err)
		}
	}
	return touch, request, nil
}
