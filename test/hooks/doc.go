// Package hooks tests on whole clusters, through the commands alone, what the
// configuration makes of a job: the administrator's programs around it, the
// amounts it gets, limits and policies, the bytes that it carries, the ways in
// which it ends, and the mail about it.
//
// Each top-level test has one cluster of its own configuration; its subtests
// run in order, and clusters run side by side. What other processes do is
// awaited by asking; what a hook does is awaited by a fifo that it opens.
package hooks
