package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"time"

	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// MailSettings say how mail is sent.
type MailSettings struct {
	Program string // MailProg
	Domain  string // MailDomain
}

const (
	mailTimeout = 30 * time.Second
	mailQueue   = 1000
)

// mailer calls MailProg, one at a time, outside of the reducer. A program that
// is missing or hangs is logged once.
type mailer struct {
	settings func() MailSettings
	log      *slog.Logger
	timeout  time.Duration
	queue    chan mailJob
	cancel   context.CancelFunc
	done     sync.WaitGroup
	warned   map[string]bool
}

type mailJob struct {
	args, env []string
}

func (m *mailer) init(settings func() MailSettings, log *slog.Logger) {
	m.settings, m.log, m.warned, m.timeout = settings, log, map[string]bool{}, mailTimeout
	m.queue = make(chan mailJob, mailQueue)
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case j := <-m.queue:
				m.deliver(ctx, j)
			}
		}
	})
}

func (m *mailer) close() {
	m.cancel()
	m.done.Wait()
}

func (m *mailer) deliver(ctx context.Context, j mailJob) {
	program := m.settings().Program
	err := runProgram(ctx, program, j.args, j.env, m.timeout)
	if err == nil || ctx.Err() != nil {
		return
	}
	kind := "failed"
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		kind = "missing"
	}
	if kind += " " + program; !m.warned[kind] {
		m.warned[kind] = true
		m.log.Error("mail cannot be sent; said once", "MailProg", program, "err", err)
	}
}

// Mail queues a message; it is dropped when too many wait.
func (s *Server) Mail(msg controller.Mail) {
	set := s.rules().Mail
	if set.Program == "" {
		return
	}
	to := msg.Spec.MailUser
	if to == "" {
		to = userText(msg.Spec)
		if set.Domain != "" && !strings.Contains(to, "@") {
			to += "@" + set.Domain
		}
	}
	env := append(s.jobEnvironment(msg.Spec, msg.State), "SLURM_JOB_MAIL_TYPE="+msg.What)
	select {
	case s.mail.queue <- mailJob{args: []string{"-s", subject(msg, s.Clock().Unix()), to}, env: env}:
	default:
		s.Log.Warn("mail dropped: too many wait", "job", msg.State.JobId)
	}
}

// subject is Slurm's subject line.
func subject(m controller.Mail, now int64) string {
	st := m.State
	id := fmt.Sprintf("Job_id=%d", st.JobId)
	if st.IsArrayTask {
		id = fmt.Sprintf("Array Task Job_id=%d_%d (%d)", st.ArrayJobId, st.ArrayTaskId, st.JobId)
	} else if st.ArrayJobId != 0 {
		id = fmt.Sprintf("Array Summary Job_id=%d_* (%d)", st.ArrayJobId, st.JobId)
	}
	text := fmt.Sprintf("Slurm %s Name=%s %s", id, m.Spec.Name, m.What)
	switch {
	case m.What == "Began":
		text += ", Queued time " + slurmtime.FormatClock(st.Start-max(st.Eligible, st.Submit))
	case strings.HasPrefix(m.What, "Reached") || st.Start == 0:
	case model.Ended(st.State):
		text += ", Run time " + slurmtime.FormatClock(st.End-st.Start) + ", " + endText(st)
	default:
		text += ", Run time " + slurmtime.FormatClock(now-st.Start)
	}
	return text
}

func endText(st *wire.JobState) string {
	text := model.StateWord(st.State, 0).Long
	if sig := model.ExitSignal(st.ExitStatus); sig != 0 {
		return fmt.Sprintf("%s, ExitCode %d:%d", text, model.ExitCode(st.ExitStatus), sig)
	}
	return fmt.Sprintf("%s, ExitCode %d", text, model.ExitCode(st.ExitStatus))
}
