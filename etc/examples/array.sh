#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --output=sweep-%A_%a.out
#SBATCH --array=0-7%4
#SBATCH --mem=500M
#SBATCH --time=5
# One task for each value of a parameter sweep.
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT squared is $((SLURM_ARRAY_TASK_ID * SLURM_ARRAY_TASK_ID))"
sleep 0.3
