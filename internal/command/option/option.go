package option

import (
	"fmt"
	"time"

	"muster/internal/command/getopt"
	"muster/internal/wire"
)

// Program is a set of the programs that share the table.
type Program uint8

// The programs. An option of Sbatch may stand in a #SBATCH line, too.
const (
	Sbatch Program = 1 << iota
	Srun
	Salloc
	All = Sbatch | Srun | Salloc
)

func (p Program) String() string {
	switch p {
	case Sbatch:
		return "sbatch"
	case Srun:
		return "srun"
	case Salloc:
		return "salloc"
	}
	return "(several)"
}

// Status says what an option does here.
type Status uint8

const (
	// Acts: the option does what it says.
	Acts Status = iota
	// Accepted: it changes nothing, as in Slurm under the same configuration.
	Accepted
	// NotYet: it would change the run and is refused by name.
	NotYet
)

// Entry is one option.
type Entry struct {
	Long  string
	Short byte
	// Letter names the programs that have the letter; 0 = all of In.
	Letter Program
	Arg    getopt.Arg
	In     Program
	// Env lists the variables, separated by blanks. A program reads those with
	// its own prefix (srun: SLURM_ and SRUN_); a star makes it everybody's.
	Env    string
	Meta   string // what the value is called in the help; empty = no value
	Help   string // empty = an alias that the help leaves out
	Status Status
	Set    func(o *Options, e *Entry, value string) error
}

// Source says where a setting came from; a later one wins.
type Source uint8

// The sources, weakest first.
const (
	FromNowhere Source = iota
	FromScript
	FromEnvironment
	FromCommandLine
)

// Options is all that one program was told.
type Options struct {
	Program Program
	Spec    *wire.JobSpec
	Step    Step // srun's own

	Wrap       string
	Export     string // as given; Given("export") tells whether
	ExportFile string
	GetUserEnv bool
	Clusters   string
	Parsable   bool
	TestOnly   bool
	Wait       bool
	IgnorePBS  bool
	Help       bool
	Usage      bool
	Version    bool
	Level      int // -v adds, -Q subtracts
	UID, GID   string
	Propagate  string
	Chdir      string
	Nodefile   string
	Het        bool // a hetjob separator was seen
	Umask      string

	// Messages are for standard error, before anything else happens.
	Messages []Message

	now    time.Time
	source Source
	from   map[string]Source
	gres   map[string]string // texts of the gres options, by their names
}

// New returns the options of a program that was told nothing yet. now, with its
// zone, is what times such as `tomorrow` are reckoned from.
func New(program Program, now time.Time) *Options {
	return &Options{
		Program: program, Spec: &wire.JobSpec{}, Step: newStep(), now: now,
		from: make(map[string]Source), gres: make(map[string]string),
	}
}

// Given tells where an option was set, by its long name.
func (o *Options) Given(long string) Source { return o.from[long] }

// Kind is how a message is introduced.
type Kind uint8

// A line is printed as `text`, `sbatch: text`, `sbatch: error: text`, and so on.
const (
	Raw Kind = iota
	Info
	Error
	Fatal
)

// Message is one line for standard error.
type Message struct {
	Kind Kind
	Text string
}

// Refusal is what ends a program whose words make no sense.
type Refusal struct {
	Messages []Message
	Code     int
	// Fixed: the exit status is 1 even where SLURM_EXIT_ERROR names another, as
	// of numbers that are none.
	Fixed bool
}

func (r *Refusal) Error() string {
	text := r.Messages[0].Text
	for _, m := range r.Messages[1:] {
		text += "; " + m.Text
	}
	return text
}

// A value that is no value of its option ends with 255, a number that is none
// with 1: so does Slurm.
const (
	codeError = 1
	codeValue = 255
)

func errorf(code int, format string, args ...any) error {
	return &Refusal{Messages: []Message{{Error, fmt.Sprintf(format, args...)}}, Code: code}
}

func fatalf(format string, args ...any) error {
	return &Refusal{Messages: []Message{{Fatal, fmt.Sprintf(format, args...)}}, Code: codeError}
}

// invalid is the answer to most values that make no sense.
func invalid(e *Entry, before ...Message) error {
	return &Refusal{Messages: append(before, Message{Error, "Invalid --" + e.Long + " specification"}), Code: codeValue}
}

// NotSupported is the refusal of what is known and not done yet.
func NotSupported(what string) error {
	return &Refusal{Messages: []Message{{Error, "not supported yet: " + what}}, Code: codeError}
}

func (o *Options) say(kind Kind, format string, args ...any) {
	o.Messages = append(o.Messages, Message{kind, fmt.Sprintf(format, args...)})
}
