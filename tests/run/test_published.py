"""Two published states of the Lennard-Jones fluid: energy and pressure, with the tails of a uniform fluid beyond a cutoff of 4, as each
canonical thermostat holds them. (Beyond a cutoff of 2.5 the fluid is not uniform: its tails are 0.007 of the energy off.) A temperature
that is 3 % wrong is told apart by the same measures.

    T 1, density 0.8          -5.5344, 1.0233   Thol, Rutkai, Koester, Lustig, Span, Vrabec, J. Phys. Chem. Ref. Data 45, 023101 (2016)
    T 0.722, density 0.8442   -6.0801, 0.1651   the same equation of state

MDMINI_TEST_PUBLISHED="CELLS:STEPS": fcc cells along an edge and steps, 6:20000; on a GPU 10:400000. MDMINI_TEST_BACKENDS."""
import csv
import os
import sys

import numpy

import program

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
CELLS, STEPS = (int(word) for word in os.environ.get("MDMINI_TEST_PUBLISHED", "6:20000" if BACKEND == "cpu" else "10:400000").split(":"))
STATES = {(1, 0.8): (-5.5344, 1.0233), (0.722, 0.8442): (-6.0801, 0.1651)}
BATHS = {"langevin": {"friction": 1}, "csvr": {"relaxation": 0.2}, "nose-hoover": {"relaxation": 0.5}}
N_BLOCKS = 20
ALLOWED = 3.9  # standard errors of 20 blocks that chance exceeds once in a thousand (Student's t)
# By so much long runs at constant energy (4,000 atoms, double precision) differ from the equation at the second state.
OF_EQUATION = (0.001, 0.003)


def measure(checks, folder, bath, temperature, density):
    """((energy, error), (pressure, error)) with tails, of the run after it has melted."""
    name = f"{bath}-{temperature}"
    deck = program.write_deck(folder, name, system={"start": "fcc", "cells": CELLS, "density": density, "temperature": 2},
                              potential={"cutoff": 4, "shift": "none"},
                              run={"steps": STEPS, "timestep": 0.004, "backend": BACKEND},
                              ensemble={"thermostat": bath, "target": temperature, **BATHS[bath]},
                              output={"thermo_every": 10, "progress": "off"}, restart={"every": 0})
    done = program.run(deck.name, folder=folder, timeout=3000)
    if not checks.that(done.code == 0, f"{name}: {done.code} {done.last_lines()}"):
        return None
    with open(done.path("csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    tails = done.json()["tail_corrections"]
    found = []
    for key, tail in (("potential_energy", "energy_per_atom"), ("pressure", "pressure")):
        column = next(name for name in rows[0] if name.startswith(key.replace("_", " ")))
        values = numpy.array([float(row[column]) for row in rows])[len(rows) // 5:]  # the first fifth melts
        blocks = values[: len(values) // N_BLOCKS * N_BLOCKS].reshape(N_BLOCKS, -1).mean(axis=1)
        found.append((blocks.mean() + tails[tail], blocks.std(ddof=1) / N_BLOCKS**0.5))
    return found


def is_near(found, published):
    """Whether energy and pressure both are; and as text."""
    near = [abs(mean - right) <= ALLOWED * error + own for (mean, error), right, own in zip(found, published, OF_EQUATION)]
    return all(near), ", ".join(f"{mean:.5f} +- {error:.5f} ({right})" for (mean, error), right in zip(found, published))


def test_states(checks, folder):
    for (temperature, density), published in STATES.items():
        for bath in BATHS:
            found = measure(checks, folder, bath, temperature, density)
            if found:
                near, text = is_near(found, published)
                print(f"T {temperature}, density {density}, {bath}: {text}", flush=True)
                checks.that(near, f"T {temperature}, density {density}, {bath}: {text}")


def test_faults(checks, folder):
    """What must not pass."""
    (temperature, density), published = next(iter(STATES.items()))
    found = measure(checks, folder, "langevin", 1.03 * temperature, density)
    checks.that(found and not is_near(found, published)[0], f"3 % hotter: {found and is_near(found, published)[1]}")



if BACKEND == "cuda" and "emulated GPU" in program.run("--device", folder=".").stdout:
    print("skipped: averages take a real GPU, or the cpu")
    sys.exit(program.SKIPPED)
checks = program.Checks()
checks.run(test_states, test_faults)
checks.finish()
