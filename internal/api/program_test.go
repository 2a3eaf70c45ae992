package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/controller"
	"muster/internal/wire"
)

// program writes a shell script.
func program(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

func TestHooks(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	program(t, dir, "1.hook", `echo "$SLURM_SCRIPT_CONTEXT $SLURM_JOB_ID $SLURM_JOB_USER $SLURM_JOB_NODELIST" >>`+out)
	program(t, dir, "2.hook", "echo second >>"+out)
	program(t, dir, "bad", "echo it is broken; exit 3")
	program(t, dir, "slow", "echo begun; sleep 1000 & wait")
	for name, test := range map[string]struct {
		hooks  Hooks
		kind   controller.HookKind
		failed string
		out    string
	}{
		"several": {Hooks{Prolog: []string{"*.hook"}}, controller.PrologSlurmctld, "", "prolog_slurmctld 7 u1001 n[1-2]\nsecond\n"},
		"none":    {Hooks{Epilog: []string{"bad"}}, controller.PrologSlurmctld, "", ""},
		"epilog":  {Hooks{Epilog: []string{filepath.Join(dir, "1.hook")}}, controller.EpilogSlurmctld, "", "epilog_slurmctld 7 u1001 n[1-2]\n"},
		"failing": {Hooks{Prolog: []string{"bad", "2.hook"}}, controller.PrologSlurmctld, "exit status 3: it is broken", ""},
		"hanging": {Hooks{Prolog: []string{"slow"}, Timeout: 200 * time.Millisecond}, controller.PrologSlurmctld, "no end within 200ms: begun", ""},
		"missing": {Hooks{Prolog: []string{"nowhere"}}, controller.PrologSlurmctld, "no such file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(out)
			test.hooks.Dir = dir
			w := newWorld(t, nil, func(o *Options) { o.Rules.Hooks = test.hooks })
			j := job(7, owner, wire.BaseState_RUNNING)
			j.State.Alloc = []*wire.NodeAlloc{{Node: "n1"}, {Node: "n2"}}
			w.srv.RunHook(controller.Hook{Kind: test.kind, Spec: j.Spec, State: j.State})
			done := event[*controller.HookDone](w)
			assert.EqualValues(t, 7, done.Key)
			assert.Equal(t, test.kind, done.Kind)
			if test.failed == "" {
				assert.Empty(t, done.Failed)
			} else {
				assert.Contains(t, done.Failed, test.failed)
			}
			text, _ := os.ReadFile(out)
			assert.Equal(t, test.out, string(text))
		})
	}
}

// TestHookAtTheEnd: one that runs when the controller ends is run again by the
// next, so nothing is said of it.
func TestHookAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	w := newWorld(t, nil, func(o *Options) {
		o.Rules.Hooks = Hooks{Dir: dir, Prolog: []string{program(t, dir, "hook", "touch "+begun+"; sleep 1000")}}
	})
	j := job(7, owner, wire.BaseState_RUNNING)
	w.srv.RunHook(controller.Hook{Kind: controller.PrologSlurmctld, Spec: j.Spec, State: j.State})
	require.Eventually(t, func() bool { _, err := os.Stat(begun); return err == nil }, patient, 5*time.Millisecond)
	w.srv.Close()
	for len(w.core.posted) > 0 {
		_, said := (<-w.core.posted).(*controller.HookDone)
		assert.False(t, said)
	}
}

func (w *world) send(what string, user string) {
	j := job(7, owner, wire.BaseState_RUNNING)
	j.State.Start, j.Spec.MailUser = begin-90, user
	w.srv.Mail(controller.Mail{What: what, Spec: j.Spec, State: j.State})
}

func TestMail(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	w := newWorld(t, nil, func(o *Options) {
		o.Rules.Mail = MailSettings{Program: program(t, dir, "mail", `echo "$@ [$SLURM_JOB_ID $SLURM_JOB_MAIL_TYPE]" >>`+out), Domain: "example.org"}
	})
	w.send("Requeued", "")
	w.send("Requeued", "a@b")
	want := "-s Slurm Job_id=7 Name=job7 Requeued, Run time 00:01:30 u1001@example.org [7 Requeued]\n" +
		"-s Slurm Job_id=7 Name=job7 Requeued, Run time 00:01:30 a@b [7 Requeued]\n"
	require.Eventually(t, func() bool { text, _ := os.ReadFile(out); return string(text) == want }, patient, 5*time.Millisecond)
}

func TestMailProgThatIsMissingOrHangsIsLoggedOnce(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{
		"missing": filepath.Join(dir, "nowhere"), "hanging": program(t, dir, "hang", "sleep 1000"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, func(o *Options) { o.Rules.Mail.Program = path })
			w.srv.mail.timeout = 50 * time.Millisecond
			for range 3 {
				w.send("Began", "")
			}
			// When the third is taken out, the second has failed; Close waits for it.
			require.Eventually(t, func() bool { return len(w.srv.mail.queue) == 0 }, patient, 5*time.Millisecond)
			w.srv.Close()
			assert.Equal(t, 1, strings.Count(w.log.String(), "mail cannot be sent"), w.log.String())
		})
	}
}

func TestMailNeverHoldsAnyoneUp(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, nil, func(o *Options) { o.Rules.Mail.Program = program(t, dir, "hang", "sleep 1000") })
	for range mailQueue + 2 {
		w.send("Began", "")
	}
	assert.Contains(t, w.log.String(), "mail dropped: too many wait")
}

func TestSubjectLines(t *testing.T) {
	st := func(change func(*wire.JobState)) *wire.JobState {
		s := &wire.JobState{JobId: 12, Submit: 100, Eligible: 160, Start: 200, State: wire.BaseState_RUNNING}
		change(s)
		return s
	}
	ended := func(state wire.BaseState, status int32) func(*wire.JobState) {
		return func(s *wire.JobState) { s.State, s.ExitStatus, s.End = state, status, 200+3661 }
	}
	for _, test := range []struct {
		what  string
		state *wire.JobState
		want  string
	}{
		{"Began", st(func(*wire.JobState) {}), "Slurm Job_id=12 Name=x Began, Queued time 00:00:40"},
		{"Ended", st(ended(wire.BaseState_COMPLETED, 0)), "Slurm Job_id=12 Name=x Ended, Run time 01:01:01, COMPLETED, ExitCode 0"},
		{"Failed", st(ended(wire.BaseState_FAILED, 2<<8)), "Slurm Job_id=12 Name=x Failed, Run time 01:01:01, FAILED, ExitCode 2"},
		{"Ended", st(ended(wire.BaseState_CANCELLED, 15)), "Slurm Job_id=12 Name=x Ended, Run time 01:01:01, CANCELLED, ExitCode 0:15"},
		{"Reached 50% of time limit", st(func(*wire.JobState) {}), "Slurm Job_id=12 Name=x Reached 50% of time limit"},
		{"Ended", st(func(s *wire.JobState) { s.Start, s.State = 0, wire.BaseState_CANCELLED }), "Slurm Job_id=12 Name=x Ended"},
		{"Began", st(func(s *wire.JobState) { s.IsArrayTask, s.ArrayJobId, s.ArrayTaskId = true, 10, 3 }),
			"Slurm Array Task Job_id=10_3 (12) Name=x Began, Queued time 00:00:40"},
		{"Began", st(func(s *wire.JobState) { s.ArrayJobId = 12 }), "Slurm Array Summary Job_id=12_* (12) Name=x Began, Queued time 00:00:40"},
	} {
		assert.Equal(t, test.want, subject(controller.Mail{What: test.what, Spec: &wire.JobSpec{Name: "x"}, State: test.state}, 1000))
	}
}
