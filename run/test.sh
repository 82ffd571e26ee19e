#!/usr/bin/env bash
# Installs what is missing (Debian packages), builds with warnings as errors, and runs all tests. What needs a GPU says so
# and is skipped where there is none; run/gpu-check.sh runs it.
#
#   run/test.sh [ctest option...]
set -euo pipefail
. "$(dirname "$0")/common.sh"

say "packages"
install_missing $(build_packages) hdf5-tools lammps openmpi-bin python3-numpy python3-h5py python3-matplotlib \
    python3-mdanalysis

say "build"
build "$top/build" -DMDMINI_TESTS=ON -DMDMINI_WERROR=ON

say "tests"
ctest --test-dir "$top/build" --output-on-failure --timeout 900 "$@"
"$top/build/mdmini" --check "$top/inputs/melt.txt" run.backend=cuda >/dev/null 2>&1 ||
    echo "The cuda backend was not tested: it cannot run here. run/gpu-check.sh tests it on a machine with a GPU."
