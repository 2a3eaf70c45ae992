package queue

import (
	"context"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/wire"
)

// dump is squeue --json: all that is known of the jobs that are asked for.
func (q *Query) dump(ctx context.Context, p *command.Program, c *client.Client, view *Context) int {
	if q.Steps {
		p.Error("not supported yet: --steps as JSON or YAML")
		return command.ExitError
	}
	q.Select.AllPartitions = true // everything, even what is normally left out
	req := &wire.JobsRequest{Select: q.Select, One: q.One}
	keep := func(j *wire.JobInfo) bool {
		r := NewRow(view, j)
		return !q.nothing() && q.keeps(&r)
	}
	return DumpJobs(ctx, p, c, &q.Dump, c.Meta(nil), req, view, keep)
}

// DumpJobs answers a request for jobs in the layout of data_parser.
func DumpJobs(ctx context.Context, p *command.Program, c *client.Client, choice *dataparser.Choice, meta dataparser.Meta,
	req *wire.JobsRequest, view *Context, keep func(*wire.JobInfo) bool) int {
	nodes, err := Layouts(ctx, c)
	if err != nil {
		p.Raw("slurm_load_node error: %v", err)
		return command.ExitError
	}
	w := choice.Begin(p)
	d := &Dump{Context: view, Writer: w, Nodes: nodes, Select: c.Conf.Get("SelectTypeParameters"), Keep: keep}
	refusal, err := d.Jobs(ctx, c, req)
	switch {
	case err != nil:
		p.Raw("slurm_load_jobs error: %v", err)
		return dataparser.Lost(ctx, p, w, meta, "slurm_load_jobs", err)
	case refusal.GetCode() != 0:
		p.Raw("slurm_load_jobs error: %s", refusal.Message)
		return dataparser.Finish(ctx, p, w, meta, dataparser.Failure{Code: refusal.Code, Text: refusal.Message, Source: "slurm_load_jobs"})
	}
	return dataparser.Finish(ctx, p, w, meta)
}
