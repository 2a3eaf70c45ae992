#!/bin/bash
#SBATCH --job-name=train
#SBATCH --output=train-%j.out
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=2G
#SBATCH --gres=gpu:2
#SBATCH --time=00:10:00
# A stand-in for a training run: it says what it was given and counts epochs.
echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST with $SLURM_CPUS_ON_NODE CPUs and GPUs $CUDA_VISIBLE_DEVICES"
for epoch in 1 2 3; do
    sleep 0.5
    echo "epoch $epoch done"
done
