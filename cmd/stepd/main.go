// stepd is the shepherd of one step. noded starts it; it is not for hands.
package main

import (
	"os"
	"runtime"

	"muster/internal/node/stepd"
)

// The first thread stays the main goroutine's: threads that become the user are
// thrown away, and this one cannot be.
func init() { runtime.LockOSThread() }

func main() { os.Exit(stepd.Main()) }
