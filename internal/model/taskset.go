package model

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// TaskRange is First, First+Step, … up to Last, which belongs to it.
type TaskRange struct {
	First, Last, Step uint32
}

// Count is the number of tasks in the range.
func (r TaskRange) Count() int { return int((r.Last-r.First)/r.Step) + 1 }

// Has tells whether the task is in the range.
func (r TaskRange) Has(t uint32) bool {
	return t >= r.First && t <= r.Last && (t-r.First)%r.Step == 0
}

// TaskSet is a set of array tasks as ranges that neither overlap nor
// interleave, ascending. An array of a million tasks is a few ranges; a set is
// never changed in place, so copies may be shared.
type TaskSet []TaskRange

// ErrTasks is what Parse says of text that is no list of array tasks.
var ErrTasks = errors.New("Invalid job array specification")

// ParseTasks reads "0-15:4,20,30-40%3", with or without brackets; the second
// result is the number after `%`, 0 without one. Tasks above max are refused.
func ParseTasks(text string, max uint32) (TaskSet, uint32, error) {
	text = strings.TrimSpace(text)
	var throttle uint64
	body, tail, limited := strings.Cut(text, "%")
	if limited {
		tail = strings.TrimSuffix(tail, "]")
		n, err := strconv.ParseUint(tail, 10, 32)
		if err != nil {
			return nil, 0, ErrTasks
		}
		throttle = n
	}
	body = strings.TrimSuffix(strings.TrimPrefix(body, "["), "]")
	var ranges []TaskRange
	for len(body) > 0 {
		var word string
		word, body, _ = strings.Cut(body, ",")
		r, err := parseTaskRange(word, max)
		if err != nil {
			return nil, 0, err
		}
		ranges = append(ranges, r)
	}
	if len(ranges) == 0 {
		return nil, 0, ErrTasks
	}
	return normalTasks(ranges), uint32(throttle), nil
}

func parseTaskRange(word string, max uint32) (TaskRange, error) {
	span, stepText, stepped := strings.Cut(word, ":")
	lo, hi, isRange := strings.Cut(span, "-")
	if !isRange {
		hi = lo
	}
	first, err1 := strconv.ParseUint(lo, 10, 32)
	last, err2 := strconv.ParseUint(hi, 10, 32)
	step := uint64(1)
	var err3 error
	if stepped {
		step, err3 = strconv.ParseUint(stepText, 10, 32)
	}
	if err1 != nil || err2 != nil || err3 != nil || last < first || last > uint64(max) || step == 0 || stepped && !isRange {
		return TaskRange{}, ErrTasks
	}
	r := TaskRange{uint32(first), uint32(last), uint32(step)}
	r.Last -= (r.Last - r.First) % r.Step
	if r.First == r.Last {
		r.Step = 1
	}
	return r, nil
}

// normalTasks sorts ranges and, where they touch each other, rebuilds them.
func normalTasks(ranges []TaskRange) TaskSet {
	slices.SortFunc(ranges, func(a, b TaskRange) int { return cmpUint(a.First, b.First) })
	apart := true
	for i := 1; i < len(ranges); i++ {
		if ranges[i].First <= ranges[i-1].Last {
			apart = false
		}
	}
	if apart {
		return joined(ranges)
	}
	var ids []uint32
	for _, r := range ranges {
		for t := uint64(r.First); t <= uint64(r.Last); t += uint64(r.Step) {
			ids = append(ids, uint32(t))
		}
	}
	slices.Sort(ids)
	return TasksOf(slices.Compact(ids))
}

func cmpUint(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TasksOf is the set of the given tasks, which must be ascending and distinct.
func TasksOf(ids []uint32) TaskSet {
	var out TaskSet
	for i := 0; i < len(ids); {
		j := i + 1
		if j == len(ids) {
			out = append(out, TaskRange{ids[i], ids[i], 1})
			break
		}
		step := ids[j] - ids[i]
		for j+1 < len(ids) && ids[j+1]-ids[j] == step {
			j++
		}
		if step > 1 && j-i < 2 {
			// Two tasks make no progression: the second may begin the next one.
			out = append(out, TaskRange{ids[i], ids[i], 1})
			i++
			continue
		}
		out = append(out, TaskRange{ids[i], ids[j], step})
		i = j + 1
	}
	return joined(out)
}

// joined merges neighbours of step 1.
func joined(ranges []TaskRange) TaskSet {
	out := make(TaskSet, 0, len(ranges))
	for _, r := range ranges {
		if n := len(out); n > 0 {
			p := &out[n-1]
			if p.Step == 1 && r.Step == 1 && r.First == p.Last+1 {
				p.Last = r.Last
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// Count is the number of tasks in the set.
func (s TaskSet) Count() int {
	n := 0
	for _, r := range s {
		n += r.Count()
	}
	return n
}

// Has tells whether the task is in the set.
func (s TaskSet) Has(t uint32) bool {
	i, found := slices.BinarySearchFunc(s, t, func(r TaskRange, t uint32) int { return cmpUint(r.First, t) })
	if found {
		return true
	}
	return i > 0 && s[i-1].Has(t)
}

// First is the lowest task; ok is false for the empty set.
func (s TaskSet) First() (t uint32, ok bool) {
	if len(s) == 0 {
		return 0, false
	}
	return s[0].First, true
}

// Max is the highest task of a set that is not empty.
func (s TaskSet) Max() uint32 { return s[len(s)-1].Last }

// Each calls f for every task, ascending, until f returns false.
func (s TaskSet) Each(f func(t uint32) bool) {
	for _, r := range s {
		for t := uint64(r.First); t <= uint64(r.Last); t += uint64(r.Step) {
			if !f(uint32(t)) {
				return
			}
		}
	}
}

// Remove is the set without the task.
func (s TaskSet) Remove(t uint32) TaskSet {
	for i, r := range s {
		if !r.Has(t) {
			continue
		}
		out := make(TaskSet, 0, len(s)+1)
		out = append(out, s[:i]...)
		if t > r.First {
			out = append(out, single(TaskRange{r.First, t - r.Step, r.Step}))
		}
		if t < r.Last {
			out = append(out, single(TaskRange{t + r.Step, r.Last, r.Step}))
		}
		return append(out, s[i+1:]...)
	}
	return s
}

// single gives a range of one task the step 1, so that equal sets are equal values.
func single(r TaskRange) TaskRange {
	if r.First == r.Last {
		r.Step = 1
	}
	return r
}

// Split cuts the set in two: what other has too, and the rest.
func (s TaskSet) Split(other TaskSet) (in, out TaskSet) {
	var inIDs, outIDs []uint32
	s.Each(func(t uint32) bool {
		if other.Has(t) {
			inIDs = append(inIDs, t)
		} else {
			outIDs = append(outIDs, t)
		}
		return true
	})
	return TasksOf(inIDs), TasksOf(outIDs)
}

// Add is the set with the task too.
func (s TaskSet) Add(t uint32) TaskSet {
	if s.Has(t) {
		return s
	}
	return normalTasks(append(slices.Clone(s), TaskRange{t, t, 1}))
}

// String is the set in the words that ParseTasks reads, kept exact and short:
// it is what is stored. People are shown Text.
func (s TaskSet) String() string { return string(s.append(nil)) }

func (s TaskSet) append(b []byte) []byte {
	for i, r := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(r.First), 10)
		if r.Last != r.First {
			b = append(b, '-')
			b = strconv.AppendUint(b, uint64(r.Last), 10)
			if r.Step > 1 {
				b = append(b, ':')
				b = strconv.AppendUint(b, uint64(r.Step), 10)
			}
		}
	}
	return b
}

// stepShownFrom is the number of tasks from which Slurm writes an even
// progression as "first-last:step" and no longer as single numbers.
const stepShownFrom = 6

// DefaultTasksWidth is how long Text gets unless SLURM_BITSTR_LEN says otherwise.
const DefaultTasksWidth = 64

// Text is the set as Slurm shows it: "0,4,8", "0-20:4", "1-3,7", with "..." after
// what fits into width-1 bytes (0 = all of it), and "%n" after that where a
// number of tasks at a time is given.
func (s TaskSet) Text(throttle uint32, width int) string {
	var b []byte
	if step, even := s.progression(); even && step > 1 && s.Count() >= stepShownFrom {
		b = TaskSet{{s[0].First, s.Max(), step}}.append(b)
	} else {
		b = s.appendRuns(b, width)
	}
	if throttle > 0 {
		b = append(b, '%')
		b = strconv.AppendUint(b, uint64(throttle), 10)
	}
	return string(b)
}

// progression tells whether all tasks of the set are equally far apart, and how far.
func (s TaskSet) progression() (step uint32, even bool) {
	for i, r := range s {
		if r.First != r.Last {
			if step != 0 && step != r.Step {
				return 0, false
			}
			step = r.Step
		}
		if i > 0 {
			gap := r.First - s[i-1].Last
			if step != 0 && step != gap {
				return 0, false
			}
			step = gap
		}
	}
	return step, step != 0
}

// appendRuns writes single numbers and runs of neighbours, and stops where
// width is reached.
func (s TaskSet) appendRuns(b []byte, width int) []byte {
	full := func() bool { return width > 0 && len(b) >= width }
	var run TaskRange
	open := false
	flush := func() {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = TaskSet{run}.append(b)
	}
	for _, r := range s {
		last := uint64(r.Last)
		for t := uint64(r.First); t <= last && !full(); t += uint64(r.Step) {
			next := TaskRange{uint32(t), uint32(t), 1}
			if r.Step == 1 {
				next.Last, t = r.Last, last
			}
			if open && next.First == run.Last+1 {
				run.Last = next.Last
				continue
			}
			if open {
				flush()
			}
			run, open = next, true
		}
	}
	if open && !full() {
		flush()
	}
	if width > 0 && len(b) > width-3 { // a comma and a zero byte count, too
		const dots = "..."
		b = append(b[:max(width-1-len(dots), 0)], dots[:min(width-1, len(dots))]...)
	}
	return b
}
