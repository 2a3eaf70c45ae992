// Package users answers who a user or a group is, through the system's name
// service (NSS): local files, LDAP, sssd and whatever else nsswitch.conf names.
//
// It runs getent(1) with a time limit and keeps the answers, positive and
// negative, in a bounded cache; a name service that is slow or away costs a
// caller at most that limit, and what was known before is still served for a
// while. It never parses /etc/passwd or /etc/group itself, which would miss
// the users of a directory service, and it needs no cgo.
//
// A lookup may block for seconds. It must therefore never be called from the
// controller's reducer or from a scheduling pass: look up first, then send the
// event.
package users
