// Command bench measures Muster beside Debian's real Slurm: the same machine,
// the same run, the same configuration, one figure after the other and the two
// systems in turn, so that a slower minute of the machine hits both.
//
// Each submission is a real sbatch process with a real script. It prints a table
// of medians and ratios and writes every single number as JSON. It says which
// figures are outside of the ranges kept beside it, and fails for that only when
// it is asked to: a clock is no test.
package main
