#!/usr/bin/env bash
# What the kernels of a step do by the hardware's own counters, for rows of inputs/bench/rows.csv; ncu.py says how. Needs ncu
# (Nsight Compute) and a user who may read counters. On an H200 about a minute:
#
#   run/ncu.sh build-gpu/mdmini [--rows 1m,32k,4k] [--words "section.key=value ..."] [--output ncu.json]
set -euo pipefail
. "$(dirname "$0")/common.sh"
exec python3 -B "$top/run/ncu.py" "$@"
