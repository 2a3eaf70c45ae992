// Package model is the vocabulary of a cluster beside the messages of
// internal/wire: names of states and reasons, sets of array tasks, amounts
// (TRES), job ids and exit codes as they are written.
//
// It does no I/O, reads no clock and knows no command, controller or store.
package model
