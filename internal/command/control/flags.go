package control

import "muster/internal/command/flags"

// Flags are the options of the command, for its manual page and completion.
func Flags() []flags.Flag { return options }

// Words are the commands that scontrol understands.
func Words() []string {
	var out []string
	for _, k := range keywords() {
		if !k.later {
			out = append(out, k.name)
		}
	}
	return out
}
