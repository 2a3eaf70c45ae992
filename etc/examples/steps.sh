#!/bin/bash
#SBATCH --job-name=steps
#SBATCH --output=steps-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --mem=1G
# Four tasks over two nodes, each says who it is.
srun -l bash -c 'echo "rank $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME"'
