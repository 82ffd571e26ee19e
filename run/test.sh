#!/usr/bin/env bash
# Installs what is missing (Debian packages), builds, and runs the tests: in some minutes all but the longest, or with
# --all every one and, where a CUDA toolkit is, a sample of the GPU's tests on an emulated GPU. What was not run is named last.
#
#   run/test.sh [--all] [ctest option...]
set -euo pipefail
. "$(dirname "$0")/common.sh"
help_if_asked "$@"
all=
[ "${1:-}" != --all ] || { all=yes; shift; }

say "packages"
install_missing $(build_packages) hdf5-tools lammps libopenmpi-dev openmpi-bin python3-numpy python3-h5py python3-matplotlib \
    python3-mdanalysis python3-ase
if [ -d /run/systemd/system ]; then
    echo "Slurm is not installed for its tests: its packages would start a munged for good on this machine"
else # 13 MB, some seconds; nothing is started: the tests have a cluster of their own for as long as they run
    install_missing slurmctld slurmd slurm-client || echo "the tests of run/slurm will be skipped"
fi

say "build"
build_here

# Three at a time on two cores: some of them wait most of the time. The time limit is for tests that hang, on busy machines, too.
run_ctest() { ctest --output-on-failure --timeout 3600 -j 3 "$@"; }
run_here() { cd "$top/build" && run_ctest "$@"; }
run_emulated() {
    "$top/build/mdmini" --version | grep -q ', cuda (' || return $not_run
    build_emulated
    local sample='^emulator/(part_of_(overlap|ahead|queue-1|ranks_cuda.*)|selftest|walk)|/test_(backends|memory|rows|state)-0$'
    sample+='|/test_(overlap-random|boundary|cache|choices|cuda|kernel_cache|no_gpu|targets|ceilings-cuda|course_commands-cuda|ranks_(ceilings|hangs|refusals))$'
    cd "$top/build-emulated"
    MDMINI_TEST_BACKENDS=cuda run_ctest -R "$sample"
}

emulated="a sample of the tests of the cuda backend, on an emulated GPU (needs a CUDA toolkit)"
if [ $all ]; then
    attempt tests "all tests $*" run_here "$@"
    attempt emulated "$emulated" run_emulated
else
    attempt tests "all but the longest $*" run_here -LE long "$@"
    leave_out long "the longest tests: run/test.sh --all"
    leave_out emulated "$emulated: run/test.sh --all"
fi
"$top/build/mdmini" --check "$top/inputs/melt.txt" run.backend=cuda 2>/dev/null | grep -q "can run here" ||
    leave_out gpu "the cuda backend on a GPU: run/gpu-check.sh, on a machine that has one"
tell_parts
