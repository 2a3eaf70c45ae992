// Package slurmtime reads and writes times the way Slurm's commands do: time
// limits ("1-12:30"), points in time ("now+1hour", "12/24-18:00"), elapsed times
// and time stamps.
//
// It is pure: the present moment and the time zone come in as an argument, no
// clock, environment or file is read. Limits are whole minutes in a uint32 with
// Unlimited for "no limit", which is how messages and tables carry them.
package slurmtime
