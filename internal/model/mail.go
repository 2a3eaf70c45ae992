package model

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

// ParseMailType reads a comma list of --mail-type as bits of wire.MailType; NONE
// takes back what stands before it. ok is false for a word that does not exist.
func ParseMailType(list string) (bits uint32, ok bool) {
	for word := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(word, "NONE") {
			return 0, true
		}
		known := word == ""
		for _, m := range mailTypes {
			if strings.EqualFold(m.name, word) {
				bits |= uint32(m.bits)
				known = true
			}
		}
		if !known {
			return 0, false
		}
	}
	return bits, true
}
