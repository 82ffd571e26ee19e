#!/usr/bin/env bash
# What output costs with the pipeline off and on, and a picture of both; pipeline.py says how. On one GPU, about a minute; the
# same on two cores without one:
#
#   run/pipeline.sh build/mdmini --traces timelines --output pipeline.json
#   run/pipeline.sh build/mdmini --backend cpu --cells 20 --steps 200
set -euo pipefail
. "$(dirname "$0")/common.sh"
python=$(find_python matplotlib) || python=python3 # the picture alone needs it
exec "$python" "$top/run/pipeline.py" "$@"
