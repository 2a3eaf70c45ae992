// Command srun runs a step in a job.
package main

import (
	"muster/internal/command"
	"muster/internal/command/srun"
)

func main() { command.Main("srun", srun.Run) }
