// Package option knows what sbatch, srun and salloc may be told. One table
// serves the command line, the directives of batch scripts, the environment
// (SBATCH_*, SLURM_*), the help texts, the manual pages and completion.
//
// It turns words into a job's request (wire.JobSpec) or a step's
// (wire.StepRequest) and says what is wrong in Slurm's words. It asks nobody:
// what only the controller can know (partitions, names of nodes, limits) is
// checked there.
package option
