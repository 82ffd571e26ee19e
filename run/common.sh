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

# build_emulated: in build-emulated, the cuda backend on an emulated GPU. One set of instructions of the processor is enough there,
# and one shard of the tests that walk all switches.
build_emulated() {
    build "$top/build-emulated" -DMDMINI_CUDA=EMULATED -DMDMINI_TESTS=ON -DMDMINI_WERROR=ON -DMDMINI_HAVE_CPU_LEVELS=OFF \
        -DMDMINI_TEST_SHARDS=144
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
