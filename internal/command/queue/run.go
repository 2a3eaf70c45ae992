package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/users"
	"muster/internal/wire"
)

// Run is the whole of squeue.
func Run(ctx context.Context, p *command.Program) int {
	q, code, stop := Parse(ctx, p, knownUsers{users.NewResolver(users.Options{})})
	if stop {
		return code
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	if !q.ownCluster(p, c.Conf.Cluster) {
		return command.ExitError
	}
	for {
		code := q.once(ctx, p, c)
		if q.Iterate == 0 {
			return code
		}
		p.Print("\n")
		if err := p.Stdout.Flush(); err != nil {
			return command.ExitError
		}
		select {
		case <-ctx.Done():
			return command.ExitError
		case <-time.After(time.Duration(q.Iterate) * time.Second):
		}
	}
}

// ownCluster checks the clusters of SLURM_CLUSTERS and of --clusters, both where
// both are given.
func (q *Query) ownCluster(p *command.Program, own string) bool {
	const name = "SLURM_CLUSTERS"
	if text, set := variable(p, name); set {
		if !p.OwnCluster(text, name, own) {
			return false
		}
		if q.Clusters == nil {
			q.Clusters = &text
			return true
		}
	}
	return q.Clusters == nil || p.OwnCluster(*q.Clusters, "--cluster", own)
}

// knownUsers refuses numbers that belong to nobody, as squeue does.
type knownUsers struct{ *users.Resolver }

func (k knownUsers) ParseUser(ctx context.Context, word string) (uint32, error) {
	if n, err := strconv.ParseUint(word, 10, 32); err == nil {
		u, err := k.LookupUID(ctx, uint32(n))
		return u.UID, err
	}
	return k.Resolver.ParseUser(ctx, word)
}

// timeLayout is that of the line with the time above a table.
const timeLayout = "Mon Jan 02 15:04:05 2006"

// once asks and shows once.
func (q *Query) once(ctx context.Context, p *command.Program, c *client.Client) int {
	view := NewContext(p.Getenv)
	view.Cluster, view.NoConvert, view.Expand = c.Conf.Cluster, q.NoConv, q.Expand
	if q.Iterate > 0 && q.Header {
		p.Print("%s\n", view.Now.Format(timeLayout))
	}
	if q.Nodes != "" {
		if code, ok := q.findNodes(ctx, p, c); !ok {
			return code
		}
	}
	if q.Dump.Wanted {
		return q.dump(ctx, p, c, view)
	}
	if q.Priority {
		tiers, err := loadTiers(ctx, c)
		if err != nil {
			p.Raw("slurm_load_partitions error: %v", err)
			return command.ExitError
		}
		view.Tiers = tiers
	}
	list, refusal, err := q.load(ctx, c, view)
	if err != nil {
		p.Raw("slurm_load_jobs error: %v", err)
		return command.ExitError
	}
	if refusal.GetCode() != 0 && !q.Steps { // that a job is unknown is no error where its steps are asked for
		p.Raw("slurm_load_jobs error: %s", refusal.Message)
		return command.ExitError
	}
	p.Verbose(1, "the controller's answer of %s has %d lines", view.Now.Format(timeLayout), len(list.lines))
	if q.Order.Complaint != "" {
		p.Say("%s", q.Order.Complaint)
	}
	q.printHeader(p, view)
	list.Sort()
	if err := list.Write(p.Stdout); err != nil {
		return command.ExitError
	}
	if err := slurmtime.CheckFormat(view.TimeFormat); err != nil && view.stamped {
		p.Error("%v", err)
	}
	return 0
}

func (q *Query) printHeader(p *command.Program, view *Context) {
	if !q.Header {
		return
	}
	if q.Long && q.Iterate == 0 && !q.Steps {
		p.Print("%s\n", view.Now.Format(timeLayout))
	}
	if q.Clusters != nil {
		p.Print("CLUSTER: %s\n", view.Cluster)
	}
	p.Print("%s", q.Table.AppendHeader(nil))
}

// load asks for jobs and makes the lines of each page as it comes.
func (q *Query) load(ctx context.Context, c *client.Client, view *Context) (list *List, refusal *wire.Refusal, err error) {
	view.words = words{}
	begin := func() { list = NewList(q.Table, q.Order, q.Each) }
	begin()
	if q.nothing() {
		return list, nil, nil
	}
	refusal, err = stream(ctx, c, q.Request(), view, func() error { begin(); return nil }, func(page *wire.JobsPage) error {
		for _, j := range page.Jobs {
			q.add(list, view, j)
		}
		return nil
	})
	return list, refusal, err
}

// add makes the rows of a job that the controller's filters have let through.
func (q *Query) add(list *List, view *Context, j *wire.JobInfo) {
	r := NewRow(view, j)
	switch {
	case !q.keeps(&r):
	case q.Steps:
		q.addSteps(list, &r, j)
	case q.Priority && r.pending() && strings.Contains(r.partition(), ","):
		for i, name := range strings.Split(r.partition(), ",") {
			if asked := q.Select.Partitions; len(asked) > 0 && !slices.Contains(asked, name) {
				continue
			}
			one := r
			one.Partition = name
			list.Add(&one, i)
		}
	default:
		list.Add(&r, 0)
	}
}

// keeps filters what the controller cannot.
func (q *Query) keeps(r *Row) bool {
	if len(q.Licenses) > 0 && !wantsLicense(r.Spec, q.Licenses) {
		return false
	}
	if q.Over == nil && q.Under == nil {
		return true
	}
	used := Used(r.State, r.Now.Unix())
	return ran(r.State) && (q.Over == nil || used > *q.Over) && (q.Under == nil || used < *q.Under)
}

// ran tells whether a job has been started.
func ran(s *wire.JobState) bool { return s.Start != 0 && s.State != wire.BaseState_PENDING }

func (q *Query) addSteps(list *List, r *Row, j *wire.JobInfo) {
	if j.State == nil {
		return
	}
	for _, s := range RunningSteps(j) {
		if !q.wantStep(r.State, s.Step) || len(q.Select.Nodes) > 0 && !onNodes(s, q.Select.Nodes) {
			continue
		}
		r.Step = s
		list.Add(r, 0)
	}
}

func onNodes(s *wire.StepState, nodes []string) bool {
	for _, a := range s.Alloc {
		for _, n := range nodes {
			if a.Node == n {
				return true
			}
		}
	}
	return false
}

// Request is what the controller is asked.
func (q *Query) Request() *wire.JobsRequest {
	spec := merge(merge(merge(nil, baseSpec), q.Table.Spec), q.Order.Spec)
	state := merge(merge(merge(nil, baseState), q.Table.State), q.Order.State)
	if q.Steps {
		spec, state = merge(spec, stepFieldsSpec), merge(state, stepFieldsState)
	}
	if len(q.Licenses) > 0 {
		spec = merge(spec, []uint32{specLicenses})
	}
	if q.Over != nil || q.Under != nil {
		state = merge(state, usedFields)
	}
	return &wire.JobsRequest{
		Select: q.Select, SpecFields: spec, StateFields: state, WithSteps: q.Steps, Masked: true, One: q.One, FoldTasks: true,
	}
}

// NewContext takes what the environment says about times and widths.
func NewContext(getenv func(string) string) *Context {
	c := &Context{TimeFormat: getenv("SLURM_TIME_FORMAT"), TasksWidth: model.DefaultTasksWidth, CutID: true, Now: time.Now()}
	if text := getenv("SLURM_BITSTR_LEN"); text != "" {
		c.CutID = false
		if !strings.HasPrefix(text, "-") {
			c.TasksWidth, _ = strconv.Atoi(leadingDigits(text)) // what is no number counts as 0, which is no limit
		}
	}
	return c
}

func wantsLicense(spec *wire.JobSpec, names []string) bool {
	for _, l := range strings.Split(spec.GetLicenses(), ",") {
		l, _, _ = strings.Cut(l, ":")
		for _, n := range names {
			if l == n {
				return true
			}
		}
	}
	return false
}
