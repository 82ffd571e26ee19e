#!/usr/bin/env bash
# The speed of mdmini on one GPU beside its targets and LAMMPS KOKKOS: the rows of inputs/bench/rows.csv; bench.py says how.
# Builds in build-gpu where no program is named (MDMINI_COMMIT names the commit where the source is no checkout), but for
# --list, which needs none. On an H200 some two minutes:
#
#   run/bench.sh [MDMINI] [--rows '1m*,32k'] [--repeats 3] [--against COMMIT] [--budget SECONDS] [--output bench.json] [--list]
#
# Rows of 16 and 256 million atoms run where they are named: --rows '16m*,256m'. --against COMMIT builds that commit in
# build-against (which you may remove) and times it by turns with this source on the same GPU; --against FOLDER does so with another source. It may
# stand several times.
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
# against COMMIT|FOLDER: builds that program; other_source is the folder of its source.
against() {
    other_source=$1
    local commit=
    if [ ! -d "$1" ]; then
        commit=$(git -C "$top" rev-parse --verify --quiet --short "$1^{commit}") ||
            { echo "--against $1: neither a folder nor a commit" >&2; exit 2; }
        other_source=$top/build-against/$commit
        if [ ! -d "$other_source" ]; then # whole, or not at all
            mkdir -p "$other_source.part"
            git -C "$top" archive "$commit" | tar -x -C "$other_source.part"
            mv "$other_source.part" "$other_source"
        fi
    elif [ ! -e "$1/.git" ]; then
        commit=$(basename "$(cd "$1" && pwd)")
    fi
    {
        cmake -S "$other_source" -B "$other_source/build-gpu" -DMDMINI_CUDA=ON ${commit:+-DMDMINI_COMMIT="$commit"}
        cmake --build "$other_source/build-gpu" --target mdmini --parallel "$(nproc)"
    } >&2
}
words=()
while [ $# -gt 0 ]; do
    if [ "$1" = --against ] && [ $# -gt 1 ]; then
        [ -z "$program" ] && { words+=("$1" "$2"); shift 2; continue; } # a list builds nothing
        against "$2"
        words+=(--against "$other_source")
        shift
    else
        words+=("$1")
    fi
    shift
done
set -- ${words+"${words[@]}"}
exec python3 -B "$top/run/bench.py" ${program:+"$program"} "$@"
