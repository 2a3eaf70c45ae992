// Package sack is the local token service of auth/slurm ("Slurm auth and cred
// kiosk" in Slurm's words): a daemon that holds the cluster key listens on a
// unix socket, sees by the kernel's word who connects, and hands that user a
// token for one connection. sackd runs it on login nodes, noded on compute
// nodes, ctld on its own host.
//
// The conversation is one request and one answer:
//
//	request: version(1) binding(32)
//	answer:  code(1) length(2, big-endian) token or error text
package sack
