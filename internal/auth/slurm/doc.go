// Package slurm implements auth/slurm: tokens made with a key that all daemons
// of a cluster share (slurm.key).
//
// Whoever holds the key can speak for any user, as in Slurm; no user may be able
// to read it. A token names the cluster, uid, gid, host, a short life and the
// one TLS connection that it is for. Users get theirs from sackd, noded or ctld
// on their host (package sack), which look at the unix-socket peer.
package slurm
