package queue

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/hostlist"
	"muster/internal/model"
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
	if q.Clusters != "" && q.Clusters != "all" && q.Clusters != c.Conf.Cluster {
		p.Error("No cluster '%s' known by database.", q.Clusters)
		return command.ExitError
	}
	for {
		code := q.once(ctx, p, c)
		if code != 0 || q.Iterate == 0 {
			return code
		}
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

// knownUsers refuses numbers that belong to nobody, as squeue does.
type knownUsers struct{ *users.Resolver }

func (k knownUsers) ParseUser(ctx context.Context, word string) (uint32, error) {
	if n, err := strconv.ParseUint(word, 10, 32); err == nil {
		u, err := k.LookupUID(ctx, uint32(n))
		return u.UID, err
	}
	return k.Resolver.ParseUser(ctx, word)
}

func (q *Query) once(ctx context.Context, p *command.Program, c *client.Client) int {
	view := NewContext(p.Getenv)
	view.Cluster, view.NoConvert = c.Conf.Cluster, q.NoConv
	if q.Nodes != "" {
		if code, ok := q.checkNodes(ctx, p, c); !ok {
			return code
		}
	}
	if q.Dump.Wanted {
		return q.dump(ctx, p, c, view)
	}
	var jobs []*wire.JobInfo
	if !q.Nobody {
		var refusal *wire.Refusal
		var err error
		jobs, refusal, err = Load(ctx, c, q.Request(), view)
		if err != nil {
			p.Raw("slurm_load_jobs error: %v", err)
			return command.ExitError
		}
		if refusal.GetCode() != 0 {
			p.Raw("slurm_load_jobs error: %s", refusal.Message)
			return command.ExitError
		}
	}
	if q.Clusters != "" {
		p.Print("CLUSTER: %s\n", c.Conf.Cluster)
	}
	if q.Iterate > 0 || q.Long && q.Header {
		p.Print("%s\n", view.Now.Format(time.ANSIC))
	}
	if err := Write(p.Stdout, q.Table, q.Header, q.rows(view, jobs)); err != nil {
		return command.ExitError
	}
	return 0
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
	return &wire.JobsRequest{Select: q.Select, SpecFields: spec, StateFields: state, WithSteps: q.Steps, Masked: true, One: q.One}
}

// NewContext takes what the environment says about times and widths.
func NewContext(getenv func(string) string) *Context {
	c := &Context{TimeFormat: getenv("SLURM_TIME_FORMAT"), TasksWidth: model.DefaultTasksWidth, CutID: true, Now: time.Now()}
	if text := getenv("SLURM_BITSTR_LEN"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			c.CutID = false
			c.TasksWidth = n
			if n < 0 {
				c.TasksWidth = model.DefaultTasksWidth
			}
		}
	}
	return c
}

// Load asks for jobs and sets the view's clock to the controller's.
func Load(ctx context.Context, c *client.Client, req *wire.JobsRequest, view *Context) (jobs []*wire.JobInfo, refusal *wire.Refusal, err error) {
	refusal, err = Each(ctx, c, req, view, func(page *wire.JobsPage) error {
		jobs = append(jobs, page.Jobs...)
		return nil
	})
	return jobs, refusal, err
}

// errBroken ends an answer that was cut off after some of it was used.
var errBroken = errors.New("the controller's answer broke off")

// Each asks for jobs and hands each page on as it comes.
func Each(ctx context.Context, c *client.Client, req *wire.JobsRequest, view *Context, use func(*wire.JobsPage) error) (refusal *wire.Refusal, err error) {
	used := false
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		if used {
			return errBroken
		}
		stream, err := ctld.Jobs(ctx, req)
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			page, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if page.Refusal.GetCode() != 0 {
				refusal = page.Refusal
				return nil
			}
			if page.Now != 0 {
				view.Now = time.Unix(page.Now, 0)
			}
			used = used || len(page.Jobs) > 0
			if err := use(page); err != nil {
				return err
			}
		}
	})
	return refusal, err
}

// rows filters what the controller could not, and orders.
func (q *Query) rows(view *Context, jobs []*wire.JobInfo) []*Row {
	if len(q.Licenses) > 0 {
		kept := jobs[:0]
		for _, j := range jobs {
			if wantsLicense(j.Spec, q.Licenses) {
				kept = append(kept, j)
			}
		}
		jobs = kept
	}
	var rows []*Row
	if q.Steps {
		rows = StepRows(view, jobs, q.wantStep)
	} else {
		rows = Rows(view, jobs, q.Each)
	}
	q.Order.Sort(rows)
	return rows
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

func (q *Query) wantStep(s *wire.JobState, step int32) bool {
	if len(q.StepRefs) == 0 {
		return true
	}
	for _, ref := range q.StepRefs {
		if model.Matches(ref, s) && (!ref.HasStep || ref.Step == step) {
			return true
		}
	}
	return false
}

// checkNodes refuses names that no node has, as squeue does before it shows anything.
func (q *Query) checkNodes(ctx context.Context, p *command.Program, c *client.Client) (int, bool) {
	names, err := hostlist.Expand(q.Nodes)
	if err != nil {
		p.Error("Invalid node name %s", q.Nodes)
		return command.ExitError, false
	}
	nodes, err := c.LoadNodes(ctx, &wire.NodesRequest{All: true})
	if err != nil {
		p.Raw("slurm_load_node error: %v", err)
		return command.ExitError, false
	}
	known := make(map[string]bool, len(nodes.List))
	for _, n := range nodes.List {
		known[n.State.GetName()] = true
	}
	for i, name := range names {
		if name == "localhost" {
			if host, err := os.Hostname(); err == nil {
				name, _, _ = strings.Cut(host, ".")
				names[i] = name
			}
		}
		if !known[name] {
			p.Error("Invalid node name %s", name)
			return command.ExitError, false
		}
	}
	q.Select.Nodes = names
	return 0, true
}
