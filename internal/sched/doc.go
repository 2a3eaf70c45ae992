// Package sched is the pass: a pure function from a snapshot of the cluster to
// a plan of starts and reasons.
//
// It has no clock, no randomness, no logger and no I/O; the same snapshot
// gives the same plan. Where a job goes is decided in placement, which devices
// it gets in gres.
package sched
