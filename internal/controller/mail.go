package controller

import "muster/internal/wire"

// What a job's owner may be told of.
const (
	mailBegin   = wire.MailType_MAIL_BEGIN
	mailEnd     = wire.MailType_MAIL_END
	mailFail    = wire.MailType_MAIL_FAIL
	mailRequeue = wire.MailType_MAIL_REQUEUE
)

func mailWord(what wire.MailType) string {
	switch what {
	case mailBegin:
		return "Began"
	case mailFail:
		return "Failed"
	case mailRequeue:
		return "Requeued"
	}
	return "Ended"
}

// mail tells the user of one of the things that were asked for. Tasks of an
// array are told of one by one only when that was asked for.
func (s *State) mail(j *job, what wire.MailType) {
	if j.spec.MailType&uint32(what) == 0 || j.arr != nil && j.spec.MailType&uint32(wire.MailType_MAIL_ARRAY_TASKS) == 0 && !s.mailForArray(j, what) {
		return
	}
	s.effect(sendMail{Mail{mailWord(what), j.spec, j.st}})
}

// mailForArray tells whether the event is the array's own: its first start, its last end.
func (s *State) mailForArray(j *job, what wire.MailType) bool {
	for _, m := range j.arr.members {
		if m == j {
			continue
		}
		if what == mailBegin && m.st.Attempt > 0 || what != mailBegin && !final(m.st) {
			return false
		}
	}
	return true
}

func (s *State) mailEnd(j *job) {
	if j.st.State == wire.BaseState_COMPLETED {
		s.mail(j, mailEnd)
		return
	}
	if j.spec.MailType&uint32(mailFail) != 0 {
		s.mail(j, mailFail)
		return
	}
	s.mail(j, mailEnd)
}
