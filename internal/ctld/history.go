package ctld

import (
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/store"
	"muster/internal/wire"
)

// historyQuery puts sacct's request in the store's terms.
func historyQuery(r *wire.HistoryRequest) store.HistoryQuery {
	q := store.HistoryQuery{
		UIDs: r.Uids, GIDs: r.Gids, Names: r.Names, Accounts: r.Accounts, Partitions: r.Partitions,
		QOS: r.Qos, WCKeys: r.Wckeys, Reasons: r.Reasons, Duplicates: r.Duplicates,
		CPUs:      store.Range{Min: r.MinCpus, Max: r.MaxCpus},
		NumNodes:  store.Range{Min: r.MinNodes, Max: r.MaxNodes},
		TimeLimit: store.Range{Min: r.MinLimit, Max: r.MaxLimit},
	}
	for _, list := range r.Nodes {
		names, err := hostlist.Expand(list)
		if err != nil {
			names = []string{list} // matches nothing
		}
		q.Nodes = append(q.Nodes, names...)
	}
	if r.StartSet {
		q.From = r.Start
	}
	if r.EndSet {
		q.To = r.End
	}
	queryJobs(&q, r.Jobs)
	queryStates(&q, r.States)
	return q
}

func queryJobs(q *store.HistoryQuery, refs []*wire.JobRef) {
	for _, ref := range refs {
		if ref.Tasks == "" {
			q.JobIDs = append(q.JobIDs, ref.JobId)
			continue
		}
		set, _, err := model.ParseTasks(ref.Tasks, maxTask)
		if err != nil {
			continue // the client has checked it
		}
		set.Each(func(t uint32) bool {
			q.ArrayTasks = append(q.ArrayTasks, store.ArrayTask{ArrayJobID: ref.JobId, Task: t})
			return true
		})
	}
}

// queryStates asks for states. Jobs that are wanted by the way in which they
// ended count when they ended within the window (sacct(1), --state).
func queryStates(q *store.HistoryQuery, words []string) {
	ended := len(words) > 0
	for _, w := range words {
		if s, ok := model.BaseStateOf(w); ok && !model.Ended(s) {
			return // of how a run ended nothing follows; the API looks at its times
		}
	}
	for _, w := range words {
		if s, ok := model.BaseStateOf(w); ok {
			q.States = append(q.States, s)
			ended = ended && model.Ended(s)
			continue
		}
		if f, ok := model.FlagOf(w); ok {
			q.Flags |= uint32(f)
			ended = false
		}
	}
	q.EndedWithin = ended
}

// maxTask bounds the array tasks that a reference may name; Slurm's own bound
// of MaxArraySize.
const maxTask = 4000001
