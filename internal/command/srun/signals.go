package srun

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/command/option"
)

// signals hands the signals that reach srun on to its tasks. An interrupt from
// a person only tells how the step stands; a second within a second is handed
// on, a third ends the step.
type signals struct {
	caught chan os.Signal
	quick  bool // --disable-status, --quit-on-interrupt: the first is handed on
	last   time.Time
	count  int
}

// second is how soon another interrupt must follow to count.
const second = time.Second

func newSignals(o *option.Options) *signals {
	s := &signals{caught: make(chan os.Signal, 8), quick: o.Step.DisableStatus || o.Step.QuitOnInterrupt}
	signal.Notify(s.caught, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGCONT)
	return s
}

func (s *signals) stop() { signal.Stop(s.caught) }

// ends tells whether a signal is meant to end srun while nothing runs yet.
func ends(number unix.Signal) bool {
	switch number {
	case unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP:
		return true
	}
	return false
}

// serve deals with signals until ctx is done.
func (s *signals) serve(ctx context.Context, to *step) {
	for {
		select {
		case <-ctx.Done():
			return
		case caught := <-s.caught:
			number, ok := caught.(unix.Signal)
			switch {
			case !ok:
			case number == unix.SIGINT:
				s.interrupt(to)
			case number == unix.SIGQUIT:
				to.p.Say("Quit")
				to.forced()
			default:
				to.p.Verbose(1, "forwarding signal %d to StepId=%s", int(number), to.id)
				to.signal(uint32(number))
			}
		}
	}
}

func (s *signals) interrupt(to *step) {
	if time.Since(s.last) > second {
		s.count = 0
	}
	s.last = time.Now()
	s.count++
	switch {
	case s.count == 1 && !s.quick:
		to.p.Say("interrupt (one more within 1 sec to abort)")
		to.tell()
	case s.count == 1 || s.count == 2 && !s.quick:
		to.p.Say("sending Ctrl-C to StepId=%s", to.id)
		to.signal(uint32(unix.SIGINT))
	default:
		to.forced()
	}
}

// forced ends the step without waiting for the tasks to agree.
func (s *step) forced() {
	s.p.Say("forcing job termination")
	s.killNow()
}
