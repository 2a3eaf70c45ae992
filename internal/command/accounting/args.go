package accounting

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/internal/command"
	"muster/internal/command/dataparser"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// Names finds the numbers behind the names of users and groups.
type Names interface {
	ParseUser(ctx context.Context, word string) (uint32, error)
	ParseGroup(ctx context.Context, word string) (uint32, error)
}

// Query is a command line that was read.
type Query struct {
	Request  *wire.HistoryRequest
	Refs     []*wire.JobRef // as typed, with their steps
	Table    Table
	Style    Style
	Unit     byte
	NoConv   bool
	Clusters string
	Script   bool
	Env      bool
	Dump     dataparser.Choice // --json, --yaml

	Truncate    bool
	Array       bool     // a line for each task that waits
	Expand      bool     // patterns of the files' names
	Constraints []string // all of which a job must have asked for
	Flags       []string // of which it must have one
	Assocs      []string // numbers of associations

	lists                []string
	brief                []string // lists that options stand for; they come last
	completion           bool
	delimiter            string
	parsable             int
	startText, endText   string
	allUsers, usersGiven bool
}

// Parse reads the command line and the environment. With stop, the command is over.
func Parse(ctx context.Context, p *command.Program, names Names, now time.Time) (q *Query, code int, stop bool) {
	given, rest, code, stop := flags.ReadTerse(p, options, p.Args, getopt.Permute)
	if stop {
		return nil, code, true
	}
	if len(rest) > 0 {
		p.Error("Unknown arguments:")
		for _, w := range rest {
			p.Error(" %s", w)
		}
		return nil, command.ExitError, true
	}
	q = &Query{Request: &wire.HistoryRequest{}, Style: Style{Header: true}, delimiter: "|"}
	q.Clusters = p.Getenv("SLURM_CLUSTERS")
	for _, v := range given {
		switch v.Key {
		case keyHelpFormat:
			p.Print("%s", HelpFormat())
			return nil, 0, true
		case keyHelp:
			p.Print("%s", flags.Brief(p.Name, options))
			return nil, 0, true
		}
		if code, ok := q.set(ctx, p, names, v); !ok {
			return nil, code, true
		}
	}
	if code, ok := q.finish(p, now); !ok {
		return nil, code, true
	}
	return q, 0, false
}

func (q *Query) set(ctx context.Context, p *command.Program, names Names, v flags.Value) (int, bool) {
	r := q.Request
	switch v.Key {
	case keyAccounts:
		r.Accounts = append(r.Accounts, flags.Words(v.Text)...)
	case keyAllUsers:
		q.allUsers, q.usersGiven, r.Uids = true, false, nil
	case keyAllClusters:
		q.Clusters = allClusters
	case keyArray:
		q.Array = true
	case keyAssociations:
		q.Assocs = append(q.Assocs, flags.Words(v.Text)...)
	case keyCompletion:
		q.completion = true
	case keyConstraints:
		q.Constraints = append(q.Constraints, flags.Words(v.Text)...)
	case keyExpand:
		q.Expand = true
	case keyFile:
		return q.setFile(p, v.Text)
	case keyFlags:
		return q.setFlags(p, v.Text)
	case keyTruncate:
		q.Truncate = true
	case keyAllocations:
		r.AllocationsOnly = true
	case keyBatchScript:
		q.Script, r.WithScript = true, true
	case keyBrief:
		q.brief = append(q.brief, briefList)
	case keyClusters:
		q.Clusters = v.Text
	case keyDelimiter:
		q.delimiter = v.Text
	case keyDuplicates:
		r.Duplicates = true
	case keyEnd:
		q.endText = v.Text
	case keyEnvVars:
		q.Env, r.WithEnv = true, true
	case keyFormat:
		q.lists = append(q.lists, v.Text)
	case keyGroups:
		return q.setGroups(ctx, p, names, v.Text)
	case keyJobs:
		return q.setJobs(p, v.Text)
	case keyLong:
		q.brief = append(q.brief, longList)
	case keyName:
		r.Names = append(r.Names, slices.DeleteFunc(strings.Split(v.Text, ","), func(s string) bool { return s == "" })...)
	case keyNCPUs:
		return setRange(p, v.Text, "cpu", &r.MinCpus, &r.MaxCpus)
	case keyNNodes:
		return setRange(p, v.Text, "node", &r.MinNodes, &r.MaxNodes)
	case keyNoConvert:
		q.NoConv = true
	case keyJSON, keyYAML:
		code, stop := q.Dump.Take(p, v.Key == keyYAML, v.Text)
		return code, !stop
	case keyNodes:
		return q.setNodes(p, v.Text)
	case keyNoHeader:
		q.Style.Header = false
	case keyParsable:
		q.parsable = 1
	case keyParsable2:
		q.parsable = 2
	case keyPartitions:
		r.Partitions = append(r.Partitions, flags.Words(v.Text)...)
	case keyQOS:
		return q.setQOS(p, v.Text)
	case keyReasons:
		r.Reasons = append(r.Reasons, flags.Words(v.Text)...)
	case keyStart:
		q.startText = v.Text
	case keyStates:
		return q.setStates(p, v.Text)
	case keyLimitMax:
		return setLimit(p, v.Text, &r.MaxLimit)
	case keyLimitMin:
		return setLimit(p, v.Text, &r.MinLimit)
	case keyUnits:
		return q.setUnit(p, v.Text)
	case keyUsers:
		return q.setUsers(ctx, p, names, v.Text)
	case keyWCKeys:
		r.Wckeys = append(r.Wckeys, flags.Words(v.Text)...)
	}
	return 0, true
}

func (q *Query) setJobs(p *command.Program, text string) (int, bool) {
	for _, word := range strings.Split(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		ref, complaint := parseRef(word)
		if complaint != "" {
			return p.Fatal("%s", complaint), false
		}
		q.Refs = append(q.Refs, ref)
		q.Request.Jobs = append(q.Request.Jobs, &wire.JobRef{JobId: ref.JobId, Tasks: ref.Tasks})
	}
	return 0, true
}

func (q *Query) setStates(p *command.Program, text string) (int, bool) {
	for _, word := range flags.Words(text) {
		name, ok := model.ParseState(word)
		if !ok {
			return p.Fatal("unrecognized job state value '%s'", word), false
		}
		q.Request.States = append(q.Request.States, name.Long)
	}
	return 0, true
}

func (q *Query) setUsers(ctx context.Context, p *command.Program, names Names, text string) (int, bool) {
	words := flags.Words(text)
	if len(words) == 0 {
		return command.ExitError, false // as silent as Slurm
	}
	q.usersGiven, q.allUsers = true, false
	for _, word := range words {
		uid, err := names.ParseUser(ctx, word)
		if err != nil {
			p.Error("Invalid user id: %s", word)
			return command.ExitError, false
		}
		q.Request.Uids = append(q.Request.Uids, uid)
	}
	return 0, true
}

func (q *Query) setGroups(ctx context.Context, p *command.Program, names Names, text string) (int, bool) {
	for _, word := range flags.Words(text) {
		gid, err := names.ParseGroup(ctx, word)
		if err != nil {
			p.Error("Invalid group id: %s", word)
			return command.ExitError, false
		}
		q.Request.Gids = append(q.Request.Gids, gid)
	}
	return 0, true
}

func (q *Query) setNodes(p *command.Program, text string) (int, bool) {
	names, err := hostlist.Expand(text)
	if err != nil {
		return p.Fatal("%v", err), false
	}
	q.Request.Nodes = append(q.Request.Nodes, names...)
	return 0, true
}

func (q *Query) setUnit(p *command.Program, text string) (int, bool) {
	const units = "KMGTP"
	unit := strings.ToUpper(text)
	if unit == "" || !strings.Contains(units, unit[:1]) { // what follows the letter is not looked at
		p.Error("Invalid unit type '%s'. Possible options are '%s'", text, units)
		return p.Fatal("Invalid unit type"), false
	}
	q.Unit = unit[0]
	return 0, true
}

func setRange(p *command.Program, text, what string, least, most *uint32) (int, bool) {
	lo, hi, isRange := strings.Cut(text, "-")
	if !isRange {
		hi = lo
	}
	for i, word := range []string{lo, hi} {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			p.Error("Invalid numeric value %q for requested %s range.", text, what)
			return command.ExitError, false
		}
		*[]*uint32{least, most}[i] = uint32(n)
	}
	return 0, true
}

func setLimit(p *command.Program, text string, limit *uint32) (int, bool) {
	minutes, err := slurmtime.ParseLimit(text)
	if err != nil {
		return p.Fatal("Invalid time limit specification"), false
	}
	*limit = minutes
	return 0, true
}

// finish settles what depends on several options.
func (q *Query) finish(p *command.Program, now time.Time) (int, bool) {
	r := q.Request
	switch named := len(r.Jobs) > 0; {
	case q.completion:
		p.Raw("Slurm job completion is disabled")
		return command.ExitError, false
	case q.Script && q.Env:
		return p.Fatal("Options --batch-script and --env-vars are mutually exclusive"), false
	case q.Script && !named:
		return p.Fatal("When requesting job scripts you must also request specific jobs with the '-j' option."), false
	case q.Env && !named:
		return p.Fatal("When requesting job environment you must also request specific jobs with the '-j' option."), false
	}
	if r.MinLimit == 0 {
		r.MaxLimit = 0 // means something with a lower bound only
	} else if r.MaxLimit == 0 {
		r.MaxLimit = r.MinLimit
	}
	if code, ok := q.window(p, now); !ok {
		return code, false
	}
	uid := os.Getuid()
	r.AllUsers = q.allUsers || uid == 0 && !q.usersGiven
	if !r.AllUsers && !q.usersGiven && len(r.Jobs) == 0 {
		r.Uids = []uint32{uint32(uid)}
	}
	if q.lists = append(q.lists, q.brief...); len(q.lists) == 0 {
		q.lists = []string{defaultList}
		if list := p.Getenv("SACCT_FORMAT"); list != "" {
			q.lists = []string{list}
		}
	}
	table, err := ParseTable(strings.Join(q.lists, ","))
	if err != nil {
		p.Error("%v", err)
		return command.ExitError, false
	}
	q.Table = table
	if q.parsable != 0 {
		q.Style.Parsable, q.Style.Delimiter, q.Style.Trailing = true, q.delimiter, q.parsable == 1
	}
	return 0, true
}

// window settles the time that is looked at; without -S it depends on what else
// was asked for.
func (q *Query) window(p *command.Program, now time.Time) (int, bool) {
	r := q.Request
	jobs, states := len(r.Jobs) > 0, len(r.States) > 0
	switch {
	case q.startText != "":
		t, err := slurmtime.ParsePast(q.startText, now)
		if err != nil {
			p.Raw("%v", err)
			return command.ExitError, false
		}
		r.Start = t.Unix()
	case jobs:
		r.Start = 0
	case states:
		r.Start = now.Unix()
	default:
		y, m, d := now.Date()
		r.Start = time.Date(y, m, d, 0, 0, 0, 0, now.Location()).Unix()
	}
	r.StartSet = r.Start != 0
	r.End = now.Unix()
	switch {
	case q.endText != "":
		t, err := slurmtime.ParsePast(q.endText, now)
		if err != nil {
			p.Raw("%v", err)
			return command.ExitError, false
		}
		r.End, r.EndSet = t.Unix(), true
	case states && q.startText != "":
		r.End, r.EndSet = r.Start, true
	case states:
		r.EndSet = true
	}
	if r.End < r.Start {
		format := p.Getenv("SLURM_TIME_FORMAT")
		p.Error("Start time (%s) requested is after end time (%s).", slurmtime.Stamp(time.Unix(r.Start, 0), format, now),
			slurmtime.Stamp(time.Unix(r.End, 0), format, now))
		return command.ExitError, false
	}
	p.Verbose(1, "Jobs eligible from %s to %s", slurmtime.Standard(time.Unix(r.Start, 0)), slurmtime.Standard(time.Unix(r.End, 0)))
	return 0, true
}
