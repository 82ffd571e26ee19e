#!/usr/bin/env bash
# What NVRTC makes of the kernels of rows of inputs/bench/rows.csv on an H200, on a machine without a GPU: registers, what
# spills, instructions; registers.py says how. Needs the CUDA toolkit. Two minutes on two cores, most of it the first build:
#
#   run/registers.sh [--rows 1m,32k,4k] [--against FOLDER/src] [--all]
#
# --against shows what differs from the kernels of another checkout (of the same arguments: src/cuda/context/shared.h), as
# that one -> this one.
set -euo pipefail
. "$(dirname "$0")/common.sh"
folder=$top/build-idle
[[ " $* " == *" --help "* || " $* " == *" -h "* ]] || {
    cmake -S "$top" -B "$folder" -DMDMINI_CUDA=IDLE ${MDMINI_COMMIT:+-DMDMINI_COMMIT=$MDMINI_COMMIT}
    cmake --build "$folder" --target mdmini --parallel "$(nproc)" # not the tests
} >&2
exec python3 -B "$top/run/registers.py" --program "$folder/mdmini" "$@"
