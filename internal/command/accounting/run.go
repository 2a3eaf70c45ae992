package accounting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/flags"
	"muster/internal/command/queue"
	"muster/internal/model"
	"muster/internal/users"
	"muster/internal/wire"
)

type resolver struct{ *users.Resolver }

func (r resolver) ParseGroup(ctx context.Context, word string) (uint32, error) {
	var gid uint32
	if _, err := fmt.Sscan(word, &gid); err == nil {
		g, err := r.LookupGID(ctx, gid)
		return g.GID, err
	}
	g, err := r.LookupGroup(ctx, word)
	return g.GID, err
}

// ParseUser refuses numbers that no user has, too.
func (r resolver) ParseUser(ctx context.Context, word string) (uint32, error) {
	uid, err := r.Resolver.ParseUser(ctx, word)
	if err != nil {
		return 0, err
	}
	_, err = r.LookupUID(ctx, uid)
	return uid, err
}

// Run is the whole of sacct.
func Run(ctx context.Context, p *command.Program) int {
	view := queue.NewContext(p.Getenv)
	q, code, stop := Parse(ctx, p, resolver{users.NewResolver(users.Options{})}, view.Now)
	if stop {
		return code
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	out := &Context{Now: view.Now, TimeFormat: view.TimeFormat, TasksWidth: view.TasksWidth, Cluster: c.Conf.Cluster,
		Unit: q.Unit, NoConvert: q.NoConv, Array: q.Array, Expand: q.Expand}
	if q.Truncate {
		out.From, out.Until = q.Request.Start, min(q.Request.End, view.Now.Unix())
	}
	if q.Dump.Wanted {
		return q.dumpRuns(ctx, p, c, out)
	}
	if q.Style.Header && !q.Script && !q.Env {
		p.Print("%s", q.Table.AppendHeader(nil, &q.Style))
	}
	if !q.asks(c.Conf.Cluster) || !q.kept(c.Conf.Get("AccountingStoreFlags")) {
		return 0
	}
	show := func(runs []*wire.RunRecord) error {
		if q.Script || q.Env {
			return q.contents(ctx, p, Rows(out, runs, false, q.wants))
		}
		return q.Write(p.Stdout, out, runs)
	}
	order := &remainders{show: show}
	refusal, err := history(ctx, c, q.Request, out, order.take)
	if err == nil {
		err = order.flush()
	}
	switch {
	case err != nil:
		p.Error("%v", err)
		return command.ExitError
	case refusal.GetCode() != 0:
		p.Error("%s", refusal.Message)
		return command.ExitError
	}
	return 0
}

// Write prints the rows of records.
func (q *Query) Write(w io.Writer, c *Context, runs []*wire.RunRecord) error {
	var b []byte
	for _, r := range Rows(c, runs, !q.Request.AllocationsOnly, q.wants) {
		b = q.Table.AppendRow(b, &q.Style, r)
	}
	_, err := w.Write(b)
	return err
}

// asks tells whether this cluster is among those that are asked.
func (q *Query) asks(cluster string) bool {
	names := flags.Words(q.Clusters)
	return len(names) == 0 || slices.Contains(names, allClusters) || slices.Contains(names, cluster)
}

// kept tells whether what is asked for is kept at all: scripts and environments
// are with AccountingStoreFlags only.
func (q *Query) kept(stored string) bool {
	words := flags.Words(strings.ToLower(stored))
	return (!q.Script || slices.Contains(words, "job_script")) && (!q.Env || slices.Contains(words, "job_env"))
}

// wants tells whether a line is shown.
func (q *Query) wants(r *Row) bool {
	if !q.has(r) {
		return false
	}
	if len(q.Refs) == 0 {
		// What could not have started is shown by its id only, or by its end.
		eligible := r.eligible()
		end := q.Request.End // 0 = open
		return len(q.Request.States) > 0 || eligible != 0 && (end == 0 || eligible <= end)
	}
	for _, ref := range q.Refs {
		if !model.Matches(ref, r.State) {
			continue
		}
		if !ref.HasStep || q.Request.AllocationsOnly || r.Step != nil && r.Step.Step == ref.Step {
			return true
		}
	}
	return false
}

// history asks for records page by page. What was shown is not shown again: a
// connection that breaks later ends the command.
func history(ctx context.Context, c *client.Client, req *wire.HistoryRequest, out *Context, show func([]*wire.RunRecord) error) (*wire.Refusal, error) {
	var refusal *wire.Refusal
	begun := false
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		if begun {
			return errors.New("the connection to the controller broke in the middle of the list")
		}
		stream, err := ctld.History(ctx, req)
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			page, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case page.Refusal.GetCode() != 0:
				refusal = page.Refusal
				return nil
			}
			if page.Cluster != "" {
				out.Cluster = page.Cluster
			}
			begun = begun || len(page.Runs) > 0
			if err := client.Use(ctx, func() error { return show(page.Runs) }); err != nil {
				return err
			}
		}
	})
	return refusal, err
}

// remainders puts what is left of an array, which may be its last task and has
// the oldest key, after those of its tasks that have started, where sacct shows it.
type remainders struct {
	show func([]*wire.RunRecord) error
	held *wire.RunRecord
}

func (o *remainders) take(runs []*wire.RunRecord) error {
	out := make([]*wire.RunRecord, 0, len(runs)+1)
	for _, run := range runs {
		if o.held != nil && run.State.GetArrayJobId() != o.held.State.ArrayJobId {
			out = append(out, o.held)
			o.held = nil
		}
		if s := run.State; o.held == nil && s.GetArrayJobId() != 0 && s.JobId == s.ArrayJobId {
			o.held = run
			continue
		}
		out = append(out, run)
	}
	return o.show(out)
}

func (o *remainders) flush() error {
	if o.held == nil {
		return nil
	}
	return o.show([]*wire.RunRecord{o.held})
}

// contents prints scripts and environments, one after the other.
func (q *Query) contents(ctx context.Context, p *command.Program, rows []*Row) error {
	// The list is read on this connection; contents are asked for on their own.
	other, err := client.New(p.Getenv)
	if err != nil {
		return err
	}
	defer other.Close()
	for _, run := range rows {
		id := model.JobID(run.State)
		if q.Script {
			text, err := content(ctx, other, run.State, false)
			if err != nil {
				return err
			}
			p.Print("Batch Script for %s\n%s\n%s\n", id, strings.Repeat("-", 80), text)
		}
		if q.Env {
			text, err := content(ctx, other, run.State, true)
			if err != nil {
				return err
			}
			p.Print("Environment used for %s (must be batch to display)\n%s\n%s\n", id, strings.Repeat("-", 80), text)
		}
	}
	return nil
}

// content is a job's script or environment, "NONE" when none was kept or it is
// not the asker's to read.
func content(ctx context.Context, c *client.Client, s *wire.JobState, environment bool) (string, error) {
	ref := &wire.JobRef{JobId: s.JobId}
	var reply *wire.ContentReply
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Content(ctx, &wire.ContentRequest{Job: ref, Environment: environment})
		return err
	})
	if err != nil {
		return "", err
	}
	if reply.Refusal.GetCode() != 0 || len(reply.Content) == 0 {
		return "NONE\n", nil
	}
	text := string(reply.Content)
	if environment {
		text = strings.ReplaceAll(strings.TrimRight(text, "\x00"), "\x00", "\n") + "\n"
	}
	return text, nil
}
