package model

import (
	"strings"

	"muster/internal/wire"
)

// StateName is a job state as people write it.
type StateName struct {
	Short, Long string
}

// JobStates are all words that a job's state can be shown as, in the order of
// the manuals. Base states and flags stand side by side here because a filter
// may name either.
var JobStates = [...]StateName{
	{"BF", "BOOT_FAIL"},
	{"CA", "CANCELLED"},
	{"CD", "COMPLETED"},
	{"CF", "CONFIGURING"},
	{"CG", "COMPLETING"},
	{"DL", "DEADLINE"},
	{"F", "FAILED"},
	{"NF", "NODE_FAIL"},
	{"OOM", "OUT_OF_MEMORY"},
	{"PD", "PENDING"},
	{"PR", "PREEMPTED"},
	{"R", "RUNNING"},
	{"RD", "RESV_DEL_HOLD"},
	{"RF", "REQUEUE_FED"},
	{"RH", "REQUEUE_HOLD"},
	{"RQ", "REQUEUED"},
	{"RS", "RESIZING"},
	{"RV", "REVOKED"},
	{"SI", "SIGNALING"},
	{"SE", "SPECIAL_EXIT"},
	{"SO", "STAGE_OUT"},
	{"ST", "STOPPED"},
	{"S", "SUSPENDED"},
	{"TO", "TIMEOUT"},
}

// BaseName is the name of a base state without its flags.
func BaseName(s wire.BaseState) StateName {
	switch s {
	case wire.BaseState_PENDING:
		return StateName{"PD", "PENDING"}
	case wire.BaseState_RUNNING:
		return StateName{"R", "RUNNING"}
	case wire.BaseState_SUSPENDED:
		return StateName{"S", "SUSPENDED"}
	case wire.BaseState_COMPLETED:
		return StateName{"CD", "COMPLETED"}
	case wire.BaseState_CANCELLED:
		return StateName{"CA", "CANCELLED"}
	case wire.BaseState_FAILED:
		return StateName{"F", "FAILED"}
	case wire.BaseState_TIMEOUT:
		return StateName{"TO", "TIMEOUT"}
	case wire.BaseState_NODE_FAIL:
		return StateName{"NF", "NODE_FAIL"}
	case wire.BaseState_PREEMPTED:
		return StateName{"PR", "PREEMPTED"}
	case wire.BaseState_BOOT_FAIL:
		return StateName{"BF", "BOOT_FAIL"}
	case wire.BaseState_DEADLINE:
		return StateName{"DL", "DEADLINE"}
	case wire.BaseState_OUT_OF_MEMORY:
		return StateName{"OOM", "OUT_OF_MEMORY"}
	}
	return StateName{"?", "?"}
}

// flagNames lists the flags that replace the base state's name, the strongest first.
var flagNames = [...]struct {
	flag wire.StateFlag
	name StateName
}{
	{wire.StateFlag_FLAG_COMPLETING, StateName{"CG", "COMPLETING"}},
	{wire.StateFlag_FLAG_CONFIGURING, StateName{"CF", "CONFIGURING"}},
	{wire.StateFlag_FLAG_RESIZING, StateName{"RS", "RESIZING"}},
	{wire.StateFlag_FLAG_REQUEUED, StateName{"RQ", "REQUEUED"}},
	{wire.StateFlag_FLAG_REQUEUE_HOLD, StateName{"RH", "REQUEUE_HOLD"}},
	{wire.StateFlag_FLAG_SPECIAL_EXIT, StateName{"SE", "SPECIAL_EXIT"}},
	{wire.StateFlag_FLAG_STOPPED, StateName{"ST", "STOPPED"}},
	{wire.StateFlag_FLAG_REVOKED, StateName{"RV", "REVOKED"}},
	{wire.StateFlag_FLAG_SIGNALING, StateName{"SI", "SIGNALING"}},
}

// StateWord is the one word that squeue and scontrol show for a state with flags.
func StateWord(s wire.BaseState, flags uint32) StateName {
	if flags != 0 {
		for _, f := range flagNames {
			if flags&uint32(f.flag) != 0 {
				return f.name
			}
		}
	}
	return BaseName(s)
}

// FlagWords are the long names of the flags that stand on top of a state.
func FlagWords(flags uint32) []string {
	var out []string
	for _, f := range flagNames {
		if flags&uint32(f.flag) != 0 {
			out = append(out, f.name.Long)
		}
	}
	return out
}

// ParseState finds the state that a user named by its short or long word, in
// any case.
func ParseState(word string) (StateName, bool) {
	for _, n := range JobStates {
		if strings.EqualFold(word, n.Short) || strings.EqualFold(word, n.Long) {
			return n, true
		}
	}
	return StateName{}, false
}

// HasState tells whether a job counts as being in the state with that long
// name: its base state, or any of its flags. A job that is still completing is
// not yet found under the state it will end in.
func HasState(s wire.BaseState, flags uint32, long string) bool {
	for _, f := range flagNames {
		if f.name.Long == long {
			return flags&uint32(f.flag) != 0
		}
	}
	if flags&uint32(wire.StateFlag_FLAG_COMPLETING) != 0 {
		return false
	}
	return BaseName(s).Long == long
}

// BaseStateOf is the base state with that long name.
func BaseStateOf(long string) (wire.BaseState, bool) {
	for s := wire.BaseState_PENDING; s <= wire.BaseState_OUT_OF_MEMORY; s++ {
		if BaseName(s).Long == long {
			return s, true
		}
	}
	return 0, false
}

// FlagOf is the flag with that long name.
func FlagOf(long string) (wire.StateFlag, bool) {
	for _, f := range flagNames {
		if f.name.Long == long {
			return f.flag, true
		}
	}
	return 0, false
}

// Ended tells whether a base state is final.
func Ended(s wire.BaseState) bool { return s > wire.BaseState_SUSPENDED }

// Active tells whether squeue shows a job without being asked for ended ones:
// it waits, runs, or something of it is still left on a node.
func Active(s wire.BaseState, flags uint32) bool {
	return !Ended(s) || flags&uint32(wire.StateFlag_FLAG_COMPLETING) != 0
}
