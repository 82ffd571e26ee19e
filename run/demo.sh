#!/usr/bin/env bash
# The main job on a fresh machine: installs what is missing (Debian packages), builds, melts the two-dimensional crystal
# of inputs/xy.txt, and draws it. Leaves its files in the folder demo/ below the one it is called from.
#
#   run/demo.sh [section.key=value...]
set -euo pipefail
. "$(dirname "$0")/common.sh"
help_if_asked "$@"

say "packages"
install_missing $(build_packages) python3-numpy python3-h5py python3-matplotlib

say "build"
build_here --target mdmini

say "run: mdmini inputs/xy.txt $*"
mkdir -p demo
cd demo
"$top/build/mdmini" "$top/inputs/xy.txt" "$@"

say "pictures"
python=$(find_python numpy,h5py,matplotlib) || { echo "no python3 imports numpy, h5py and matplotlib: no pictures"; exit 1; }
"$python" "$top/tools/plot.py" xy.h5
ls -1 "$PWD"/xy*.png
