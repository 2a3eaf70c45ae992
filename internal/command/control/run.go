package control

import (
	"context"
	"strings"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/command/queue"
	"muster/internal/users"
)

const (
	keyAll = iota
	keyClusters
	keyDetails
	keyHide
	keyHelp
	keyOneliner
	keyQuiet
	keyPlain
	keyFuture
	keyJSON
	keyYAML
	keyLater
)

var options = append([]flags.Flag{
	{Long: "all", Short: 'a', Key: keyAll, Help: "hidden partitions and their jobs too"},
	{Long: "clusters", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "name", Help: "the cluster to control"},
	{Long: "cluster", Arg: getopt.Required, Key: keyClusters},
	{Long: "details", Short: 'd', Key: keyDetails, Help: "more of each record"},
	{Long: "federation", Key: keyPlain, Help: "jobs of the federation, where there is one"},
	{Short: 'h', Key: keyHelp, Help: "show this text and exit"},
	{Long: "hide", Key: keyHide, Help: "leave out hidden partitions"},
	{Long: "local", Key: keyPlain, Help: "this cluster only"},
	{Long: "oneliner", Short: 'o', Key: keyOneliner, Help: "a line for each record"},
	{Long: "quiet", Short: 'Q', Key: keyQuiet, Help: "say nothing but errors"},
	{Long: "future", Short: 'F', Key: keyFuture, Help: "nodes that are yet to come, too"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "records as JSON"},
	{Long: "sibling", Key: keyLater + 2, Later: true},
	{Long: "uid", Short: 'u', Arg: getopt.Required, Key: keyLater + 3, Later: true},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "records as YAML"},
}, flags.Common...)

// session is one run of scontrol, with the settings that its own commands change.
type session struct {
	p      *command.Program
	c      *client.Client
	style  Style
	all    bool
	future bool
	dump   dataparser.Choice // --json, --yaml
	words  []string          // of the command that runs
	code   int
	done   bool
	names  *users.Resolver
}

// Run is the whole of scontrol.
func Run(ctx context.Context, p *command.Program) int {
	given, words, code, stop := flags.Read(p, options, p.Args, getopt.Permute)
	if stop {
		return code
	}
	view := queue.NewContext(p.Getenv)
	s := &session{p: p, names: users.NewResolver(users.Options{})}
	s.style = Style{Now: view.Now, TimeFormat: view.TimeFormat, TasksWidth: view.TasksWidth}
	s.all = p.Getenv("SCONTROL_ALL") != ""
	cluster := p.Getenv("SLURM_CLUSTERS")
	for _, v := range given {
		switch v.Key {
		case keyAll:
			s.all = true
		case keyFuture:
			s.future = true
		case keyHide:
			s.all = false
		case keyClusters:
			cluster = v.Text
		case keyDetails:
			s.style.Details = true
		case keyOneliner:
			s.style.OneLine = true
		case keyQuiet:
			p.Level = -1
		case keyJSON, keyYAML:
			if code, stop := s.dump.Take(p, v.Key == keyYAML, v.Text); stop {
				return code
			}
		case keyHelp:
			help(p)
			return 0
		}
	}
	if len(words) > 0 && s.local(words) {
		return s.code
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	s.c = c
	if cluster != "" && cluster != "all" && cluster != c.Conf.Cluster {
		p.Error("No cluster '%s' known by database.", cluster)
		return command.ExitError
	}
	if len(words) == 0 {
		s.interactive(ctx)
		return s.code
	}
	s.command(ctx, words)
	return s.code
}

// splitLine cuts a line at blanks; quotes keep blanks together.
func splitLine(line string) []string {
	var words []string
	var word strings.Builder
	quote, open := byte(0), false
	flush := func() {
		if open {
			words = append(words, word.String())
			word.Reset()
			open = false
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			flush()
		default:
			word.WriteByte(c)
			open = true
		}
	}
	flush()
	return words
}

// fail ends a command with a line on standard error.
func (s *session) fail(format string, args ...any) {
	s.code = command.ExitError
	if s.p.Level >= 0 {
		s.p.Raw(format, args...)
	}
}
