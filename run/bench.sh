#!/usr/bin/env bash
# The speed of mdmini on one GPU beside its targets and LAMMPS KOKKOS: the rows of inputs/bench/rows.csv; bench.py says how.
# Builds in build-gpu where no program is named (MDMINI_COMMIT names the commit where the source is no checkout), but for
# --list, which needs none. On an H200 some two minutes:
#
#   run/bench.sh [MDMINI] [--rows '1m*,32k'] [--repeats 3] [--budget SECONDS] [--output bench.json] [--list]
#
# Rows of 16 and 256 million atoms run where they are named: --rows '16m*,256m'.
set -euo pipefail
. "$(dirname "$0")/common.sh"
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
    program=$1
    shift
elif [[ " $* " == *" --list "* || " $* " == *" --help "* || " $* " == *" -h "* ]]; then
    program= # nothing runs
else
    program=$top/build-gpu/mdmini
    {
        cmake -S "$top" -B "$top/build-gpu" -DMDMINI_CUDA=ON ${MDMINI_COMMIT:+-DMDMINI_COMMIT=$MDMINI_COMMIT}
        cmake --build "$top/build-gpu" --target mdmini --parallel "$(nproc)" # not the tests
    } >&2
fi
exec python3 -B "$top/run/bench.py" ${program:+"$program"} "$@"
