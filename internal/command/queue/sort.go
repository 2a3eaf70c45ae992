package queue

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"muster/internal/model"
)

// DefaultSort and StartSort are the orders of squeue and squeue --start.
const (
	DefaultSort = "P,t,-p"
	StartSort   = "S"
)

// compare orders two rows; 0 leaves them as they stand.
type compare func(a, b *Row) int

// Order is a sort specification that was read.
type Order struct {
	keys        []compare
	Spec, State []uint32
}

// SortError names the letter that is none.
type SortError struct{ Letter byte }

func (e *SortError) Error() string { return "Invalid sort specification: " + string(rune(e.Letter)) }

// ParseSort reads "P,t,-p": letters of the format, with + or - before them.
func ParseSort(text string) (*Order, error) {
	o := &Order{}
	// From the last, as Slurm does, which decides what an error names.
	for i := len(text) - 1; i >= 0; i-- {
		c := text[i]
		if c == ',' || c == '+' || c == '-' {
			continue
		}
		key := comparison(c)
		if key == nil {
			return nil, &SortError{c}
		}
		if i > 0 && text[i-1] == '-' {
			key = reversed(c, key)
		}
		f := byLetter(c)
		o.Spec, o.State = merge(o.Spec, f.spec), merge(o.State, f.state)
		o.keys = append(o.keys, key)
	}
	slices.Reverse(o.keys)
	return o, nil
}

// reversed is the descending order; jobs without a start stay last.
func reversed(c byte, key compare) compare {
	if c == 'S' {
		return func(a, b *Row) int { return compareStart(a, b, true) }
	}
	return func(a, b *Row) int { return key(b, a) }
}

func comparison(c byte) compare {
	switch c {
	case 'i', 'K', 'F':
		return compareID
	case 'A':
		return by(func(r *Row) uint32 { return r.State.JobId })
	case 'P':
		return by(partition)
	case 't', 'T':
		return by(func(r *Row) string { return model.StateWord(r.State.State, r.State.Flags).Long })
	case 'p', 'Q':
		return by(func(r *Row) uint32 { return r.State.Priority })
	case 'S':
		return func(a, b *Row) int { return compareStart(a, b, false) }
	case 'C':
		return by(func(r *Row) uint32 { return r.State.NumCpus })
	case 'D':
		return by(func(r *Row) uint32 { return r.State.NumNodes })
	case 'c':
		return by(func(r *Row) uint32 { return MinCPUs(r.Spec) })
	case 'd':
		return by(func(r *Row) uint64 { return r.Spec.TmpDisk })
	case 'm':
		return by(func(r *Row) uint64 { return r.Spec.Mem })
	case 'G':
		return by(func(r *Row) uint32 { return r.Spec.Gid })
	case 'U':
		return by(func(r *Row) uint32 { return r.Spec.Uid })
	case 'l':
		return by(func(r *Row) uint32 { return r.limit() })
	case 'L':
		return by(func(r *Row) int64 { return int64(r.limit())*60 - Used(r.State, r.Now.Unix()) })
	case 'M':
		return by(func(r *Row) int64 { return Used(r.State, r.Now.Unix()) })
	case 'V':
		return by(func(r *Row) int64 { return r.State.Submit })
	case 'e':
		return by(func(r *Row) int64 { return r.State.End })
	case 'y':
		return by(func(r *Row) int32 { return r.Spec.Nice })
	}
	f := byLetter(c)
	if f == nil || c == 's' {
		return nil
	}
	return func(a, b *Row) int { return bytes.Compare(f.cell(nil, a), f.cell(nil, b)) }
}

func by[T cmp.Ordered](key func(*Row) T) compare {
	return func(a, b *Row) int { return cmp.Compare(key(a), key(b)) }
}

// compareID orders tasks of an array by their numbers, what is left of it last.
func compareID(a, b *Row) int {
	if c := cmp.Compare(arrayOrJob(a), arrayOrJob(b)); c != 0 {
		return c
	}
	return cmp.Compare(taskRank(a), taskRank(b))
}

func arrayOrJob(r *Row) uint32 {
	if r.State.ArrayJobId != 0 {
		return r.State.ArrayJobId
	}
	return r.State.JobId
}

func taskRank(r *Row) uint64 {
	if r.State.ArrayJobId == 0 || r.State.IsArrayTask {
		return uint64(r.State.ArrayTaskId)
	}
	return 1 << 32
}

func compareStart(a, b *Row, descending bool) int {
	x, y := a.start(), b.start()
	switch {
	case x == 0 && y == 0:
		return cmp.Compare(a.State.JobId, b.State.JobId)
	case x == 0:
		return 1
	case y == 0:
		return -1
	case descending:
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
}

// natural is the order in which rows stand where the keys leave it open: the
// latest start first, jobs of one start by their ids, then those without a
// start, the newest first.
func natural(a, b *Row) int {
	x, y := a.start(), b.start()
	if x != y {
		return cmp.Compare(y, x)
	}
	if x == 0 && arrayOrJob(a) != arrayOrJob(b) {
		return cmp.Compare(arrayOrJob(b), arrayOrJob(a))
	}
	if c := compareID(a, b); c != 0 {
		return c
	}
	if a.Step != nil && b.Step != nil { // the batch script after those that srun started
		return cmp.Compare(uint32(a.Step.Step), uint32(b.Step.Step))
	}
	return strings.Compare(a.State.Partition, b.State.Partition)
}

// Sort orders rows.
func (o *Order) Sort(rows []*Row) {
	// The natural order tells all rows apart, so no stable sort is needed; this one
	// is linear for rows that come in the order of their ids.
	slices.SortFunc(rows, func(a, b *Row) int {
		for _, key := range o.keys {
			if c := key(a, b); c != 0 {
				return c
			}
		}
		return natural(a, b)
	})
}
