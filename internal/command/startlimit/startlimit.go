// Package startlimit remembers the limit of open files that a command was
// started with. The os package raises the soft one for the Go program's own
// sake; the job must get the user's.
//
// It must import nothing but syscall: packages are initialised in the order of
// their paths once their imports are ready, so this one comes before os.
package startlimit

import "syscall"

// NoFile is RLIMIT_NOFILE as it was at the start.
var NoFile = read()

func read() syscall.Rlimit {
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) // cannot fail for an own limit
	return limit
}
