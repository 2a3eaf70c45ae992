// Package pki holds the controller's key and everything that hangs on it: the
// certificate authority, the TLS settings of servers and clients, and the
// certificates of nodes.
//
// The controller makes one Ed25519 key at its first start and never gives it
// away. Its public half, a self-signed CA certificate in muster.pub beside
// slurm.conf, is all that a command or a daemon needs to know the controller:
// nothing else is trusted, the system's authorities least of all. Names in
// certificates are fixed and not host names: the controller is "ctld.muster",
// a node is "NAME.node.muster". So a node's certificate can never pass for the
// controller's, and an address may change without a new certificate.
//
// TLS is 1.3 only, and verification is crypto/tls's own: no code path skips it.
package pki
