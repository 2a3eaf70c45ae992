package control

import (
	"fmt"
	"time"

	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// AppendConfig appends what scontrol show config prints before the line about
// the controllers.
func AppendConfig(b []byte, style *Style, reply *wire.ConfigReply) []byte {
	now := time.Unix(reply.Now, 0).In(style.Now.Location())
	b = fmt.Appendf(b, "Configuration data as of %s\n", slurmtime.Stamp(now, style.TimeFormat, now))
	b = appendPairs(b, reply.Config)
	if len(reply.Cgroup) > 0 {
		b = append(b, "\nCgroup Support Configuration:\n"...)
		b = appendPairs(b, reply.Cgroup)
	}
	return append(b, '\n')
}

func appendPairs(b []byte, pairs []*wire.KeyValue) []byte {
	for _, kv := range pairs {
		b = fmt.Appendf(b, "%-23s = %s\n", kv.Key, kv.Value)
	}
	return b
}
