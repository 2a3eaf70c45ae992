package option

import (
	"errors"

	"muster/internal/command"
	"muster/internal/command/getopt"
)

// Tell writes messages to standard error.
func Tell(p *command.Program, messages []Message) {
	for _, m := range messages {
		switch m.Kind {
		case Raw:
			p.Raw("%s", m.Text)
		case Info:
			p.Say("%s", m.Text)
		case Error:
			p.Error("%s", m.Text)
		case Fatal:
			p.Fatal("%s", m.Text)
		}
	}
}

// Refuse reports words that make no sense; it returns the exit code.
func Refuse(p *command.Program, err error) int {
	var usage *getopt.Error
	var refusal *Refusal
	switch {
	case errors.As(err, &usage):
		return p.Usage(usage)
	case errors.As(err, &refusal):
		Tell(p, refusal.Messages)
		if refusal.Fixed || refusal.Code != command.ExitError {
			return refusal.Code
		}
		return p.ErrorCode()
	}
	return p.Failed("%v", err)
}
