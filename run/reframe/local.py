"""ReFrame's settings for the machine that it is called on, without a batch system. Each site has its own file: its partitions say
what they have (cores, mpi, gpu), and by which scheduler and launcher they are used (slurm and srun, say).
MDMINI_MACHINE names the machine for its references."""
import os
import shutil

features = ["cores"] + ["mpi"] * bool(shutil.which("mpirun")) + ["gpu"] * bool(shutil.which("nvidia-smi"))
# Open MPI starts nothing as root, as in a container, without these two.
as_root = [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]

partition = {"name": "host", "scheduler": "local", "launcher": "mpirun" if "mpi" in features else "local", "features": features,
             "environs": ["default"], "env_vars": as_root,
             "max_jobs": 1}  # one after the other, or they take each other's time

site_configuration = {
    "systems": [{"name": os.environ.get("MDMINI_MACHINE", "local"), "hostnames": [".*"],
                 "modules_system": "lmod" if "LMOD_CMD" in os.environ else "nomod", "partitions": [partition]}],
    "environments": [{"name": "default", "cc": "cc", "cxx": "", "ftn": ""}],
}
