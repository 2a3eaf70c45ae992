// stepd is the shepherd of one step. noded starts it; it is not for hands.
package main

import (
	"os"

	"muster/internal/node/stepd"
)

func main() { os.Exit(stepd.Main()) }
