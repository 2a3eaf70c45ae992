// Package version says which release a program is, and whose behaviour it has.
//
// It must import nothing: every program links it.
package version

// Slurm is the release whose behaviour the programs have; clients parse it
// (`slurm 26.05.0`).
const Slurm = "26.05.0"

// Muster is the project's own version.
const Muster = "0.1.0"

// Daemon is what a daemon prints for --version.
func Daemon() string { return "slurm " + Slurm + "\nmuster " + Muster }
