// Command scancel ends or signals jobs and steps.
package main

import (
	"muster/internal/command"
	"muster/internal/command/scancel"
)

func main() { command.Main("scancel", scancel.Run) }
