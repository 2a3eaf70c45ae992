// Command sbatch submits a batch script.
package main

import (
	"muster/internal/command"
	"muster/internal/command/sbatch"
)

func main() { command.Main("sbatch", sbatch.Run) }
