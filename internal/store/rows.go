package store

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"muster/internal/model"
	"muster/internal/wire"
)

// rows is a batch as it goes to the server: later entries have replaced
// earlier ones, and what leaves in the batch is not written first.
type rows struct {
	number     uint64
	newest     int64 // latest point in time that the batch knows of
	counters   model.Counters
	statements []statement
	months     map[int]bool // of its runs
}

// encode turns a batch into statements. The order matters: what leaves goes
// first, so that a job id may be given again in the same batch; contents come
// before the requests that name them.
func encode(b *model.Batch) (*rows, error) {
	r := &rows{number: b.Number, counters: b.Counters, months: map[int]bool{}}
	purged := set(b.Purged)
	for _, add := range []func() error{
		func() error { return r.purge(b) },
		func() error { return r.stepsGone(b) },
		func() error { return r.contents(b) },
		func() error { return r.jobs(b, purged) },
		func() error { return r.steps(b, purged) },
		func() error { return r.nodes(b) },
		func() error { return r.partitions(b) },
		func() error { return r.runs(b) },
		func() error { return r.requests(b) },
	} {
		if err := add(); err != nil {
			return nil, fmt.Errorf("batch %d: %w", b.Number, err)
		}
	}
	return r, nil
}

func (r *rows) add(tables ...table) {
	for i := range tables {
		if tables[i].rows > 0 {
			r.statements = append(r.statements, tables[i].statement())
		}
	}
}

func (r *rows) seen(at int64) { r.newest = max(r.newest, at) }

func set[K comparable](keys []K) map[K]bool {
	if len(keys) == 0 {
		return nil
	}
	m := make(map[K]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}

// last gives the index of each key's last entry.
func last[K comparable, E any](entries []E, key func(E) K) map[K]int {
	m := make(map[K]int, len(entries))
	for i, e := range entries {
		m[key(e)] = i
	}
	return m
}

func (r *rows) purge(b *model.Batch) error {
	t := newTable("job_purge", int8s)
	for key := range set(b.Purged) {
		t.rows++
		t.columns[0].int8(key)
	}
	r.add(t)
	return nil
}

func (r *rows) stepsGone(b *model.Batch) error {
	t := newTable("step_gone", int8s, int8s, int4s)
	for ref := range set(b.StepsGone) {
		t.rows++
		t.columns[0].int8(ref.Key)
		t.columns[1].int8(int64(ref.Attempt))
		t.columns[2].int4(ref.Step)
	}
	r.add(t)
	return nil
}

func (r *rows) contents(b *model.Batch) error {
	type id struct {
		uid  uint32
		hash [32]byte
	}
	t := newTable("content_put", int8s, byteas, byteas)
	newest := last(b.Contents, func(c model.Content) id { return id{c.UID, c.Hash} })
	for i, c := range b.Contents {
		if newest[id{c.UID, c.Hash}] != i {
			continue
		}
		t.rows++
		t.columns[0].int8(int64(c.UID))
		t.columns[1].bytes(c.Hash[:])
		t.columns[2].bytes(c.Data)
	}
	r.add(t)
	return nil
}

func (r *rows) steps(b *model.Batch, purged map[model.JobKey]bool) error {
	ref := func(s *wire.StepState) model.StepRef {
		return model.StepRef{Key: s.GetJobKey(), Attempt: s.GetAttempt(), Step: s.GetStep()}
	}
	t := newTable("step_put", int8s, int8s, int4s, int2s, byteas)
	newest, gone := last(b.Steps, ref), set(b.StepsGone)
	for i, s := range b.Steps {
		if newest[ref(s)] != i || gone[ref(s)] || purged[s.GetJobKey()] {
			continue
		}
		t.rows++
		t.columns[0].int8(s.GetJobKey())
		t.columns[1].int8(int64(s.GetAttempt()))
		t.columns[2].int4(s.GetStep())
		t.columns[3].int2(int16(s.GetState()))
		if err := t.columns[4].message(s); err != nil {
			return fmt.Errorf("step %d of job key %d: %w", s.GetStep(), s.GetJobKey(), err)
		}
	}
	r.add(t)
	return nil
}

func (r *rows) nodes(b *model.Batch) error {
	t, g := newTable("node_put", byteas, int2s, int8s, byteas), newTable("node_gone", byteas)
	newest, gone := last(b.Nodes, (*wire.NodeState).GetName), set(b.NodesGone)
	for i, n := range b.Nodes {
		if newest[n.GetName()] != i || gone[n.GetName()] {
			continue
		}
		t.rows++
		t.columns[0].text(n.GetName())
		t.columns[1].int2(int16(n.GetBase()))
		t.columns[2].int8(int64(n.GetFlags()))
		if err := t.columns[3].message(n); err != nil {
			return fmt.Errorf("node %s: %w", n.GetName(), err)
		}
	}
	for name := range gone {
		g.rows++
		g.columns[0].text(name)
	}
	r.add(t, g)
	return nil
}

func (r *rows) partitions(b *model.Batch) error {
	t, g := newTable("partition_put", byteas, byteas), newTable("partition_gone", byteas)
	newest, gone := last(b.Partitions, (*wire.PartitionState).GetName), set(b.PartsGone)
	for i, p := range b.Partitions {
		if newest[p.GetName()] != i || gone[p.GetName()] {
			continue
		}
		t.rows++
		t.columns[0].text(p.GetName())
		if err := t.columns[1].message(p); err != nil {
			return fmt.Errorf("partition %s: %w", p.GetName(), err)
		}
	}
	for name := range gone {
		g.rows++
		g.columns[0].text(name)
	}
	r.add(t, g)
	return nil
}

func (r *rows) requests(b *model.Batch) error {
	type id struct {
		id  string
		uid uint32
	}
	t := newTable("request_put", byteas, int8s, int8s, byteas)
	newest := last(b.Requests, func(q model.RequestResult) id { return id{q.ID, q.UID} })
	for i, q := range b.Requests {
		if newest[id{q.ID, q.UID}] != i {
			continue
		}
		t.rows++
		t.columns[0].text(q.ID)
		t.columns[1].int8(int64(q.UID))
		t.columns[2].int8(q.At)
		t.columns[3].bytes(q.Reply)
		r.seen(q.At)
	}
	r.add(t)
	return nil
}

// monthOf counts months since year 0, in UTC: what history is partitioned by.
func monthOf(unix int64) int {
	t := time.Unix(unix, 0).UTC()
	return 12*t.Year() + int(t.Month()) - 1
}

// firstOf is the first second of a month.
func firstOf(month int) int64 {
	return time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC).Unix()
}

var errNoState = errors.New("a job without its state")

// nodeList is how the history keeps the names of nodes.
func nodeList(alloc []*wire.NodeAlloc) string {
	if len(alloc) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte(0)
	for _, a := range alloc {
		b.WriteString(a.GetNode())
		b.WriteByte(0)
	}
	return b.String()
}
