// Package scancel is the command that ends and signals jobs and steps.
//
// Which jobs are meant, by id and by filter, is resolved by the controller; this
// package reads the words, asks people with -i, and reports.
package scancel

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"muster/internal/command"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/command/option"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/users"
	"muster/internal/wire"
)

const (
	keyAccount = iota
	keyBatch
	keyFull
	keyInteractive
	keyClusters
	keyName
	keyMe
	keyNodes
	keyPartition
	keyQOS
	keyQuiet
	keyReservation
	keySignal
	keyState
	keyUser
	keyWckey
	keyHurry
	keyCtld
	keyComment
	keyCron
	keySibling
)

var table = append([]flags.Flag{
	{Long: "account", Short: 'A', Arg: getopt.Required, Key: keyAccount, Meta: "names", Help: "only jobs of these accounts"},
	{Long: "admin-comment", Arg: getopt.Required, Key: keyComment, Meta: "text", Help: "a comment to leave on the jobs (operators)"},
	{Long: "batch", Short: 'b', Key: keyBatch, Help: "signal the batch script only"},
	{Long: "clusters", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "names", Help: "the cluster to use"},
	{Long: "cron", Short: 'c', Key: keyCron, Help: "jobs of scrontab", Later: true},
	{Long: "ctld", Key: keyCtld, Help: "let the controller send the signals (it always does)"},
	{Long: "full", Short: 'f', Key: keyFull, Help: "signal the batch script and all steps"},
	{Long: "hurry", Short: 'H', Key: keyHurry, Help: "leave out what follows a burst buffer"},
	{Long: "interactive", Short: 'i', Key: keyInteractive, Help: "ask before each job"},
	{Long: "jobname", Arg: getopt.Required, Key: keyName},
	{Long: "me", Key: keyMe, Help: "only your own jobs"},
	{Long: "name", Short: 'n', Arg: getopt.Required, Key: keyName, Meta: "names", Help: "only jobs of these names"},
	{Long: "nodelist", Short: 'w', Arg: getopt.Required, Key: keyNodes, Meta: "nodes", Help: "only jobs on these nodes"},
	{Long: "partition", Short: 'p', Arg: getopt.Required, Key: keyPartition, Meta: "names", Help: "only jobs of these partitions"},
	{Long: "qos", Short: 'q', Arg: getopt.Required, Key: keyQOS, Meta: "names", Help: "only jobs of these QOS"},
	{Long: "quiet", Short: 'Q', Key: keyQuiet, Help: "say nothing of jobs that are not there"},
	{Long: "reservation", Short: 'R', Arg: getopt.Required, Key: keyReservation, Meta: "names", Help: "only jobs in these reservations"},
	{Long: "sibling", Arg: getopt.Required, Key: keySibling, Meta: "cluster", Help: "a sibling in a federation", Later: true},
	{Long: "signal", Short: 's', Arg: getopt.Required, Key: keySignal, Meta: "signal", Help: "send this instead of ending the job"},
	{Long: "state", Short: 't', Arg: getopt.Required, Key: keyState, Meta: "states", Help: "only jobs in these: PENDING, RUNNING, SUSPENDED"},
	{Long: "user", Short: 'u', Arg: getopt.Required, Key: keyUser, Meta: "names", Help: "only jobs of these users"},
	{Long: "wckey", Arg: getopt.Required, Key: keyWckey, Meta: "keys", Help: "only jobs of these workload keys"},
}, flags.Common...)

// variables are the options' names in the environment.
var variables = []struct {
	name string
	key  int
}{
	{"SCANCEL_ACCOUNT", keyAccount}, {"SCANCEL_BATCH", keyBatch}, {"SCANCEL_FULL", keyFull}, {"SCANCEL_HURRY", keyHurry},
	{"SCANCEL_INTERACTIVE", keyInteractive}, {"SCANCEL_NAME", keyName}, {"SCANCEL_PARTITION", keyPartition},
	{"SCANCEL_QOS", keyQOS}, {"SCANCEL_STATE", keyState}, {"SCANCEL_USER", keyUser}, {"SCANCEL_WCKEY", keyWckey},
	{"SLURM_CLUSTERS", keyClusters},
}

// flagWords are what the variable of a flag may be set to.
var flagWords = map[string]bool{"t": true, "true": true, "f": false, "false": false}

const validStates = "\nValid job states are PENDING, RUNNING, and SUSPENDED"

// order is what the words ask for.
type order struct {
	request     *wire.SignalRequest
	refs        []string // the ids as they were typed
	filters     []string // `name=value`, for messages
	interactive bool
	signalled   bool // -s or -b: not simply the end of the job
	clusters    string
}

// textError is said as it stands, without the program's name.
type textError struct{ text string }

func (e *textError) Error() string { return e.text }

// read returns what the words and the environment ask for.
func read(p *command.Program, given []flags.Value, ids []string) (*order, error) {
	o := &order{request: &wire.SignalRequest{Select: &wire.JobSelect{}}}
	for _, v := range variables {
		text, set := os.LookupEnv(v.name)
		if !set {
			continue
		}
		switch v.key {
		case keyBatch, keyFull, keyHurry, keyInteractive:
			on, known := flagWords[strings.ToLower(text)]
			if !known {
				p.Error("Unrecognized %s value: %s", v.name, text)
			}
			if !on {
				continue
			}
		case keyState:
			if _, ok := model.ParseState(text); !ok {
				return nil, &textError{"Unrecognized " + v.name + " value: " + text + validStates}
			}
		default:
			if text == "" {
				continue
			}
		}
		if err := o.take(p, v.key, text); err != nil {
			return nil, err
		}
	}
	for _, g := range given {
		if err := o.take(p, g.Key, g.Text); err != nil {
			return nil, err
		}
	}
	for _, word := range ids {
		if err := o.id(word); err != nil {
			return nil, err
		}
	}
	if len(o.refs) == 0 && len(o.filters) == 0 {
		return nil, fmt.Errorf("No job identification provided")
	}
	r := o.request
	r.Cancel = r.Signal == 0 && !r.BatchOnly
	if r.BatchOnly && r.Signal == 0 {
		r.Signal = sigkill
	}
	return o, nil
}

const sigkill = 9

// id reads one word of ids.
func (o *order) id(word string) error {
	for _, text := range model.SplitRefs(word) {
		ref, err := model.ParseJobRef(text)
		if err != nil {
			return fmt.Errorf("Invalid job id %s", word)
		}
		o.request.Select.Jobs = append(o.request.Select.Jobs, ref)
		o.refs = append(o.refs, text)
	}
	return nil
}

func (o *order) take(p *command.Program, key int, value string) error {
	r, s := o.request, o.request.Select
	list := func(name string, to *[]string) {
		*to = flags.Words(value)
		o.filters = append(o.filters, name+"="+value)
	}
	// A value that Slurm takes as one name, commas and all.
	one := func(name string, to *[]string) {
		*to = []string{value}
		o.filters = append(o.filters, name+"="+value)
	}
	switch key {
	case keyAccount:
		list("account", &s.Accounts)
	case keyBatch:
		r.BatchOnly, o.signalled = true, true
	case keyFull:
		r.Full = true
	case keyHurry:
		r.Hurry = true
	case keyInteractive:
		o.interactive = true
	case keyClusters:
		o.clusters = value
	case keyComment:
		r.AdminComment = value
	case keyName:
		one("job_name", &s.Names)
	case keyPartition:
		one("partition", &s.Partitions)
	case keyQOS:
		list("qos", &s.Qos)
	case keyReservation:
		list("reservation", &s.Reservations)
	case keyWckey:
		list("wckey", &s.Wckeys)
	case keyMe:
		s.Uids = append(s.Uids, uint32(os.Getuid()))
		o.filters = append(o.filters, fmt.Sprintf("user_name=%d", os.Getuid()))
	case keyUser:
		return o.users(value)
	case keyNodes:
		return o.nodes(value)
	case keyState:
		return o.states(value)
	case keyQuiet:
		p.Level = -1
	case keySignal:
		n, ok := option.SignalNumber(value)
		if !ok {
			return &textError{"Unknown job signal: " + value}
		}
		r.Signal, o.signalled = n, true
	}
	return nil
}

func (o *order) users(value string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	names := users.NewResolver(users.Options{})
	for _, name := range flags.Words(value) {
		uid, err := names.ParseUser(ctx, name)
		if err != nil {
			return fmt.Errorf("Invalid user name: %s", name)
		}
		o.request.Select.Uids = append(o.request.Select.Uids, uid)
	}
	o.filters = append(o.filters, "user_name="+value)
	return nil
}

func (o *order) nodes(value string) error {
	names, err := hostlist.Expand(value)
	if err != nil {
		return fmt.Errorf("Invalid node list %s: %w", value, err)
	}
	o.request.Select.Nodes = names
	o.filters = append(o.filters, "nodelist="+value)
	return nil
}

// states takes one state, as Slurm does. Jobs that are over are chosen by none of
// theirs.
func (o *order) states(value string) error {
	state, ok := model.ParseState(value)
	if !ok {
		return &textError{"Invalid job state specified: " + value + validStates}
	}
	o.request.Select.States = []string{state.Long}
	o.filters = append(o.filters, "state="+state.Long)
	return nil
}
