package queue

import (
	"muster/internal/command"
	"muster/internal/command/flags"
)

// formats are the values of -o and -O, of which a command line may have one kind.
type formats struct {
	letters, names *string
}

func (f *formats) set(p *command.Program, v flags.Value) (int, bool) {
	switch {
	case v.Key == keyFormat && f.names != nil:
		p.Error("-o (--format) is incompatible with -O (--Format)")
		return command.ExitError, false
	case v.Key == keyNames && f.letters != nil:
		p.Error("-O (--Format) is incompatible with -o (--format)")
		return command.ExitError, false
	case v.Key == keyFormat:
		f.letters = &v.Text
	default:
		f.names = &v.Text
	}
	return 0, true
}

// chooseFormat takes the format of the command line, of the environment where no
// option brings its own, or the one that goes with the options.
func (q *Query) chooseFormat(p *command.Program) (int, bool) {
	columns, f := &jobColumns, q.format
	if q.Steps {
		columns = &stepColumns
	}
	if q.Long && f.letters != nil {
		return p.Fatal("Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry."), false
	}
	if f.letters == nil && f.names == nil && !q.Long && !q.StartAll && !q.Steps {
		if text, set := variable(p, "SQUEUE_FORMAT"); set {
			f.letters = &text
		} else if text, set := variable(p, "SQUEUE_FORMAT2"); set {
			f.names = &text
		}
	}
	switch {
	case f.names != nil:
		q.Table = columns.parseNames(*f.names)
	case f.letters != nil:
		q.Table = columns.parse(*f.letters)
	case q.Steps:
		q.Table = columns.parse(StepsFormat)
	case q.StartAll:
		q.Table = columns.parse(StartFormat)
	case q.Long:
		q.Table = columns.parse(LongFormat)
	default:
		q.Table = columns.parse(PlainFormat)
	}
	return 0, true
}
