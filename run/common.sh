# Shared by the scripts of this folder (sourced, not run): installing what is missing, and building.

say() { printf '\n== %s\n' "$*"; }

# help_if_asked WORD...: where a word is --help or -h, prints the comment at the head of the script and ends it.
help_if_asked() {
    [[ " $* " == *" --help "* || " $* " == *" -h "* ]] || return 0
    sed -n '2,${/^#/!q; s/^# \{0,1\}//p}' "$0"
    exit 0
}

# install_missing PACKAGE...: installs the Debian packages that are not there, and says which. Without apt, or without
# the right to install, it names them and goes on: the build then says what it lacks.
install_missing() {
    command -v dpkg-query >/dev/null || { echo "not a Debian system: the packages $* are taken to be there"; return 0; }
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && { echo "all packages are installed: $*"; return 0; }
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo); else
            echo "missing, and this user may not install: ${missing[*]}"
            echo "please run: apt-get install ${missing[*]}"
            return 0
        fi
    fi
    echo "installing: ${missing[*]}"
    "${as_root[@]}" apt-get -qq update
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -qq install --no-install-recommends -y "${missing[@]}" >/dev/null
}

# What the program needs to build. A compiler that is there under another package name serves as well.
build_packages() {
    echo libhdf5-dev
    command -v cc >/dev/null || echo gcc libc6-dev
    command -v make >/dev/null || echo make
    command -v cmake >/dev/null || echo cmake
    command -v git >/dev/null || echo git
}

# build FOLDER [cmake option...]
build() {
    local folder=$1
    shift
    cmake -S "$top" -B "$folder" "$@"
    cmake --build "$folder" --parallel "$(nproc)"
}

# build_here [option...]: in build, the program and its tests, for run/demo.sh and run/test.sh; options are cmake --build's.
build_here() {
    cmake -S "$top" -B "$top/build" -DMDMINI_TESTS=ON
    cmake --build "$top/build" --parallel "$(nproc)" "$@"
}

# build_emulated: in build-emulated, the cuda backend on an emulated GPU. One set of instructions of the processor is enough there,
# and one shard of the tests that walk all switches.
build_emulated() {
    build "$top/build-emulated" -DMDMINI_CUDA=EMULATED -DMDMINI_TESTS=ON -DMDMINI_WERROR=ON -DMDMINI_HAVE_CPU_LEVELS=OFF \
        -DMDMINI_TEST_SHARDS=144
}

# attempt NAME WHAT COMMAND...: runs a part of a script in a shell that ends at the first failure; with code 77 it was not run.
# leave_out NAME WHAT names a part that is not run. tell_parts prints a table of all, and fails where one has failed.
not_run=77
parts=() n_passed=0 n_failed=0 n_left_out=0
attempt() {
    local name=$1 what=$2 began=$SECONDS code
    shift 2
    say "$name: $what"
    set +e # in a condition that shell would not end at a failure
    (set -e; "$@")
    code=$?
    set -e
    case $code in
        0) n_passed=$((n_passed + 1)) code=passed ;;
        "$not_run") leave_out "$name" "$what"; return ;;
        *) n_failed=$((n_failed + 1)) code=FAILED ;;
    esac
    parts+=("$(printf '%-10s %-8s %5d s  %s' "$name" $code $((SECONDS - began)) "$what")")
}
leave_out() {
    n_left_out=$((n_left_out + 1))
    parts+=("$(printf '%-10s %-8s %7s  %s' "$1" "not run" "" "$2")")
}
tell_parts() {
    say "$(basename "$0" .sh)"
    printf '%s\n' "${parts[@]}"
    echo "$n_passed passed, $n_failed failed, $n_left_out not run"
    [ $n_failed -eq 0 ]
}

# The first python3 that can import the modules named: the one on PATH may not see the distribution's.
find_python() {
    local candidate modules=$1
    for candidate in python3 /usr/bin/python3; do
        "$candidate" -c "import $modules" 2>/dev/null && { echo "$candidate"; return 0; }
    done
    return 1
}

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
