"""MDMINI_PRECOMPILE: an installed program finds the kernels of the decks in inputs/ compiled, without a GPU (tests/emulator/idle.c), and takes
none whose GPU, option, text or compiler differs."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program import SKIPPED, Checks, program

checks = Checks()
source = Path(os.environ["MDMINI_SOURCE"])
if ", cuda (" not in subprocess.run([program(), "--version"], capture_output=True, text=True).stdout:
    print("skipped: this program has no cuda backend, so there may be no NVRTC")
    sys.exit(SKIPPED)
if os.environ.get("MDMINI_SANITIZE"):
    print("skipped: what it builds has no sanitizers")
    sys.exit(SKIPPED)
cached = dict(line.split("=", 1) for line in (Path(program()).parent / "CMakeCache.txt").read_text().splitlines() if ":" in line.split("=")[0] and "=" in line)
same = [f"-D{key}={value}" for key, value in cached.items() if key.split(":")[0] in ("CMAKE_C_COMPILER", "CUDAToolkit_ROOT", "HDF5_ROOT", "CMAKE_PREFIX_PATH")]


def configure(build, gpus, cuda="IDLE"):
    return subprocess.run(["cmake", "-S", source, "-B", build, *same, f"-DMDMINI_CUDA={cuda}", f"-DMDMINI_PRECOMPILE={gpus}", "-DMDMINI_TESTS=OFF",
                           "-DMDMINI_MPI=OFF", "-DMDMINI_HAVE_CPU_LEVELS=OFF", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0"],
                          capture_output=True, text=True)


def succeed(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}: {done.returncode} {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def test_refused(folder):
    for gpus, told in (("9.1,132", 'read "9.1,132"'), ("9.0", 'read "9.0"'), ("9.0,132;H100", 'read "H100"'), ("9.0,0", 'read "9.0,0"')):
        done = configure(folder / "refused", gpus)
        text = " ".join(done.stderr.split())
        checks.that(done.returncode != 0 and told in text and "allowed: CAPABILITY,MULTIPROCESSORS" in text and "8.9, 9.0, 10.0" in text, text)
    for cuda in ("OFF", "EMULATED"):
        done = configure(folder / cuda, "9.0,132", cuda)
        checks.that(done.returncode != 0 and "needs the NVRTC of a CUDA toolkit" in " ".join(done.stderr.split()), f"{cuda}: {done.stderr}")


def test_installed(folder):
    build, place = folder / "build", folder / "place"
    done = configure(build, "9.0,132;8.0,108")
    if done.returncode != 0:
        sys.exit(f"FAILED: {done.stderr}")
    succeed("cmake", "--build", build, "--parallel", "2")
    succeed("cmake", "--install", build, "--prefix", place, preexec_fn=lambda: os.umask(0o002))
    decks = [deck for deck in sorted((place / "share/mdmini/inputs").glob("*.txt")) if not re.search("^form = (eam|sutton-chen)$", deck.read_text(), re.M)]  # of the cpu
    checks.that(len(decks) >= 3, f"decks: {decks}")

    def run(deck, *words, **environment):
        """What was compiled, as files; the line of the log (a run whose kernels do nothing may end before it)."""
        cache = Path(tempfile.mkdtemp(dir=folder))
        settings = {"MDMINI_KERNEL_CACHE": str(cache), "MDMINI_EMULATOR_LEAKS": "0", "LD_LIBRARY_PATH": f"{build}/tests/emulator:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        told = subprocess.run([place / "bin/mdmini", deck, "run.backend=cuda", "run.steps=2", "report.verify=off", "restart.every=0", *words], cwd=cache,
                              env=os.environ | settings | environment, capture_output=True, text=True).stdout
        return sorted(path.name.split("-")[0] for path in cache.glob("*.image")), next((line for line in told.splitlines() if line.startswith("kernels ") and " file" in line), told)

    for gpu in ("9.0,132", "8.0,108"):
        for deck in decks:
            compiled, line = run(deck, MDMINI_EMULATOR_GPU=gpu)
            checks.that(compiled == [] and "files of the installation" in line, f"{deck.name} on {gpu} compiled {compiled}: {line}")
            checks.that(deck.name != "melt.txt" or line.startswith("kernels   8 files of the installation"), line)
    melt = place / "share/mdmini/inputs/melt.txt"
    of_size = ["force", "list", "step"]
    compiled, line = run(melt, MDMINI_EMULATOR_GPU="9.0,114")
    checks.that(compiled == of_size and "5 files of the installation, 3 files compiled" in line, f"another GPU: {compiled}, {line}")
    compiled, line = run(melt, "force.arithmetic=ieee")
    checks.that(compiled == ["force", "step"] and "6 files of the installation, 2 files compiled" in line, f"another switch: {compiled}, {line}")
    (folder / "src/cuda").mkdir(parents=True)
    shutil.copytree(source / "src/cuda/kernels", folder / "src/cuda/kernels")
    with open(folder / "src/cuda/kernels/reduce.cu", "a") as text:
        text.write("static const int another = 1;\n")
    compiled, line = run(melt, MDMINI_KERNELS=str(folder / "src"))
    checks.that(compiled == ["reduce"] and "7 files of the installation, 1 file compiled" in line, f"another text: {compiled}, {line}")
    (folder / "later.c").write_text("int nvrtcVersion(int *major, int *minor) { return *major = 99, *minor = 1, 0; }\n")
    succeed("cc", "-shared", "-fPIC", folder / "later.c", "-o", folder / "later.so")
    compiled, line = run(melt, LD_PRELOAD=str(folder / "later.so"))
    checks.that(len(compiled) == 8 and "installation" not in line, f"another compiler: {compiled}, {line}")
    images = place / "share/mdmini/kernels"
    for image in images.iterdir():
        image.write_bytes(image.read_bytes()[:-1])
    compiled, line = run(melt)
    checks.that(len(compiled) == 8 and "installation" not in line, f"damaged: {compiled}, {line}")


with tempfile.TemporaryDirectory() as name:
    test_refused(Path(name))
    test_installed(Path(name))
checks.finish()
