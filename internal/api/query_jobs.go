package api

import (
	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/wire"
)

// pageBytes is about how much of a list travels in one message.
const pageBytes = 256 << 10

// Jobs streams the jobs that are selected, in pages.
func (s *Server) Jobs(r *wire.JobsRequest, stream wire.DRPCCtld_JobsStream) error {
	v, c := s.Core.View(), caller(stream.Context())
	sel, err := newSelection(r.Select, v, s.hiddenFrom(stream.Context()))
	if err != nil {
		return stream.Send(&wire.JobsPage{Refusal: refusal(codeInvalidNode, err.Error())})
	}
	sel.fold = r.FoldTasks
	p := &jobPages{stream: stream, now: s.Clock().Unix()}
	m := newMask(r)
	hid, shown := false, false
	found := sel.jobs(v, func(j *controller.JobView) bool {
		if !s.rules().Policy.MaySeeJob(c, j.Spec.Uid, j.Spec.Account) {
			hid = true
			return true
		}
		shown = true
		info := p.next()
		s.fill(info, v, j, m, r)
		p.err = p.add(info)
		return p.err == nil
	})
	if p.err != nil {
		return p.err
	}
	if (!found || hid && !shown) && len(sel.sel.Jobs) == 1 {
		return stream.Send(&wire.JobsPage{Refusal: refusal(codeInvalidJob, textInvalidJob)})
	}
	return p.flush(true)
}

// fill puts all that is asked for of a job into info.
func (s *Server) fill(info *wire.JobInfo, v *controller.View, j *controller.JobView, m mask, r *wire.JobsRequest) {
	m.apply(info, j.Spec, j.State)
	info.Derived, info.Steps = nil, nil
	if j.State.State == wire.BaseState_PENDING {
		info.Derived = v.Derived(j)
	}
	if r.WithSteps {
		info.Steps = v.Steps(j.State.Key)
	}
}

// jobPages cuts a list of jobs into messages.
type jobPages struct {
	stream wire.DRPCCtld_JobsStream
	page   []*wire.JobInfo
	size   int
	now    int64
	err    error
	sent   bool
	spare  []*wire.JobInfo // of pages that are sent
}

// next is a record to fill. Once a page is sent, which encodes it, its records
// are used for the next: the messages are large, and a long list has many.
func (p *jobPages) next() *wire.JobInfo {
	if n := len(p.spare); n > 0 {
		info := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return info
	}
	return &wire.JobInfo{}
}

func (p *jobPages) add(j *wire.JobInfo) error {
	p.page = append(p.page, j)
	p.size += j.SizeVT()
	if p.size < pageBytes {
		return nil
	}
	return p.flush(false)
}

// flush sends what is there; the last page is sent even when it is empty and
// the only one, since it carries the time.
func (p *jobPages) flush(last bool) error {
	if len(p.page) == 0 && (!last || p.sent) {
		return nil
	}
	err := p.stream.Send(&wire.JobsPage{Jobs: p.page, Now: p.now})
	p.spare = append(p.spare, p.page...)
	p.page, p.size, p.sent = p.page[:0], 0, true
	return err
}

// jobsOf lists the jobs that a reference names.
func jobsOf(v *controller.View, ref *wire.JobRef) []*controller.JobView {
	var out []*controller.JobView
	for j := range v.Lookup(ref.JobId) {
		if model.Matches(ref, j.State) {
			out = append(out, j)
		}
	}
	return out
}
