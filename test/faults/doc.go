// Package faults provokes what goes wrong in real clusters (daemons killed, a
// database away, a network cut, disks full, a backup restored) while jobs are
// submitted, run and end, and counts what became of them.
//
// FAULTS_ROUNDS makes the random tests longer, FAULTS_SEED repeats one.
package faults
