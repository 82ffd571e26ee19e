#!/usr/bin/env bash
# Submits a study as an array of jobs, and a job that makes the table when all of them have ended.
#
#   run/slurm/study.sh [OPTION OF SBATCH...] PARTS FOLDER STUDY...
#
#   run/slurm/study.sh 4 block-size run/studies/block-size.ini
#   run/slurm/study.sh --partition=gpu --time=1:00:00 8 skins inputs/melt.txt --vary neighbor.skin=0.2,0.3,0.4 \
#       --words neighbor.rebuild=host-check
#   run/slurm/study.sh --gres=none --exclusive 4 skins inputs/melt.txt --vary neighbor.skin=0.2,0.3 \
#       --words 'run.backend=cpu neighbor.rebuild=host-check'
#
# (host-check: lists that are rebuilt every so many steps would miss pairs with the smaller skins, and a speed of wrong lists is none.)
# PARTS jobs share the runs; FOLDER gets the results; STUDY... are the words of tools/study.py. The options of sbatch are for the
# array (--array=1-8%2 for two at a time), each in one word (--time=1:00:00); account and partition in site.sh serve for
# both. The same command again runs what is missing.
#
# The table is made after any end of the array (afterany), not only after a good one (afterok): a part that was killed has left
# all runs but the last, which the table then shows, and it says what is missing.
set -euo pipefail

last= parts=
refuse() {
    local hint=
    case $parts:$last in # an option whose value was read for PARTS
        :* | *:--*=* | *:-[!-]?* | *:) ;;
        *:--*) hint="; if '$parts' is the value of $last, write $last=$parts" ;;
        *) hint="; if '$parts' is the value of $last, write $last$parts" ;;
    esac
    echo "study.sh: $*$hint; usage: run/slurm/study.sh [OPTION OF SBATCH...] PARTS FOLDER STUDY..." >&2
    exit 2
}

if [[ ${1-} == --help || ${1-} == -h ]]; then
    sed -n '/^# /,/^set/ s/^# \{0,1\}//p' "$0"
    exit
fi
options=()
while [[ ${1-} == -* ]]; do
    options+=("$1") last=$1
    shift
done
parts=${1-}
[ $# -ge 3 ] || refuse "too few words"
folder=$2
shift 2
[[ $parts =~ ^[1-9][0-9]*$ ]] || refuse "read '$parts' for PARTS; allowed: a whole number from 1"

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
tool=$top/tools/study.py
[ -e "$1" ] || [ -e "$top/$1" ] || refuse "$1: no such file, here or at the top of the source"
. "$here/site.sh"
command -v sbatch >/dev/null || refuse "no sbatch here: this is no machine of a Slurm cluster"

array=$(sbatch --parsable --array="1-$parts" ${options[@]+"${options[@]}"} "$here/study-array.sbatch" "$parts" "$tool" "$@" \
    --output "$folder")
words=(--dependency="afterany:$array" "$here/study-merge.sbatch" "$parts" "$tool" "$folder")
merge=$(sbatch --parsable "${words[@]}") || {
    echo "study.sh: array $array is submitted, the job for its table is not; with the options it wants: sbatch OPTIONS$(printf ' %q' "${words[@]}")" >&2
    exit 1
}
echo "array $array, $parts parts: mdmini-study-${array}_K.out; table $merge: mdmini-merge-$merge.out; results: $folder"
