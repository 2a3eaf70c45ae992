// Package ctld puts the controller's parts together: configuration, database,
// lease, reducer, edge. It is what cmd/ctld runs.
//
// It must not decide anything about jobs or nodes.
package ctld
