package controller

import (
	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// Event is anything that changes the state.
type Event interface{ event() }

// Actor is who asks, as decided where the request came in.
type Actor struct {
	UID      uint32
	Operator bool // may act on jobs of others and raise limits (root, SlurmUser, operators)
	Admin    bool // may change nodes, partitions and the configuration
}

// may tells whether the actor may change a job of uid.
func (a Actor) may(uid uint32) bool { return a.Operator || a.Admin || a.UID == uid }

// Head is the part that all requests share.
type Head struct {
	Actor  Actor
	ID     string // made by the client; empty = a repeat cannot be recognised
	Kept   []byte // of a repeat: the first answer as it stands in the tables, if it does
	ticket uint64 // where the answer goes; set by the loop
}

func (h *Head) head() *Head { return h }

// request is an event that is answered.
type request interface {
	Event
	head() *Head
}

// Requests; each names the reply that Do returns.
type (
	// Submit is answered with *wire.SubmitReply. Spec is complete: identity set,
	// contents hashed into its Script and Environment. Contents are not read.
	Submit struct {
		Head
		Spec     *wire.JobSpec
		Contents []model.Content
		TestOnly bool
	}
	// Signal is scancel: answered with *wire.JobOutcomes. Jobs of others that the
	// selection matched by filter only are passed over; named ones are refused.
	Signal struct {
		Head
		Request *wire.SignalRequest
	}
	// JobAction holds, releases, requeues, suspends, resumes: *wire.JobOutcomes.
	JobAction struct {
		Head
		Request *wire.JobActionRequest
	}
	// Update changes a job, node or partition: *wire.UpdateReply.
	Update struct {
		Head
		Request *wire.UpdateRequest
		Groups  []uint32 // ids of the groups that AllowGroups of a partition names
	}
	// CreateStep is answered with *StepGrant.
	CreateStep struct {
		Head
		Request *wire.StepRequest
	}
	// EndStep is sent by an srun that gives its step up or has seen it end: *wire.UpdateReply.
	EndStep struct {
		Head
		Request *wire.StepEndRequest
	}
	// Reconfigure puts a checked configuration in force: *wire.AdminReply.
	Reconfigure struct {
		Head
		Settings *Settings
	}
	// Adopt decides over runs that a node has and the tables do not know (a
	// restored backup): *wire.AdminReply. Argument is "adopt NODE KEY" or "kill NODE KEY".
	Adopt struct {
		Head
		Argument string
	}
)

// StepGrant is the answer to CreateStep: the reply, and the content of the
// credential that is to be signed (nil when busy or refused).
type StepGrant struct {
	Reply      *wire.StepReply
	Credential *wire.StepCredential
}

// Facts; nobody waits for an answer.
type (
	// NodeRegister is the first thing said on a session. The effects that follow
	// are Registered (perhaps with an error), then what the node is to do.
	NodeRegister struct {
		Node     string
		Session  uint64
		Register *wire.Register
	}
	// NodeReport is a fact about a run (Run) or a step (Step).
	NodeReport struct {
		Node    string
		Session uint64
		Run     *wire.RunFact
		Step    *wire.StepReport
	}
	// NodeGone: the session ended. Since is when something was last heard on it.
	NodeGone struct {
		Node    string
		Session uint64
		Since   int64
	}
	// NodeSilent: the session stands but nothing was heard since.
	NodeSilent struct {
		Node    string
		Session uint64
		Since   int64
	}
	// NodeHeard: a silent node speaks again.
	NodeHeard struct {
		Node    string
		Session uint64
	}
	// HookDone: a controller's hook has ended (the effect RunHook started it).
	HookDone struct {
		Kind    HookKind
		Key     model.JobKey
		Attempt uint32
		Failed  string // empty = it succeeded
	}
	// LaunchLost: a launch could not be made up (its script is gone from the store, …).
	LaunchLost struct {
		Node    string
		Key     model.JobKey
		Attempt uint32
		Why     string
	}
)

// Events that the loop makes itself.
type (
	// Tick lets the timers that are due run.
	Tick struct{}
	// PlanReady is a part of a plan: starts and, with the last part, the reasons.
	PlanReady struct {
		Starts  []sched.Start
		Last    bool
		reasons *reasons
	}
)

func (*Submit) event()       {}
func (*Signal) event()       {}
func (*JobAction) event()    {}
func (*Update) event()       {}
func (*CreateStep) event()   {}
func (*EndStep) event()      {}
func (*Reconfigure) event()  {}
func (*Adopt) event()        {}
func (*NodeRegister) event() {}
func (*NodeReport) event()   {}
func (*NodeGone) event()     {}
func (*NodeSilent) event()   {}
func (*NodeHeard) event()    {}
func (*HookDone) event()     {}
func (*LaunchLost) event()   {}
func (*Tick) event()         {}
func (*PlanReady) event()    {}
