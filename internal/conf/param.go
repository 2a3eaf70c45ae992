package conf

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"muster/internal/size"
)

// Kind says how a parameter's value is written.
type Kind uint8

// The kinds of values.
const (
	KString  Kind = iota // any text
	KPath                // a file or program
	KInt                 // a whole number, INFINITE
	KBool                // YES or NO
	KSeconds             // a number of seconds, INFINITE
	KSpan                // minutes, or days-hours:minutes:seconds
	KMem                 // MiB, or a number with a suffix
	KEnum                // one of Words
	KOptions             // a list of Words, values may follow after '='
	KList                // names between commas
	KLevel               // a debug level
	KFloat               // a number, not negative
)

// flag holds what is true of a parameter beside its value.
type flag uint8

const (
	acts    flag = 1 << iota // Muster acts on it
	restart                  // a change needs the daemons restarted
	secret                   // a password: never shown
	hidden                   // not in `scontrol show config`
	multi                    // may stand on several lines
	removed                  // not in 26.05 any more
)

// Param describes one parameter of a configuration file. Words holds the known
// values or options with '|' between them; those Muster acts on begin with '*'.
type Param struct {
	Name    string
	Kind    Kind
	Default string
	flags   flag
	Words   string
	Unit    string // as scontrol prints it behind a number
	Note    string // what replaced it, or why it has no effect
}

// Acts tells whether Muster acts on the parameter.
func (p *Param) Acts() bool { return p.flags&acts != 0 }

// Restart tells whether a change needs the daemons restarted.
func (p *Param) Restart() bool { return p.flags&restart != 0 }

// Removed tells whether the newest Slurm no longer knows the parameter.
func (p *Param) Removed() bool { return p.flags&removed != 0 }

func (p *Param) is(f flag) bool { return p.flags&f != 0 }

// Params gives every known slurm.conf parameter.
func Params() []Param {
	return slices.Concat(paramsAtoJ[:], paramsKtoZ[:], removedParams[:])
}

// index finds parameters by lower-case name; built at the first use, so that
// commands which read no configuration do not pay for it.
var index = sync.OnceValue(func() map[string]*Param {
	m := make(map[string]*Param, 300)
	for _, table := range [][]Param{paramsAtoJ[:], paramsKtoZ[:], removedParams[:]} {
		for i := range table {
			m[strings.ToLower(table[i].Name)] = &table[i]
		}
	}
	return m
})

// Lookup finds a slurm.conf parameter by its name in any case.
func Lookup(name string) (*Param, bool) {
	p, ok := index()[strings.ToLower(name)]
	return p, ok
}

func paramNames() []string {
	var out []string
	for _, p := range Params() {
		out = append(out, p.Name)
	}
	return append(out, lineKeys[:]...)
}

// check tells what is wrong with a value; the notices about unknown or inert
// options are the second result.
func (p *Param) check(value string) (notice string, err error) {
	switch p.Kind {
	case KInt:
		_, err = parseNumber(value)
	case KBool:
		_, err = parseBool(value)
	case KSeconds:
		_, err = parseSeconds(value)
	case KSpan:
		_, err = parseSpan(value)
	case KMem:
		if !isInfinite(value) {
			_, err = size.ParseMemory(value)
		}
	case KLevel:
		_, err = parseDebugLevel(value)
	case KFloat:
		_, err = parseFloat(value)
	case KEnum:
		return "", p.checkWord(value)
	case KOptions:
		return p.checkOptions(value), nil
	case KString, KPath, KList:
	}
	return "", err
}

func (p *Param) checkWord(value string) error {
	var words []string
	for _, w := range strings.Split(p.Words, "|") {
		w = strings.TrimPrefix(w, "*")
		if strings.EqualFold(w, value) {
			return nil
		}
		words = append(words, w)
	}
	return fmt.Errorf("wanted one of %s, found %q", strings.Join(words, ", "), value)
}

func (p *Param) checkOptions(value string) string {
	if p.Words == "" {
		return ""
	}
	known := strings.Split(p.Words, "|")
	var inert, unknown []string
	for _, o := range parseOptions(value) {
		switch {
		case containsFold(known, "*"+o.Name):
		case containsFold(known, o.Name):
			inert = append(inert, o.Name)
		default:
			unknown = append(unknown, o.Name)
		}
	}
	var out []string
	if len(unknown) > 0 {
		out = append(out, fmt.Sprintf("%s: unknown option %s", p.Name, strings.Join(unknown, ", ")))
	}
	if len(inert) > 0 && p.Acts() {
		out = append(out, fmt.Sprintf("%s: without effect: %s", p.Name, strings.Join(inert, ", ")))
	}
	return strings.Join(out, "; ")
}
