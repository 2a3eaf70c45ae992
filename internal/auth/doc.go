// Package auth establishes who is at the other end of a connection.
//
// Every connection begins with a preamble of one round trip: the client says
// hello with a proof of who it is, the server answers yes or no, and from then
// on the connection belongs to the RPC layer. The proof is one of
//
//   - the kernel's peer credentials, on a unix socket of the same host;
//   - a token of auth/slurm or auth/munge, bound to this one TLS connection by
//     its exporter value (RFC 9266's idea), so that it is worth nothing on
//     another connection;
//   - the client certificate that the controller issued to a node.
//
// The subpackages hold the parts: slurm and munge make and check tokens, sack
// hands tokens out on a host whose users cannot read the cluster key, pki has
// the controller's key, certificates and TLS settings, credential signs launch
// orders and step credentials, access decides what a proven identity may do.
//
// This package knows nothing about RPCs, configuration files or jobs. No code
// path in it accepts a peer that has not proved itself.
package auth
