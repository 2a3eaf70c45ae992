#!/bin/bash
#SBATCH --job-name=endless
#SBATCH --output=endless-%j.out
#SBATCH --mem=100M
# Waits to be cancelled.
sleep 3600
