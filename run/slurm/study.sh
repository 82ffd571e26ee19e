#!/usr/bin/env bash
# Submits a study as an array of jobs, and a job that makes the table when all of them have ended.
#
#   run/slurm/study.sh [OPTION OF SBATCH...] PARTS FOLDER STUDY...
#
#   run/slurm/study.sh 4 block-size run/studies/block-size.ini
#   run/slurm/study.sh --partition=gpu --time=1:00:00 8 skins inputs/melt.txt --vary neighbor.skin=0.2,0.3,0.4
#
# PARTS jobs share the runs; FOLDER gets the results; STUDY... are the words of tools/study.py. The options of sbatch are for the
# array (--array=1-8%2 for two at a time); SBATCH_ACCOUNT and SBATCH_PARTITION in the environment serve for both. The same
# command again runs what is missing.
#
# The table is made after any end of the array (afterany), not only after a good one (afterok): a part that was killed has left
# all runs but the last, which the table then shows, and it says what is missing.
set -euo pipefail

refuse() {
    echo "study.sh: $*; usage: run/slurm/study.sh [OPTION OF SBATCH...] PARTS FOLDER STUDY..." >&2
    exit 2
}

options=()
while [[ ${1-} == -* ]]; do
    options+=("$1")
    shift
done
[ $# -ge 3 ] || refuse "too few words"
parts=$1 folder=$2
shift 2
[[ $parts =~ ^[1-9][0-9]*$ ]] || refuse "read '$parts' for PARTS; allowed: a whole number from 1"
[ -e "$1" ] || refuse "$1: no such file"
command -v sbatch >/dev/null || refuse "no sbatch here: this is no machine of a Slurm cluster"

here=$(cd "$(dirname "$0")" && pwd)
tool=$(cd "$here/../.." && pwd)/tools/study.py
array=$(sbatch --parsable --array="1-$parts" ${options[@]+"${options[@]}"} "$here/study-array.sbatch" "$parts" "$tool" "$@" \
    --output "$folder")
merge=$(sbatch --parsable --dependency="afterany:$array" "$here/study-merge.sbatch" "$parts" "$tool" "$folder")
echo "array $array, $parts parts: mdmini-study-${array}_K.out; table $merge: mdmini-merge-$merge.out; results: $folder"
