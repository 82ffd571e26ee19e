"""Forms of pair potentials: energies and pressures of LAMMPS, and by all pairs in numpy; refusals."""
import json
import os
from pathlib import Path

import h5py
import numpy as np

import program

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
DECK = {"system": {"start": "fcc", "cells": 5, "density": 0.8442}, "potential": {"cutoff": 2.5}, "run": {"backend": BACKEND, "precision": "double"},
        "output": {"existing": "overwrite"}}
# Energy per atom and pressure of the perfect crystal at rest: LAMMPS, 22 Jul 2025 update 4, in double precision; the formula.
FORMS = {
    ("lj", ""): (-6.7733680530, -6.23531727, lambda r: 4 * (r**-12 - r**-6)),
    ("morse", "1 5 1.12"): (-6.1032724988, -5.625061851, lambda r: np.exp(-5 * (r - 1.12)) * (np.exp(-5 * (r - 1.12)) - 2)),
    ("yukawa", "10 2"): (6.4901376170, 6.948708584, lambda r: 10 * np.exp(-2 * r) / r),
    ("power", "1 1 12"): (0.7700837110, 2.600418675, lambda r: r**-12),
    ("power", "1 1 9"): (1.3251577154, 3.35609443, lambda r: r**-9)}
SHIFTED = {("morse", "1 5 1.12"): -6.0488795077}
SWITCHED = (-6.6458436719, -6.609860013)  # lj from 2.0 to 2.5: LAMMPS' lj/charmm/coul/charmm


def run(folder, *words):
    return program.run(program.write_deck(Path(folder), "f", **DECK).name, *words, folder=folder)


def words_of(form):
    return [f"potential.form={form[0]}", *([f"potential.parameters={form[1]}"] if form[1] else [])]


def row_of(folder, k):
    return {name: column[k] for name, column in json.loads((Path(folder) / "f.json").read_text())["thermo"].items()}


def test_crystal(checks, folder):
    for form, (energy, pressure, _) in FORMS.items():
        rows = []
        for shift in ("none", "energy"):
            done = run(folder, *words_of(form), f"potential.shift={shift}", "system.temperature=0", "run.steps=0")
            checks.that(done.code == 0, f"{form}, shift {shift}: {done.last_lines()}")
            rows.append(row_of(folder, 0))
        plain, shifted = rows
        checks.that(abs(plain["potential_energy"] - energy) < 1e-10 * abs(energy) and abs(plain["pressure"] - pressure) < 2e-10 * abs(pressure), f"{form}: {plain}")
        right = SHIFTED.get(form, plain["conserved_energy"])
        checks.that(abs(shifted["potential_energy"] - right) < 1e-10 * abs(right) and shifted["pressure"] == plain["pressure"], f"{form}, shifted: {shifted}")


def test_switch(checks, folder):
    for words in (["potential.switch_from=2"], []):
        done = run(folder, "potential.shift=switch", *words, "system.temperature=0", "run.steps=0")
        row = row_of(folder, 0)
        checks.that(done.code == 0 and all(abs(row[name] - right) < 2e-10 * abs(right) for name, right in zip(("potential_energy", "pressure"), SWITCHED)), f"switch: {row}")


def factor(r, begin, cutoff):
    return np.where(r < begin, 1, (cutoff**2 - r**2)**2 * (cutoff**2 + 2 * r**2 - 3 * begin**2) / (cutoff**2 - begin**2)**3)


def all_pairs(position, length, cutoff, formula):
    """Energy per atom."""
    i, j = np.triu_indices(len(position), 1)
    d = position[i] - position[j]
    r = np.sqrt(((d - length * np.rint(d / length))**2).sum(axis=1))
    return formula(r[r < cutoff]).sum() / len(position)


def test_liquid(checks, folder):
    """What a run has come to, in each precision and by each kernel of the cpu, with energies at every step or not."""
    for form, (_, _, formula) in FORMS.items():
        for words in (["run.precision=double", "output.precision=double"], ["run.precision=mixed", "force.kernel=cell"], ["run.precision=single", "force.cutoff_test=branch"],
                      ["run.precision=mixed", "potential.shift=force"], ["run.precision=mixed", "potential.shift=switch", "potential.switch_from=1.5"]):
            places = []
            for energy in ("every-step", "on-output"):
                done = run(folder, *words_of(form), "system.temperature=1.44", "run.steps=60", "output.thermo_every=20", "output.frames_every=60",
                                   "potential.shift=none", *words, f"force.energy={energy}")
                checks.that(done.code == 0, f"{form}, {words}: {done.last_lines()}")
                with h5py.File(Path(folder) / "f.h5") as file:
                    particles = file["particles"][next(iter(file["particles"]))]
                    places.append(particles["position/value"][-1])
                    length = float(np.ravel(particles["box/edges/value"])[0])
            checks.that(np.array_equal(*places), f"{form}, {words}: the energies change the places")
            row = row_of(folder, -1)
            if "potential.shift=force" not in words:
                whole = (lambda r: formula(r) * factor(r, 1.5, 2.5)) if "potential.shift=switch" in words else formula
                right, room = all_pairs(places[0].astype(float), length, 2.5, whole), 1e-9 if "run.precision=double" in words else 2e-5
                checks.that(abs(row["potential_energy"] - right) < room * abs(right), f"{form}, {words}: {row['potential_energy']}, by all pairs {right}")


def test_pairs(checks, folder):
    """Numbers of single pairs of types; those that nothing gives."""
    two = ["system.types=2", "potential.form=morse", "system.temperature=1", "run.steps=40", "run.precision=mixed"]
    done = run(folder, *two, "potential.parameters=1 5 1.12", "potential.pairs=1 2 1.5 6 1.0 2.2")
    checks.that(done.code == 0, f"a pair of its own: {done.last_lines()}")
    done = run(folder, *two, "potential.pairs=1 1 1 5 1.1; 1 2 1.5 6 1.0")
    checks.that(done.code == 2 and "the pair 2 2" in done.stderr, f"a pair without numbers: {done.stderr}")


def test_refusals(checks, folder):
    for words, says in ((["potential.form=morse"], "morse takes `depth alpha r0`"),
                        (["potential.form=morse", "potential.parameters=1 5"], "2 numbers; morse takes `depth alpha r0`"),
                        (["potential.form=morse", "potential.parameters=1 0 1"], "allowed: numbers above 0"),
                        (["potential.form=power", "potential.parameters=1 1 3"], "a number above 3"),
                        (["potential.form=yukawa", "potential.parameters=1e-60 1"], "beyond the range of single precision"),
                        (["potential.form=yukawa", "potential.parameters=1 2", "potential.epsilon=2"], "potential.epsilon: has no effect"),
                        (["potential.parameters=1 2"], "potential.parameters: has no effect"),
                        (["potential.shift=switch", "potential.switch_from=2.48"], "potential.switch_from: 2.48, but the cutoff of the pair 1 1 is 2.5"),
                        (["potential.switch_from=2"], "potential.switch_from: has no effect"),
                        (["potential.form=yukawa", "potential.parameters=1 2", "potential.pairs=1 1 1 2 3 4"], "an entry is `i j strength kappa [cutoff]`"),
                        (["potential.form=yukawa", "potential.parameters=1 2", "potential.pairs=1 1 0 2"], "strength, kappa and cutoff are numbers above 0")):
        done = run(folder, "run.precision=mixed", *words)
        checks.that(done.code == 2 and says in done.stderr, f"{words}: {done.code} {done.stderr}")


def main():
    checks = program.Checks()
    checks.run(test_crystal, test_switch, test_liquid, test_pairs, test_refusals)
    checks.finish()


if __name__ == "__main__":
    main()
