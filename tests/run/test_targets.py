"""GPUs that NVRTC does not know, older NVRTCs, and where the text of the kernels comes from: on the emulated GPU (compute capability
9.0), whose NVRTC can be told what it compiles for."""
import os
import sys
import tempfile
from pathlib import Path

import program

checks = program.Checks()


def run(folder, *words, **environment):
    program.write_deck(folder, "small", system={"cells": 4, "density": 0.8442}, run={"steps": 4},
                       output={"thermo_every": 4, "frames_every": 0})
    os.environ.update(environment)
    result = program.run("small.txt", "output.existing=overwrite", *words, folder=folder)
    for name in environment:
        del os.environ[name]
    return result


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    if "emulated GPU" not in run(folder, "run.backend=auto").stdout:
        print("skipped: this is not the build with the emulated GPU")
        sys.exit(program.SKIPPED)
    newer = run(folder, "run.backend=cuda", MDMINI_EMULATOR_TARGET="80")
    checks.that(newer.code == 0, f"a GPU newer than NVRTC: {newer.last_lines()}")
    older = run(folder, "run.backend=cuda", MDMINI_EMULATOR_TARGET="100")
    checks.that(older.code == 2 and "run.backend=cpu" in older.stderr, f"a GPU that NVRTC has dropped: {older.last_lines()}")
    older = run(folder, "run.backend=cuda", MDMINI_EMULATOR_NVRTC="12.0")
    checks.that(older.code == 0, f"an NVRTC that ends by SIGSEGV with line information: {older.last_lines()}")
    older = run(folder, "run.backend=cuda", "reduce.method=cub", MDMINI_EMULATOR_NVRTC="12.5")
    checks.that(older.code == 2 and "needs NVRTC 12.6, and this program has 12.5" in older.stderr,
                f"an NVRTC that cannot compile CUB: {older.last_lines()}")
    newer = run(folder, "run.backend=cuda", "reduce.method=cub", MDMINI_EMULATOR_NVRTC="12.6")
    checks.that(newer.code == 0, f"an NVRTC that can: {newer.last_lines()}")
    absent = run(folder, "run.backend=cuda", "--check", "run.device=5")
    checks.that(absent.code == 2 and "run.device=5: 1 GPU is visible" in absent.stderr, f"another GPU: {absent.last_lines()}")
    absent = run(folder, "run.backend=auto", "run.device=5")
    checks.that(absent.code == 2 and "run.device=5: 1 GPU is visible" in absent.stderr,
                f"another GPU, and auto does not take the cpu for it: {absent.last_lines()}")
    told = run(folder, "run.backend=auto", "run.device=0", "run.threads=1")
    checks.that(told.code == 0 and "not used by the cuda backend: run.threads" in " ".join(told.stdout.split()) and
                told.json()["unused_switches"][:1] == ["run.threads"], f"threads on a GPU: {told.last_lines()}")
    told = run(folder, "run.backend=cuda", "--check", MDMINI_EMULATOR_TARGET="100")
    checks.that(told.code == 0 and "no target any more" in told.stdout and "NOT checked" in told.stdout,
                f"a check beside such a GPU: {told.last_lines()}")
    other = run(folder, "run.backend=auto", MDMINI_EMULATOR_TARGET="100")
    checks.that(other.code == 0 and other.json()["backend"] == "cpu", f"auto takes the cpu: {other.last_lines()}")
    nowhere = run(folder, "run.backend=cuda", MDMINI_KERNELS="/nonexistent")
    checks.that(nowhere.code == 2 and "MDMINI_KERNELS" in nowhere.stderr, f"no kernels there: {nowhere.last_lines()}")
    narrow = run(folder, "run.backend=cuda", "launch.bounds=off", "force.kernel=brick", "force.threads_per_atom=32",
                 "memory.sort=brick", "run.precision=double", MDMINI_EMULATOR_REGISTERS="160")
    checks.that(narrow.code == 0 and "= 384: stage force: as many as there are registers for" in " ".join(narrow.stdout.split()),
                f"auto takes blocks that have registers: {narrow.last_lines()}")
    # Stages whose kernels take different numbers have blocks of different sizes, and go through the same bricks.
    for registers in ("32,k_force=168", "32,k_step=168"):
        for words in (("launch.fuse=step", "launch.persistent=off"), ("launch.persistent=on",), ("launch.fuse=on", "report.counters=on")):
            two = run(folder, "run.backend=cuda", "launch.bounds=off", "force.kernel=brick", "force.threads_per_atom=32",
                      "memory.sort=brick", "run.precision=double", *words, MDMINI_EMULATOR_REGISTERS=registers)
            checks.that(two.code == 0 and two.json()["verdict"] == "PASSED", f"{registers}, {words}: {two.last_lines()}")
    asked = run(folder, "run.backend=cuda", "launch.bounds=off", "launch.block_size=512", MDMINI_EMULATOR_REGISTERS="160")
    checks.that(asked.code == 2 and "takes 160 registers a thread, which allows 384 threads" in asked.stderr,
                f"a block that has no registers: {asked.last_lines()}")
    (folder / "cuda/kernels").mkdir(parents=True)
    (folder / "cuda/kernels/sort.cu").write_text((Path(os.environ["MDMINI_SOURCE"]) / "src/cuda/kernels/sort.cu").read_text())
    some = run(folder, "run.backend=cuda", MDMINI_KERNELS=str(folder))
    checks.that(some.code == 0, f"what the folder lacks comes from the program: {some.last_lines()}")
    with open(folder / "cuda/kernels/sort.cu", "a") as file:
        file.write('#include "cuda/kernels/new.cuh"\nstatic_assert(NEW == 1);\n')
    lacks = run(folder, "run.backend=cuda", MDMINI_KERNELS=str(folder))
    checks.that(lacks.code == 2 and "new.cuh" in lacks.stderr, f"an included file that is nowhere: {lacks.last_lines()}")
    (folder / "cuda/kernels/new.cuh").write_text("#define NEW 1\n")
    new = run(folder, "run.backend=cuda", MDMINI_KERNELS=str(folder))
    checks.that(new.code == 0, f"a file that the program does not know: {new.last_lines()}")
checks.finish()
