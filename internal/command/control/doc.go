// Package control is scontrol: records of jobs, steps, nodes and partitions as it
// prints them, and its commands.
//
// The records are pure functions from messages to bytes; the commands ask the
// controller and pass changes on to it as they were typed, because only the
// controller knows what may be changed.
package control
