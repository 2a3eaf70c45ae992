// Package munge implements auth/munge: credentials made and checked by the
// munged daemons of two hosts, which share a key and know their callers by
// their unix-socket peer.
//
// It speaks munged's socket protocol (version 4) itself, so programs need no
// libmunge and no cgo. The payload of a credential names the cluster and the one
// TLS connection it is for.
package munge
