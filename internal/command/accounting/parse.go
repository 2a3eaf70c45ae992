package accounting

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"muster/internal/command"
	"muster/internal/command/flags"
	"muster/internal/model"
	"muster/internal/wire"
)

// allClusters stands for every cluster in -M, and is what -L means.
const allClusters = "all"

// parseRef reads an id of -j: "12", "12_3", "12+1", each with a step. Of a number
// what follows its digits is not looked at, as in Slurm.
func parseRef(word string) (ref *wire.JobRef, complaint string) {
	num, rest := digits(word)
	if num == "" {
		return nil, "Bad job/step specified: " + word
	}
	ref = &wire.JobRef{JobId: saturated(num)}
	id, step, hasStep := strings.Cut(rest, ".")
	switch {
	case strings.HasPrefix(id, "_"):
		task, _ := digits(id[1:])
		if task == "" {
			return nil, "Bad job array element specified: " + num
		}
		ref.Tasks = task
	case strings.HasPrefix(id, "+"):
		if offset, _ := digits(id[1:]); offset == "" {
			return nil, "Bad hetjob offset specified: " + num
		}
	}
	if !hasStep {
		return ref, ""
	}
	n, err := model.ParseStep(step)
	if err != nil {
		return nil, "Bad step specified: " + num
	}
	ref.HasStep, ref.Step = true, n
	return ref, ""
}

func digits(text string) (num, rest string) {
	end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// saturated is a number that no job has where there are too many digits.
func saturated(num string) uint32 {
	n, err := strconv.ParseUint(num, 10, 32)
	if err != nil {
		return math.MaxUint32
	}
	return uint32(n)
}

// handled are the ways in which a job can have been handled, as -F names them.
var handled = []string{"SchedSubmit", "SchedMain", "SchedBackfill", "StartReceived"}

func (q *Query) setFlags(p *command.Program, text string) (int, bool) {
	for _, word := range flags.Words(text) {
		i := slices.IndexFunc(handled, func(name string) bool { return strings.EqualFold(name, word) })
		if i < 0 {
			p.Error("str_2_job_flags: Invalid job flag %s", word)
			return command.ExitError, false
		}
		q.Flags = append(q.Flags, handled[i])
	}
	return 0, true
}

// qosNames are the QOS that exist, by their numbers.
var qosNames = map[string]string{"1": "normal"}

func (q *Query) setQOS(p *command.Program, text string) (int, bool) {
	for _, word := range flags.Words(text) {
		name := strings.ToLower(word)
		if byNumber, ok := qosNames[name]; ok {
			name = byNumber
		}
		if name != "normal" {
			p.Error("You gave a bad qos '%s'. Valid QOS's are normal", word)
			return p.Fatal("problem processing qos list"), false
		}
		q.Request.Qos = append(q.Request.Qos, name)
	}
	return 0, true
}

// setFile takes the name of a completion log, which only a plugin would write
// that there is not.
func (q *Query) setFile(p *command.Program, name string) (int, bool) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		p.Raw("%s is not a valid file", name)
		return command.ExitError, false
	}
	q.completion = true
	return 0, true
}

// has tells whether a job is one of those that -C, -F and -x want.
func (q *Query) has(r *Row) bool {
	for _, c := range q.Constraints {
		if !slices.Contains(strings.FieldsFunc(r.Spec.Constraint, isOperator), c) {
			return false
		}
	}
	if len(q.Flags) > 0 && !slices.ContainsFunc(q.Flags, func(f string) bool { return slices.Contains(r.handling(), f) }) {
		return false
	}
	return len(q.Assocs) == 0 || slices.Contains(q.Assocs, fmt.Sprint(noAssociation))
}

// isOperator tells what stands between the features of a constraint.
func isOperator(c rune) bool { return strings.ContainsRune("&|[](),*", c) }

// noAssociation is the number that jobs have while users have no associations.
const noAssociation = 0
