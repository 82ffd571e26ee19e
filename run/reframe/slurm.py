"""ReFrame's settings for a Slurm: a sample of a site's file. scheduler: squeue needs no accounting; with it, slurm reads sacct.
access: account and partition. resources: how GPUs are asked for, where features have gpu."""
import os

partition = {"name": "nodes", "scheduler": "squeue", "launcher": "srun", "features": ["cores", "mpi"], "environs": ["default"],
             "access": [],  # such as "--account=chem", "--partition=cpu"
             "resources": [{"name": "_rfm_gpu", "options": ["--gres=gpu:{num_gpus_per_node}"]}],
             "env_vars": [["SLURM_MPI_TYPE", "pmix"]]}

site_configuration = {
    "systems": [{"name": os.environ.get("MDMINI_MACHINE", "cluster"), "hostnames": [".*"],
                 "modules_system": "lmod" if "LMOD_CMD" in os.environ else "nomod", "partitions": [partition]}],
    "environments": [{"name": "default", "cc": "cc", "cxx": "", "ftn": ""}],
}
