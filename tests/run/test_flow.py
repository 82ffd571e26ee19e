"""Transport of the Lennard-Jones fluid at T 0.722, density 0.8442, by the numbers of tools/plot.py: the diffusion coefficient from displacements,
the shear viscosity from the pressure tensor.

    D of infinitely many atoms   0.0358(3)   4,000 atoms of this program, 0.0338(3), and the correction below
    viscosity                    3.24(4)     M. Ferrario, G. Ciccotti, B. L. Holian, J.-P. Ryckaert, Phys. Rev. A 44, 6936 (1991)

In a periodic box of edge L atoms diffuse more slowly, by 2.837297 kT / (6 pi viscosity L): I.-C. Yeh and G. Hummer, J. Phys. Chem. B 108, 15873
(2004). 500 atoms, 1,900 tau: standard errors are 1 % of D and 2 to 4 % of the viscosity, by windows and by ten blocks. Values within three
standard errors pass: of a normal distribution, so that chance exceeds them once in 370 runs; the error by ten blocks is itself not well known,
so that its factor is that of Student's t. A value that is off by twice that is sure to be seen; the run says by how many per cent, and
fails where that is more than SEEN: its errors would hide too much.

MDMINI_TEST_FLOW=STEPS: 500000. MDMINI_TEST_BACKENDS."""
import csv
import math
import os
import subprocess
import sys
from pathlib import Path

import program

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
STEPS, MELTED = int(os.environ.get("MDMINI_TEST_FLOW", "500000")), 20_000
CELLS, DENSITY, TEMPERATURE = 5, 0.8442, 0.722
D, ETA = (0.0358, 0.0003), (3.24, 0.04)
PERIODIC = 2.837297
# Standard errors, of which chance exceeds so many once in 370 runs: of a known error, which that by 190 windows nearly is, and of one by ten
# blocks.
ALLOWED = {"known": 3, "D": 3, "viscosity": 4.1}
SEEN = {"D": 0.12, "viscosity": 0.4}
TOOL = Path(os.environ["MDMINI_SOURCE"]) / "tools" / "plot.py"


def measure(checks, folder):
    """{name: (value, error)} of a run, without the correction."""
    deck = program.write_deck(folder, "flow", system={"start": "fcc", "cells": CELLS, "density": DENSITY, "temperature": 2 * TEMPERATURE},
                              potential={"cutoff": 2.5, "shift": "energy"},
                              run={"backend": BACKEND, "steps": STEPS, "timestep": 0.004, **({"threads": 1} if BACKEND == "cpu" else {})},
                              # of some tau: the mean temperature is right, and motion hardly feels it
                              ensemble={"thermostat": "csvr", "target": TEMPERATURE, "relaxation": 2},
                              analysis={"pressure": "tensor", "msd_every": 25, "msd_lags": 100, "msd_from": MELTED},
                              output={"thermo_every": 5, "frames_every": 0, "progress": "off"}, restart={"every": 0})
    done = program.run(deck.name, folder=folder, timeout=3000)
    if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{done.code} {done.last_lines()}"):
        return None
    drawn = subprocess.run([sys.executable, "-B", TOOL, "flow.json", "--from", str(MELTED)], cwd=folder, capture_output=True, text=True)
    if not checks.that(drawn.returncode == 0 and not drawn.stderr, drawn.stderr):
        return None
    with open(Path(folder) / "flow-coefficients.csv", encoding="utf-8", newline="") as file:
        rows = {row["quantity"]: row for row in csv.DictReader(file)}
    checks.that(rows["viscosity"]["unit"] == "epsilon tau/sigma^3" and rows["diffusion coefficient"]["unit"] == "sigma^2/tau", f"{rows}")
    return {"D": numbers(rows["diffusion coefficient"]), "viscosity": numbers(rows["viscosity"])}


def numbers(row):
    return float(row["value"]), float(row["error"])


def corrected(found):
    """D of infinitely many atoms. The viscosity that is known is in the correction, so that an error of that which was measured is not."""
    edge = (4 * CELLS**3 / DENSITY) ** (1 / 3)
    return found[0] + PERIODIC * TEMPERATURE / (6 * math.pi * ETA[0] * edge), found[1]


def width(name, error, known):
    """How far apart both may be."""
    return math.hypot(ALLOWED[name] * error, ALLOWED["known"] * known[1])


def test_flow(checks, folder):
    found = measure(checks, folder)
    if not found:
        return
    found["D"] = corrected(found["D"])
    for name, known in (("D", D), ("viscosity", ETA)):
        value, error = found[name]
        allowed = width(name, error, known)
        seen = 2 * allowed / known[0]
        text = f"{name}: {value:.5f} +- {error:.5f}, known {known[0]} +- {known[1]}, allowed {allowed:.5f}; surely seen: {100 * seen:.0f} % off"
        print(text, flush=True)
        checks.that(abs(value - known[0]) <= allowed, text)
        checks.that(seen <= SEEN[name], f"{text}: too little")
        for fault in (1 + SEEN[name], 1 - SEEN[name]):
            checks.that(abs(value * fault - known[0]) > allowed, f"{name} times {fault} passes, too: {text}")


if BACKEND == "cuda" and "emulated GPU" in program.run("--device", folder=".").stdout:
    print("skipped: averages take a real GPU, or the cpu")
    sys.exit(program.SKIPPED)
checks = program.Checks()
checks.run(test_flow)
checks.finish()
