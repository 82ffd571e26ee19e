#!/usr/bin/env bash
# Everything that needs a GPU, in one command: builds, runs the tests of the cuda backend, the sanitizers over
# every variant, the mutants of every kernel, the ceilings of the machine, and the benchmarks. Prints a short table last
# and leaves its records in a folder. run/bench.sh makes the benchmarks; tools/study.py run/studies/leave-one-out-32k.ini
# measures what each switch is worth.
#
# Stage ranks has runs of several processes: their tests, and memcheck of each of two ranks; and where two GPUs can access
# each other's memory, what passes between them (mdmini --ceilings peers), and steps/s on two GPUs beside one
# (run/bench_ranks.py). Where they cannot, the table says why. In the tests ranks share a GPU that is alone
# (MDMINI_SHARED_GPU=1).
#
#   run/gpu-check.sh [FOLDER]       FOLDER: where records go, by default run/results/<name of the GPU>
#
# MDMINI_STAGES=tests,sanitize,ranks,mutants,ceilings,bench chooses among the stages; the last line names those that were
# left out.
# MDMINI_COMMIT names the commit where the source is no checkout.
# MDMINI_CTEST="-R physics" are further arguments of ctest, MDMINI_SANITIZERS="--budget 100" of tests/gpu/sanitize.py,
# MDMINI_MUTANTS="--shard 0/2" of tests/gpu/mutants.py, MDMINI_BENCH="--rows 1m" of run/bench.sh, MDMINI_RANKS="--cells 32"
# of run/bench_ranks.py; the last line names them as well.
#
# Most of the time of the tests is compiling kernels: run/precompile.sh does that beforehand on a machine without a GPU.
#
# The tests share the GPU through a Multi-Process Service (CUDA MPS) of their own, where it is installed and starts: else
# the GPU takes turns between their processes, which takes twice as long. A fault of one client ends all of them, so that
# the other stages do without.
set -uo pipefail
. "$(dirname "$0")/common.sh"
help_if_asked "$@"
all_stages=tests,sanitize,ranks,mutants,ceilings,bench
stages=${MDMINI_STAGES:-$all_stages}
has() { case ",$2," in *",$1,"*) return 0 ;; *) return 1 ;; esac; } # has STAGE LIST
for stage in ${stages//,/ }; do
    has "$stage" "$all_stages" || { echo "MDMINI_STAGES: no stage $stage; there are $all_stages"; exit 2; }
done
left_out=
for stage in ${all_stages//,/ }; do has "$stage" "$stages" || left_out+=" $stage"; done
command -v nvidia-smi >/dev/null && nvidia-smi -L | grep -q GPU || { echo "no GPU here: nothing was checked"; exit 1; }
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | sed 's/NVIDIA //' | tr 'A-Z ' 'a-z-')
folder=${1:-$top/run/results/$gpu}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
summary=$folder/gpu-check.txt
build=$top/build-gpu
: >"$summary"
failed=0

# note NAME COMMAND...: runs it with its output in FOLDER/NAME.log; a line with verdict, time and $remark goes to the
# summary.
note() {
    local name=$1 start=$SECONDS verdict=passed
    shift
    "$@" >"$folder/$name.log" 2>&1 || verdict=FAILED
    printf '%-14s %-8s %5d s%s\n' "$name" "$verdict" $((SECONDS - start)) "${remark:+ ($remark)}" | tee -a "$summary"
    [ $verdict = passed ] && return 0
    tail -n 40 "$folder/$name.log"
    return 1
}

{
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader
    nvcc --version | tail -1
} | tee -a "$summary"
note build build "$build" -DMDMINI_CUDA=ON -DMDMINI_TESTS=ON -DMDMINI_WERROR=ON -DMDMINI_TEST_SHARDS=8 \
    ${MDMINI_COMMIT:+-DMDMINI_COMMIT=$MDMINI_COMMIT} || exit 1
"$build/mdmini" --version | tee -a "$summary"
python=$(find_python numpy,h5py) || { echo "no python3 imports numpy and h5py" | tee -a "$summary"; exit 1; }

# The same kernels are asked for again and again, as by the tests in C, whose folder this is.
export MDMINI_KERNEL_CACHE=$build/tests/kernels
mkdir -p "$MDMINI_KERNEL_CACHE"

# The service and what it leaves behind live in a folder of their own; with_mps COMMAND... is one of its clients.
mps=
with_mps() { CUDA_MPS_PIPE_DIRECTORY=$mps CUDA_MPS_LOG_DIRECTORY=$mps "$@"; }
start_mps() {
    command -v nvidia-cuda-mps-control >/dev/null || return 1
    mps=$(mktemp -d) || return 1
    with_mps nvidia-cuda-mps-control -d </dev/null >/dev/null 2>&1 &&
        with_mps "$build/mdmini" "$top/inputs/xy.txt" run.backend=cuda run.steps=1 output.directory="$mps" >/dev/null 2>&1 &&
        return 0
    stop_mps
    return 1
}
stop_mps() {
    [ -n "$mps" ] || return 0
    echo quit | with_mps nvidia-cuda-mps-control >/dev/null 2>&1
    rm -rf "$mps"
    mps=
}
jobs=()
# However this ends: no stage goes on behind it, and no service stays, which would wait for its clients.
finish() {
    trap '' INT TERM HUP
    for job in "${jobs[@]}"; do kill -TERM -- "-$job" 2>/dev/null && wait "$job" 2>/dev/null; done
    stop_mps
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Tests and sanitizers one after the other: what takes their time is compiling kernels, on all cores.
# A service takes 48 clients or more, and some tests start a second program; without one, more jobs only wait longer.
run_tests() {
    local tests=(ctest --test-dir "$build" -L gpu -LE parallel --no-tests=error) cores
    tests+=(--output-on-failure --timeout 900 ${MDMINI_CTEST:-})
    cores=$(nproc)
    export MDMINI_TEST_BACKENDS=cuda MDMINI_TEST_COMPILE=singles
    if [ -n "$mps" ]; then remark=MPS with_mps note tests "${tests[@]}" -j $((cores < 24 ? cores : 24))
    else remark="no MPS" note tests "${tests[@]}" -j 12; fi
}
run_sanitizers() {
    note sanitize "$python" "$top/tests/gpu/sanitize.py" "$build/mdmini" --log "$folder/sanitize-findings.log" \
        ${MDMINI_SANITIZERS:-}
}
# Why two processes that store into the memory of each other's GPUs cannot run here; nothing where they can.
why_not_two() {
    local told
    command -v mpirun >/dev/null || { echo "there is no mpirun"; return; }
    told=$(mpirun -n 2 "$build/mdmini" --check "$top/inputs/melt.txt" run.backend=cuda parallel.transport=direct 2>&1)
    grep -q "can run here" <<<"$told" && return
    sed -n 's/^mdmini: error: //p; s/^# *(\(run.backend.*\))$/\1/p' <<<"$told" | grep -m 1 . ||
        echo "mpirun cannot start two processes on GPUs"
}
# The tests run without the service, and those that need GPUs one after the other: kernels that wait for another GPU hold
# their own.
run_ranks() {
    local all=0 why left remark=
    rm -f "$folder"/ranks-*.log # of an earlier call
    [ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # Open MPI asks for it
    why=$(why_not_two) left=$why
    if [ -n "$why" ] && [ "$(nvidia-smi -L | grep -c GPU)" -eq 1 ]; then
        export MDMINI_SHARED_GPU=1
        left=$(why_not_two) remark="on a shared GPU"
    fi
    MDMINI_TEST_BACKENDS=cuda note ranks-tests ctest --test-dir "$build" -L parallel --output-on-failure --timeout 900 \
        ${MDMINI_CTEST:-} -j 4 || all=1
    [ -n "$left" ] || note ranks-memcheck "$python" "$top/tests/gpu/sanitize.py" "$build/mdmini" --ranks \
        --log "$folder/ranks-findings.log" || all=1
    [ -z "$why" ] || { echo "two GPUs       left out: $why" | tee -a "$summary"; return $all; }
    note ranks-peers timeout 300 mpirun -n 2 "$build/mdmini" --ceilings peers output.directory="$folder" \
        output.name=ranks-peers output.existing=overwrite || all=1
    note ranks-bench "$python" -B "$top/run/bench_ranks.py" "$build/mdmini" --output "$folder/ranks-bench.json" \
        ${MDMINI_RANKS:-} || all=1
    return $all
}
run_mutants() {
    note mutants "$python" "$top/tests/gpu/mutants.py" "$build" --json "$folder/mutants.json" ${MDMINI_MUTANTS:-}
}
# As a process group, so that it can be ended as a whole.
run_group() {
    set -m
    "$1" & jobs=($!)
    set +m
    wait "${jobs[0]}" || failed=1
    jobs=()
}
has tests "$stages" && start_mps
has tests "$stages" && run_group run_tests
stop_mps
has sanitize "$stages" && run_group run_sanitizers
has ranks "$stages" && run_group run_ranks
has mutants "$stages" && run_group run_mutants
# About two minutes; the limit is for a machine on which something hangs.
run_ceilings() {
    note ceilings timeout 300 "$build/mdmini" --ceilings output.directory="$folder" output.existing=overwrite
}
has ceilings "$stages" && { run_ceilings || failed=1; }
run_bench() { note bench "$top/run/bench.sh" "$build/mdmini" --output "$folder/bench.json" ${MDMINI_BENCH:-}; }
has bench "$stages" && { run_bench || failed=1; }
tell_tests() { grep -E 'Passed|tests passed|Not Run|Skipped|Failed|Timeout' "$folder/$1.log" | tee -a "$summary"; }
# tell_end NAME PATTERN: of its log, where it is there, from such a line on
tell_end() { [ ! -f "$folder/$1.log" ] || sed -n "/$2/,\$p" "$folder/$1.log" | tee -a "$summary"; }
has tests "$stages" && tell_tests tests
has sanitize "$stages" && tail -n 40 "$folder/sanitize.log" | tee -a "$summary"
if has ranks "$stages"; then
    tell_tests ranks-tests
    tell_end ranks-peers '^cuda, peers'
    tell_end ranks-memcheck '^memcheck'
    tell_end ranks-bench '^ *atoms GPUs'
fi
has mutants "$stages" && tail -n 5 "$folder/mutants.log" | tee -a "$summary"
has ceilings "$stages" && tell_end ceilings '^roofline'
has bench "$stages" && tee -a "$summary" <"$folder/bench.log"
verdict=passed
[ $failed -eq 0 ] || verdict=FAILED
echo "gpu-check: $verdict: $stages${MDMINI_CTEST:+; tests $MDMINI_CTEST}${MDMINI_SANITIZERS:+; sanitizers $MDMINI_SANITIZERS}${MDMINI_MUTANTS:+; mutants $MDMINI_MUTANTS}${MDMINI_BENCH:+; bench $MDMINI_BENCH}${MDMINI_RANKS:+; ranks $MDMINI_RANKS}${left_out:+; left out:$left_out}" | tee -a "$summary"
exit $failed
