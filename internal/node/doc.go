// Package node is the inside of the node daemon: it takes the controller's
// orders, writes each launch down before it acts, starts a shepherd for each
// step, runs the hooks around them, and says how everything stands until the
// controller has taken note.
//
// It decides nothing about the job: what a job may use, who it is and when it
// ends stands in the orders. It never kills a job because the controller is
// away.
//
// A run has one goroutine that drives it from accepted to gone, and each of
// its steps one that listens to the shepherd.
package node
