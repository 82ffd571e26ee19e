"""Runs with each thermostat: the mean of the temperature, its fluctuations, the conserved energy in every file, restarts, refusals.
That of langevin from rest, for unlike masses and in two dimensions.

MDMINI_TEST_BACKENDS: the first one runs."""
import csv
import os
from pathlib import Path

import h5py
import numpy as np

import program
import restart_file

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
N, TARGET, RELAXATION, TIMESTEP = 108, 1.2, 0.1, 0.004
STEPS = 30_000 if BACKEND == "cpu" else 400  # an emulated GPU is slow
DECK = {"system": {"start": "fcc", "cells": 3, "density": 0.6, "temperature": TARGET}, "potential": {"cutoff": 2.2, "shift": "energy"},
        "neighbor": {"skin": 0.3}, "run": {"backend": BACKEND, "steps": STEPS, "timestep": TIMESTEP}, "ensemble": {"target": TARGET, "every": 5},
        "output": {"existing": "overwrite", "progress": "off", "thermo_every": 5, "frames_every": 100}, "restart": {"every": 0}}
BATHS = {"rescale": {}, "csvr": {"relaxation": RELAXATION}, "langevin": {"relaxation": RELAXATION}}


def deck(folder, name, bath, **more):
    content = {section: {**keys, **more.get(section, {})} for section, keys in DECK.items()}
    content["ensemble"].update(thermostat=bath, **BATHS[bath])
    return program.write_deck(Path(folder), name, **content).name


def test_ensembles(checks, folder):
    """Of N atoms the temperature varies by 2 / (D (N - 1)) of its square in the canonical ensemble; rescale holds it too still."""
    for bath in BATHS:
        done = program.run(deck(folder, bath, bath), folder=folder)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{bath}: {done.last_lines()}")
        rows = list(csv.DictReader(line for line in done.path("csv").read_text().splitlines() if not line.startswith("#")))
        key = next(key for key in rows[0] if key.startswith("conserved energy per atom"))
        conserved = [float(row[key]) for row in rows]
        report, steps = done.json()["thermo"], [int(row["step"]) for row in rows]
        checks.that(conserved == report["conserved_energy"] and steps == report["step"], f"{bath}: the table has another conserved energy than the report")
        with h5py.File(done.path("h5")) as file:
            written = file["observables/conserved_energy/value"][...]
        checks.that(np.array_equal(written, [e for step, e in zip(steps, conserved) if step % 100 == 0]), f"{bath}: {written[:3]} in the trajectory")
        total = np.array(report["potential_energy"]) + 1.5 * (N - 1) / N * np.array(report["temperature"])
        moved = np.ptp(conserved)
        checks.that(moved < 0.02 and np.ptp(total) > 5 * moved, f"{bath}: the conserved energy moves by {moved}, the total energy by {np.ptp(total)}")
        if BACKEND != "cpu":
            continue
        warm = np.array(report["temperature"])[steps.index(2000):]
        error = TARGET * np.sqrt(2 / (3 * (N - 1)) * 2 * RELAXATION / (TIMESTEP * (STEPS - 2000)))  # correlated over two relaxation times
        checks.that(bath == "rescale" or abs(warm.mean() - TARGET) < 5 * error, f"{bath}: {warm.mean()} +- {error}")
        share = warm.var() / TARGET**2 * 3 * (N - 1) / 2
        checks.that(0.7 < share < 1.4 if bath != "rescale" else share < 0.5, f"{bath}: the variance of the temperature is {share} of the canonical one")


def test_seeds(checks, folder, bath="csvr"):
    """Another seed draws other numbers; the same one the same numbers, also where the run is cut."""
    name = deck(folder, "b", bath, restart={"every": 20}, run={"steps": 60})
    ends = {}
    for run, words in {"one": [], "again": ["output.thermo_every=10"], "cut": ["run.steps=33"], "other": ["system.seed=2"]}.items():
        done = program.run(name, f"output.name={run}", *words, folder=folder, name=run)
        if run == "cut":
            done = program.run("--restart", "cut.restart", "run.steps=60", folder=folder, name=run)
            checks.that(done.json()["resumed"]["same_bits"], f"cut: {done.json()['resumed']}")
        checks.that(done.code == 0, f"{run}: {done.last_lines()}")
        ends[run] = restart_file.temperature(done.path("restart"))
    checks.that(ends["one"] == ends["again"] == ends["cut"] != ends["other"], f"{ends}")
    different = restart_file.difference(Path(folder) / "one.restart", Path(folder) / "cut.restart")
    checks.that(not different, f"cut: {different}")


def test_langevin_seeds(checks, folder):
    test_seeds(checks, folder, "langevin")


def test_from_rest(checks, folder):
    """Friction and noise heat atoms at rest, and cool; each component of the velocity is Gaussian, of unlike masses with kT / m."""
    steps = 3000 if BACKEND == "cpu" else 200
    name = deck(folder, "b", "langevin", system={"temperature": 0, "cells": 4, "types": 2, "masses": "1 4"}, run={"steps": steps},
                output={"frames_every": 100, "thermo_every": 100, "velocities_every": 100}, ensemble={"every": 1})
    for words in ([], ["system.temperature=4"]):
        done = program.run(name, *words, folder=folder)
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{words}: {done.last_lines()}"):
            continue
        with done.h5() as file:
            velocity = file["particles/all/velocity/value"][5 if BACKEND == "cpu" else 1:].astype(float)
            kind = np.array(file["particles/all/species"] if "species" in file["particles/all"] else file["particles/all/species/value"])
        mass = np.where(kind.ravel() == kind.min(), 1.0, 4.0)
        scaled = velocity * np.sqrt(mass)[None, :, None]
        if BACKEND != "cpu":
            checks.that(0.5 < (scaled**2).mean() / TARGET < 2, f"{words}: {(scaled**2).mean()}")
            continue
        for m in (1.0, 4.0):
            checks.that(abs((scaled[:, mass == m]**2).mean() / TARGET - 1) < 0.06, f"{words}: mass {m}: {(scaled[:, mass == m]**2).mean()}")
        kurtosis = (scaled**4).mean() / (scaled**2).mean()**2
        checks.that(abs(kurtosis - 3) < 0.15, f"{words}: kurtosis {kurtosis}")
        checks.that(np.abs((velocity * mass[None, :, None]).sum(axis=1)).max() < 1e-3, f"{words}: the momentum is {(velocity * mass[None, :, None]).sum(axis=1)[-1]}")


def test_long_step(checks, folder):
    """Collisions at each step of a long time step change the shadow energy, for which nobody pays: the conserved energy drifts, and
    the verdict knows by how much."""
    if BACKEND != "cpu":
        return
    done = program.run(deck(folder, "b", "langevin", system={"density": 0.8442, "temperature": 1.0}, potential={"shift": "force"},
                            run={"timestep": 0.008, "steps": 50_000, "precision": "double"}, ensemble={"every": 1}), "ensemble.relaxation=0.02",
                       "ensemble.target=1", "output.thermo_every=1000", "output.frames_every=0", folder=folder)
    conserved = done.json()["thermo"]["conserved_energy"]
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{done.last_lines()}")
    checks.that(conserved[-1] - conserved[0] > 0.045, f"it moved by {conserved[-1] - conserved[0]}: nothing that needs more room than other runs have")


def test_flat(checks, folder):
    """In two dimensions nothing moves out of the plane."""
    done = program.run(deck(folder, "b", "langevin", system={"dimension": 2, "start": "square", "cells": 10, "density": 0.5}, run={"steps": 200}, output={"velocities_every": 100}), folder=folder)
    if checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", done.last_lines()):
        with done.h5() as file:
            velocity = file["particles/all/velocity/value"][-1]
        checks.that(velocity.shape[1] == 2 or not velocity[:, 2].any(), f"{velocity[:3]}")


def test_extremes(checks, folder):
    """Relaxation times far below and far above the steps of the thermostat, and very few atoms: velocities may turn round."""
    few = {"system": {"cells": 2, "density": 0.1, "temperature": 0.5}}
    for bath, relaxation in [(bath, relaxation) for bath in BATHS if "relaxation" in BATHS[bath] for relaxation in ("1e-6", "1e-300", "0.01", "1e12", "1e300")]:
        done = program.run(deck(folder, "b", bath, run={"steps": 300}, **few), f"ensemble.relaxation={relaxation}", "output.frames_every=0", folder=folder)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{bath}, {relaxation}: {done.last_lines()}")
        rows = {name: np.array(column) for name, column in done.json()["thermo"].items() if name in ("total_energy", "conserved_energy")}
        heat = np.ptp(rows["total_energy"] - rows["conserved_energy"])
        checks.that(heat > 1e-2 if float(relaxation) < 1 else heat < 1e-3, f"{bath}, {relaxation}: {heat}")


def test_refusals(checks, folder):
    for words, said in ((["ensemble.relaxation=0"], 'command line: ensemble.relaxation: read "0"; allowed: a number above 0'),
                        (["ensemble.relaxation=-1"], 'command line: ensemble.relaxation: read "-1"; allowed: a number above 0'),
                        (["ensemble.relaxation=auto"], "ensemble.thermostat: csvr needs ensemble.relaxation, its relaxation time in tau; allowed: above 0"),
                        (["system.temperature=0"], "ensemble.thermostat: nothing to scale: all atoms are at rest at step 0")):
        done = program.run(deck(folder, "b", "csvr"), *words, folder=folder)
        checks.that(done.code == 2 and said in done.stderr, f"{words}: {done.code} {done.stderr}")
    done = program.run(deck(folder, "b", "csvr", run={"steps": 20}, restart={"every": 10}), folder=folder)
    done = program.run("--restart", "b.restart", "run.steps=40", "ensemble.relaxation=0.2", folder=folder)
    checks.that(done.code == 2 and "ensemble.relaxation: read 0.2, but it is 0.1 in the run that is resumed" in done.stderr, f"{done.code} {done.stderr}")


if __name__ == "__main__":
    checks = program.Checks()
    checks.run(test_ensembles, test_seeds, test_langevin_seeds, test_from_rest, test_long_step, test_flat, test_extremes, test_refusals)
    checks.finish()
