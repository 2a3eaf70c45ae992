// Package sbatch is the command that submits batch scripts: it finds the
// script, gathers what its options, its directives and the environment say and
// what of the caller goes along, and hands all to the controller in one request.
//
// It judges no request by what a cluster has; that is the controller's part.
package sbatch
