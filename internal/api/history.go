package api

import (
	"errors"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/wire"
)

// History streams what sacct shows: ended runs from the store and live ones
// from the view, in the order of their keys.
func (s *Server) History(r *wire.HistoryRequest, stream wire.DRPCCtld_HistoryStream) error {
	ctx := stream.Context()
	v, c := s.Core.View(), caller(ctx)
	p := &historyPages{stream: stream, cluster: s.ClusterName}
	live := s.liveRuns(v, r)
	out := func(run *wire.RunRecord) error {
		if !inStates(r, run.Spec, run.State) {
			return nil
		}
		if !s.rules().Policy.MaySeeJob(c, run.Spec.Uid, run.Spec.Account) {
			return nil
		}
		if r.AllocationsOnly {
			run = &wire.RunRecord{Spec: run.Spec, State: run.State}
		}
		return p.add(run)
	}
	err := s.Accounting.History(ctx, r, func(run *wire.RunRecord) error {
		for len(live) > 0 && live[0].State.Key < run.State.Key {
			if err := out(live[0]); err != nil {
				return err
			}
			live = live[1:]
		}
		if j, ok := v.Job(run.State.Key); ok && !r.Duplicates && laterThan(j.State, run.State) {
			return nil // an earlier attempt of a job that runs or waits again
		}
		return out(run)
	})
	for _, run := range live {
		err = errors.Join(err, out(run))
	}
	if err != nil {
		return err
	}
	return p.flush(true)
}

// laterThan tells whether a live job has gone on since a run of it ended.
func laterThan(now, run *wire.JobState) bool {
	return !model.Ended(now.State) || now.Attempt > run.Attempt
}

// liveRuns lists the jobs that have no ended run to show: waiting and running
// ones, and those that are completing.
func (s *Server) liveRuns(v *controller.View, r *wire.HistoryRequest) []*wire.RunRecord {
	var out []*wire.RunRecord
	take := func(j *controller.JobView) {
		if recorded(j.State) || !wanted(r, j.Spec, j.State) {
			return
		}
		state := reasoned(j.State, v.Derived(j))
		if len(r.Reasons) > 0 && !slices.Contains(r.Reasons, state.Reason) {
			return
		}
		run := &wire.RunRecord{Spec: j.Spec, State: state, Steps: v.Steps(j.State.Key)}
		out = append(out, run)
	}
	if len(r.Jobs) == 0 {
		for _, j := range v.Jobs(0) {
			take(j)
		}
		return out
	}
	seen := map[int64]bool{}
	for _, ref := range r.Jobs {
		for _, j := range jobsOf(v, ref) {
			if !seen[j.State.Key] {
				seen[j.State.Key] = true
				take(j)
			}
		}
	}
	slices.SortFunc(out, func(a, b *wire.RunRecord) int { return int(a.State.Key - b.State.Key) })
	return out
}

// reasoned is a state with the reason that the last pass found for it.
func reasoned(st *wire.JobState, d *wire.Derived) *wire.JobState {
	if st.State != wire.BaseState_PENDING || d.GetReason() == "" || st.Reason != "" && st.Reason != model.ReasonNone {
		return st
	}
	st = proto.CloneOf(st)
	st.Reason = d.Reason
	return st
}

// recorded tells whether accounting has the job's present attempt already.
func recorded(st *wire.JobState) bool { return finished(st) }

// wanted applies sacct's filters to a live job. The store applies the same to
// what it holds.
func wanted(r *wire.HistoryRequest, spec *wire.JobSpec, st *wire.JobState) bool {
	anyOf := func(list []string, have string) bool { return len(list) == 0 || slices.Contains(list, have) }
	switch {
	case len(r.Uids) > 0 && !slices.Contains(r.Uids, spec.Uid),
		len(r.Gids) > 0 && !slices.Contains(r.Gids, spec.Gid),
		!anyOf(r.Accounts, spec.Account), !anyOf(r.Partitions, partitionOf(spec, st)),
		!anyOf(r.Names, spec.Name), !anyOf(r.Qos, qosOf(spec)), !anyOf(r.Wckeys, spec.Wckey),
		r.MinCpus > 0 && st.NumCpus < r.MinCpus, r.MaxCpus > 0 && st.NumCpus > r.MaxCpus,
		r.MinNodes > 0 && st.NumNodes < r.MinNodes, r.MaxNodes > 0 && st.NumNodes > r.MaxNodes,
		r.MinLimit > 0 && limitOf(spec, st) < r.MinLimit, r.MaxLimit > 0 && limitOf(spec, st) > r.MaxLimit:
		return false
	}
	if len(r.Nodes) > 0 && !slices.ContainsFunc(st.Alloc, func(a *wire.NodeAlloc) bool { return slices.Contains(r.Nodes, a.Node) }) {
		return false
	}
	// A live job is eligible from some time on and has not ended.
	return !r.EndSet || st.Submit <= r.End
}

// limitOf is a job's time limit; a job that waits and brought none has none yet.
func limitOf(spec *wire.JobSpec, st *wire.JobState) uint32 {
	if st.State == wire.BaseState_PENDING && spec.TimeLimit == 0 {
		return 0
	}
	return st.TimeLimit
}

// inStates tells whether a run was in one of the wanted states at some time of
// the window: it waited from when it was eligible until it started, it ran until
// it ended, and took its last state at its end.
func inStates(r *wire.HistoryRequest, spec *wire.JobSpec, st *wire.JobState) bool {
	if len(r.States) == 0 {
		return true
	}
	from, to := r.Start, r.End
	if to == 0 {
		to = math.MaxInt64
	}
	ended := model.Ended(st.State)
	started := st.Attempt != 0 && st.State != wire.BaseState_PENDING
	endedWithin := ended && st.End >= from && st.End <= to
	return slices.ContainsFunc(r.States, func(word string) bool {
		base, isBase := model.BaseStateOf(word)
		switch {
		case isBase && base == wire.BaseState_PENDING:
			eligible := model.Eligible(spec, st, to)
			return eligible != 0 && eligible <= to && (started && st.Start >= from || !started && (!ended || st.End >= from))
		case isBase && base == wire.BaseState_RUNNING:
			return started && st.Start <= to && (!ended || st.End >= from)
		}
		return model.HasState(st.State, st.Flags, word) && (!ended || endedWithin)
	})
}

// historyPages cuts records into messages.
type historyPages struct {
	stream  wire.DRPCCtld_HistoryStream
	page    []*wire.RunRecord
	size    int
	cluster string
	sent    bool
}

func (p *historyPages) add(run *wire.RunRecord) error {
	p.page = append(p.page, run)
	p.size += proto.Size(run)
	if p.size < pageBytes {
		return nil
	}
	return p.flush(false)
}

func (p *historyPages) flush(last bool) error {
	if len(p.page) == 0 && (!last || p.sent) {
		return nil
	}
	err := p.stream.Send(&wire.HistoryPage{Runs: p.page, Cluster: p.cluster})
	p.page, p.size, p.sent = nil, 0, true
	return err
}
