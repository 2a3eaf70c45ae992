// Package accounting is sacct: rows of runs and their steps, ended and live.
//
// Rendering is a pure function from the controller's records to bytes; only
// run.go asks the controller.
package accounting
