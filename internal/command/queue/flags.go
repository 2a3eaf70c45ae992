package queue

import "muster/internal/command/flags"

// Flags are the options of the command, for its manual page and completion.
func Flags() []flags.Flag { return options }
