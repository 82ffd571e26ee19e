#!/usr/bin/env bash
# Compiles, on a machine without a GPU, the kernels that the tests of run/gpu-check.sh ask for on an H100 or H200: compiling is nine
# tenths of the time of these tests, and a GPU is idle meanwhile. An imaginary GPU of that size (tests/emulator/idle.c) runs
# the same tests, of which most fail, as its kernels do nothing; what NVRTC has compiled for them is kept. On another machine of
# the same NVRTC, in a checkout whose kernels are the same:
#
#   run/precompile.sh [ctest option...]        # fills build-idle/tests/kernels; half an hour on two cores
#   cp -r build-idle/tests/kernels build-gpu/tests/    # there, before run/gpu-check.sh
#
# Whatever is not found there, since the text or the options of a kernel differ, is compiled as ever: so are those of
# reduce.method = cooperative and cub where the toolkit's headers are in another folder.
set -euo pipefail
. "$(dirname "$0")/common.sh"
help_if_asked "$@"
folder=$top/build-idle
build "$folder" -DMDMINI_CUDA=IDLE -DMDMINI_TESTS=ON -DMDMINI_HAVE_CPU_LEVELS=OFF -DMDMINI_TEST_SHARDS=8
export MDMINI_TEST_BACKENDS=cuda MDMINI_EMULATOR_LEAKS=0 MDMINI_KERNEL_CACHE=$folder/tests/kernels
ctest --test-dir "$folder" -L gpu --timeout 300 -j "$(nproc)" "$@" || true # of kernels that do nothing
count=$(find "$MDMINI_KERNEL_CACHE" -name '*.image' | wc -l)
echo "$count compiled kernel files, $(du -sm "$MDMINI_KERNEL_CACHE" | cut -f1) MiB, in build-idle/tests/kernels"
[ "$count" -gt 0 ]
