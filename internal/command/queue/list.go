package queue

import (
	"io"
	"slices"

	"muster/internal/model"
	"muster/internal/wire"
)

// List takes rows as they come and prints their lines in order. It keeps of a
// row its line and what it is ordered by, so that the messages that rows are made
// of need not stay in memory.
type List struct {
	table *Table
	order *Order
	each  bool // the unstarted tasks of an array one by one
	lines []line
	keys  []key // of all lines, one after the other
	text  [][]byte
	row   []byte
}

// line is a line of the output, or the lines of the tasks of one array.
type line struct {
	at          place
	number      uint32 // its keys are those from number*len(order.keys) on
	chunk       uint32
	from, until uint32
}

const chunkBytes = 256 << 10

// NewList makes an empty list.
func NewList(t *Table, o *Order, each bool) *List { return &List{table: t, order: o, each: each} }

// Add takes a row; partition is its number among the rows of one job.
func (l *List) Add(r *Row, partition int) {
	l.row = l.row[:0]
	if l.each && r.Step == nil && r.State.ArrayJobId != 0 && !r.State.IsArrayTask {
		l.appendTasks(r)
	} else {
		l.row = l.table.AppendRow(l.row, r)
	}
	n := line{at: placeOf(r, partition), number: uint32(len(l.lines))}
	for i := range l.order.keys {
		l.keys = append(l.keys, l.order.keys[i].value(r))
	}
	n.chunk, n.from, n.until = l.keep()
	l.lines = append(l.lines, n)
}

// keep copies the current row's text to where it stays.
func (l *List) keep() (chunk, from, until uint32) {
	last := len(l.text) - 1
	if last < 0 || len(l.text[last])+len(l.row) > cap(l.text[last]) {
		l.text = append(l.text, make([]byte, 0, max(chunkBytes, len(l.row))))
		last++
	}
	start := len(l.text[last])
	l.text[last] = append(l.text[last], l.row...)
	return uint32(last), uint32(start), uint32(len(l.text[last]))
}

// appendTasks writes a line for each task. They share all but their number.
func (l *List) appendTasks(r *Row) {
	set, _, err := model.ParseTasks(r.State.ArrayPending, ^uint32(0))
	if err != nil {
		l.row = l.table.AppendRow(l.row, r)
		return
	}
	s := r.State
	one := *r
	one.State = &wire.JobState{
		JobId: s.JobId, ArrayJobId: s.ArrayJobId, IsArrayTask: true,
		State: s.State, Flags: s.Flags, Submit: s.Submit, Eligible: s.Eligible, Accrue: s.Accrue,
		Start: s.Start, End: s.End, TimeLimit: s.TimeLimit, Priority: s.Priority,
		Reason: s.Reason, ReasonText: s.ReasonText, ExitStatus: s.ExitStatus,
		Partition: s.Partition, Dependency: s.Dependency, NumCpus: s.NumCpus, NumNodes: s.NumNodes,
		TresReq: s.TresReq, LastSchedEval: s.LastSchedEval, Restarts: s.Restarts,
	}
	set.Each(func(t uint32) bool {
		one.State.ArrayTaskId = t
		l.row = l.table.AppendRow(l.row, &one)
		return true
	})
}

// Sort puts the lines in order.
func (l *List) Sort() {
	width := len(l.order.keys)
	keys := func(n uint32) []key { return l.keys[int(n)*width : int(n+1)*width] }
	// The places tell all rows apart, so no stable sort is needed.
	slices.SortFunc(l.lines, func(a, b line) int {
		return l.order.compare(keys(a.number), keys(b.number), &a.at, &b.at)
	})
}

// Write prints the lines.
func (l *List) Write(w io.Writer) error {
	b := make([]byte, 0, 64<<10)
	for i := range l.lines {
		n := &l.lines[i]
		b = append(b, l.text[n.chunk][n.from:n.until]...)
		if len(b) > 60<<10 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(b)
	return err
}

// words keeps one copy of texts that many rows have.
type words map[string]string

// mostWords bounds the table: texts that all differ gain nothing from it.
const mostWords = 1024

func (w words) keep(b []byte) string {
	if s, ok := w[string(b)]; ok {
		return s
	}
	return w.keepString(string(b))
}

func (w words) keepString(s string) string {
	if kept, ok := w[s]; ok {
		return kept
	}
	if w != nil && len(w) < mostWords {
		w[s] = s
	}
	return s
}
