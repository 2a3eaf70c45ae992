package model

import (
	"errors"
	"strconv"
	"strings"

	"muster/internal/wire"
)

// AppendJobID appends a job's id as users know it: 12, 12_3, or 12_[4-7%2] for
// what is left of an array. width limits the list as TaskSet.Text does.
func AppendJobID(b []byte, s *wire.JobState, width int) []byte {
	switch {
	case s.ArrayJobId == 0:
		return strconv.AppendUint(b, uint64(s.JobId), 10)
	case s.IsArrayTask:
		b = strconv.AppendUint(b, uint64(s.ArrayJobId), 10)
		b = append(b, '_')
		return strconv.AppendUint(b, uint64(s.ArrayTaskId), 10)
	}
	b = strconv.AppendUint(b, uint64(s.ArrayJobId), 10)
	b = append(b, "_["...)
	b = append(b, PendingTasksText(s, width)...)
	return append(b, ']')
}

// JobID is AppendJobID as a string, at the usual width.
func JobID(s *wire.JobState) string { return string(AppendJobID(nil, s, DefaultTasksWidth)) }

// PendingTasksText shows the unstarted tasks of an array.
func PendingTasksText(s *wire.JobState, width int) string {
	set, _, err := ParseTasks(s.ArrayPending, ^uint32(0))
	if err != nil {
		return s.ArrayPending
	}
	return set.Text(s.ArrayThrottle, width)
}

// StepName is the part of a step id after the dot.
func StepName(step int32) string {
	switch wire.StepNumber(step) {
	case wire.StepNumber_STEP_BATCH:
		return "batch"
	case wire.StepNumber_STEP_EXTERN:
		return "extern"
	case wire.StepNumber_STEP_INTERACTIVE:
		return "interactive"
	}
	return strconv.Itoa(int(step))
}

// ErrJobRef is what ParseJobRef says of text that is no id.
var ErrJobRef = errors.New("Invalid job id specified")

// ParseJobRef reads an id as typed: 12, 12_3, 12_[1-4,7], 12.0, 12_3.batch.
func ParseJobRef(text string) (*wire.JobRef, error) {
	id, step, hasStep := strings.Cut(text, ".")
	num, tasks, hasTasks := strings.Cut(id, "_")
	n, err := strconv.ParseUint(num, 10, 32)
	if err != nil || n == 0 {
		return nil, ErrJobRef
	}
	ref := &wire.JobRef{JobId: uint32(n), HasStep: hasStep}
	if hasTasks {
		set, _, err := ParseTasks(tasks, ^uint32(0))
		if err != nil || strings.HasPrefix(tasks, "[") != strings.HasSuffix(tasks, "]") {
			return nil, ErrJobRef
		}
		ref.Tasks = set.String()
	}
	if hasStep {
		ref.Step, err = ParseStep(step)
		if err != nil {
			return nil, err
		}
	}
	return ref, nil
}

// ParseStep reads the part of a step id after the dot.
func ParseStep(text string) (int32, error) {
	switch text {
	case "batch":
		return int32(wire.StepNumber_STEP_BATCH), nil
	case "extern":
		return int32(wire.StepNumber_STEP_EXTERN), nil
	case "interactive":
		return int32(wire.StepNumber_STEP_INTERACTIVE), nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, ErrJobRef
	}
	return int32(n), nil
}

// SplitRefs cuts a list of ids at its commas, leaving those inside brackets.
func SplitRefs(list string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				out = append(out, list[start:i])
				start = i + 1
			}
		}
	}
	return append(out, list[start:])
}

// Matches tells whether a job is one of those that the reference names.
func Matches(ref *wire.JobRef, s *wire.JobState) bool {
	if ref.Tasks == "" {
		return ref.JobId == s.JobId || s.ArrayJobId != 0 && ref.JobId == s.ArrayJobId
	}
	if s.ArrayJobId != ref.JobId {
		return false
	}
	want, _, err := ParseTasks(ref.Tasks, ^uint32(0))
	if err != nil {
		return false
	}
	if s.IsArrayTask {
		return want.Has(s.ArrayTaskId)
	}
	left, _, err := ParseTasks(s.ArrayPending, ^uint32(0))
	if err != nil {
		return false
	}
	for _, r := range want {
		for t := uint64(r.First); t <= uint64(r.Last); t += uint64(r.Step) {
			if left.Has(uint32(t)) {
				return true
			}
		}
	}
	return false
}
