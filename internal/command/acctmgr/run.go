// Package acctmgr is sacctmgr: it shows the cluster's accounts, users,
// associations, QOS and trackable resources.
//
// It must not change anything: words that do are refused by name.
package acctmgr

import (
	"context"
	"os"
	"strings"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/command/flags"
	"muster/internal/command/format"
	"muster/internal/command/getopt"
	"muster/internal/hostlist"
	"muster/internal/wire"
)

const (
	keyAssociations = iota
	keyNoHeader
	keyHelp
	keyParsable
	keyParsable2
	keyImmediate
	keyOneLine
	keyQuiet
	keyReadOnly
	keyJSON
	keyYAML
	keyLater
)

var options = append([]flags.Flag{
	{Long: "associations", Short: 's', Key: keyAssociations, Help: "with the associations of what is shown"},
	{Short: 'h', Key: keyHelp, Help: "show this text and exit"},
	{Long: "immediate", Short: 'i', Key: keyImmediate, Help: "change without asking"},
	{Long: "noheader", Short: 'n', Key: keyNoHeader, Help: "no lines of headers"},
	{Long: "oneliner", Short: 'o', Key: keyOneLine, Help: "a line for each record"},
	{Long: "parsable", Short: 'p', Key: keyParsable, Help: "values with a bar after each"},
	{Long: "parsable2", Short: 'P', Key: keyParsable2, Help: "values with a bar between them"},
	{Long: "quiet", Short: 'Q', Key: keyQuiet, Help: "say nothing but errors"},
	{Long: "readonly", Short: 'r', Key: keyReadOnly, Help: "change nothing"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "records as JSON"},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "records as YAML"},
	{Long: "autocomplete", Arg: getopt.Required, Key: keyLater + 2, Later: true},
}, flags.Common...)

// laterWords change something; they are refused by name.
var laterWords = []string{"add", "archive", "clear", "create", "delete", "dump", "load", "modify", "reconfigure", "remove", "shutdown", "update"}

const entityHelp = `Input line must include "Account", "Association", "Cluster", "Configuration",
"Event", "Federation", "Problem", "QOS", "Resource", "Reservation",
"RunAwayJobs", "Stats", "Transaction", "TRES", "User", or "WCKey"`

// session is one run of sacctmgr.
type session struct {
	p            *command.Program
	style        format.Style
	associations bool
	data         dataparser.Choice // --json, --yaml
}

// Run is the whole of sacctmgr.
func Run(ctx context.Context, p *command.Program) int {
	given, words, code, stop := flags.Read(p, options, p.Args, getopt.Permute)
	if stop {
		return code
	}
	s := &session{p: p, style: format.Style{Header: true}}
	for _, v := range given {
		switch v.Key {
		case keyAssociations:
			s.associations = true
		case keyNoHeader:
			s.style.Header = false
		case keyParsable:
			s.style.Parsable, s.style.Delimiter, s.style.Trailing = true, "|", true
		case keyParsable2:
			s.style.Parsable, s.style.Delimiter, s.style.Trailing = true, "|", false
		case keyQuiet:
			p.Level = -1
		case keyJSON, keyYAML:
			if code, stop := s.data.Take(p, v.Key == keyYAML, v.Text); stop {
				return code
			}
		case keyHelp:
			help(p)
			return 0
		case keyImmediate, keyOneLine, keyReadOnly:
			// Nothing is changed, and every record is a line.
		}
	}
	if len(words) == 0 {
		p.Error("not supported yet: interactive use; name a command, such as: show user")
		return command.ExitError
	}
	return s.command(ctx, words)
}

func (s *session) command(ctx context.Context, words []string) int {
	word := words[0]
	switch {
	case matches(word, "show", 3), matches(word, "list", 3):
		return s.show(ctx, words)
	case matches(word, "version", 4):
		return s.p.PrintVersion()
	case matches(word, "help", 2):
		help(s.p)
		return 0
	case matches(word, "ping", 4):
		return s.ping(ctx)
	}
	for _, later := range laterWords {
		if matches(word, later, 3) {
			s.p.Error("not supported yet: %s", later)
			return command.ExitError
		}
	}
	s.p.Raw("invalid keyword: %s", word)
	return command.ExitError
}

func help(p *command.Program) {
	p.Print("%s", flags.Brief(p.Name, options))
	p.Print("  show|list ENTITY [where] [NAME=VALUE,...] [format=FIELD[%%WIDTH],...] [withassoc]\n")
	var names []string
	for _, e := range entities {
		names = append(names, e.name)
	}
	p.Print("  ENTITY: %s\n", strings.Join(names, ", "))
}

func (s *session) show(ctx context.Context, all []string) int {
	words := all[1:]
	var e *entity
	if len(words) > 0 {
		e = findEntity(words[0])
		if later := laterEntity(words[0]); e == nil && later != "" {
			s.p.Error("not supported yet: show %s", later)
			return command.ExitError
		}
	}
	if e == nil {
		s.p.Raw("No valid entity in list command\n%s", entityHelp)
		return command.ExitError
	}
	q, ok := parseQuery(s.p, e, words[1:])
	if !ok {
		return command.ExitError
	}
	q.withAssoc = q.withAssoc || s.associations
	table, ok := q.report(s.p)
	if !ok {
		return command.ExitError
	}
	if e.guarded != "" && os.Getuid() != 0 {
		return s.refuse(e)
	}
	conf, err := client.New(s.p.Getenv)
	if err != nil {
		return s.p.Fatal("%v", err)
	}
	defer conf.Close()
	c, err := load(ctx, conf)
	if err != nil {
		s.p.Error("Problem talking to the database: %v", err)
		return command.ExitError
	}
	if s.data.Wanted {
		return s.dump(ctx, all, c, q, conf)
	}
	if e.none != "" {
		s.p.Print(e.none, c.name)
		return 0
	}
	var b []byte
	if s.style.Header {
		b = table.AppendHeader(b, &s.style)
	}
	for _, r := range e.rows(c, q) {
		if q.keeps(r) {
			b = table.AppendRow(b, &s.style, &r)
		}
	}
	if _, err := s.p.Stdout.Write(b); err != nil {
		return command.ExitError
	}
	return 0
}

// refuse tells somebody who is no administrator why nothing is shown.
func (s *session) refuse(e *entity) int {
	s.p.Error("%s", e.guarded)
	if e.none == "" {
		s.p.Raw(" Error with request: Access/permission denied")
	}
	return command.ExitError
}

// load asks the controller what the cluster consists of.
func load(ctx context.Context, c *client.Client) (*cluster, error) {
	nodes, err := c.LoadNodes(ctx, &wire.NodesRequest{All: true})
	if err != nil {
		return nil, err
	}
	out := &cluster{name: c.Conf.Cluster, port: c.Conf.Port, nodes: nodes.List, storage: c.Conf.Get("AccountingStorageTRES")}
	if hosts := c.Conf.Controllers; len(hosts) > 0 {
		out.host = hosts[0].Addr
	}
	return out, nil
}

func compress(names []string) string { return hostlist.CompressSorted(names) }

// ping tells whether the one who keeps the accounts answers: the controller.
func (s *session) ping(ctx context.Context) int {
	c, err := client.New(s.p.Getenv)
	if err != nil {
		return s.p.Fatal("%v", err)
	}
	defer c.Close()
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		_, err := ctld.Ping(ctx, &wire.PingRequest{})
		return err
	})
	state, code := "UP", 0
	if err != nil {
		state, code = "DOWN", command.ExitError
	}
	host := ""
	if hosts := c.Conf.Controllers; len(hosts) > 0 {
		host = hosts[0].Name
	}
	s.p.Print("slurmdbd(primary) at %s is %s\n", host, state)
	return code
}
