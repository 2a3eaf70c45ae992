// Package queue is squeue: what may be asked for, in which order jobs stand, and
// how each is written.
//
// Rendering is a pure function from the controller's messages to bytes; only
// run.go, load.go and nodes.go ask the controller. A query asks for no more fields
// of a job than its format, its order and its filters need, and each page of the
// answer becomes lines at once: what stays in memory of a job is its line and
// what it is ordered by.
package queue
