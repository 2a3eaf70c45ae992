package control

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"muster/internal/command/client"
	"muster/internal/model"
	"muster/internal/wire"
)

// errorTexts has a line for each number that Slurm's commands and daemons report.
//
//go:embed errnums.txt
var errorTexts string

// firstOwnError is the first number that is not the kernel's.
const firstOwnError = 1000

// errnumstr prints what an error's number means.
func (s *session) errnumstr(_ context.Context, words []string) {
	if len(words) != 1 {
		s.fail("one arguments required for keyword:errnumstr")
		return
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		s.fail("numeric arguments required for keyword:errnumstr")
		return
	}
	s.p.Print("%s\n", errorText(n))
}

func errorText(n int) string {
	if n >= 0 && n < firstOwnError {
		text := []rune(unix.Errno(n).Error())
		if n != 0 && len(text) > 0 && !strings.HasPrefix(string(text), "errno ") {
			text[0] = unicode.ToUpper(text[0])
			return string(text)
		}
	}
	number := strconv.Itoa(n) + "\t"
	for line := range strings.Lines(errorTexts) {
		if text, ok := strings.CutPrefix(line, number); ok {
			return strings.TrimSuffix(text, "\n")
		}
	}
	return "Unknown error " + strconv.Itoa(n)
}

// waitPause is between two looks at a job that is being set up.
const waitPause = time.Second

// waitJob waits until a job's nodes are ready for it: its prologs have ended.
func (s *session) waitJob(ctx context.Context, words []string) {
	ref, err := model.ParseJobRef(words[0])
	if err != nil || ref.HasStep {
		s.p.Error("Invalid job id %s", words[0])
		s.code = 1
		return
	}
	for {
		jobs, refusal, err := s.loadJobs(ctx, &wire.JobsRequest{One: true, Select: &wire.JobSelect{AllStates: true, AllPartitions: true, Jobs: []*wire.JobRef{ref}}})
		switch {
		case err != nil:
			s.fail("scontrol: error: %v", err)
			return
		case refusal.GetCode() != 0 || len(jobs) == 0 || model.Ended(jobs[0].State.State):
			s.fail("scontrol: Problem running job %d", ref.JobId)
			return
		}
		st := jobs[0].State
		if st.State != wire.BaseState_PENDING && st.Flags&uint32(wire.StateFlag_FLAG_CONFIGURING) == 0 {
			s.p.Say("Nodes are ready for job %d", ref.JobId)
			return
		}
		select {
		case <-ctx.Done():
			s.code = 1
			return
		case <-time.After(waitPause):
		}
	}
}

// schedLogLevel: there is no log of scheduling beside the controller's, and so
// Slurm's answer where none is configured.
func (s *session) schedLogLevel(context.Context, []string) {
	s.fail("slurm_set_schedlog_level error: Requested operation is presently disabled")
}

// cluster chooses whom the next commands are for; there is one.
func (s *session) cluster(_ context.Context, words []string) {
	if len(words) > 0 && words[0] != s.c.Conf.Cluster && words[0] != "all" {
		s.p.Error("No cluster '%s' known by database.", words[0])
		s.code = 1
	}
}

// setDebug sets how much the controller logs.
func (s *session) setDebug(ctx context.Context, words []string) {
	level := strings.ToLower(words[0])
	known := [...]string{"quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5"}
	if n, err := strconv.Atoi(level); err == nil && n >= 0 && n < len(known) {
		level = known[n]
	}
	for _, k := range known {
		if k == level {
			admin("setdebug", "slurm_set_debug_level error")(s, ctx, []string{level})
			return
		}
	}
	s.fail("invalid debug level: %s", words[0])
}

// notify has a text written to the standard error of a job's script.
func (s *session) notify(ctx context.Context, words []string) {
	ref, err := model.ParseJobRef(words[0])
	if err != nil || ref.HasStep {
		s.fail("Invalid job_id %s", words[0])
		return
	}
	var reply *wire.JobOutcomes
	err = s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.JobAction(ctx, &wire.JobActionRequest{RequestId: client.RequestID(), Verb: wire.JobVerb_VERB_NOTIFY,
			Jobs: []*wire.JobRef{ref}, Text: strings.Join(words[1:], " ")})
		return err
	})
	switch {
	case err != nil:
		s.fail("job notify failure: %v", err)
		return
	case reply.Refusal.GetCode() != 0:
		s.fail("job notify failure: %s", reply.Refusal.Message)
		return
	}
	for _, o := range reply.Jobs {
		if o.Refusal.GetCode() != 0 {
			s.fail("job notify failure: %s", o.Refusal.Message)
		}
	}
}

// showNothing is what is printed of a subsystem of which the cluster has nothing.
func showNothing(text string, failed bool) func(*session, string) {
	return func(s *session, id string) {
		switch {
		case failed:
			s.p.Error("%s", text)
		case text != "":
			s.p.Print("%s\n", text)
		}
	}
}

func (s *session) showReservation(id string) {
	if id == "" {
		s.p.Print("No reservations in the system\n")
		return
	}
	s.p.Print("Reservation %s not found\n", id)
	s.code = 1
}

func (s *session) showTopology(id string) {
	if id == "" {
		s.p.Error("No topology information available")
		return
	}
	s.p.Error("Topology information contains no switch or node named %s", id)
}
