package option

import (
	"strings"

	"muster/internal/batchscript"
	"muster/internal/command/getopt"
)

// words returns the getopt table of one program. Keys are indexes of Table.
func words(program Program) []getopt.Option {
	table := Table()
	out := make([]getopt.Option, 0, len(table))
	for i := range table {
		e := &table[i]
		if e.In&program == 0 {
			continue
		}
		short := e.Short
		if e.Letter != 0 && e.Letter&program == 0 {
			short = 0
		}
		out = append(out, getopt.Option{Long: e.Long, Short: short, Arg: e.Arg, Key: i})
	}
	return out
}

// Line is a command line that was cut into options and operands and not yet
// applied: a script's directives and the environment come before it.
type Line struct {
	found []getopt.Match
	Rest  []string // the command or script with its arguments
}

// Read cuts a command line. The error is getopt's.
func Read(program Program, args []string) (*Line, error) {
	found, rest, err := getopt.Parse(words(program), args, getopt.Stop)
	if err != nil {
		return nil, err
	}
	return &Line{found, rest}, nil
}

// Has tells whether an option stands on the line.
func (l *Line) Has(long string) bool {
	for _, m := range l.found {
		if m.Option.Long == long {
			return true
		}
	}
	return false
}

// Value returns the last value given to an option.
func (l *Line) Value(long string) (value string, ok bool) {
	for _, m := range l.found {
		if m.Option.Long == long {
			value, ok = m.Value, true
		}
	}
	return value, ok
}

// Apply sets what the line says.
func (o *Options) Apply(l *Line) error {
	o.source = FromCommandLine
	for _, m := range l.found {
		if err := o.set(&Table()[m.Option.Key], m.Value); err != nil {
			return err
		}
	}
	return nil
}

// set applies one setting.
func (o *Options) set(e *Entry, value string) error {
	if e.Status == NotYet {
		return NotSupported("--" + e.Long)
	}
	if e.Set != nil {
		if err := e.Set(o, e, value); err != nil {
			return err
		}
	}
	o.from[e.Long] = o.source
	return nil
}

// ApplyScript sets what the directives of a batch script say; PBS and LSF ones
// beat #SBATCH, as in Slurm. name is the script's for messages.
func (o *Options) ApplyScript(name string, body []byte) error {
	o.source = FromScript
	table := words(Sbatch)
	lines, err := batchscript.Directives(body, batchscript.SBATCH)
	for _, line := range lines {
		if err := o.directive(table, line.Words); err != nil {
			return err
		}
	}
	if err != nil {
		return fatalf("%s: %v", name, err)
	}
	return nil
}

// ApplyForeign sets what #PBS and #BSUB lines say.
func (o *Options) ApplyForeign(name string, body []byte) error {
	o.source = FromScript
	for _, kind := range []string{batchscript.PBS, batchscript.BSUB} {
		lines, err := batchscript.Directives(body, kind)
		for _, line := range lines {
			if err := o.foreign(kind, line.Words); err != nil {
				return err
			}
		}
		if err != nil {
			return fatalf("%s: %v", name, err)
		}
	}
	return nil
}

// onlyCommandLine are options that a script may hold but that mean nothing there.
func onlyCommandLine(long string) bool {
	switch long {
	case "help", "usage", "version", "wrap":
		return true
	}
	return false
}

func (o *Options) directive(table []getopt.Option, line []string) error {
	if line[0] == "hetjob" || line[0] == "packjob" {
		return NotSupported("heterogeneous jobs (#SBATCH " + line[0] + ")")
	}
	found, rest, err := getopt.Parse(table, line, getopt.Stop)
	if err != nil {
		return err
	}
	for _, m := range found {
		if onlyCommandLine(m.Option.Long) {
			continue
		}
		if err := o.set(&Table()[m.Option.Key], m.Value); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return errorf(codeValue, "Invalid directive found in batch script: %s", rest[0])
	}
	return nil
}

// ApplyEnvironment sets what the program's variables say.
func (o *Options) ApplyEnvironment(lookup func(string) (string, bool)) error {
	o.source = FromEnvironment
	if err := o.variables(onlyVariables, lookup); err != nil {
		return err
	}
	return o.variables(Table(), lookup)
}

// onlyVariables have no word on a command line.
var onlyVariables = []Entry{
	{Long: "SLURM_DEBUG", In: All, Env: "SBATCH_DEBUG SALLOC_DEBUG SLURM_DEBUG", Set: debugLevel},
	{Long: "SLURM_DIST_PLANESIZE", In: Srun, Env: "SLURM_DIST_PLANESIZE", Set: planeSize},
	{Long: "SLURM_WAIT4SWITCH", In: All, Env: "SBATCH_WAIT4SWITCH SALLOC_WAIT4SWITCH SLURM_WAIT4SWITCH", Set: switchesWait},
}

func (o *Options) variables(table []Entry, lookup func(string) (string, bool)) error {
	for i := range table {
		e := &table[i]
		if e.In&o.Program == 0 || e.Env == "" {
			continue
		}
		for _, name := range strings.Fields(e.Env) {
			name, ok := o.mine(name)
			if !ok {
				continue
			}
			value, ok := lookup(name)
			if !ok || !o.wanted(e, value) {
				continue
			}
			if err := o.set(e, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// mine tells whether this program reads a variable.
func (o *Options) mine(name string) (string, bool) {
	if all, ok := strings.CutSuffix(name, "*"); ok {
		return all, true
	}
	prefix, _, _ := strings.Cut(name, "_")
	switch o.Program {
	case Sbatch:
		return name, prefix == "SBATCH"
	case Salloc:
		return name, prefix == "SALLOC"
	}
	return name, prefix == "SLURM" || prefix == "SRUN"
}

// wanted tells whether a variable sets its option: a flag's may say no, and for
// some an empty one is as good as none.
func (o *Options) wanted(e *Entry, value string) bool {
	switch {
	case e.Arg == getopt.None && (value == "0" || strings.EqualFold(value, "no")):
		return e.Long == "no-requeue" || e.Long == "requeue"
	case o.Program == Srun && e.Arg == getopt.Required && value == "":
		return false
	}
	return true
}
