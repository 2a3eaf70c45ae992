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
	sortText string
	Header   bool
	Long     bool // a line with the time goes first
	Each     bool // array tasks one by one
	Steps    bool
	StepRefs []*wire.JobRef
	StartAll bool // --start
	One      bool // a single id: that it is unknown is an error
	Nobody   bool // only users were named whom nobody knows
	Licenses []string
	Nodes    string
	Iterate  int
	Clusters string
	NoConv   bool
	Dump     dataparser.Choice // --json, --yaml

	formatText, formatNames string
	formatFrom              int // 0 default, 1 environment, 2 command line
	stateText               string
	me, notMe               bool
}

// Parse reads the command line and the environment. With stop, the command is
// over.
func Parse(ctx context.Context, p *command.Program, who Users) (q *Query, code int, stop bool) {
	words := flags.Glue(p.Args, "js", "jobs", "job", "steps", "step")
	given, rest, code, stop := flags.Read(p, options, words, getopt.Permute)
	if stop {
		return nil, code, true
	}
	if len(rest) > 0 {
		p.Error("Unrecognized option: %s", rest[0])
		p.Print("%s", flags.Brief(p.Name, options))
		return nil, command.ExitError, true
	}
	q = &Query{Select: &wire.JobSelect{}, Header: true}
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

// fromEnvironment turns the SQUEUE_ variables into options that stand before the
// command line's.
func fromEnvironment(p *command.Program) []flags.Value {
	var out []flags.Value
	add := func(name string, key int) {
		if text := p.Getenv(name); text != "" {
			out = append(out, flags.Value{Key: key, Text: text, Has: true})
		}
	}
	add("SQUEUE_ACCOUNT", keyAccount)
	add("SQUEUE_NAMES", keyName)
	add("SQUEUE_LICENSES", keyLicenses)
	add("SQUEUE_PARTITION", keyPartition)
	add("SQUEUE_QOS", keyQOS)
	add("SQUEUE_SORT", keySort)
	add("SQUEUE_STATES", keyStates)
	add("SQUEUE_USERS", keyUser)
	add("SLURM_CLUSTERS", keyClusters)
	if _, set := os.LookupEnv("SQUEUE_ALL"); set {
		out = append(out, flags.Value{Key: keyAll})
	}
	if _, set := os.LookupEnv("SQUEUE_ARRAY"); set {
		out = append(out, flags.Value{Key: keyArray})
	}
	return out
}

func (q *Query) set(ctx context.Context, p *command.Program, who Users, v flags.Value) (int, bool) {
	s := q.Select
	switch v.Key {
	case keyAccount:
		s.Accounts = flags.Words(v.Text)
	case keyAll:
		s.AllPartitions = true
	case keyHide:
		s.AllPartitions = false
	case keyArray:
		q.Each = true
	case keyClusters:
		q.Clusters = v.Text
	case keyFormat:
		q.formatText, q.formatNames, q.formatFrom = v.Text, "", 2
	case keyNames:
		q.formatText, q.formatNames, q.formatFrom = "", v.Text, 2
	case keyIterate:
		n, err := strconv.Atoi(v.Text)
		if err != nil || n <= 0 {
			p.Error("--iterate=%s", v.Text)
			return command.ExitError, false
		}
		q.Iterate = n
	case keyJobs:
		return q.setJobs(p, v.Text)
	case keyLicenses:
		q.Licenses = flags.Words(v.Text)
	case keyLong:
		q.Long = true
	case keyMe:
		s.Uids, q.me = []uint32{uint32(os.Getuid())}, true
	case keyNotMe:
		q.notMe = true
	case keyName:
		s.Names = splitNames(v.Text)
	case keyNoConvert:
		q.NoConv = true
	case keyNodes:
		q.Nodes = v.Text
	case keyNoHeader:
		q.Header = false
	case keyPartition:
		s.Partitions = flags.Words(v.Text)
	case keyQOS:
		s.Qos = flags.Words(v.Text)
	case keyReservation:
		s.Reservations = flags.Words(v.Text)
	case keySort:
		q.sortText = v.Text
	case keyStart:
		q.StartAll = true
	case keyStates:
		q.stateText = v.Text
	case keySteps:
		return q.setSteps(p, v.Text)
	case keyUser:
		q.setUsers(ctx, p, who, v.Text)
	case keyJSON, keyYAML:
		code, stop := q.Dump.Take(p, v.Key == keyYAML, v.Text)
		return code, !stop
	case keyOnlyState, keyFederation, keyLocal:
		// What is asked for is decided by the columns; and without a federation all jobs are local.
	}
	return 0, true
}

// splitNames keeps blanks: names may hold them.
func splitNames(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
}

func (q *Query) setJobs(p *command.Program, text string) (int, bool) {
	for _, word := range model.SplitRefs(text) {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		word, _, _ = strings.Cut(word, "+") // one component of a heterogeneous job: its leader
		ref, err := model.ParseJobRef(word)
		if err != nil || ref.HasStep {
			if word[0] < '0' || word[0] > '9' {
				p.Error("Invalid job id: %s", word)
			} else {
				p.Raw("slurm_load_jobs error: Invalid job id specified")
			}
			return command.ExitError, false
		}
		q.Select.Jobs = append(q.Select.Jobs, ref)
	}
	return 0, true
}

func (q *Query) setSteps(p *command.Program, text string) (int, bool) {
	q.Steps = true
	for _, word := range model.SplitRefs(text) {
		if word == "" {
			continue
		}
		ref, err := model.ParseJobRef(word)
		if err != nil {
			p.Error("Invalid job_step id: %s", word)
			return command.ExitError, false
		}
		q.StepRefs = append(q.StepRefs, ref)
	}
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
	q.Nobody = len(q.Select.Uids) == 0
}

// finish settles what depends on several options.
func (q *Query) finish(p *command.Program) (int, bool) {
	if code, ok := q.parseStates(p); !ok {
		return code, false
	}
	if q.notMe {
		q.Select.Uids, q.Select.NotUids = []uint32{uint32(os.Getuid())}, true
	}
	q.One = len(q.Select.Jobs) == 1 && !q.Steps
	q.chooseFormat(p)
	for _, line := range q.Table.Complaints {
		p.Error("%s", line)
	}
	if q.sortText == "" {
		q.sortText = DefaultSort
		switch {
		case q.Steps:
			q.sortText = "P,i"
		case q.StartAll:
			q.sortText = StartSort
		}
	}
	order, err := ParseSort(q.sortText)
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

func (q *Query) chooseFormat(p *command.Program) {
	columns := &jobColumns
	if q.Steps {
		columns = &stepColumns
	}
	text, names := q.formatText, q.formatNames
	if q.formatFrom == 0 && !q.Long && !q.StartAll && !q.Steps {
		text, names = p.Getenv("SQUEUE_FORMAT"), p.Getenv("SQUEUE_FORMAT2")
	}
	switch {
	case names != "":
		q.Table = columns.parseNames(names)
	case text != "" || q.formatFrom == 2:
		q.Table = columns.parse(text)
	case q.Steps:
		q.Table = columns.parse(StepsFormat)
	case q.StartAll:
		q.Table = columns.parse(StartFormat)
	case q.Long:
		q.Table = columns.parse(LongFormat)
	default:
		q.Table = columns.parse(PlainFormat)
	}
}

func (q *Query) parseStates(p *command.Program) (int, bool) {
	if q.Dump.Wanted && q.stateText == "" {
		q.Select.AllStates = true // everything, even what is normally left out
		return 0, true
	}
	if q.StartAll {
		q.Select.States = []string{"PENDING"}
		return 0, true
	}
	for _, word := range flags.Words(q.stateText) {
		if strings.EqualFold(word, "all") {
			q.Select.AllStates, q.Select.States = true, nil
			return 0, true
		}
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
