package queue

import (
	"os"

	"muster/internal/command"
	"muster/internal/command/flags"
)

// variables are the options that the environment gives, in the order in which
// they are read.
var variables = [...]struct {
	name string
	key  int
	flag bool // its being set is enough
}{
	{"SQUEUE_ACCOUNT", keyAccount, false},
	{"SQUEUE_ALL", keyAll, true},
	{"SQUEUE_ARRAY", keyArray, true},
	{"SQUEUE_FEDERATION", keyFederation, true},
	{"SQUEUE_LICENSES", keyLicenses, false},
	{"SQUEUE_LOCAL", keyLocal, true},
	{"SQUEUE_NAMES", keyName, false},
	{"SQUEUE_PARTITION", keyPartition, false},
	{"SQUEUE_PRIORITY", keyPriority, true},
	{"SQUEUE_QOS", keyQOS, false},
	{"SQUEUE_SIBLING", keySibling, true},
	{"SQUEUE_SORT", keySort, false},
	{"SQUEUE_STATES", keyStates, false},
	{"SQUEUE_USERS", keyUser, false},
}

// fromEnvironment turns the variables into options that stand before those of
// the command line.
func fromEnvironment(p *command.Program) []flags.Value {
	var out []flags.Value
	for _, v := range variables {
		if text, set := variable(p, v.name); set {
			out = append(out, flags.Value{Key: v.key, Text: text, Has: !v.flag})
		}
	}
	return out
}

// variable tells a variable that is empty from one that is not set: an empty
// list selects nothing.
func variable(p *command.Program, name string) (string, bool) {
	if text := p.Getenv(name); text != "" {
		return text, true
	}
	return os.LookupEnv(name)
}
