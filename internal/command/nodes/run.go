package nodes

import (
	"context"
	"slices"
	"strconv"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/hostlist"
	"muster/internal/users"
	"muster/internal/wire"
)

const (
	keyAll = iota
	keyDead
	keyExact
	keyFormat
	keyNames
	keyHide
	keyIterate
	keyReasons
	keyLong
	keyClusters
	keyNode
	keyNodes
	keyNoHeader
	keyPartition
	keyResponding
	keySort
	keySummarize
	keyStates
	keyReservation
	keyFuture
	keyPlain
	keyJSON
	keyYAML
)

var options = append([]flags.Flag{
	{Long: "all", Short: 'a', Key: keyAll, Help: "hidden partitions too"},
	{Long: "dead", Short: 'd', Key: keyDead, Help: "only nodes that do not answer"},
	{Long: "exact", Short: 'e', Key: keyExact, Help: "no row for nodes of unequal size"},
	{Long: "federation", Key: keyPlain, Help: "partitions of the federation, where there is one"},
	{Long: "format", Short: 'o', Arg: getopt.Required, Key: keyFormat, Meta: "format", Help: "columns by letters: %[[.]width]letter"},
	{Long: "Format", Short: 'O', Arg: getopt.Required, Key: keyNames, Meta: "format", Help: "columns by names: name[:[.]width]"},
	{Long: "hide", Key: keyHide, Help: "leave out hidden partitions"},
	{Long: "iterate", Short: 'i', Arg: getopt.Required, Key: keyIterate, Meta: "seconds", Help: "show again and again"},
	{Long: "list-reasons", Short: 'R', Key: keyReasons, Help: "why nodes are down, drained or failing"},
	{Long: "local", Key: keyPlain, Help: "this cluster only"},
	{Long: "long", Short: 'l', Key: keyLong, Help: "more columns"},
	{Long: "clusters", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "names", Help: "ask these clusters"},
	{Long: "cluster", Arg: getopt.Required, Key: keyClusters},
	{Long: "nodes", Short: 'n', Arg: getopt.Required, Key: keyNodes, Meta: "nodes", Help: "only these nodes"},
	{Long: "noconvert", Key: keyPlain, Help: "amounts in the units they are given in"},
	{Long: "Node", Short: 'N', Key: keyNode, Help: "a row for each node"},
	{Long: "noheader", Short: 'h', Key: keyNoHeader, Help: "no line of headers"},
	{Long: "partition", Short: 'p', Arg: getopt.Required, Key: keyPartition, Meta: "names", Help: "only these partitions"},
	{Long: "responding", Short: 'r', Key: keyResponding, Help: "only nodes that answer"},
	{Long: "reservation", Short: 'T', Key: keyReservation, Help: "show reservations"},
	{Long: "sort", Short: 'S', Arg: getopt.Required, Key: keySort, Meta: "letters", Help: "order: letters of the format, - for descending"},
	{Long: "states", Short: 't', Arg: getopt.Required, Key: keyStates, Meta: "states", Help: "only nodes in these states"},
	{Long: "summarize", Short: 's', Key: keySummarize, Help: "a row for each partition"},
	{Long: "future", Short: 'F', Key: keyFuture, Help: "nodes that are yet to come, too"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "all that is known, as JSON"},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "all that is known, as YAML"},
}, flags.Common...)

// query is a command line that was read.
type query struct {
	filter                         Filter
	all, exact, long, byNode       bool
	header, summary, reservations  bool
	future                         bool
	formatText, formatNames        string
	formatGiven                    bool
	sortText, partitions, clusters string
	partitioned                    bool // -p was given
	iterate                        int
	dump                           dataparser.Choice // --json, --yaml
	table                          *Table
}

// Run is the whole of sinfo.
func Run(ctx context.Context, p *command.Program) int {
	given, _, code, stop := flags.Read(p, options, p.Args, getopt.Permute)
	if stop {
		return code
	}
	q := &query{header: true, all: p.Getenv("SINFO_ALL") != "", partitions: p.Getenv("SINFO_PARTITION"),
		sortText: p.Getenv("SINFO_SORT"), clusters: p.Getenv("SLURM_CLUSTERS")}
	for _, v := range given {
		if code, ok := q.set(p, v); !ok {
			return code
		}
	}
	if q.formatGiven && q.long {
		return p.Fatal("Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.")
	}
	q.choose(p)
	for _, line := range q.table.Complaints {
		if q.table.listed {
			p.Error("%s", line)
		} else {
			p.Raw("%s", line)
		}
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	if q.clusters != "" && q.clusters != "all" && q.clusters != c.Conf.Cluster {
		p.Error("No cluster '%s' known by database.", q.clusters)
		return command.ExitError
	}
	return q.loop(ctx, p, c)
}

func (q *query) loop(ctx context.Context, p *command.Program, c *client.Client) int {
	names := users.NewResolver(users.Options{})
	for {
		if code := q.once(ctx, p, c, names); code != 0 || q.iterate == 0 {
			return code
		}
		if p.Stdout.Flush() != nil {
			return command.ExitError
		}
		select {
		case <-ctx.Done():
			return command.ExitError
		case <-time.After(time.Duration(q.iterate) * time.Second):
		}
	}
}

func (q *query) set(p *command.Program, v flags.Value) (int, bool) {
	switch v.Key {
	case keyAll:
		q.all = true
	case keyHide:
		q.all = false
	case keyDead:
		q.filter.Dead = true
	case keyResponding:
		q.filter.Responding = true
	case keyExact:
		q.exact = true
	case keyFormat:
		q.formatText, q.formatNames, q.formatGiven = v.Text, "", true
	case keyNames:
		q.formatText, q.formatNames, q.formatGiven = "", v.Text, true
	case keyFuture:
		q.future = true
	case keyIterate:
		n, err := strconv.Atoi(v.Text)
		if err != nil || n <= 0 {
			p.Error("Error: invalid entry for --iterate=%s", v.Text)
			return command.ExitError, false
		}
		q.iterate = n
	case keyReasons:
		q.filter.Reasons = true
	case keyLong:
		q.long = true
	case keyClusters:
		q.clusters = v.Text
	case keyNode:
		q.byNode = true
	case keyNodes:
		q.setNodes(v.Text)
	case keyNoHeader:
		q.header = false
	case keyPartition:
		q.partitions, q.partitioned = v.Text, true // an empty list chooses none
	case keyReservation:
		q.reservations = true
	case keySort:
		q.sortText = v.Text
	case keySummarize:
		q.summary = true
	case keyJSON, keyYAML:
		code, stop := q.dump.Take(p, v.Key == keyYAML, v.Text)
		return code, !stop
	case keyStates:
		filters, bad := parseStates(v.Text)
		if bad != "" {
			p.Error("Bad state string: %q", bad)
			p.Error("valid states: %s", validStates)
			return command.ExitError, false
		}
		q.filter.States = filters
	}
	return 0, true
}

// setNodes takes what can be read; names that no node has select nothing.
func (q *query) setNodes(text string) {
	names, err := hostlist.Expand(text)
	if err != nil {
		names = []string{text}
	}
	q.filter.Names = make(map[string]bool, len(names))
	for _, n := range names {
		q.filter.Names[n] = true
	}
}

func (q *query) choose(p *command.Program) {
	text := q.formatText
	if !q.formatGiven && !q.filter.Reasons && !q.summary && !q.byNode {
		text = p.Getenv("SINFO_FORMAT")
	}
	switch {
	case q.formatNames != "":
		q.table = ParseNames(q.formatNames, q.exact)
	case text != "" || q.formatGiven:
		q.table = ParseTable(text, q.exact)
	default:
		q.table = ParseTable(q.standard(), q.exact)
	}
	if q.sortText == "" {
		switch {
		case q.filter.Reasons:
			q.sortText = ReasonSort
		case q.byNode:
			q.sortText = NodeSort
		default:
			q.sortText = DefaultSort
		}
	}
}

func (q *query) standard() string {
	pick := func(plain, long string) string {
		if q.long {
			return long
		}
		return plain
	}
	switch {
	case q.summary:
		return SummaryFormat
	case q.filter.Reasons:
		return pick(ReasonFormat, ReasonLongFormat)
	case q.byNode:
		return pick(NodeFormat, NodeLongFormat)
	}
	return pick(PlainFormat, LongFormat)
}

func (q *query) once(ctx context.Context, p *command.Program, c *client.Client, names *users.Resolver) int {
	view := &Context{Now: time.Now(), TimeFormat: p.Getenv("SLURM_TIME_FORMAT"),
		UserName: func(uid uint32) string { return names.NameOf(ctx, uid) }}
	if q.reservations {
		p.Print("No reservations in the system\n")
		return 0
	}
	parts, nodes, code := q.load(ctx, p, c, view)
	if code != 0 {
		return code
	}
	if q.dump.Wanted {
		return q.writeDump(ctx, p, c, view, parts, nodes)
	}
	if q.clusters != "" {
		p.Print("CLUSTER: %s\n", c.Conf.Cluster)
	}
	if q.iterate > 0 || q.long && q.header {
		p.Print("%s\n", view.Now.Format(time.ANSIC))
	}
	rows := q.table.Rows(view, parts, nodes, &q.filter, q.byNode)
	Sort(rows, q.sortText)
	if _, err := p.Stdout.Write(q.table.Append(nil, q.header, rows)); err != nil {
		return command.ExitError
	}
	return 0
}

// Append appends the whole table.
func (t *Table) Append(b []byte, header bool, rows []*Row) []byte {
	t.widen(rows)
	if header {
		b = t.AppendHeader(b)
	}
	for _, r := range rows {
		b = t.AppendRow(b, r)
	}
	return b
}

func (q *query) load(ctx context.Context, p *command.Program, c *client.Client, view *Context) (parts []*wire.PartitionInfo, nodes []*wire.NodeInfo, code int) {
	reply := &wire.PartitionsReply{}
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Partitions(ctx, &wire.PartitionsRequest{All: q.all || q.partitions != ""})
		return err
	})
	all := &client.Nodes{}
	if err == nil {
		all, err = c.LoadNodes(ctx, &wire.NodesRequest{All: true})
	}
	switch {
	case err != nil:
		p.Raw("slurm_load_partitions: %v", err)
		return nil, nil, command.ExitError
	case reply.Refusal.GetCode() != 0:
		p.Raw("slurm_load_partitions: %s", reply.Refusal.Message)
		return nil, nil, command.ExitError
	}
	if all.Now != 0 {
		view.Now = time.Unix(all.Now, 0)
	}
	parts, nodes = q.wanted(reply.Partitions), all.List
	if !q.future {
		nodes = slices.DeleteFunc(nodes, func(n *wire.NodeInfo) bool { return n.State.Base == wire.NodeBase_NODE_FUTURE })
	}
	return parts, nodes, 0
}

func (q *query) wanted(parts []*wire.PartitionInfo) []*wire.PartitionInfo {
	names := flags.Words(q.partitions)
	if len(names) == 0 && !q.partitioned {
		return parts
	}
	var out []*wire.PartitionInfo
	for _, part := range parts {
		for _, n := range names {
			if n == part.Name {
				out = append(out, part)
				break
			}
		}
	}
	return out
}
