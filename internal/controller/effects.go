package controller

import (
	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/wire"
)

// Effects carries out what follows from committed changes. Every call returns
// at once: the receiver queues, and closes a session whose queue is full.
// Calls come from one goroutine, in the order of the changes.
type Effects interface {
	// Send hands an order to a node's session; dropped if that session is gone.
	Send(node string, session uint64, order *wire.NodeOrder)
	// Launch completes a run order (contents, cluster id and generation, addresses), signs and sends it.
	Launch(node string, session uint64, run *wire.RunOrder)
	// Registered answers a registration; why is empty when it is accepted.
	Registered(node string, session uint64, why string)
	// CloseSession ends a session, for the reason given.
	CloseSession(node string, session uint64, why string)
	// RunHook starts PrologSlurmctld or EpilogSlurmctld; HookDone is posted when it ended.
	RunHook(h Hook)
	// Mail calls MailProg, at most once.
	Mail(m Mail)
}

// HookKind tells which program a Hook is.
type HookKind int

// The controller's own hooks.
const (
	PrologSlurmctld HookKind = iota
	EpilogSlurmctld
)

// Hook is a program that the controller runs for a job.
type Hook struct {
	Kind  HookKind
	Spec  *wire.JobSpec
	State *wire.JobState
}

// Mail is a message about a job. What says what happened, as in Slurm's subject
// line ("Began", "Ended", "Failed", …).
type Mail struct {
	What  string
	Spec  *wire.JobSpec
	State *wire.JobState
}

// effect is one thing to do after a commit.
type effect interface{ do(x *executor) }

// executor is where effects go: the outside, the open tickets, the log.
type executor struct {
	out    Effects
	answer func(ticket uint64, reply any)
	log    func(l logLine)
}

type (
	replyTo struct {
		ticket uint64
		reply  any // proto.Message or *StepGrant
	}
	sendOrder struct {
		node    string
		session uint64
		order   *wire.NodeOrder
	}
	sendLaunch struct {
		node    string
		session uint64
		run     *wire.RunOrder
	}
	registered struct {
		node    string
		session uint64
		why     string
	}
	closeSession struct {
		node    string
		session uint64
		why     string
	}
	runHook  struct{ hook Hook }
	sendMail struct{ mail Mail }
	logLine  struct {
		level int // slog's
		msg   string
		args  []any
	}
)

func (e replyTo) do(x *executor)      { x.answer(e.ticket, e.reply) }
func (e sendOrder) do(x *executor)    { x.out.Send(e.node, e.session, e.order) }
func (e sendLaunch) do(x *executor)   { x.out.Launch(e.node, e.session, e.run) }
func (e registered) do(x *executor)   { x.out.Registered(e.node, e.session, e.why) }
func (e closeSession) do(x *executor) { x.out.CloseSession(e.node, e.session, e.why) }
func (e runHook) do(x *executor)      { x.out.RunHook(e.hook) }
func (e sendMail) do(x *executor)     { x.out.Mail(e.mail) }
func (e logLine) do(x *executor)      { x.log(e) }

var _ proto.Message = (*wire.NodeOrder)(nil)

// runRef names an attempt.
type runRef struct {
	key     model.JobKey
	attempt uint32
}
