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
# Of lj-rattled.xyz, a crystal of 500 atoms displaced by 0.05 times a Gaussian: LAMMPS likewise. Energy per atom, pressure, largest force
# with its atom, root mean square of the forces, force on atom 1.
RATTLED = {
    ("lj", "", "none"): (-6.47560001693312, -4.49079679199599, 110.81387554944489, 195, 14.84613797109361, (-11.1510909637744, -1.09988413417509, 12.9921482828675)),
    ("lj", "", "force"): (-5.399126497688321, -3.93127438517852, 110.77293136745067, 195, 14.81941814834949, (-11.1374797715789, -1.07018959676562, 12.9381346660948)),
    ("lj", "", "switch"): (-6.3400505075582, -4.81775076336039, 110.99768811314884, 195, 14.954740825212378, (-11.3701340125377, -1.11876072547982, 13.1374414417789)),
    ("morse", "1 5 1.12", "none"): (-5.83088035841492, -4.34469288364179, 56.51422817239639, 374, 10.432582371085534, (-8.65309472351904, -1.01938204474313, 10.9588906557466)),
    ("morse", "1 5 1.12", "energy"): (-5.77663241527234, -4.34469288364179, 56.51422817239639, 374, 10.432582371085534, (-8.65309472351904, -1.01938204474313, 10.9588906557466)),
    ("yukawa", "10 2", "none"): (6.54464557013708, 6.9740131811599, 5.112424370563141, 195, 1.8985169212810455, (-1.0230517143594, 0.456340047342152, 2.18960693642408)),
    ("power", "1 1 12", "none"): (0.95395141501623, 3.22130313812616, 39.71750117372787, 195, 6.995842534439595, (-5.17074966257794, 0.0629502648123816, 7.43012068008478)),
    ("power", "1 1 9", "none"): (1.483776033212456, 3.75781118159644, 23.62293004213344, 195, 5.399897994100763, (-3.92289257979585, 0.215235386444814, 6.17840757673856))}
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


def test_rattled(checks, folder):
    """Energies to 1e-10, forces to 1e-11."""
    start = Path(__file__).with_name("lj-rattled.xyz")
    for (form, numbers, shift), (energy, pressure, largest, atom, rms, first) in RATTLED.items():
        words = [*words_of((form, numbers)), f"potential.shift={shift}", *(["potential.switch_from=2"] if shift == "switch" else [])]
        done = program.run(start, *words, f"run.backend={BACKEND}", "run.precision=double", "run.steps=0", "system.temperature=0", "output.name=f",
                           "output.frames_every=1", "output.forces_every=1", "output.precision=double", "output.existing=overwrite", folder=folder)
        checks.that(done.code == 0, f"{form} {numbers}, {shift}: {done.last_lines()}")
        row = row_of(folder, 0)
        with h5py.File(Path(folder) / "f.h5") as file:
            force = file["particles/all/force/value"][0]
        norm = np.linalg.norm(force, axis=1)
        for name, value, right, room in (("energy", row["potential_energy"], energy, 1e-10), ("pressure", row["pressure"], pressure, 2e-10),
                                         ("largest force", norm.max(), largest, 1e-11), ("rms", np.sqrt((norm**2).mean()), rms, 1e-11),
                                         *((f"force {axis} of atom 1", force[0][axis], first[axis], 1e-11) for axis in range(3))):
            checks.that(abs(value - right) < room * max(1, abs(right)), f"{form} {numbers}, {shift}: {name}: {value!r}, LAMMPS {right!r}")
        checks.that(norm.argmax() + 1 == atom, f"{form} {numbers}, {shift}: the largest force is on atom {norm.argmax() + 1}")


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
                        (["potential.form=morse", "potential.parameters=1 5 1.12", "potential.pairs=1 1 1 5 1.1"], "potential.parameters: has no effect"),
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
    checks.run(test_crystal, test_switch, test_rattled, test_liquid, test_pairs, test_refusals)
    checks.finish()


if __name__ == "__main__":
    main()
