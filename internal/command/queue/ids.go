package queue

import (
	"strconv"
	"strings"

	"muster/internal/command"
	"muster/internal/model"
	"muster/internal/wire"
)

// readJobs adds the jobs of a list.
func (q *Query) readJobs(p *command.Program, text string) (int, bool) {
	for _, word := range model.SplitRefs(text) {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		ref := parseJob(word)
		if ref == nil {
			p.Error("Invalid job id: %s", word)
			return command.ExitError, false
		}
		q.Select.Jobs = append(q.Select.Jobs, ref)
	}
	return 0, true
}

// parseJob reads 12, 12_3 or 12_[1-4]. As with Slurm's squeue, what follows a
// number and is none of these is not looked at: of "12.batch" and "12+1" the job
// is shown, which for a component of a heterogeneous job is its leader. It
// returns nil for what is no job.
func parseJob(word string) *wire.JobRef {
	digits := leadingDigits(word)
	n, err := strconv.ParseUint(digits, 10, 63)
	id := int32(n) // the ids of jobs have 31 bits
	if err != nil || id <= 0 {
		return nil
	}
	ref := &wire.JobRef{JobId: uint32(id)}
	tasks, ok := strings.CutPrefix(word[len(digits):], "_")
	switch {
	case !ok:
	case strings.HasPrefix(tasks, "["):
		set, _, err := model.ParseTasks(tasks, ^uint32(0))
		if err != nil || !strings.HasSuffix(tasks, "]") {
			return nil
		}
		ref.Tasks = set.String()
	default:
		if ref.Tasks = leadingDigits(tasks); ref.Tasks == "" {
			ref.Tasks = "0"
		}
	}
	return ref
}

func leadingDigits(s string) string {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[:n]
}

// readSteps adds the steps of a list, each JOB[_TASK].STEP.
func (q *Query) readSteps(p *command.Program, text string) (int, bool) {
	for _, word := range model.SplitRefs(text) {
		if word == "" {
			continue
		}
		job, step, _ := strings.Cut(word, ".")
		if step == "" {
			p.Error("Invalid job_step id: %s.??", job)
			return command.ExitError, false
		}
		ref, err := model.ParseJobRef(word)
		if err != nil {
			p.Error("Invalid job_step id: %s", word)
			return command.ExitError, false
		}
		q.StepRefs = append(q.StepRefs, ref)
	}
	return 0, true
}

// wantStep tells whether a step was asked for. An array without a task names the
// job of that number alone.
func (q *Query) wantStep(s *wire.JobState, step int32) bool {
	if len(q.StepRefs) == 0 {
		return true
	}
	for _, ref := range q.StepRefs {
		if ref.Step == step && (ref.Tasks == "" && ref.JobId == s.JobId || ref.Tasks != "" && model.Matches(ref, s)) {
			return true
		}
	}
	return false
}
