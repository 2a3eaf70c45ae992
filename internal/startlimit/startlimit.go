// Package startlimit remembers the limits of open files that this process was
// started with. The Go runtime raises the soft one for the program's own sake;
// a job must get the user's, and the programs that a daemon starts the original.
//
// It must not import syscall, in whose initialisation the limit is raised:
// packages are initialised in the order of their paths once their imports are
// ready, so this one, without imports, comes before it.
package startlimit

import _ "unsafe" // for go:linkname

// Limit is a soft and a hard limit, laid out as the kernel's struct rlimit64.
type Limit struct{ Cur, Max uint64 }

// NoFile is RLIMIT_NOFILE as it was at the start.
var NoFile = read()

const rlimitNoFile = 7 // on every architecture that is built for

// prlimit is open to others by name, as golang.org/x/sys uses it.
//
//go:linkname prlimit syscall.prlimit
func prlimit(pid int, resource int, next *Limit, old *Limit) error

func read() Limit {
	var limit Limit
	_ = prlimit(0, rlimitNoFile, nil, &limit) // cannot fail for an own limit
	return limit
}
