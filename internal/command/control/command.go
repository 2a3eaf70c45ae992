package control

import (
	"context"
	"strings"

	"muster/internal/command"
	"muster/internal/wire"
)

// keyword is a command of scontrol.
type keyword struct {
	name     string
	shortest int // how far it may be abbreviated
	min, max int // words after it; max < 0 = any number
	run      func(*session, context.Context, []string)
	local    bool // needs no controller
	later    bool // refused by name
}

// keywords are matched in this order, as abbreviations may fit several.
func keywords() []keyword {
	return []keyword{
		{name: "all", shortest: 3, local: true, run: func(s *session, _ context.Context, _ []string) { s.all = true }},
		{name: "adopt", shortest: 5, max: 2, run: admin("adopt", "slurm_adopt error")},
		{name: "cluster", shortest: 2, max: 1, run: (*session).cluster},
		{name: "completing", shortest: 3, run: (*session).completing},
		{name: "create", shortest: 3, min: 1, max: -1, run: (*session).create},
		{name: "delete", shortest: 3, min: 1, max: -1, run: (*session).remove},
		{name: "details", shortest: 3, local: true, run: func(s *session, _ context.Context, _ []string) { s.style.Details = true }},
		{name: "errnumstr", shortest: 2, max: -1, local: true, run: (*session).errnumstr},
		{name: "exit", shortest: 1, local: true, run: quit},
		{name: "help", shortest: 2, local: true, run: func(s *session, _ context.Context, _ []string) { help(s.p) }},
		{name: "hide", shortest: 2, local: true, run: func(s *session, _ context.Context, _ []string) { s.all = false }},
		{name: "hold", shortest: 3, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_HOLD)},
		{name: "holdu", shortest: 5, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_UHOLD)},
		{name: "kill", shortest: 4, min: 2, max: 2, run: admin("kill", "slurm_kill error")},
		{name: "notify", shortest: 1, min: 2, max: -1, run: (*session).notify},
		{name: "oneliner", shortest: 1, local: true, run: func(s *session, _ context.Context, _ []string) { s.style.OneLine = true }},
		{name: "ping", shortest: 3, run: (*session).ping},
		{name: "quiet", shortest: 4, local: true, run: func(s *session, _ context.Context, _ []string) { s.p.Level = -1 }},
		{name: "quit", shortest: 4, local: true, run: quit},
		{name: "reconfigure", shortest: 3, run: admin("reconfigure", "slurm_reconfigure error")},
		{name: "release", shortest: 3, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_RELEASE)},
		{name: "requeue", shortest: 3, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_REQUEUE)},
		{name: "requeuehold", shortest: 8, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_REQUEUE_HOLD)},
		{name: "resume", shortest: 3, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_RESUME)},
		{name: "schedloglevel", shortest: 3, min: 1, max: 1, run: (*session).schedLogLevel},
		{name: "setdebug", shortest: 3, min: 1, max: 1, run: (*session).setDebug},
		{name: "show", shortest: 3, min: 1, max: 2, run: (*session).show},
		{name: "shutdown", shortest: 8, max: 1, run: (*session).shutdown},
		{name: "suspend", shortest: 2, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_SUSPEND)},
		{name: "takeover", shortest: 8, max: 1, run: admin("takeover", "slurm_takeover error")},
		{name: "top", shortest: 3, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_TOP)},
		{name: "uhold", shortest: 2, min: 1, max: -1, run: jobAction(wire.JobVerb_VERB_UHOLD)},
		{name: "update", shortest: 1, min: 1, max: -1, run: (*session).update},
		{name: "verbose", shortest: 4, local: true, run: func(s *session, _ context.Context, _ []string) { s.p.Level = 1 }},
		{name: "version", shortest: 4, local: true, run: func(s *session, _ context.Context, _ []string) { s.p.PrintVersion() }},
		{name: "wait_job", shortest: 4, min: 1, max: 1, run: (*session).waitJob},
		{name: "write", shortest: 5, min: 1, max: 3, run: (*session).write},

		{name: "cancel_reboot", shortest: 4, max: -1, later: true},
		{name: "fsdampeningfactor", shortest: 3, max: -1, later: true},
		{name: "getaddrs", shortest: 4, max: -1, later: true},
		{name: "getent", shortest: 4, max: -1, later: true},
		{name: "listjobs", shortest: 5, max: -1, later: true},
		{name: "listpids", shortest: 5, max: -1, later: true},
		{name: "liststeps", shortest: 5, max: -1, later: true},
		{name: "pidinfo", shortest: 3, max: -1, later: true},
		{name: "power", shortest: 3, max: -1, later: true},
		{name: "reboot", shortest: 3, max: -1, later: true},
		{name: "setdebugflags", shortest: 9, max: -1, later: true},
		{name: "token", shortest: 3, max: -1, later: true},
	}
}

func quit(s *session, _ context.Context, _ []string) { s.done = true }

func find(word string) *keyword {
	list := keywords()
	for i := range list {
		if matches(word, list[i].name, list[i].shortest) {
			return &list[i]
		}
	}
	return nil
}

// matches tells whether word is name, or an abbreviation of it that is long enough.
func matches(word, name string, shortest int) bool {
	return len(word) >= min(shortest, len(name)) && len(word) <= len(name) && strings.EqualFold(word, name[:len(word)])
}

// local runs a command that needs no controller; false = it is none of these.
func (s *session) local(words []string) bool {
	k := find(words[0])
	switch {
	case k == nil:
		s.fail("invalid keyword: %s", words[0])
		return true
	case !s.countOK(k, words):
		return true
	case k.later:
		s.p.Error("not supported yet: %s", k.name)
		s.code = command.ExitError
		return true
	case k.name == "show":
		return s.showLocal(words[1:])
	case k.local:
		k.run(s, nil, words[1:])
		return true
	}
	return false
}

func (s *session) countOK(k *keyword, words []string) bool {
	switch n := len(words) - 1; {
	case n < k.min && (k.name == "update" || k.name == "create" || k.name == "delete"):
		s.fail("too few arguments for %s keyword", k.name)
	case n < k.min:
		s.fail("too few arguments for keyword:%s", words[0])
	case k.max >= 0 && n > k.max:
		s.fail("too many arguments for keyword:%s", words[0])
	default:
		return true
	}
	return false
}

func (s *session) command(ctx context.Context, words []string) {
	s.words = words
	find(words[0]).run(s, ctx, words[1:])
}
