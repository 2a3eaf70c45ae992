package controller

import (
	"strconv"
	"strings"

	"muster/internal/wire"
)

// update changes a job, node or partition. A request is applied whole or not
// at all: every field is checked on a copy first.
func (s *State) update(ev *Update) *wire.UpdateReply {
	switch strings.ToLower(ev.Request.Entity) {
	case "job":
		return s.updateJobs(ev)
	case "node":
		return s.updateNodes(ev)
	case "partition":
		return s.updatePartition(ev)
	}
	return &wire.UpdateReply{Refusal: refusal(2036, "not supported yet: update of "+ev.Request.Entity)}
}

// unknownField refuses a field that is not acted on.
func unknownField(key string) *wire.Refusal {
	return refusal(2036, "not supported yet: "+key)
}

func badValue(key, value string) *wire.Refusal {
	return refusal(2118, "Invalid "+key+" value: "+value)
}

func parseUint32(f *wire.FieldUpdate) (uint32, *wire.Refusal) {
	v := strings.ToUpper(f.Value)
	if v == "UNLIMITED" || v == "INFINITE" {
		return Unlimited, nil
	}
	n, err := strconv.ParseUint(f.Value, 10, 32)
	if err != nil {
		return 0, badValue(f.Key, f.Value)
	}
	return uint32(n), nil
}

func parseYesNo(f *wire.FieldUpdate) (bool, *wire.Refusal) {
	switch strings.ToUpper(f.Value) {
	case "YES", "1", "TRUE":
		return true, nil
	case "NO", "0", "FALSE":
		return false, nil
	}
	return false, badValue(f.Key, f.Value)
}
