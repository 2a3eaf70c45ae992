package control

import (
	"context"
	"fmt"
	"strings"

	"muster/internal/command/client"
	"muster/internal/model"
	"muster/internal/wire"
)

// jobAction makes the command that does one thing to the jobs that are named.
func jobAction(verb wire.JobVerb) func(*session, context.Context, []string) {
	return func(s *session, ctx context.Context, words []string) {
		req := &wire.JobActionRequest{RequestId: client.RequestID(), Verb: verb}
		for _, word := range words {
			if key, value, ok := strings.Cut(word, "="); ok {
				switch {
				case matches(key, "JobName", 4) || strings.EqualFold(key, "Name"):
					req.Names = append(req.Names, strings.Split(value, ",")...)
					continue
				case verb == wire.JobVerb_VERB_REQUEUE_HOLD && matches(key, "State", 1):
					req.SpecialExit = strings.EqualFold(value, "SpecialExit")
					continue
				case matches(key, "JobId", 3):
					word = value
				}
			}
			if verb == wire.JobVerb_VERB_REQUEUE && strings.EqualFold(word, "incomplete") {
				req.Incomplete = true
				continue
			}
			for _, id := range model.SplitRefs(word) {
				ref, err := model.ParseJobRef(strings.SplitN(id, "+", 2)[0])
				if err != nil || ref.HasStep {
					s.refuse(verb, id, model.ErrJobRef.Error())
					continue
				}
				req.Jobs = append(req.Jobs, ref)
			}
		}
		if len(req.Jobs) == 0 && len(req.Names) == 0 {
			return
		}
		s.act(ctx, verb, req)
	}
}

func (s *session) act(ctx context.Context, verb wire.JobVerb, req *wire.JobActionRequest) {
	var reply *wire.JobOutcomes
	err := s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.JobAction(ctx, req)
		return err
	})
	switch {
	case err != nil:
		s.refuseAll(verb, req, err.Error())
	case reply.Refusal.GetCode() != 0:
		s.fail("%s error: %s", callOf(verb), reply.Refusal.Message)
	default:
		var last *wire.JobOutcome
		for _, m := range reply.Messages {
			s.p.Raw("%s", m)
		}
		for _, o := range reply.Jobs {
			if o.Refusal.GetCode() != 0 {
				s.outcome(o)
				last = o
			}
		}
		if last != nil && !last.Array {
			s.twice(verb, last.Refusal.Message)
		}
	}
}

// outcome reports what the controller said of one job, or of tasks of an array.
func (s *session) outcome(o *wire.JobOutcome) {
	if o.Array {
		s.fail("%s: %s", o.Id, o.Refusal.Message)
		return
	}
	s.fail("%s for job %s", o.Refusal.Message, o.Id)
}

// refuse reports what is wrong with one job.
func (s *session) refuse(verb wire.JobVerb, id, message string) {
	s.fail("%s for job %s", message, id)
	s.twice(verb, message)
}

// twice: holding and releasing say at the end what went wrong last, and clients
// match either line.
func (s *session) twice(verb wire.JobVerb, message string) {
	switch verb {
	case wire.JobVerb_VERB_HOLD, wire.JobVerb_VERB_UHOLD, wire.JobVerb_VERB_RELEASE:
		s.fail("slurm_suspend error: %s", message)
	}
}

// refuseAll reports a failure that concerns all that was named.
func (s *session) refuseAll(verb wire.JobVerb, req *wire.JobActionRequest, message string) {
	for _, ref := range req.Jobs {
		id := fmt.Sprint(ref.JobId)
		if ref.Tasks != "" {
			id += "_" + ref.Tasks
		}
		s.refuse(verb, id, message)
	}
	if len(req.Jobs) == 0 {
		s.fail("%s error: %s", callOf(verb), message)
	}
}

// callOf is the name under which Slurm reports that such a request failed.
func callOf(verb wire.JobVerb) string {
	switch verb {
	case wire.JobVerb_VERB_REQUEUE, wire.JobVerb_VERB_REQUEUE_HOLD:
		return "slurm_requeue"
	case wire.JobVerb_VERB_TOP:
		return "slurm_top_job"
	}
	return "slurm_suspend"
}

// admin makes a command that is passed on as it is.
func admin(verb, failure string) func(*session, context.Context, []string) {
	return func(s *session, ctx context.Context, words []string) {
		var reply *wire.AdminReply
		req := &wire.AdminRequest{RequestId: client.RequestID(), Verb: verb, Argument: strings.Join(words, " ")}
		err := s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
			reply, err = ctld.Admin(ctx, req)
			return err
		})
		if err != nil {
			s.fail("%s: %v", failure, err)
			return
		}
		for _, m := range reply.Messages {
			s.p.Raw("%s", m)
		}
		if reply.Refusal.GetCode() != 0 {
			s.fail("%s: %s", failure, reply.Refusal.Message)
		}
	}
}

func (s *session) shutdown(ctx context.Context, words []string) {
	if len(words) == 1 && !matches(words[0], "slurmctld", 5) && !matches(words[0], "controller", 3) {
		s.fail("invalid shutdown argument:%s", words[0])
		return
	}
	admin("shutdown", "slurm_shutdown error")(s, ctx, words)
}

func (s *session) completing(ctx context.Context, _ []string) {
	sel := &wire.JobSelect{States: []string{"COMPLETING"}, AllPartitions: true}
	jobs, refusal, err := s.loadJobs(ctx, &wire.JobsRequest{Select: sel})
	switch {
	case err != nil:
		s.fail("slurm_load_jobs error: %v", err)
		return
	case refusal.GetCode() != 0:
		s.fail("slurm_load_jobs error: %s", refusal.Message)
		return
	}
	for _, j := range jobs {
		_, _ = s.p.Stdout.Write(appendCompleting(nil, &s.style, j))
	}
}
