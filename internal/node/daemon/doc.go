// Package daemon is the node daemon around package node: it reads the
// configuration, proves who it is to the controller, opens the step service
// and the log, and obeys signals.
//
// It must not know what a run is.
package daemon
