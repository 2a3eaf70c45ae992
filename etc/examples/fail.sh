#!/bin/bash
#SBATCH --job-name=fails
#SBATCH --output=fails-%j.out
#SBATCH --mem=100M
echo "this job ends with exit code 3"
exit 3
