// Package nodes is sinfo: nodes gathered into rows by partition and by what the
// format shows of them.
//
// Grouping and rendering are pure functions from the controller's messages to
// bytes; only run.go asks the controller.
package nodes
