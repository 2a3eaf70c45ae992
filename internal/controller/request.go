package controller

import (
	"google.golang.org/protobuf/proto"

	"muster/internal/model"
	"muster/internal/wire"
)

// answersKept is how long the answer of a request is remembered, in seconds.
const answersKept = 3600

type requestKey struct {
	uid uint32
	id  string
}

// answer is what a request was answered with.
type answer struct {
	at    int64
	reply []byte
}

// request applies a request, or gives a repeat its first answer.
func (s *State) request(r request) {
	h := r.head()
	if h.ID != "" {
		a := s.recent[requestKey{h.Actor.UID, h.ID}]
		if a == nil && h.Kept != nil {
			a = &answer{at: s.now, reply: h.Kept}
		}
		if a != nil {
			s.effect(replyTo{h.ticket, s.again(r, a)})
			return
		}
	}
	reply := s.answer(r)
	s.effect(replyTo{h.ticket, reply})
	if m, ok := keepable(reply); ok && h.ID != "" {
		s.remember(h, m)
	}
	s.timers()
}

// keepable tells whether an answer holds for repeats: busy and test runs do not.
func keepable(reply any) (proto.Message, bool) {
	if g, ok := reply.(*StepGrant); ok {
		return g.Reply, !g.Reply.Busy
	}
	m, ok := reply.(proto.Message)
	return m, ok
}

func (s *State) remember(h *Head, m proto.Message) {
	data, err := proto.Marshal(m)
	if err != nil {
		s.logf(levelError, "answer not kept", "request", h.ID, "error", err)
		return
	}
	key := requestKey{h.Actor.UID, h.ID}
	s.recent[key] = &answer{at: s.now, reply: data}
	s.expiry = append(s.expiry, key)
	s.out.requests = append(s.out.requests, model.RequestResult{ID: h.ID, UID: h.Actor.UID, At: s.now, Reply: data})
	for len(s.expiry) > 0 {
		old := s.recent[s.expiry[0]]
		if old != nil && s.now-old.at < answersKept {
			break
		}
		delete(s.recent, s.expiry[0])
		s.expiry = s.expiry[1:]
	}
}

// again makes the first answer out of what was kept.
func (s *State) again(r request, a *answer) any {
	m := replyFor(r)
	if err := proto.Unmarshal(a.reply, m); err != nil {
		s.logf(levelError, "kept answer not readable", "request", r.head().ID, "error", err)
	}
	if reply, ok := m.(*wire.StepReply); ok {
		return s.regrant(reply)
	}
	return m
}

func replyFor(r request) proto.Message {
	switch r.(type) {
	case *Submit:
		return &wire.SubmitReply{}
	case *Signal, *JobAction:
		return &wire.JobOutcomes{}
	case *CreateStep:
		return &wire.StepReply{}
	case *Update, *EndStep:
		return &wire.UpdateReply{}
	default:
		return &wire.AdminReply{}
	}
}

func (s *State) answer(r request) any {
	switch r := r.(type) {
	case *Submit:
		return s.submit(r)
	case *Signal:
		return s.signal(r)
	case *JobAction:
		return s.action(r)
	case *Update:
		return s.update(r)
	case *CreateStep:
		return s.createStep(r)
	case *EndStep:
		return s.endStep(r)
	case *Reconfigure:
		return s.reconfigure(r)
	case *Adopt:
		return s.adopt(r)
	}
	return &wire.AdminReply{Refusal: errParameter}
}

// failed is the answer to a request that the database refuses.
func failed(r request, why string) any {
	f := refusal(1, why)
	switch m := replyFor(r).(type) {
	case *wire.SubmitReply:
		m.Refusal = f
		return m
	case *wire.JobOutcomes:
		m.Refusal = f
		return m
	case *wire.UpdateReply:
		m.Refusal = f
		return m
	case *wire.StepReply:
		m.Refusal = f
		return &StepGrant{Reply: m}
	case *wire.AdminReply:
		m.Refusal = f
		return m
	default:
		return m
	}
}

// Levels of log lines, slog's.
const (
	levelInfo  = 0
	levelWarn  = 4
	levelError = 8
)

func (s *State) logf(level int, msg string, args ...any) { s.effect(logLine{level, msg, args}) }
