package queue

import (
	"context"
	"slices"

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
	req.Masked, req.SpecFields, req.StateFields = true, dumpSpec(), dumpState()
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

// lastField is beyond the numbers of all fields; the controller passes over those
// that it does not know.
const lastField = 200

// bulky are the fields of a request that no record shows and that would be most
// of what travels: gids, resources by their parts, contents, limits of processes.
var bulky = [...]uint32{6, 35, 36, 37, 38, 76, 77, 78, 80}

// dumpSpec and dumpState are the fields that a record is made of.
func dumpSpec() []uint32 {
	return slices.DeleteFunc(dumpState(), func(n uint32) bool { return slices.Contains(bulky[:], n) })
}

func dumpState() []uint32 {
	fields := make([]uint32, lastField)
	for i := range fields {
		fields[i] = uint32(i + 1)
	}
	return fields
}
