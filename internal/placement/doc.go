// Package placement decides which nodes, cores and how much memory a job gets
// now, and says what is missing when it gets none.
//
// It is pure: no clock, no I/O, no other deciding package but gres, which
// picks the devices inside a chosen node. The order in which jobs are tried
// is not its business.
package placement
