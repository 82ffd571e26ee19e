# What this site wants, in one place: every script of this folder reads it. study.sh does so before it submits, each job when it
# begins. Before a plain sbatch read it yourself, once a shell:    . run/slurm/site.sh
# Options of sbatch win over these lines, and these over the lines of the scripts.

# export SBATCH_ACCOUNT=ACCOUNT
# export SBATCH_PARTITION=PARTITION
# export SBATCH_CONSTRAINT=ONE_KIND_OF_NODE

# The modules that the program was built with, and a Python with numpy, h5py and matplotlib for studies.
# module load gcc hdf5 cuda python

# How srun joins the tasks of a job to one run (multi-node.sbatch, multi-gpu.sbatch), if not by pmix: what `srun --mpi=list` has and the MPI knows.
# export MDMINI_SRUN_MPI=pmi2

# The program, if it is not the one that was built or installed with this folder.
# export MDMINI=/path/to/mdmini
