// Package simtest drives the reducer through invented days: nodes that come
// and go, a database whose commits end in every way, a controller that dies.
// Everything follows from a seed, so that a failure replays.
//
// It holds tests only and must not be imported.
package simtest
