// Package origlimit remembers the soft limit of open files that this process
// was started with. The os package raises it for the Go program's own sake;
// the programs that it starts for users must get the original.
//
// It must import nothing but syscall: packages are initialised in the order of
// their paths once their imports are ready, so this one comes before os.
package origlimit

import "syscall"

// NoFile is RLIMIT_NOFILE as it was at the start.
var NoFile = read()

func read() syscall.Rlimit {
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) // cannot fail for an own limit
	return limit
}
