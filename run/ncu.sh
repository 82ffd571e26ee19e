#!/usr/bin/env bash
# What kernels do by the hardware's own counters: those of a step of rows of inputs/bench/rows.csv, of any deck, or those of
# mdmini --ceilings; ncu.py says how. Needs ncu (Nsight Compute) and a user who may read counters. Rows take an H200 about a minute:
#
#   run/ncu.sh build-gpu/mdmini [--rows 1m,32k,4k] [--words "section.key=value ..."] [--output ncu.json]
#   run/ncu.sh build-gpu/mdmini --deck "inputs/melt.txt force.kernel=list"
#   run/ncu.sh build-gpu/mdmini --ceilings transpose "bandwidth:stride 32"
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec python3 -B "$top/run/ncu.py" "$@"
