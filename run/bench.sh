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
program= runs=yes
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
    program=$1
    shift
fi
[[ " $* " == *" --list "* || " $* " == *" --help "* || " $* " == *" -h "* ]] && runs= # nothing runs, nothing is built

# Arguments first, as a build takes a while. others: folders of sources, beside them the commits to report, "" by git.
words=() others=() commits=()
refuse() { echo "--against $1: $2" >&2; exit 2; }
add_other() { # COMMIT|FOLDER
    local commit='' folder=$1
    if [ ! -d "$1" ]; then
        commit=$(git -C "$top" rev-parse --verify --quiet --short "$1^{commit}") || refuse "$1" "neither a folder nor a commit"
        folder=$top/build-against/$commit
    elif [ ! -e "$1/CMakeLists.txt" ]; then
        refuse "$1" "no source: it has no CMakeLists.txt"
    elif [ ! -e "$1/.git" ]; then
        commit=$(basename "$(cd "$1" && pwd)")
    fi
    others+=("$folder") commits+=("$commit") words+=(--against "$folder")
}
while [ $# -gt 0 ]; do
    case $1 in
        --against) [ $# -gt 1 ] || refuse "" "a commit or a folder is missing"; [ -z "$runs" ] || add_other "$2"; shift ;;
        --against=*) [ -z "$runs" ] || add_other "${1#*=}" ;;
        *) words+=("$1") ;;
    esac
    shift
done

make_program() { # SOURCE [OPTION]
    cmake -S "$1" -B "$1/build-gpu" -DMDMINI_CUDA=ON "${@:2}" >&2
    cmake --build "$1/build-gpu" --target mdmini --parallel "$(nproc)" >&2 # not the tests
}
if [ -n "$runs" ]; then
    if [ -z "$program" ]; then
        make_program "$top" ${MDMINI_COMMIT:+-DMDMINI_COMMIT=$MDMINI_COMMIT}
        program=$top/build-gpu/mdmini
    fi
    for k in "${!others[@]}"; do
        folder=${others[k]} commit=${commits[k]}
        if [ ! -d "$folder" ]; then # unpacked whole, or not at all
            mkdir -p "$folder.part"
            git -C "$top" archive "$commit" | tar -x -C "$folder.part"
            mv "$folder.part" "$folder"
        fi
        make_program "$folder" ${commit:+-DMDMINI_COMMIT="$commit"}
    done
fi
exec python3 -B "$top/run/bench.py" ${program:+"$program"} ${words+"${words[@]}"}
