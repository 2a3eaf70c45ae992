package accounting

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/queue"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// notFound is seff's exit code for a job that accounting does not know.
const notFound = 2

const efficiencyUsage = `Usage: seff [Options] <JobID>
       Options:
       -h    Help
       -v    Version
`

// RunEfficiency is the whole of seff.
func RunEfficiency(ctx context.Context, p *command.Program) int {
	var words []string
	for _, word := range p.Args {
		switch {
		case word == "-v" || word == "-V" || word == "--version":
			return p.PrintVersion()
		case word == "-h" || word == "--help":
			p.Print("%s", efficiencyUsage)
			return 0
		case strings.HasPrefix(word, "-"):
			p.Raw("Unknown option: %s\n%s", strings.TrimLeft(word, "-"), strings.TrimSuffix(efficiencyUsage, "\n"))
			return command.ExitError
		}
		words = append(words, word)
	}
	if len(words) != 1 {
		p.Print("%s", efficiencyUsage)
		return command.ExitError
	}
	ref, err := model.ParseJobRef(words[0])
	if err != nil {
		p.Raw("Job not found.")
		return notFound
	}
	r, err := findRun(ctx, p, &wire.JobRef{JobId: ref.JobId, Tasks: ref.Tasks})
	switch {
	case err != nil:
		p.Error("%v", err)
		return command.ExitError
	case r == nil:
		p.Raw("Job not found.")
		return notFound
	}
	p.Print("%s", efficiency(r))
	return 0
}

// findRun asks for the last run of a job; nil = there is no such job.
func findRun(ctx context.Context, p *command.Program, ref *wire.JobRef) (*Row, error) {
	c, err := client.New(p.Getenv)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	view := queue.NewContext(p.Getenv)
	out := &Context{Now: view.Now, TasksWidth: view.TasksWidth, Cluster: c.Conf.Cluster}
	var found *Row
	refusal, err := history(ctx, c, &wire.HistoryRequest{Jobs: []*wire.JobRef{ref}}, out, func(runs []*wire.RunRecord) error {
		for _, r := range Rows(out, runs, false, nil) {
			if model.Matches(ref, r.State) {
				found = r
			}
		}
		return nil
	})
	if err == nil && refusal.GetCode() != 0 {
		err = fmt.Errorf("%s", refusal.Message)
	}
	return found, err
}

// efficiency is the report on one run.
func efficiency(r *Row) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	s, j := r.Spec, r.State
	line("Job ID: %d", j.JobId)
	if j.ArrayJobId != 0 {
		line("Array Job ID: %s", model.JobID(j))
	}
	line("Cluster: %s", r.Cluster)
	line("User/Group: %s/%s", nameOr(s.UserName, s.Uid), nameOr(s.GroupName, s.Gid))
	state := model.BaseName(j.State).Long
	if !model.Ended(j.State) || !r.started() {
		line("State: %s", state)
	} else {
		line("State: %s (exit code %d)", state, model.ExitCode(j.ExitStatus))
	}
	cores, nodes := uint64(max(r.cpus(), 1)), uint64(max(r.nodes(), 1))
	if cores == 1 {
		line("Cores: 1")
	} else {
		line("Nodes: %d\nCores per node: %d", nodes, cores/nodes)
	}
	if !r.started() {
		line("Efficiency not available for jobs in the %s state.", state)
		return b.String()
	}
	wall := r.elapsed()
	held := wall * int64(cores)
	used := int64(r.cpuTime(totalUsec) / time.Second)
	line("CPU Utilized: %s", slurmtime.FormatClock(used))
	line("CPU Efficiency: %.2f%% of %s core-walltime", percent(float64(used), float64(held)), slurmtime.FormatClock(held))
	line("Job Wall-clock time: %s", slurmtime.FormatClock(wall))
	memory(r, cores, nodes, line)
	if !model.Ended(j.State) {
		line("WARNING: Efficiency statistics may be misleading for %s jobs.", state)
	}
	return b.String()
}

func nameOr(name string, id uint32) string {
	if name == "" {
		return fmt.Sprint(id)
	}
	return name
}

func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// memory says how much of its memory the greediest step of the run used.
func memory(r *Row, cores, nodes uint64, line func(string, ...any)) {
	most, tasks := uint64(0), uint32(1)
	for _, s := range r.Steps {
		if n := s.Usage.GetMaxRss() * uint64(max(s.NumTasks, 1)); n > most {
			most, tasks = n, s.NumTasks
		}
	}
	estimated := ""
	if tasks > 1 {
		estimated = " (estimated maximum)"
	}
	line("Memory Utilized: %s%s", kilobytes(float64(most)/1024), estimated)
	total, each := 0.0, ""
	switch {
	case r.Spec.MemKind == wire.MemKind_MEM_PER_CPU:
		total, each = float64(r.Spec.Mem*cores)*1024, kilobytes(float64(r.Spec.Mem)*1024)+"/core"
	default:
		for _, a := range r.State.Alloc {
			total += float64(a.Mem) * 1024
		}
		each = kilobytes(total/float64(nodes)) + "/node"
	}
	line("Memory Efficiency: %.2f%% of %s (%s)", percent(float64(most)/1024, total), kilobytes(total), each)
}

// kilobytes writes an amount in the unit that suits it.
func kilobytes(n float64) string {
	if n < 1 {
		return "0.00 MB"
	}
	units := [...]string{"KB", "MB", "GB", "TB", "PB", "EB"}
	i := min(int(math.Log(n)/math.Log(1024)), len(units)-1)
	return fmt.Sprintf("%.2f %s", n/math.Pow(1024, float64(i)), units[i])
}
