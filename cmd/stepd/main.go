// Command stepd is the shepherd of a step. noded starts it; it is not for hands,
// and must not decide anything that noded did not tell it.
package main

import (
	"os"

	"muster/internal/node/stepd"
)

func main() { os.Exit(stepd.Main()) }
