package scancel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/model"
	"muster/internal/wire"
)

// Refusals that a plain end of a job passes over in silence: it is over, or it
// never was. The numbers are Slurm's.
const (
	codeUnknown = 2017
	codeDone    = 2021
	unknownText = "Invalid job id specified"
)

// Run is the command; it returns the exit code.
func Run(p *command.Program) int {
	given, ids, code, stop := flags.Read(p, table, p.Args, getopt.Permute)
	if stop {
		return code
	}
	o, err := read(p, given, ids)
	var text *textError
	switch {
	case errors.As(err, &text):
		p.Raw("%s", text.text)
		return command.ExitError
	case err != nil:
		return p.Failed("%v", err)
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	if o.clusters != "" && o.clusters != "all" && !contains(o.clusters, c.Conf.Cluster) {
		return p.Failed("No cluster '%s' known by database.", o.clusters)
	}
	ctx := context.Background()
	if o.interactive {
		if err := ask(ctx, p, c, o); err != nil {
			return p.Failed("%v", err)
		}
		if len(o.refs) == 0 {
			return 0
		}
	}
	outcomes, err := signal(ctx, c, o.request)
	if err != nil {
		return p.Failed("Kill job error: %v", err)
	}
	return report(p, o, outcomes)
}

func contains(list, word string) bool {
	for _, w := range flags.Words(list) {
		if w == word {
			return true
		}
	}
	return false
}

func signal(ctx context.Context, c *client.Client, request *wire.SignalRequest) (reply *wire.JobOutcomes, err error) {
	request.RequestId = client.RequestID()
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		reply, err = ctld.Signal(ctx, request)
		return err
	})
	if err == nil && reply.GetRefusal().GetMessage() != "" {
		err = errors.New(reply.Refusal.Message)
	}
	return reply, err
}

// report says what became of each job; it returns the exit code.
func report(p *command.Program, o *order, outcomes *wire.JobOutcomes) int {
	code := 0
	byID := make(map[string][]*wire.JobOutcome)
	for _, outcome := range outcomes.Jobs {
		byID[outcome.Id] = append(byID[outcome.Id], outcome)
	}
	one := func(outcome *wire.JobOutcome) {
		if c := complain(p, o, outcome); c != 0 {
			code = c
		}
	}
	for i, id := range o.refs {
		if !lost(o, id, byID[id]) {
			announce(p, o, o.request.Select.Jobs[i], id)
		}
		for _, outcome := range byID[id] {
			one(outcome)
		}
		delete(byID, id)
	}
	for _, outcome := range outcomes.Jobs { // of filters, and of arrays' parts
		if _, left := byID[outcome.Id]; !left {
			continue
		}
		if len(o.refs) == 0 {
			announce(p, o, nil, outcome.Id)
		}
		one(outcome)
	}
	for _, text := range outcomes.Messages {
		p.Say("%s", text)
	}
	if len(outcomes.Jobs) == 0 && len(o.filters) > 0 && p.Level > 0 {
		slices.Sort(o.filters) // Slurm names them by the alphabet
		p.Error("No active jobs match ALL job filters, including: %s ", strings.Join(o.filters, " "))
	}
	return code
}

// lost tells whether a signal is for a job that is not there any more; it is not
// announced.
func lost(o *order, id string, outcomes []*wire.JobOutcome) bool {
	return o.signalled && !strings.Contains(id, ".") && len(outcomes) > 0 && over(outcomes[0].Refusal)
}

// over tells of a refusal whether the job has ended or never was.
func over(r *wire.Refusal) bool {
	return r.GetCode() == codeUnknown || r.GetCode() == codeDone
}

// announce says with -v what is being done.
func announce(p *command.Program, o *order, ref *wire.JobRef, id string) {
	switch {
	case ref.GetHasStep() && o.request.Signal == 0:
		p.Verbose(1, "Terminating step %s", id)
	case ref.GetHasStep():
		p.Verbose(1, "Signal %d to step %s", o.request.Signal, id)
	case !o.signalled:
		p.Verbose(1, "Terminating job %s", id)
	case o.request.BatchOnly:
		p.Verbose(1, "Signal %d to batch job %s", o.request.Signal, id)
	default:
		p.Verbose(1, "Signal %d to job %s", o.request.Signal, id)
	}
}

// complain reports a refusal. A job that is over is as good as ended, and only
// spoken of with -v; there is nothing left of it to be signalled, though.
func complain(p *command.Program, o *order, outcome *wire.JobOutcome) int {
	r := outcome.Refusal
	if r.GetMessage() == "" {
		return 0
	}
	if strings.Contains(outcome.Id, ".") {
		text := r.Message
		if over(r) {
			text = unknownText
		}
		p.Error("Kill job error on job step id %s: %s", outcome.Id, text)
		return p.ErrorCode()
	}
	switch {
	case over(r) && o.signalled:
		if p.Level >= 0 {
			p.Error("Kill job error on job id %s: %s", outcome.Id, unknownText)
		}
		return p.ErrorCode()
	case over(r):
		if p.Level > 0 {
			p.Error("Kill job error on job id %s: %s", outcome.Id, r.Message)
		}
		return 0
	}
	p.Error("Kill job error on job id %s: %s", outcome.Id, r.Message)
	return int(r.Code & 0xff) // the exit code is the error's number, as far as it fits
}

// ask leaves the jobs that the user said yes to.
func ask(ctx context.Context, p *command.Program, c *client.Client, o *order) error {
	jobs, err := find(ctx, c, o.request.Select)
	if err != nil {
		return err
	}
	answers := bufio.NewReader(p.Stdin)
	picked := &wire.JobSelect{}
	var refs []string
	pick := func(ref *wire.JobRef, id string) {
		picked.Jobs, refs = append(picked.Jobs, ref), append(refs, id)
	}
	for i, ref := range o.request.Select.Jobs {
		if ref.HasStep && yes(p, answers, fmt.Sprintf("Cancel step_id=%s", o.refs[i])) {
			pick(ref, o.refs[i])
		}
	}
	for _, job := range jobs {
		id := model.JobID(job.State)
		ref, err := model.ParseJobRef(id)
		if err != nil {
			return fmt.Errorf("the controller's job id %q: %w", id, err)
		}
		if yes(p, answers, fmt.Sprintf("Cancel job_id=%s name=%s partition=%s", id, job.Spec.GetName(), job.State.GetPartition())) {
			pick(ref, id)
		}
	}
	o.request.Select, o.refs = picked, refs
	return nil
}

func yes(p *command.Program, answers *bufio.Reader, question string) bool {
	for {
		p.Print("%s [y/n]? ", question)
		_ = p.Stdout.Flush()
		line, err := answers.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		}
		if err != nil {
			return false
		}
	}
}

// find returns the unfinished jobs that the filters and ids choose, steps apart.
func find(ctx context.Context, c *client.Client, all *wire.JobSelect) ([]*wire.JobInfo, error) {
	s := &wire.JobSelect{
		Uids: all.Uids, Partitions: all.Partitions, Accounts: all.Accounts, Qos: all.Qos, Names: all.Names,
		States: all.States, Nodes: all.Nodes, Reservations: all.Reservations, Wckeys: all.Wckeys, AllPartitions: true,
	}
	for _, ref := range all.Jobs {
		if !ref.HasStep {
			s.Jobs = append(s.Jobs, ref)
		}
	}
	if len(s.Jobs) == 0 && len(all.Jobs) > 0 {
		return nil, nil
	}
	if len(s.States) == 0 {
		s.States = []string{"PENDING", "RUNNING", "SUSPENDED"}
	}
	var jobs []*wire.JobInfo
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		jobs = nil
		stream, err := ctld.Jobs(ctx, &wire.JobsRequest{Select: s})
		if err != nil {
			return err
		}
		return client.Pages(stream.Recv, func(page *wire.JobsPage) error {
			if page.GetRefusal().GetMessage() != "" {
				return errors.New(page.Refusal.Message)
			}
			jobs = append(jobs, page.Jobs...)
			return nil
		})
	})
	return jobs, err
}
