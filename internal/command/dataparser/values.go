package dataparser

import (
	"strings"

	"golang.org/x/sys/unix"

	"muster/internal/model"
	"muster/internal/wire"
)

// Number writes a number that may not be set.
func (w *Writer) Number(key string, set bool, n uint64) {
	if !set {
		n = 0
	}
	w.noVal(key, set, false, n)
}

// NonZero writes a number of which 0 means that it is not set.
func (w *Writer) NonZero(key string, n uint64) { w.noVal(key, n != 0, false, n) }

// Time writes seconds since 1970; a time is always set, and 0 while there is none.
func (w *Writer) Time(key string, t int64) { w.noVal(key, true, false, uint64(max(t, 0))) }

// Null writes that there is nothing.
func (w *Writer) Null(key string) {
	w.value(key)
	w.b = append(w.b, "null"...)
}

// unlimited is how wire's messages have "no limit".
const unlimited = ^uint32(0)

// Limit writes a limit of which 0 means not set and the largest number none.
func (w *Writer) Limit(key string, n uint32) {
	switch n {
	case unlimited:
		w.noVal(key, false, true, 0)
	default:
		w.noVal(key, n != 0, false, uint64(n))
	}
}

// AtMost writes a limit that has no end unless a number was given.
func (w *Writer) AtMost(key string, n uint32) {
	if n == 0 {
		n = unlimited
	}
	w.Limit(key, n)
}

// Exit writes a wait status.
func (w *Writer) Exit(key string, status int32) {
	code, signal := model.ExitCode(status), model.ExitSignal(status)
	word, name := "SUCCESS", ""
	switch {
	case signal != 0 && status&0x80 != 0:
		word = "CORE_DUMPED"
	case signal != 0:
		word = "SIGNALED"
	case code != 0:
		word = "ERROR"
	}
	if signal != 0 {
		name = strings.TrimPrefix(unix.SignalName(unix.Signal(signal)), "SIG")
	}
	w.Object(key)
	w.Strings("status", []string{word})
	w.Number("return_code", true, uint64(code))
	w.Object("signal")
	w.Number("id", signal != 0, uint64(signal))
	w.String("name", name)
	w.End()
	w.End()
}

// JobState writes a state and what stands on top of it as a list of words.
func (w *Writer) JobState(key string, state wire.BaseState, flags uint32) {
	w.Strings(key, append([]string{model.BaseName(state).Long}, model.FlagWords(flags)...))
}

// CSV writes a comma list as a list.
func (w *Writer) CSV(key, text string) {
	w.List(key)
	for begin, i := 0, 0; i <= len(text) && text != ""; i++ {
		if i == len(text) || text[i] == ',' {
			w.String("", text[begin:i])
			begin = i + 1
		}
	}
	w.End()
}

// SelectWords turns SelectTypeParameters into the layout's words.
func SelectWords(parameters string) []string {
	var words []string
	for word := range strings.SplitSeq(strings.ToUpper(parameters), ",") {
		if word = strings.TrimSpace(word); word != "" && word != "NONE" {
			words = append(words, word)
		}
	}
	return words
}
