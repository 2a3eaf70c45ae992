// Package batchscript reads batch scripts as Slurm reads them: what may be
// submitted at all, and the directives (`#SBATCH`, `#PBS`, `#BSUB`) that stand
// in its head.
//
// It splits directives into words and does not know what they mean.
package batchscript

import "bytes"

// RefusedError is a text that is no batch script. Each line is printed for
// itself, with the program's name before it.
type RefusedError struct{ Lines []string }

func (e *RefusedError) Error() string {
	text := e.Lines[0]
	for _, line := range e.Lines[1:] {
		text += " " + line
	}
	return text
}

func refuse(lines ...string) error { return &RefusedError{lines} }

// Check tells whether a text may be submitted as a batch script.
func Check(body []byte) error {
	switch {
	case len(body) == 0:
		return refuse("Batch script is empty!")
	case len(bytes.TrimLeft(body, " \t\n\v\f\r")) == 0:
		return refuse("Batch script contains only whitespace!")
	case !bytes.HasPrefix(body, []byte("#!")):
		return refuse(
			"This does not look like a batch script.  The first",
			"line must start with #! followed by the path to an interpreter.",
			"For instance: #!/bin/sh")
	case bytes.IndexByte(body, 0) >= 0:
		return refuse(
			"The Slurm controller does not allow scripts that",
			`contain a NULL character '\0'.`)
	case bytes.Contains(body, []byte("\r\n")):
		return refuse(
			`Batch script contains DOS line breaks (\r\n)`,
			`instead of expected UNIX line breaks (\n).`)
	}
	return nil
}

// Wrap makes the script that stands for the command of `--wrap`.
func Wrap(command string) []byte {
	return []byte("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + command + "\n")
}
