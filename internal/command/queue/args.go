package queue

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"muster/internal/command"
	"muster/internal/command/dataparser"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// Users finds the number behind a user's name.
type Users interface {
	ParseUser(ctx context.Context, word string) (uint32, error)
}

// Query is a command line that was read.
type Query struct {
	Select   *wire.JobSelect
	Table    *Table
	Order    *Order
	sortText *string
	Header   bool
	Long     bool // a line with the time goes first
	Each     bool // array tasks one by one
	Steps    bool
	StepRefs []*wire.JobRef
	StartAll bool // --start
	One      bool // a single id: that it is unknown is an error
	// Priority shows a waiting job once for each of its partitions.
	Priority bool
	Expand   bool // patterns of the files' names
	Licenses []string
	Nodes    string
	Iterate  int
	NoConv   bool
	Dump     dataparser.Choice // --json, --yaml
	// Clusters are those that the option names, else the variable.
	Clusters *string
	// Over and Under bound how long a job has run, in seconds.
	Over, Under *int64

	format      formats
	states      *string
	notMe       bool
	emptyFilter map[int]bool // filters that were given without anything to select
}

// Parse reads the command line and the environment. With stop, the command is
// over.
func Parse(ctx context.Context, p *command.Program, who Users) (q *Query, code int, stop bool) {
	words := flags.Glue(p.Args, "js", "jobs", "job", "jo", "steps", "step", "ste")
	given, rest, code, stop := flags.Read(p, options, words, getopt.Permute)
	if stop {
		return nil, code, true
	}
	if len(rest) > 0 {
		p.Error("Unrecognized option: %s", rest[0])
		p.Print("%s", flags.Brief(p.Name, options))
		return nil, command.ExitError, true
	}
	q = &Query{Select: &wire.JobSelect{}, Header: true, emptyFilter: map[int]bool{}}
	values := append(fromEnvironment(p), given...)
	for _, v := range values {
		if code, ok := q.set(ctx, p, who, v); !ok {
			return nil, code, true
		}
	}
	if code, ok := q.finish(p); !ok {
		return nil, code, true
	}
	return q, 0, false
}

// list reads a filter. One that was given and names nothing selects nothing.
func (q *Query) list(v flags.Value) []string {
	words := flags.Words(v.Text)
	q.emptyFilter[v.Key] = len(words) == 0
	return words
}

func (q *Query) set(ctx context.Context, p *command.Program, who Users, v flags.Value) (int, bool) {
	s := q.Select
	switch v.Key {
	case keyAccount:
		s.Accounts = q.list(v)
	case keyAll:
		s.AllPartitions = true
	case keyHide:
		s.AllPartitions = false
	case keyArray:
		q.Each = true
	case keyClusters:
		q.Clusters = &v.Text
	case keyExpand:
		q.Expand = true
	case keyFormat, keyNames:
		return q.format.set(p, v)
	case keyIterate:
		n, err := strconv.Atoi(leadingDigits(v.Text))
		if err != nil || n <= 0 {
			p.Error("--iterate=%s\n", v.Text)
			return command.ExitError, false
		}
		q.Iterate = n
	case keyJobs:
		if v.Has {
			s.Jobs = nil
			q.emptyFilter[v.Key] = strings.Trim(v.Text, ", ") == ""
			return q.readJobs(p, v.Text)
		}
	case keyLicenses:
		q.Licenses = q.list(v)
	case keyLong:
		q.Long = true
	case keyMe:
		s.Uids = []uint32{uint32(os.Getuid())}
		q.emptyFilter[keyUser] = false
	case keyNotMe:
		q.notMe = true
	case keyName:
		s.Names = splitNames(v.Text)
		q.emptyFilter[v.Key] = len(s.Names) == 0
	case keyNoConvert:
		q.NoConv = true
	case keyNodes:
		q.Nodes = v.Text
		q.emptyFilter[v.Key] = v.Text == ""
	case keyNoHeader:
		q.Header = false
	case keyOver:
		return q.bound(p, "--running-over", v.Text, &q.Over)
	case keyUnder:
		return q.bound(p, "--running-under", v.Text, &q.Under)
	case keyPartition:
		s.Partitions = q.list(v)
	case keyPriority:
		q.Priority = true
	case keyQOS:
		s.Qos = q.list(v)
	case keyReservation:
		s.Reservations = q.list(v)
	case keySort:
		q.sortText = &v.Text
	case keyStart:
		q.StartAll = true
	case keyStates:
		q.states = &v.Text
	case keySteps:
		q.Steps = true
		if v.Has {
			q.StepRefs = nil
			q.emptyFilter[v.Key] = strings.Trim(v.Text, ",") == ""
			return q.readSteps(p, v.Text)
		}
	case keyUser:
		q.setUsers(ctx, p, who, v.Text)
	case keyJSON, keyYAML:
		code, stop := q.Dump.Take(p, v.Key == keyYAML, v.Text)
		return code, !stop
	case keyOnlyState, keyFederation, keyLocal, keySibling:
		// What is asked for is decided by the columns; and without a federation all jobs are local.
	}
	return 0, true
}

// splitNames keeps blanks: names may hold them.
func splitNames(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
}

func (q *Query) bound(p *command.Program, option, text string, to **int64) (int, bool) {
	seconds, unlimited, err := slurmtime.ParseSpan(text)
	if err != nil || unlimited {
		p.Error("Invalid time specification: %s=%s", option, text)
		return command.ExitError, false
	}
	*to = &seconds
	return 0, true
}

func (q *Query) setUsers(ctx context.Context, p *command.Program, who Users, text string) {
	q.Select.Uids = nil
	for _, word := range flags.Words(text) {
		uid, err := who.ParseUser(ctx, word)
		if err != nil {
			p.Error("Invalid user: %s\n", word)
			continue
		}
		q.Select.Uids = append(q.Select.Uids, uid)
	}
	q.emptyFilter[keyUser] = len(q.Select.Uids) == 0
}

// finish settles what depends on several options.
func (q *Query) finish(p *command.Program) (int, bool) {
	if code, ok := q.parseStates(p); !ok {
		return code, false
	}
	if q.notMe {
		q.Select.Uids, q.Select.NotUids = []uint32{uint32(os.Getuid())}, true
		q.emptyFilter[keyUser] = false
	}
	q.One = len(q.Select.Jobs) == 1 && !q.Steps
	if q.Steps {
		q.filterSteps()
	}
	if code, ok := q.chooseFormat(p); !ok {
		return code, false
	}
	for _, line := range q.Table.Complaints {
		p.Error("%s", line)
	}
	order, err := q.parseSort()
	if err != nil {
		if q.Header {
			p.Print("%s", q.Table.AppendHeader(nil))
		}
		p.Error("%s", err)
		return command.ExitError, false
	}
	q.Order = order
	return 0, true
}

// filterSteps leaves the filters that choose among steps: users, jobs,
// partitions, nodes and the steps themselves.
func (q *Query) filterSteps() {
	s := q.Select
	q.Select = &wire.JobSelect{
		Jobs: s.Jobs, Uids: s.Uids, NotUids: s.NotUids, Partitions: s.Partitions, AllPartitions: s.AllPartitions,
	}
	q.Licenses, q.Over, q.Under = nil, nil, nil
	for _, key := range [...]int{keyAccount, keyLicenses, keyName, keyQOS, keyReservation, keyStates} {
		delete(q.emptyFilter, key)
	}
}

// nothing tells whether a filter leaves nothing to be asked for.
func (q *Query) nothing() bool {
	for _, empty := range q.emptyFilter {
		if empty {
			return true
		}
	}
	return false
}

func (q *Query) parseSort() (*Order, error) {
	text := DefaultSort
	switch {
	case q.sortText != nil:
		text = *q.sortText
	case q.Steps:
		text = StepsSort
	case q.StartAll:
		text = StartSort
	}
	if q.Steps {
		return ParseStepSort(text)
	}
	return ParseSort(text)
}

func (q *Query) parseStates(p *command.Program) (int, bool) {
	switch {
	case q.states == nil && q.Dump.Wanted:
		q.Select.AllStates = true // everything, even what is normally left out
		return 0, true
	case q.states == nil && q.StartAll:
		q.Select.States = []string{"PENDING"}
		return 0, true
	case q.states == nil:
		return 0, true
	case strings.EqualFold(*q.states, "all"):
		q.Select.AllStates = true
		return 0, true
	}
	words := flags.Words(*q.states)
	q.emptyFilter[keyStates] = len(words) == 0
	for _, word := range words {
		name, ok := model.ParseState(word)
		if !ok {
			p.Error("Invalid job state specified: %s", word)
			p.Error("Valid job states include: %s\n", validStates)
			return command.ExitError, false
		}
		q.Select.States = append(q.Select.States, name.Long)
	}
	return 0, true
}

const validStates = "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,DEADLINE," +
	"OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,REVOKED,SIGNALING," +
	"SPECIAL_EXIT,STAGE_OUT,STOPPED"
