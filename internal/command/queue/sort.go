package queue

import (
	"cmp"
	"strings"

	"muster/internal/model"
)

// The orders of squeue, squeue --start and squeue --steps.
const (
	DefaultSort = "P,t,-p"
	StartSort   = "S"
	StepsSort   = "P,i"
)

// byCluster is the one key that is a word; there is one cluster, so it orders nothing.
const byCluster = "cluster"

// key is what a row is ordered by: by the number, then by the text.
type key struct {
	num  int64
	text string
}

// sortKey is one letter of an order.
type sortKey struct {
	value      func(*Row) key
	descending bool
	missing    missing
}

// missing says where rows stand that have no value for a key. Slurm calls two of
// them unequal, by which they end up in the reverse of the order they had.
type missing uint8

const (
	missingCompares missing = iota // as any other value
	missingLast                    // last, ascending or descending: starts
	missingAfter                   // after the others, before them if descending: nodes
)

// Order is a sort specification that was read.
type Order struct {
	keys        []sortKey
	steps       bool
	Spec, State []uint32
	// Complaint is about a letter that was once a key and is left out.
	Complaint string
}

// SortError names the letter that is none.
type SortError struct{ Letter byte }

func (e *SortError) Error() string { return "Invalid sort specification: " + string(rune(e.Letter)) }

// obsolete is the letter of a key that Slurm dropped and still warns of.
const obsolete = 'b'

// ParseSort reads "P,t,-p": letters of the format of jobs, with + or - before them.
func ParseSort(text string) (*Order, error) { return parseSort(text, false) }

// ParseStepSort reads the order of steps; letters that order nothing are no error there.
func ParseStepSort(text string) (*Order, error) { return parseSort(text, true) }

func parseSort(text string, steps bool) (*Order, error) {
	o := &Order{steps: steps}
	text = withoutCluster(text)
	// From the last, as Slurm does, which decides what an error names.
	for i := len(text) - 1; i >= 0; i-- {
		c := text[i]
		switch c {
		case ',', '+', '-':
			continue
		case obsolete:
			o.Complaint = (&SortError{c}).Error()
			continue
		}
		k, f := jobKey(c), byLetter(c)
		if steps {
			k, f = stepKey(c), stepColumns.letter(c)
		}
		switch {
		case k == nil && steps:
			continue
		case k == nil:
			return nil, &SortError{c}
		}
		if f != nil {
			o.Spec, o.State = merge(o.Spec, f.spec), merge(o.State, f.state)
		}
		k.descending = i > 0 && text[i-1] == '-'
		o.keys = append([]sortKey{*k}, o.keys...)
	}
	return o, nil
}

func withoutCluster(text string) string {
	words := strings.Split(text, ",")
	kept := words[:0]
	for _, w := range words {
		if strings.TrimLeft(w, "+-") != byCluster {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, ",")
}

// jobKey is the key that a letter stands for, nil for none.
func jobKey(c byte) *sortKey {
	if num := jobNumber(c); num != nil {
		return &sortKey{value: func(r *Row) key { return key{num: num(r)} }}
	}
	switch c {
	case 'S':
		return &sortKey{value: func(r *Row) key { return key{num: r.start()} }, missing: missingLast}
	case 'N':
		return &sortKey{value: textOf(firstNode), missing: missingAfter}
	case 'z':
		return &sortKey{value: func(r *Row) key {
			s := r.Spec
			return key{num: int64(orMost(s.SocketsPerNode))<<32 | int64(orMost(s.CoresPerSocket))<<16 | int64(orMost(s.ThreadsPerCore))}
		}}
	case 't', 'T':
		return &sortKey{value: func(r *Row) key { return key{text: model.StateWord(r.State.State, r.State.Flags).Long} }}
	case 'P':
		return &sortKey{value: func(r *Row) key { return key{text: r.words.keepString(r.partition())} }}
	case 'B', 'f', 'g', 'h', 'j', 'n', 'u', 'v':
		return &sortKey{value: textOf(byLetter(c).cell)}
	}
	return nil
}

// jobNumber is what the letters of numbers are ordered by.
func jobNumber(c byte) func(*Row) int64 {
	switch c {
	case 'i':
		return func(r *Row) int64 { return int64(arrayOrJob(r))<<32 | int64(taskRank(r)) }
	case 'p', 'Q':
		return func(r *Row) int64 { return int64(r.tier())<<32 | int64(r.State.Priority) }
	case 'C':
		return func(r *Row) int64 { return int64(r.State.NumCpus) }
	case 'D':
		return func(r *Row) int64 { return int64(r.State.NumNodes) }
	case 'c':
		return func(r *Row) int64 { return int64(MinCPUs(r.Spec)) }
	case 'd':
		return func(r *Row) int64 { return int64(r.Spec.TmpDisk) }
	case 'm':
		return func(r *Row) int64 { return int64(r.Spec.Mem) }
	case 'G':
		return func(r *Row) int64 { return int64(r.Spec.Gid) }
	case 'U':
		return func(r *Row) int64 { return int64(r.Spec.Uid) }
	case 'H':
		return func(r *Row) int64 { return int64(orMost(r.Spec.SocketsPerNode)) }
	case 'I':
		return func(r *Row) int64 { return int64(orMost(r.Spec.CoresPerSocket)) }
	case 'J':
		return func(r *Row) int64 { return int64(orMost(r.Spec.ThreadsPerCore)) }
	case 'O':
		return func(r *Row) int64 { return int64(len(cellContiguous(nil, r))) }
	case 'l':
		return func(r *Row) int64 { return int64(r.limit()) }
	case 'L':
		return func(r *Row) int64 { return int64(r.limit())*60 - Used(r.State, r.Now.Unix()) }
	case 'M':
		return func(r *Row) int64 { return Used(r.State, r.Now.Unix()) }
	case 'V':
		return func(r *Row) int64 { return r.State.Submit }
	case 'e':
		return func(r *Row) int64 { return r.State.End }
	}
	return nil
}

// stepKey is the key of steps that a letter stands for, nil for none.
func stepKey(c byte) *sortKey {
	switch c {
	case 'i':
		return &sortKey{value: func(r *Row) key {
			return key{num: int64(r.State.JobId)<<32 | int64(uint32(r.Step.Step))}
		}}
	case 'U':
		return &sortKey{value: func(r *Row) key { return key{num: int64(r.Spec.Uid)} }}
	case 'S':
		return &sortKey{value: func(r *Row) key { return key{num: r.Step.Start} }}
	case 'M':
		return &sortKey{value: func(r *Row) key { return key{num: int64(r.stepTime())} }}
	case 'P':
		return &sortKey{value: func(r *Row) key { return key{text: r.words.keepString(r.partition())} }}
	case 'u':
		return &sortKey{value: textOf(cellUser)}
	case 'N':
		return &sortKey{value: textOf(firstStepNode)}
	}
	return nil
}

func textOf(cell func([]byte, *Row) []byte) func(*Row) key {
	var b []byte
	return func(r *Row) key {
		b = cell(b[:0], r)
		return key{text: r.words.keep(b)}
	}
}

// firstNode is what lists of nodes are ordered by.
func firstNode(b []byte, r *Row) []byte {
	if names := NodeNames(r.State); len(names) > 0 {
		return counted(b, names[0])
	}
	return b
}

func firstStepNode(b []byte, r *Row) []byte {
	if len(r.Step.Alloc) > 0 {
		return counted(b, r.Step.Alloc[0].Node)
	}
	return b
}

// counted writes a node's name so that node2 stands before node10.
func counted(b []byte, name string) []byte {
	const digits = "0000000000"
	prefix := strings.TrimRight(name, "0123456789")
	number := name[len(prefix):]
	b = append(b, prefix...)
	b = append(b, digits[:max(len(digits)-len(number), 0)]...)
	return append(b, number...)
}

// orMost counts "not given" as more than any number.
func orMost(n uint32) uint32 {
	if n == 0 {
		return 1<<16 - 1
	}
	return n
}

func arrayOrJob(r *Row) uint32 {
	if r.State.ArrayJobId != 0 {
		return r.State.ArrayJobId
	}
	return r.State.JobId
}

// taskRank orders the tasks of an array by their numbers, what is left of it last.
func taskRank(r *Row) uint32 {
	if r.State.ArrayJobId == 0 || r.State.IsArrayTask {
		return r.State.ArrayTaskId
	}
	return ^uint32(0)
}

// place is where a row stands before it is ordered by keys.
type place struct {
	start     int64 // 0 = none known, and of all steps
	id, task  uint32
	step      uint32
	partition uint32 // of those that a job was given, the number
}

func placeOf(r *Row, partition int) place {
	p := place{id: arrayOrJob(r), task: taskRank(r), partition: uint32(partition)}
	if r.Step == nil {
		p.start = r.start()
		return p
	}
	if r.Step.Step >= 0 { // the batch script's step is made before those of srun
		p.step = uint32(r.Step.Step) + 1
	}
	return p
}

// made orders by when jobs, tasks and steps came to be.
func (p *place) made(q *place) int {
	switch {
	case p.id != q.id:
		return cmp.Compare(p.id, q.id)
	case p.task != q.task:
		return cmp.Compare(p.task, q.task)
	case p.step != q.step:
		return cmp.Compare(p.step, q.step)
	}
	return cmp.Compare(p.partition, q.partition)
}

// natural is the order of jobs where the keys leave it open: the latest start
// first, then those without a start, the newest first.
func (p *place) natural(q *place) int {
	switch {
	case p.start != q.start:
		return cmp.Compare(q.start, p.start)
	case p.start == 0:
		return q.made(p)
	}
	return p.made(q)
}

// compare orders two rows by their keys from the first on.
func (o *Order) compare(a, b []key, p, q *place) int {
	for i := range o.keys {
		k := &o.keys[i]
		c := cmp.Compare(a[i].num, b[i].num)
		if c == 0 {
			c = strings.Compare(a[i].text, b[i].text)
		}
		if k.missing != missingCompares {
			none := key{}
			switch {
			case a[i] == none && b[i] == none:
				if k.missing == missingLast || !k.descending {
					rest := Order{keys: o.keys[i+1:], steps: o.steps}
					return -rest.compare(a[i+1:], b[i+1:], p, q)
				}
			case a[i] == none || b[i] == none:
				c = -c // a missing value compares as the least
				if k.missing == missingLast && k.descending {
					return c
				}
			}
		}
		if k.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	if o.steps {
		return p.made(q)
	}
	return p.natural(q)
}
