// Package flags reads the options of the commands that show and control:
// squeue, sinfo, sacct, scontrol, sdiag. (Those that submit have the far larger
// table of package option.)
//
// A table says what exists, what is refused by name, and what the help says; what
// a flag means stays with its command.
package flags

import (
	"fmt"
	"sort"
	"strings"

	"muster/internal/command"
	"muster/internal/command/getopt"
)

// Flag is one option.
type Flag struct {
	Long  string
	Short byte
	Arg   getopt.Arg
	Key   int
	Meta  string // what the value is called in the help
	Help  string // empty = an alias that the help leaves out
	Later bool   // refused by name: it would change the output and cannot yet
}

// Keys that every table has the same meaning for.
const (
	Help = -1 - iota
	Usage
	Version
	Verbose
)

// Common are the flags that all of these commands have; -h is theirs to use.
var Common = []Flag{
	{Long: "help", Key: Help, Help: "show this text and exit"},
	{Long: "usage", Key: Usage, Help: "show the options in brief and exit"},
	{Long: "version", Short: 'V', Key: Version, Help: "show the version and exit"},
	{Long: "verbose", Short: 'v', Key: Verbose, Help: "say more of what is done"},
}

// Value is an option as it was given.
type Value struct {
	Key  int
	Text string
	Has  bool
	Long string
}

// Read returns the options in their order and the other words. With stop, the
// command is over and its exit code is code.
func Read(p *command.Program, table []Flag, words []string, mode getopt.Mode) (given []Value, rest []string, code int, stop bool) {
	return read(p, table, words, mode, func(err error) { p.Usage(err) })
}

// ReadTerse is Read for sacct, which does not point to its help after an option
// that it does not know.
func ReadTerse(p *command.Program, table []Flag, words []string, mode getopt.Mode) (given []Value, rest []string, code int, stop bool) {
	return read(p, table, words, mode, func(err error) { p.Raw("%s: %v", p.Name, err) })
}

func read(p *command.Program, table []Flag, words []string, mode getopt.Mode, usage func(error)) (given []Value, rest []string, code int, stop bool) {
	options := make([]getopt.Option, len(table))
	byKey := make(map[int]*Flag, len(table))
	for i := range table {
		f := &table[i]
		options[i] = getopt.Option{Long: f.Long, Short: f.Short, Arg: f.Arg, Key: f.Key}
		if byKey[f.Key] == nil {
			byKey[f.Key] = f
		}
	}
	found, rest, err := getopt.Parse(options, words, mode)
	for _, m := range found {
		f := byKey[m.Option.Key]
		switch m.Option.Key {
		case Help:
			printHelp(p, table)
			return nil, nil, 0, true
		case Usage:
			p.Print("%s", Brief(p.Name, table))
			return nil, nil, 0, true
		case Version:
			return nil, nil, p.PrintVersion(), true
		case Verbose:
			p.Level++
			continue
		}
		if f.Later {
			p.Error("not supported yet: %s", spelled(m.Option))
			return nil, nil, command.ExitError, true
		}
		given = append(given, Value{m.Option.Key, m.Value, m.HasValue, m.Option.Long})
	}
	if err != nil {
		usage(err)
		return nil, nil, command.ExitError, true // these commands end with 1
	}
	return given, rest, 0, false
}

func spelled(o *getopt.Option) string {
	if o.Long != "" {
		return "--" + o.Long
	}
	return "-" + string(rune(o.Short))
}

// Brief is the line of options that --usage shows.
func Brief(name string, table []Flag) string {
	var b strings.Builder
	line := "Usage: " + name
	for _, f := range table {
		if f.Help == "" || f.Later {
			continue
		}
		word := " [" + spelled(&getopt.Option{Long: f.Long, Short: f.Short})
		if f.Arg != getopt.None {
			word += "=" + f.Meta
		}
		word += "]"
		if len(line)+len(word) > 78 {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len("Usage: ")+len(name))
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}

func printHelp(p *command.Program, table []Flag) {
	p.Print("Usage: %s [OPTIONS]\n", p.Name)
	shown := make([]Flag, 0, len(table))
	for _, f := range table {
		if f.Help != "" && !f.Later {
			shown = append(shown, f)
		}
	}
	sort.SliceStable(shown, func(i, j int) bool { return shown[i].Long < shown[j].Long })
	for _, f := range shown {
		short := "    "
		if f.Short != 0 {
			short = fmt.Sprintf("-%c, ", f.Short)
			if f.Long == "" {
				short = fmt.Sprintf("-%c", f.Short)
			}
		}
		name := short
		if f.Long != "" {
			name += "--" + f.Long
		}
		switch f.Arg {
		case getopt.Required:
			name += "=" + f.Meta
		case getopt.Optional:
			name += "[=" + f.Meta + "]"
		}
		p.Print("  %-32s %s\n", name, f.Help)
	}
}

// Words cuts a comma list, dropping what is empty.
func Words(list string) []string {
	var out []string
	for len(list) > 0 {
		var w string
		w, list, _ = strings.Cut(list, ",")
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// Glue joins the value of an option whose value is optional, and which people
// write as the next word all the same (`squeue -j 12`), to its option.
func Glue(words []string, letters string, longs ...string) []string {
	out := make([]string, 0, len(words))
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			return append(out, words[i:]...)
		}
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			switch {
			case isLong(w, longs):
				out = append(out, w+"="+words[i+1])
				i++
				continue
			case len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.IndexByte(letters, w[len(w)-1]) >= 0 && onlyFlags(w[1:len(w)-1]):
				out = append(out, w+words[i+1])
				i++
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

func isLong(w string, longs []string) bool {
	for _, l := range longs {
		if w == "--"+l {
			return true
		}
	}
	return false
}

// onlyFlags tells whether letters before the last one can be flags without a
// value, so that the last is an option and no part of a value.
func onlyFlags(letters string) bool {
	for i := range len(letters) {
		if strings.IndexByte("ahlrsvdXnPpDbe", letters[i]) < 0 {
			return false
		}
	}
	return true
}
