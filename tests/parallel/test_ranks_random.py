"""Systems, switches and numbers of ranks drawn at random. On the cpu backend all have the bits of one process: particles, and with
reproducible sums the thermo table; on GPUs, whose bricks are others on another grid, the file is the same whoever writes it.

MDMINI_TEST_SEED: of what is drawn; MDMINI_TEST_CASES: how many (12; on GPUs, which compile kernels for each, 6)."""
import os
import random

import program
import ranks
from resuming import run_tests

BACKEND = "cuda" if "cuda" in os.environ.get("MDMINI_TEST_BACKENDS", "") else "cpu"
FORMS = ("lj", "lj", "wca", "morse", "yukawa", "power")
PARAMETERS = {"morse": {"parameters": "1 5 1.1"}, "yukawa": {"parameters": "4 1.5"}, "power": {"parameters": "1 1 12"}}
SEED = int(os.environ.get("MDMINI_TEST_SEED", "1"))


def draw_system(rng):
    n = rng.choice((2, 3, 3, 3))
    system = {"dimension": n, "seed": rng.randint(1, 10**6), "temperature": rng.choice((0.5, 1.44, 3.0)),
              "boundary": " ".join(rng.choice(("periodic", "periodic", "open")) for _ in range(n))}
    if rng.random() < 0.4:  # also fewer atoms than ranks
        system |= {"start": "random", "atoms": rng.choice((5, 60, 500, 1500)), "density": rng.choice((0.02, 0.1, 0.3))}
    else:
        cells = [rng.randint(4, 9) if n == 3 else rng.randint(8, 20) for _ in range(n)]
        system |= {"start": "fcc" if n == 3 else "hexagonal", "cells": " ".join(map(str, cells)), "density": rng.choice((0.3, 0.6, 0.8442))}
    if rng.random() < 0.3:
        system |= {"types": 2, "fractions": "0.3 0.7", "masses": "1 2"}
    return system


def draw_potential(rng):
    form = rng.choice(FORMS)
    if form == "wca":  # has a cutoff of its own
        return {"form": form}
    shift = rng.choice(("none", "energy", "force", "switch"))
    return {"form": form, **PARAMETERS.get(form, {}), "cutoff": rng.choice((1.8, 2.5, 3.2)), "shift": shift}


def draw_ensemble(rng):
    thermostat = rng.choice(("rescale", "csvr", "langevin"))
    relaxation = {} if thermostat == "rescale" else {"relaxation": rng.choice((0.05, 1))}
    every = {} if thermostat == "langevin" else {"every": rng.choice((1, 3))}
    return {"thermostat": thermostat, "target": "1 1.6", **every, **relaxation}


def draw_deck(rng):
    every = rng.choice((5, 7, 20))
    output = {"thermo_every": 5, "frames_every": every, "velocities_every": rng.choice((0, 3, 10)), "images_every": every,
              "forces_every": rng.choice((0, 10)), "precision": rng.choice(("single", "double")), "existing": "overwrite", "progress": "off"}
    deck = {"system": draw_system(rng), "potential": draw_potential(rng),
            "run": {"steps": rng.choice((20, 45, 60)), "backend": BACKEND, "precision": rng.choice(("mixed", "double", "single"))},
            "reduce": {"accumulate": "reproducible"}, "output": output}
    if rng.random() < 0.6:
        deck["ensemble"] = draw_ensemble(rng)
    if BACKEND == "cpu":
        rebuild = rng.choice(("every", "host-check", "device-check"))
        deck["neighbor"] = {"rebuild": rebuild, **({"every": 5} if rebuild == "every" else {})}  # repulsive forms soon miss pairs
        deck["memory"] = {"layout": rng.choice(("soa", "aos", "vec4"))}
    return deck


def draw_words(rng, n, frames):
    transports = ranks.transports(n) if BACKEND == "cuda" else {}
    word = rng.choice(sorted(transports)) if transports else None
    switch = f"parallel.transport={word}" if word else f"parallel.overlap={rng.choice(('on', 'off'))}"
    return [switch, f"parallel.frames={frames}"], transports.get(word, {})


def compare(checks, folder, rng, what):
    """Whether there was something to compare: a box may be too small, for the cutoff or for so many domains."""
    name = program.write_deck(folder, "drawn", **draw_deck(rng)).name
    n, frames = rng.choice((2, 3, 4, 6, 8) if BACKEND == "cpu" else (2, 3, 4)), rng.choice(("root", "all"))
    words, environment = draw_words(rng, n, frames)
    many = ranks.run(n, name, *words, "output.name=many", folder=folder, name="many", **environment)
    if many.code == 2:
        checks.that("needs at least" in many.stderr or "parallel.grid" in many.stderr, f"{what}: {many.last_lines()}")
        return False
    if BACKEND == "cpu":
        one = program.run(name, "output.name=one", folder=folder, name="one")
    else:
        other = "root" if frames == "all" else "all"
        one = ranks.run(n, name, words[0], f"parallel.frames={other}", "output.name=one", folder=folder, name="one", **environment)
    deck = (folder / name).read_text()
    if not checks.that(one.code == many.code == 0, f"{what}, {n}, {words}: {one.code}, {many.code}: {many.last_lines()}\n{deck}"):
        return False
    different = ranks.differences(folder / "one.h5", folder / "many.h5", 0)
    same_table = (folder / "one.csv").read_bytes() == (folder / "many.csv").read_bytes()
    checks.that(not different and same_table, f"{what}, {n}, {words}: {'; '.join(different)}, same table: {same_table}\n{deck}")
    return True


def test_random(checks, folder):
    n_compared = 0
    n_cases = int(os.environ.get("MDMINI_TEST_CASES", "12" if BACKEND == "cpu" else "6"))
    for k in range(n_cases):
        n_compared += compare(checks, folder, random.Random(f"{SEED}/{k}"), f"seed {SEED}, case {k}")
    checks.that(n_compared > n_cases // 2, f"{n_compared} of {n_cases} could be compared")


if __name__ == "__main__":
    ranks.require()
    if BACKEND == "cuda":
        ranks.require_gpu()
    run_tests(test_random)
