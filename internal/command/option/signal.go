package option

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// defaultWarning is how many seconds before the end a signal is sent.
const defaultWarning = 60

// SignalNumber reads a signal: a number, or a name with or without SIG, in any
// case. ok is false for what is neither.
func SignalNumber(text string) (n uint32, ok bool) {
	if v, err := strconv.ParseUint(text, 10, 16); err == nil {
		return uint32(v), v > 0
	}
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if sig := unix.SignalNum("SIG" + name); sig != 0 && name != "" {
		return uint32(sig), true
	}
	return 0, false
}

// warnSignal reads `[[R][B]:]signal[@seconds]`.
func warnSignal(o *Options, e *Entry, value string) error {
	letters, rest, ok := strings.Cut(value, ":")
	if !ok {
		letters, rest = "", value
	}
	batch, reservation := false, false
	for _, c := range strings.ToUpper(letters) {
		switch c {
		case 'B':
			batch = true
		case 'R':
			reservation = true
		default:
			return invalid(e)
		}
	}
	name, seconds, timed := strings.Cut(rest, "@")
	signal, ok := SignalNumber(name)
	if !ok {
		return invalid(e)
	}
	warning := uint64(defaultWarning)
	if timed {
		var err error
		if warning, err = strconv.ParseUint(seconds, 10, 16); err != nil {
			return invalid(e)
		}
	}
	o.Spec.Signal, o.Spec.SignalSeconds = signal, uint32(warning)
	o.Spec.SignalBatchOnly, o.Spec.SignalReservation = batch, reservation
	return nil
}
