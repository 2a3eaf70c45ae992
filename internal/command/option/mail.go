package option

import (
	"strings"

	"muster/internal/wire"
)

var mailTypes = []struct {
	name string
	bits wire.MailType
}{
	{"BEGIN", wire.MailType_MAIL_BEGIN},
	{"END", wire.MailType_MAIL_END},
	{"FAIL", wire.MailType_MAIL_FAIL},
	{"REQUEUE", wire.MailType_MAIL_REQUEUE},
	{"ALL", wire.MailType_MAIL_BEGIN | wire.MailType_MAIL_END | wire.MailType_MAIL_FAIL | wire.MailType_MAIL_REQUEUE |
		wire.MailType_MAIL_STAGE_OUT | wire.MailType_MAIL_INVALID_DEPEND},
	{"STAGE_OUT", wire.MailType_MAIL_STAGE_OUT},
	{"TIME_LIMIT", wire.MailType_MAIL_TIME_LIMIT},
	{"TIME_LIMIT_90", wire.MailType_MAIL_TIME_LIMIT_90},
	{"TIME_LIMIT_80", wire.MailType_MAIL_TIME_LIMIT_80},
	{"TIME_LIMIT_50", wire.MailType_MAIL_TIME_LIMIT_50},
	{"ARRAY_TASKS", wire.MailType_MAIL_ARRAY_TASKS},
	{"INVALID_DEPEND", wire.MailType_MAIL_INVALID_DEPEND},
}

// mailType reads a comma list; several options add up, NONE takes all back.
func mailType(o *Options, e *Entry, value string) error {
	if value == "" {
		return invalid(e)
	}
	bits := o.Spec.MailType
	for word := range strings.SplitSeq(value, ",") {
		if word == "" {
			continue
		}
		if strings.EqualFold(word, "NONE") {
			o.Spec.MailType = 0
			return nil
		}
		known := false
		for _, m := range mailTypes {
			if strings.EqualFold(m.name, word) {
				bits |= uint32(m.bits)
				known = true
			}
		}
		if !known {
			return invalid(e)
		}
	}
	o.Spec.MailType = bits
	return nil
}
