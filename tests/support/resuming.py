"""What tests of restart files share: a small run, what it leaves, and how it is resumed, started and met on its way.

MDMINI_TEST_BACKENDS: the first one runs; MDMINI_TEST_SEED: of what is random; MDMINI_TEST_ONLY: names of tests, with commas between."""
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import h5check
import h5py

import program
import restart_file

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
random.seed(int(os.environ.get("MDMINI_TEST_SEED", "1")))
THREADS = {"threads": 2} if BACKEND == "cpu" else {}  # a key that the cuda backend refuses
# A melting crystal, so that lists are made often; 256 atoms, whose box has just room for cutoff and skin.
SMALL = {
    "system": {"start": "fcc", "cells": 4, "density": 0.8442, "temperature": 1.44},
    "potential": {"cutoff": 2.2},
    "run": {"steps": 60, "backend": BACKEND, **THREADS},
    "neighbor": {"skin": 0.2},
    "output": {"frames_every": 5, "thermo_every": 5, "velocities_every": 10, "images_every": 5, "progress": "off"},
    "restart": {"every": 20},
}


def deck(folder, name, **more):
    content = {section: dict(keys) for section, keys in SMALL.items()}
    for section, keys in more.items():
        content.setdefault(section, {}).update(keys)
        content[section] = {key: value for key, value in content[section].items() if value is not None}
    return program.write_deck(folder, name, **content).name


def series(path):
    """Every dataset of a trajectory that grows with the run."""
    found = {}
    with h5py.File(path, "r") as h5:
        for root in ("particles", "observables"):
            h5[root].visititems(lambda name, item: found.__setitem__(f"{root}/{name}", item[...])
                                if isinstance(item, h5py.Dataset) and name.split("/")[-1] in ("value", "step", "time")
                                else None)
    return found


def same_frames(checks, folder, a, b, what):
    first, second = series(folder / f"{a}.h5"), series(folder / f"{b}.h5")
    checks.that(first.keys() == second.keys() and len(first) > 8, f"{what}: the trajectories hold different things")
    for name in first:
        checks.that(first[name].tobytes() == second[name].tobytes(), f"{what}: {name} differs")


def same_end(checks, folder, a, b, what):
    """Restart file, frames, thermo rows and verdict."""
    different = restart_file.difference(folder / f"{a}.restart", folder / f"{b}.restart")
    checks.that(not different, f"{what}: the restart files differ in {different}")
    same_frames(checks, folder, a, b, what)
    first, second = (json.loads((folder / f"{name}.json").read_text()) for name in (a, b))
    checks.that(first["thermo"] == second["thermo"], f"{what}: the thermo rows differ")
    checks.that(first["verdict"] == second["verdict"] == "PASSED", f"{what}: {first['verdict']}, {second['verdict']}")
    checks.that(first["n_rebuilds"] == second["n_rebuilds"], f"{what}: {first['n_rebuilds']}, {second['n_rebuilds']} rebuilds")
    problems = h5check.check(folder / f"{b}.h5")
    checks.that(not problems, f"{what}: {problems}")
    checks.that(not list(folder.glob("*.tmp")), f"{what}: leaves {list(folder.glob('*.tmp'))}")


def resume(folder, name, *words, **more):
    return program.run("--restart", f"{name}.restart", *words, folder=folder, name=name, **more)


def start(folder, *words, **environment):
    return subprocess.Popen([program.program(), *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})


def slow_deck(folder, name, **more):
    """Long enough to be met in the middle; resumed it is cut short to where it is compared."""
    return deck(folder, name, run={"steps": 1000000},
                output={"frames_every": 50, "thermo_every": 50, "velocities_every": 100, "images_every": 50}, **more)


def wait_for(path, seconds=600, lines=0):
    """A file of so many lines."""
    end = time.monotonic() + seconds
    while not (path.exists() and (lines == 0 or path.read_text().count("\n") >= lines)) and time.monotonic() < end:
        time.sleep(0.002)
    return path.exists()


def chosen(variable, names):
    """The names that an environment variable has, with commas between; all, where it is not set. Ends the test where one is unknown."""
    wanted = os.environ.get(variable, ",".join(names)).split(",")
    if not set(wanted) <= set(names):
        sys.exit(f"{variable}: {wanted} are not all among {names}")
    return wanted


def run_tests(*tests):
    """Each in a folder of its own; of those that MDMINI_TEST_ONLY names, if it is set."""
    checks = program.Checks()
    wanted = chosen("MDMINI_TEST_ONLY", [test.__name__ for test in tests])
    for test in tests:
        if test.__name__ not in wanted:
            continue
        with program.temporary_folder() as folder:
            before, begun = checks.n_failed, time.monotonic()
            test(checks, Path(folder))
            print(f"{test.__name__}: {'passed' if checks.n_failed == before else 'FAILED'}, "
                  f"{time.monotonic() - begun:.1f} s", flush=True)
    checks.finish()
