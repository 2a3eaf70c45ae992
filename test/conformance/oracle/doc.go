// Package oracle starts Debian's real Slurm, private to one folder, so that
// the end-to-end cases can be run against it: own ports, own munged with an own
// key, own MariaDB and slurmdbd, several slurmd on this host. It must be root
// (the daemons refuse anything else for several users) and it touches nothing
// outside its folder but the packages that it installs when they are missing.
//
// It knows nothing of Muster and of the cases.
package oracle
