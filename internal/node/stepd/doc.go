// Package stepd is the shepherd of one step: it starts the step's tasks as
// their user inside the cgroup that the node daemon made, carries their
// standard streams, measures them, ends them, reaps everything that they left
// and writes down how it ended. It outlives the node daemon.
//
// It must import only the standard library, x/sys and the node's own small
// packages: one such process is started for each step.
package stepd
