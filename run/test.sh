#!/usr/bin/env bash
# Installs what is missing (Debian packages), builds with warnings as errors, and runs all tests. What needs a GPU says so
# and is skipped where there is none; run/gpu-check.sh runs it.
#
#   run/test.sh [ctest option...]
set -euo pipefail
. "$(dirname "$0")/common.sh"
help_if_asked "$@"

say "packages"
install_missing $(build_packages) hdf5-tools lammps libopenmpi-dev openmpi-bin python3-numpy python3-h5py python3-matplotlib \
    python3-mdanalysis python3-ase
if [ -d /run/systemd/system ]; then
    echo "Slurm is not installed for its tests: its packages would start a munged for good on this machine"
else # 13 MB, some seconds; nothing is started: the tests have a cluster of their own for as long as they run
    install_missing slurmctld slurmd slurm-client || echo "the tests of run/slurm will be skipped"
fi

say "build"
build "$top/build" -DMDMINI_TESTS=ON -DMDMINI_WERROR=ON

say "tests" # three at a time on two cores: some of them wait most of the time
(cd "$top/build" && ctest --output-on-failure --timeout 900 -j 3 "$@")
if "$top/build/mdmini" --version | grep -q ', cuda ('; then
    say "the cuda backend on an emulated GPU: a sample of its tests"
    build_emulated
    sample='^emulator/(part_of_(overlap|ahead|queue-1|ranks_cuda.*)|selftest|walk)|/test_(backends|memory|rows|state)-0$'
    sample+='|/test_(overlap-random|boundary|cache|choices|cuda|kernel_cache|no_gpu|targets|ceilings-cuda|course_commands-cuda|ranks_(ceilings|hangs|refusals))$'
    (cd "$top/build-emulated" && MDMINI_TEST_BACKENDS=cuda ctest --output-on-failure --timeout 600 -j 3 -R "$sample")
fi
"$top/build/mdmini" --check "$top/inputs/melt.txt" run.backend=cuda 2>/dev/null | grep -q "can run here" ||
    echo "No GPU can be used here: run/gpu-check.sh tests the cuda backend on a machine that has one."
