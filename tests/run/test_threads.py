"""The whole program under the thread sanitizer: steps, writer, files, trace, signals and ends of every kind, without a race.
For a build with MDMINI_SANITIZE=thread (preset `threads`).

One OpenMP thread, for the sanitizer does not know the barriers of GCC's OpenMP and would report all that they order. It
knows those of clang's, told by a tool of that library; then MDMINI_TEST_THREADS may be more:
    cmake -S . -B build-clang -DCMAKE_C_COMPILER=clang -DMDMINI_CUDA=OFF -DMDMINI_SANITIZE=thread
    OMP_TOOL_LIBRARIES=libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1 MDMINI_TEST_THREADS=2"""
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import program

if "thread" not in os.environ.get("MDMINI_SANITIZE", ""):
    print("skipped: not a build with the thread sanitizer")
    sys.exit(program.SKIPPED)

RACE = 66  # the sanitizer's exit code
N_THREADS = os.environ.get("MDMINI_TEST_THREADS", "1")
os.environ["OMP_NUM_THREADS"] = N_THREADS  # of what is not the backend: the reference that verifies
random.seed(1)
checks = program.Checks()
DECK = {
    "system": {"start": "fcc", "cells": 4, "density": 0.8442, "temperature": 1.44},
    "potential": {"cutoff": 2.2},
    "run": {"steps": 120, "backend": "cpu", "threads": N_THREADS},
    "neighbor": {"skin": 0.2},
    "output": {"frames_every": 2, "thermo_every": 1, "velocities_every": 3, "forces_every": 4, "images_every": 2,
               "xyz_every": 6, "commit_frames": 3, "existing": "overwrite"},
    "report": {"trace": "r.trace.json", "counters": "on"},
    "restart": {"every": 20},
}


def clean(code, wanted, told, what):
    return checks.that(code in wanted and code != RACE and "ThreadSanitizer" not in told, f"{what}: exit code {code}\n{told[:3000]}")


def run(folder, words, wanted=(0,), **more):
    done = program.run(*words, folder=folder, name="r", **more)
    return clean(done.code, wanted, done.stderr, " ".join(words))


def test_ends_of_itself(folder):
    for words in ([], ["output.pipeline=off"], ["output.slots=1", "output.frames_every=1", "output.images_every=1"],
                  ["output.slots=8", "output.commit_frames=1"], ["output.compression=gzip-9", "output.precision=double"],
                  ["output.images_every=0", "output.unwrapped=on", "output.progress=plain"],
                  ["output.commit_seconds=0.001", "output.frames_every=40", "output.images_every=40", "run.steps=2000"],
                  ["ensemble.thermostat=rescale", "neighbor.rebuild=host-check", "launch.fuse=off"],
                  ["run.walltime=1", "run.steps=100000"]):
        run(folder, ["r.txt", *words], (0, 75))
        run(folder, ["--restart", "r.restart", "run.walltime=0", f"run.steps={3000 if 'run.steps=2000' in words else 160}"],
            (0, 2))
        run(folder, ["--recover", "r.h5"])


def test_ends_of_others(folder):
    """A step that no list can follow, a full disk, a file that is gone."""
    run(folder, ["r.txt", "run.timestep=0.5"], (3,))
    for limit in range(100000, 900000, 100000):
        run(folder, ["r.txt", "output.compression=gzip-1"], (0, 4), file_size_limit=limit)
    for ending in ("h5", "xyz"):
        stopped(folder, lambda child: (folder / f"r.{ending}").unlink(missing_ok=True), (4,), f"{ending} is deleted")


def stopped(folder, act, wanted, what):
    """A long run that something befalls once it writes."""
    (folder / "r.restart").unlink(missing_ok=True)
    with open(folder / "told", "w+") as told:
        child = subprocess.Popen([program.program(), "r.txt", "run.steps=1000000", "restart.every=200"], cwd=folder,
                                 stdout=subprocess.DEVNULL, stderr=told)
        while child.poll() is None and not (folder / "r.restart").exists():
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.3))
        act(child)
        watch = threading.Timer(600, child.kill)
        watch.start()
        child.wait()
        watch.cancel()
        told.seek(0)
        clean(child.returncode, wanted, told.read(), what)


def test_signals(folder):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        for _ in range(3):
            stopped(folder, lambda child: child.send_signal(number), (75,), number.name)
            run(folder, ["--restart", "r.restart", "--check"])

    def twice(child):
        child.send_signal(signal.SIGINT)
        time.sleep(0.25)
        child.send_signal(signal.SIGINT)

    stopped(folder, twice, (75, 130), "two SIGINT")


for test in (test_ends_of_itself, test_ends_of_others, test_signals):
    with program.temporary_folder() as place:
        program.write_deck(place, "r", **DECK)
        test(Path(place))
checks.finish()
