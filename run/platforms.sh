#!/usr/bin/env bash
# Builds what other machines have, with warnings as errors, and tries it. A table at the end says what each part gave
# and took; a part whose packages cannot be installed here is "not run". What was tried elsewhere: run/PLATFORMS.md.
#
#   run/platforms.sh [PART...]     # nocuda, gpus, clang, o1, parallel, mpich, aarch64, archive; without a word all of them
set -euo pipefail
. "$(dirname "$0")/common.sh"
help_if_asked "$@"
folder=$top/build-platforms

# --- the parts: each runs in a shell of its own that ends at the first failure ---------------------------------------

say_nocuda="without CUDA and MPI, -O1: all tests built, a share of them run; mpirun is refused"
part_nocuda() {
    want openmpi-bin
    configure -DCMAKE_C_FLAGS_RELEASE=-O1 -DMDMINI_MPI=OFF
    compile
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    local code=0
    mpirun --oversubscribe -n 2 ./mdmini "$top/inputs/melt.txt" run.backend=cpu >ranks.log 2>&1 || code=$?
    [ $code -eq 2 ]
    [ "$(grep -c 'mdmini: error: ' ranks.log)" -eq 1 ]
    grep 'built without MPI' ranks.log
    tests '^(deck|sensors|system)/|^output/test_(files|h5md|json|recover)$|^run/test_(commit|no_gpu|refusals)$'
}

say_gpus="other GPUs, emulated: melts, complete lists, what auto takes; batches of steps; a sample of the mutants of the kernels"
part_gpus() {
    command -v nvcc /usr/local/cuda/bin/nvcc >/dev/null || exit "$not_run"
    build_emulated >build.log 2>&1 || { tail -30 build.log; return 1; } # that of run/test.sh, if it is there
    cd "$top/build-emulated"
    MDMINI_TEST_BACKENDS=cuda tests '^emulator/(melt|complete|default_runs|crowds|part_of_(queue-2|speculation))|^mutation/'
}

say_clang="clang, with the cuda backend where a toolkit is: all tests built, melts"
part_clang() {
    want clang libomp-dev
    configure -DCMAKE_C_COMPILER=clang -DMDMINI_CUDA=AUTO
    compile
    passes ./mdmini "$top/inputs/xy.txt" run.steps=200 system.cells=20 run.backend=cpu
    passes ./mdmini "$top/inputs/melt.txt" run.steps=100 system.cells=6 run.backend=cpu
}

say_o1="-O1, with the macros that HDF5 2 defines: all tests built, melts; -ffast-math is refused"
part_o1() {
    configure -DCMAKE_C_FLAGS_RELEASE=-O1 -DMDMINI_CUDA=AUTO \
        -DCMAKE_C_FLAGS="-D_GNU_SOURCE -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE -DNOBODY_READS='\"two words\"'"
    compile
    passes ./mdmini "$top/inputs/melt.txt" run.steps=100 system.cells=6 run.backend=cpu
    cc -ffast-math -fsyntax-only -x c "$top/src/physics/real.h" 2>fast-math.log || true
    grep 'error.*-ffast-math' fast-math.log
}

say_parallel="parallel HDF5 with plain cc: tests of its files"
part_parallel() {
    want libhdf5-openmpi-dev
    configure -DCMAKE_C_COMPILER=cc -DHDF5_PREFER_PARALLEL=ON -DCMAKE_C_FLAGS_RELEASE=-O1 -DMDMINI_HAVE_CPU_LEVELS=OFF
    compile mdmini test_h5md test_recover test_continue
    ldd mdmini | grep libhdf5_openmpi
    tests '^output/test_(h5md|recover|continue)$'
}

say_mpich="MPICH with its HDF5, a toolkit's GPU emulated: runs of several processes; two MPIs in one program are refused"
part_mpich() {
    want mpich libmpich-dev libhdf5-mpich-dev openmpi-bin libopenmpi-dev libhdf5-openmpi-dev
    local words cuda=OFF
    for words in "-DHDF5_PREFER_PARALLEL=ON -DMPI_C_COMPILER=mpicc.mpich -DHDF5_C_COMPILER_EXECUTABLE=/usr/bin/h5pcc.openmpi" \
        "-DMPI_C_COMPILER=mpicc.openmpi -DHDF5_ROOT=/usr/lib/$(cc -print-multiarch)/hdf5/mpich"; do
        rm -rf two
        mkdir two
        (cd two && configure -DMDMINI_TESTS=OFF $words >/dev/null) && return 1
        tr -s ' \n' ' ' <two/configure.log | grep -o 'Two MPIs in one program.*h5pcc.*HDF5_ROOT.*mpicc[^ ]*'
    done
    command -v nvcc /usr/local/cuda/bin/nvcc >/dev/null && cuda=EMULATED
    configure -DMDMINI_CUDA=$cuda -DCMAKE_C_FLAGS_RELEASE=-O1 -DMDMINI_HAVE_CPU_LEVELS=OFF -DMPI_C_COMPILER=mpicc.mpich \
        -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich -DHDF5_C_COMPILER_EXECUTABLE=/usr/bin/h5pcc.mpich -DHDF5_PREFER_PARALLEL=ON
    compile mdmini mpich_5
    ldd mdmini >libraries
    grep libhdf5_mpich libraries
    ! grep libmpi.so libraries
    MDMINI_TEST_ONLY=thermostat tests '^parallel/test_ranks_bits$'
    MDMINI_TEST_ONLY=test_of_ranks,test_other_runs tests '^parallel/test_ranks_refusals$'
    MDMINI_TEST_ONLY=test_other_ranks,test_signal_to_one tests '^parallel/test_ranks_restart$'
    MDMINI_TEST_ONLY=test_which tests '^parallel/test_ranks_cuda$'
    # a launcher that does not say how many processes it has started
    passes mpiexec.mpich -pmi-port -n 2 ./mdmini "$top/inputs/melt.txt" run.steps=100 system.cells=6 run.backend=cpu
    grep '^ranks *2 processes' run.log
}

say_aarch64="aarch64, cross-built: xy.txt under qemu, with NEON"
part_aarch64() {
    want gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
    root=$folder/aarch64-root
    fill_root arm64 "$root" libhdf5-dev libgomp1 || exit "$not_run"
    configure -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
        -DCMAKE_SYSROOT="$root" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
        -DHDF5_ROOT="$root/usr/lib/aarch64-linux-gnu/hdf5/serial"
    compile mdmini test_velocity
    export QEMU_LD_PREFIX=$root
    passes qemu-aarch64 ./mdmini "$top/inputs/xy.txt" run.steps=200 system.cells=20
    qemu-aarch64 tests/test_velocity
    [ "$(aarch64-linux-gnu-objdump -d mdmini | grep -cE 'fmla\s+v[0-9]+\.4s')" -gt 100 ]
}

say_archive="an archive without git, in a repository of others; installed, and run from there"
part_archive() {
    want git python3-numpy python3-h5py
    mkdir -p foreign/mdmini
    list_source | tar -C "$top" --null -T - -c | tar -C foreign/mdmini -x
    git init -q foreign
    git -C foreign -c user.name=nobody -c user.email=none commit -q --allow-empty -m "of another project"
    source=$PWD/foreign/mdmini configure -DCMAKE_C_FLAGS_RELEASE=-O1 -DMDMINI_HAVE_CPU_LEVELS=OFF
    compile mdmini
    ./mdmini --version | grep '(unknown)'
    tests '^run/test_install$'
    cmake --install . --prefix "$PWD/installed" >/dev/null
    rm -r foreign mdmini
    mkdir elsewhere
    cd elsewhere
    passes ../installed/bin/mdmini ../installed/share/mdmini/inputs/xy.txt run.steps=200 system.cells=20 run.backend=cpu
}

# --- what they are made of -------------------------------------------------------------------------------------------

# want PACKAGE...: what cannot be installed here makes a part that was not run.
want() {
    install_missing "$@" || true
    dpkg-query -W "$@" >/dev/null || exit "$not_run"
}

# list_source: the files of the source, each ended by a zero byte.
list_source() {
    if [ -e "$top/.git" ]; then
        git -C "$top" ls-files -z --cached --others --exclude-standard
    else
        (cd "$top" && find . -name 'build*' -prune -o -type f -print0)
    fi
}

# configure OPTION...: in the folder of the part; `source` is another source than this one.
configure() {
    cmake -S "${source:-$top}" -B . -DMDMINI_WERROR=ON -DMDMINI_CUDA=OFF "$@" >configure.log 2>&1 ||
        { cat configure.log; return 1; }
}

# compile [TARGET...]
compile() {
    cmake --build . --parallel "$(nproc)" ${1:+--target "$@"} >build.log 2>&1 ||
        { grep -A8 -E 'error|warning' build.log || tail -30 build.log; return 1; }
}

tests() { ctest --output-on-failure --timeout 3600 -j "$(nproc)" --no-tests=error -R "$1"; }

# passes COMMAND...: a run whose verdict is PASSED.
passes() {
    "$@" >run.log 2>&1 || { cat run.log; return 1; }
    grep '^verdict: PASSED' run.log
}

# fill_root ARCHITECTURE FOLDER PACKAGE...: the Debian packages of another architecture, with all that they need, are
# unpacked into a folder. The packages of this machine are not touched.
fill_root() {
    local architecture=$1 root=$2 state=$2.apt package
    shift 2
    [ -d "$root" ] && return
    mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/root"
    local apt=(apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
        -o Dir::State::lists="$state/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$state"
        -o Dir::Cache::archives="$state/archives" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
    "${apt[@]}" update && "${apt[@]}" install -y --download-only --no-install-recommends "$@" || return 1
    for package in "$state"/archives/*.deb; do dpkg -x "$package" "$state/root" || return 1; done
    mv "$state/root" "$root"
    rm -r "$state"
}

# --- all of them -----------------------------------------------------------------------------------------------------

in_folder() { cd "$1" && "$2"; }

all="nocuda gpus clang o1 parallel mpich aarch64 archive"
for part in ${*:-$all}; do
    declare -F "part_$part" >/dev/null || { echo "$0: read '$part'; allowed: $all" >&2; exit 2; }
    what=say_$part
    rm -rf "${folder:?}/$part"
    mkdir -p "$folder/$part"
    attempt "$part" "${!what}" in_folder "$folder/$part" "part_$part"
done
tell_parts
