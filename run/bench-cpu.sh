#!/usr/bin/env bash
# The cpu backend beside LAMMPS on the melt: ratio of speeds, target and verdict; bench_cpu.py says how. Some minutes on two
# cores:
#
#   run/bench-cpu.sh build/mdmini
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec python3 "$top/run/bench_cpu.py" "$@"
