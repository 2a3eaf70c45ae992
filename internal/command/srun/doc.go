// Package srun is the command that runs a step in an allocation: it has the
// controller make the step, hands each node its part, carries the tasks'
// standard streams, and ends with their exit code.
//
// It talks to nodes through wire.NodeSteps only, and believes nothing that a
// node says but what concerns its own step.
package srun
