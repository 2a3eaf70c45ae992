// Package conf reads the files that administrators write: slurm.conf, gres.conf,
// cgroup.conf, slurmdbd.conf and muster.conf, in Slurm's notation.
//
// Load gives one Config with typed fields, the nodes and partitions expanded, or
// every mistake of the files at once, each with its file and line. What Slurm knows
// and Muster does not act on is returned as notices, to be logged once at start.
//
// The package opens files, and nothing else of the outside: it contacts no daemon,
// resolves no name and runs no program. Passwords are read only by LoadDatabase and
// leave it only as Secret.
package conf
