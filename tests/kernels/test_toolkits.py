"""Kernels compile with the NVRTC of other toolkits, whose wheels are taken from PyPI: of three rows, for compute capability 8.0
and 9.0, no GPU needed. MDMINI_TEST_TOOLKITS="12.0 12.4" names the versions; wheels stay in the folder of the build.

The program is the one that was built, with another NVRTC in place of its own (support/nvrtc_stand_in.c)."""
import os
import subprocess
import sys
from pathlib import Path

import program

ROWS = ("force.kernel=list-split run.precision=mixed",
        "force.kernel=brick memory.sort=brick launch.persistent=off launch.fuse=step",
        "force.kernel=brick memory.sort=brick launch.persistent=on launch.fuse=step run.precision=double")
checks = program.Checks()


def library_of(version):
    """The path of libnvrtc of that toolkit; None: it cannot be had."""
    folder = Path("nvrtc-" + version)
    if not list(folder.rglob("libnvrtc.so.*")):
        package = f"nvidia-cuda-nvrtc-cu{version.split('.')[0]}=={version}.*"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--retries", "1",
                   "--timeout", "20", "--disable-pip-version-check", "--target", folder, package]
        subprocess.run(["timeout", "300", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    found = list(folder.rglob("libnvrtc.so.*"))
    return found[0].resolve() if found else None


def main():
    stand_in, compiler = os.environ.get("NVRTC_STAND_IN"), os.environ.get("TEST_COMPILE")
    if not stand_in:
        print("skipped: no NVRTC is in this build, or the sanitizers, which want LD_PRELOAD for themselves")
        sys.exit(program.SKIPPED)
    n_tried = 0
    for version in os.environ.get("MDMINI_TEST_TOOLKITS", "12.0").split():
        library = library_of(version)
        if library is None:
            print(f"NVRTC {version}: no wheel can be had from PyPI: not tried")
            continue
        for row in ROWS:
            done = subprocess.run([compiler], capture_output=True, text=True, timeout=850, check=False,
                                  env=dict(os.environ, LD_PRELOAD=stand_in, MDMINI_TEST_NVRTC=str(library),
                                           LD_LIBRARY_PATH=str(library.parent), MDMINI_TEST_ONLY=row))
            n_tried += 1
            checks.that(done.returncode == 0, f"NVRTC {version}, {row}: ends with {done.returncode}: "
                                              f"{(done.stdout + done.stderr)[-1500:]}")
    if n_tried == 0:
        print("skipped: there is no other NVRTC")
        sys.exit(program.SKIPPED)
    checks.finish()


main()
