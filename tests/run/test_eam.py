"""The embedded-atom method (potential.form = eam): files that the test writes by formula, and those of Debian's lammps-data with the numbers of
LAMMPS; forces as derivatives of energies; motion, ranks, restarts; refusals."""
import json
import re
from pathlib import Path

import h5py
import numpy as np

import program
import ranks
import restart_file

POTENTIALS = Path("/usr/share/lammps/potentials")
BAR = 1.602176634 / 1.6021765  # LAMMPS' eV per cubic angstrom in bar is 8.4e-8 smaller than CODATA's
KJ = 96.48533212331  # kJ/mol of an eV
# LAMMPS, 22 Jul 2025 update 4, in double precision, confirmed by all pairs in numpy: energy per atom (eV), pressure tensor (bar), largest force
# and its atom, force on atom 1 (eV/angstrom).
LAMMPS = {
    ("cu-rattled", "Cu_u3.eam"): (-3.3824188153806025, (64235.95652574425, 66559.59245632446, 65587.72203669226, 413.32014292719504, -1622.9677501116594, 1758.8648674960373), 7.0205457444651485, 147, (-0.9335089675087895, 1.6093697619936613, -1.3069420279652828)),
    ("cu-rattled", "Cu_smf7.eam"): (-3.3802595918541236, (69571.21145732864, 72144.66530610393, 71115.4575793257, 544.0768387337681, -1845.4501457630356, 1910.6654419476797), 7.441515690417735, 147, (-0.9517290447121541, 1.6463551113943566, -1.3391487130573025)),
    ("cu-rattled", "Cu_mishin1.eam.alloy"): (-3.3695023336932155, (73027.17134733632, 75941.38356035324, 74772.41181441078, 535.4299458624304, -2152.221696948082, 2190.543072165952), 8.262864569518499, 147, (-1.0045226314104503, 1.7903372817285532, -1.4565081593303177)),
    ("cu-rattled", "CuTa.eam.alloy"): (-3.364357458584613, (90022.93587921775, 92887.36665595844, 90980.0143008804, 442.5179623308478, -1174.9230642362543, 1655.6377999156966), 7.559870595620807, 147, (-0.9606896256495502, 1.880055007678665, -1.4791112309150056)),
    ("cuni-rattled", "CuNi.eam.alloy"): (-3.8359456579243965, (89084.62119823336, 93015.72509011133, 92273.96193996356, 4284.629080070396, 947.5596135930351, 3545.35640738991), 4.841759614418374, 69, (-0.9873759990289204, -0.7654752411745184, 0.4394961065104082)),
    ("fe-rattled", "Fe_mm.eam.fs"): (-3.976983398822852, (34454.187817587204, 34104.902413797136, 34359.755586605366, -3748.1402431902616, -2819.547155824719, -4283.599732666717), 5.361199796509147, 2, (0.6279251920205835, -1.1918977360504555, 1.7860079874839858))}
# All atoms are beyond the end of the table of F.
SQUEEZED = (-2.4773438491574753, (1269231.1287155366, 1268604.2663938487, 1269434.6350869304, -1873.64336202578, -928.6911338496969, 1670.9241703313546))
COPPER = (0.012382, 3.61, 9, 6, 39.432)  # Sutton, Chen, Phil. Mag. Lett. 61, 139 (1990)
STILL = ["system.units=metal", "system.temperature=0", "run.backend=cpu", "run.steps=0", "run.timestep=0.002", "output.existing=overwrite", "output.name=e"]


def setfl(folder, name, elements, n_r=4001, n_rho=4001, cutoff=6.5, form="setfl", sink=0):
    """A file of Sutton-Chen functions that go smoothly to zero: elements {name: (mass, epsilon, a, c, weight)}; the density that an atom makes
    goes with its weight, and with form = fs also with that of the other, less `sink` of the factor that takes it to zero."""
    r, rho_max = np.arange(n_r) * cutoff / (n_r - 1), 600.0
    rho = np.arange(n_rho) * rho_max / (n_rho - 1)
    near = np.maximum(r, 0.6)
    smooth = np.where(r < cutoff, (1 - np.minimum(r / cutoff, 1)**4)**3, 0)
    names, lines = list(elements), ["one", "two UNITS: metal", "three"]

    def values(numbers):
        return ["".join(f"{x:24.16e}" for x in numbers[k:k + 5]) for k in range(0, len(numbers), 5)]

    lines += [f"{len(names)} {' '.join(names)}", f"{n_rho} {rho[1]:.17g} {n_r} {r[1]:.17g} {cutoff}"]
    for b, (mass, epsilon, a, c, weight) in elements.items():
        lines += [f"1 {mass} {a} fcc", *values(-epsilon * c * np.sqrt(rho))]
        for of in names if form == "fs" else [None]:
            other = elements[of][4] if of else 1
            lines += values(weight * other * ((a / near)**6 - sink) * smooth)
    for i, one in enumerate(names):
        for two in names[:i + 1]:
            (_, e1, a1, *_), (_, e2, a2, *_) = elements[one], elements[two]
            lines += values(r * np.sqrt(e1 * e2) * ((a1 + a2) / 2 / near)**9 * smooth)
    (Path(folder) / name).write_text("\n".join(lines) + "\n")
    return Path(folder) / name


ALLOY = {"Cu": (63.546, 0.0124, 3.61, 39.4, 1.0), "Ni": (58.693, 0.0157, 3.52, 38.0, 1.7)}


def start(folder, length=14.28, scale=0.12):
    """256 atoms of copper and nickel near the sites of a crystal."""
    random = np.random.default_rng(11)
    cell = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
    sites = np.concatenate([cell + (x, y, z) for x in range(4) for y in range(4) for z in range(4)]) * length / 4
    position = np.round((sites + random.normal(scale=scale, size=sites.shape)) % length, 10)
    species = np.where(random.random(256) < 0.4, "Ni", "Cu")
    species[0] = "Cu"
    write(folder, "start", position, species, length)
    return position, species, length


def write(folder, name, position, species, length):
    rows = "".join(f"{s} {x:.10f} {y:.10f} {z:.10f}\n" for s, (x, y, z) in zip(species, position))
    (Path(folder) / f"{name}.xyz").write_text(f'{len(species)}\nLattice="{length} 0 0 0 {length} 0 0 0 {length}" Properties=species:S:1:pos:R:3 pbc="T T T"\n{rows}')


def still(folder, xyz, potential, *words):
    """Row of the thermo table and forces (eV/angstrom) of a configuration at rest; None: the run failed."""
    done = program.run(xyz, "potential.form=eam", f"potential.file={potential}", *STILL, "run.precision=double", "analysis.pressure=tensor", "output.frames_every=1",
                       "output.forces_every=1", "output.precision=double", *words, folder=folder, name="e")
    if done.code:
        return done.last_lines(), None
    with h5py.File(Path(folder) / "e.h5") as file:
        force = file["particles/all/force/value"][0] / KJ
    return {name: column[0] for name, column in done.json()["thermo"].items()}, force


def test_lammps(checks, folder):
    if not POTENTIALS.is_dir():
        print(f"test_lammps: not run: there is no {POTENTIALS} (Debian: lammps-data)")
        return
    for (xyz, file), (energy, tensor, largest, atom, first) in LAMMPS.items():
        row, force = still(folder, Path(__file__).with_name(f"{xyz}.xyz"), POTENTIALS / file)
        if not checks.that(force is not None, f"{xyz}, {file}: {row}"):
            continue
        checks.near(row["potential_energy"], energy, 1e-10 * abs(energy), f"{xyz}, {file}: energy")
        for name, right in zip(("xx", "yy", "zz", "xy", "xz", "yz"), tensor):
            checks.near(row[f"pressure_{name}"], right * BAR, max(1e-6, 1e-10 * abs(right)), f"{xyz}, {file}: {name}")
        norm = np.linalg.norm(force, axis=1)
        checks.near(norm.max(), largest, 1e-11 * largest, f"{xyz}, {file}: largest force")
        checks.that(norm.argmax() + 1 == atom, f"{xyz}, {file}: atom {norm.argmax() + 1}")
        for axis in range(3):
            checks.near(force[0][axis], first[axis], 1e-11 * largest, f"{xyz}, {file}: force {axis} of atom 1")
        for precision in ("mixed", "single"):
            row, force = still(folder, Path(__file__).with_name(f"{xyz}.xyz"), POTENTIALS / file, f"run.precision={precision}")
            checks.that(force is not None and abs(row["potential_energy"] - energy) < 3e-6, f"{xyz}, {file}, {precision}: {row}")
    row, force = still(folder, Path(__file__).with_name("cu-squeezed.xyz"), POTENTIALS / "Cu_mishin1.eam.alloy")
    if checks.that(force is not None, f"squeezed: {row}"):
        checks.near(row["potential_energy"], SQUEEZED[0], 1e-10 * abs(SQUEEZED[0]), "squeezed: energy")
        for name, right in zip(("xx", "yy", "zz", "xy", "xz", "yz"), SQUEEZED[1]):
            checks.near(row[f"pressure_{name}"], right * BAR, max(1e-6, 1e-10 * abs(right)), f"squeezed: {name}")


def test_gradient(checks, folder):
    """Forces of an alloy whose elements make unlike densities are the derivatives of its energies; so is those of fs, where the density depends
    on both elements. Their sum is zero."""
    position, species, length = start(folder)
    for form in ("setfl", "fs"):
        file = setfl(folder, f"alloy.{form}", ALLOY, form=form)
        row, force = still(folder, Path(folder) / "start.xyz", file)
        if not checks.that(force is not None, f"{form}: {row}"):
            continue
        checks.that(np.abs(force.sum(axis=0)).max() < 1e-10, f"{form}: forces add up to {force.sum(axis=0)}")
        for atom, axis in ((0, 0), (17, 1), (101, 2), (200, 0)):
            ends = []
            for side in (-1, 1):
                moved = position.copy()
                moved[atom, axis] += side * 1e-4
                write(folder, "moved", moved, species, length)
                ends.append(still(folder, Path(folder) / "moved.xyz", file)[0]["potential_energy"] * 256)
            checks.near(-(ends[1] - ends[0]) / 2e-4, force[atom, axis], 3e-6 * np.abs(force).max(), f"{form}, atom {atom}")


def test_motion(checks, folder):
    """Verified runs in every precision and order of memory; bits over threads and ranks; a resumed run."""
    file = setfl(folder, "alloy.setfl", ALLOY, cutoff=5.0)
    words = {"system": {"start": "fcc", "cells": 7, "density": 4 / 3.57**3, "temperature": 1600, "units": "metal", "types": 2, "fractions": "0.6 0.4", "seed": 5},
             "potential": {"form": "eam", "file": file.name, "elements": "Cu Ni"}, "run": {"backend": "cpu", "steps": 60, "timestep": 0.002},
             "output": {"existing": "overwrite", "thermo_every": 10, "frames_every": 20, "velocities_every": 20, "progress": "off", "precision": "double"}}
    deck = program.write_deck(Path(folder), "m", **words).name
    frames = {}
    for more in (["run.threads=1"], ["run.threads=2"], ["force.energy=every-step"], ["memory.layout=soa"], ["memory.layout=aos"], ["memory.sort=hilbert"], ["run.precision=double"],
                 ["run.precision=single"], ["memory.allocation=per-call"], ["analysis.pressure=tensor"], ["ensemble.thermostat=csvr", "ensemble.target=900", "ensemble.relaxation=0.1"]):
        done = program.run(deck, *more, folder=folder)
        checks.that(done.code == 0, f"{more}: {done.last_lines()}")
        with h5py.File(Path(folder) / "m.h5") as h5:
            frames[" ".join(more)] = h5["particles/all/position/value"][-1]
    for more in ("run.threads=2", "force.energy=every-step", "analysis.pressure=tensor"):
        checks.that(np.array_equal(frames["run.threads=1"], frames[more]), f"{more} changes the motion")
    sums = ["reduce.accumulate=reproducible", "restart.every=20"]
    checks.that(program.run(deck, *sums, folder=folder).code == 0, "one process")
    for ending in ("h5", "restart"):
        (Path(folder) / f"m.{ending}").rename(Path(folder) / f"whole.{ending}")
    if why := ranks.why_not():
        print(f"over ranks: not run: {why}")
    else:
        for grid in ("2 1 1", "1 2 2"):
            done = ranks.run(int(np.prod([int(word) for word in grid.split()])), deck, *sums, f"parallel.grid={grid}", "run.threads=1", folder=folder)
            found = done.code or ranks.differences(Path(folder) / "whole.h5", Path(folder) / "m.h5", energies=1e-12)
            checks.that(not found, f"{grid}: {found or done.last_lines()}")
    program.run(deck, *sums, "run.steps=40", folder=folder)
    done = program.run("--restart", "m.restart", "run.steps=60", folder=folder, name="m")
    checks.that(done.code == 0 and not restart_file.difference(Path(folder) / "whole.restart", Path(folder) / "m.restart"), f"resumed: {done.last_lines()}")
    file.rename(Path(folder) / "moved.setfl")
    done = program.run("--restart", "m.restart", "run.steps=70", "potential.file=moved.setfl", folder=folder, name="m")
    checks.that(done.code == 0, f"the potential file elsewhere: {done.last_lines()}")
    setfl(folder, "moved.setfl", {**ALLOY, "Cu": (63.546, 0.0125, 3.61, 39.4, 1.0)}, cutoff=5.0)
    done = program.run("--restart", "m.restart", "run.steps=80", folder=folder, name="m")
    checks.that(done.code == 2 and "potential" in done.stderr, f"another potential file: {done.code} {done.stderr}")


def test_refusals(checks, folder):
    file = setfl(folder, "alloy.setfl", ALLOY, n_r=501, n_rho=501)
    start(folder)
    xyz = Path(folder) / "start.xyz"
    given = ["potential.form=eam", f"potential.file={file}", *STILL]
    for words, says in ((["potential.form=eam", *STILL], "eam needs a potential file"),
                        ([*given, "system.units=lj"], "lj, but potential files are in angstrom and eV: take metal"),
                        ([*given, "potential.file=missing.eam"], "missing.eam"),
                        ([*given, "potential.elements=Cu"], "1 elements; there are 2 types"),
                        ([*given, "potential.elements=Cu Ag"], "Ag"),
                        ([*given, "potential.cutoff=4"], "potential.cutoff: has no effect"),
                        ([*given, "potential.shift=force"], "potential.shift: has no effect"),
                        ([*given, "potential.pairs=1 1 2 3"], "potential.pairs: has no effect"),
                        ([*given, "force.kernel=cell"], "force.kernel: cell does not run with potential.form = eam; take list"),
                        ([*given, "run.backend=cuda"], "only the cpu backend has it"),
                        (["potential.file=alloy.setfl", "run.backend=cpu"], "potential.file: has no effect")):
        done = program.run(xyz, *words, folder=folder)
        checks.that(done.code == 2 and says in re.sub(r"\s+", " ", done.stderr) and "argon" not in done.stderr, f"{words}: {done.code} {done.stderr}")
    text = file.read_text().replace(" Ni", " Xx", 1)
    (Path(folder) / "other.setfl").write_text(text)
    done = program.run(xyz, *given, "potential.file=other.setfl", folder=folder)
    checks.that(done.code == 2 and "Xx" in done.stderr, f"an element that the file lacks: {done.stderr}")
    done = program.run(xyz, *given, f"output.name={file.stem}", "restart.file=alloy.setfl", folder=folder)
    checks.that(done.code == 2 and "potential.file" in done.stderr and file.read_text().startswith("one"), f"an output of that name: {done.stderr}")


def test_density_below_zero(checks, folder):
    """A far pair whose densities are below zero, one alone, and one with more around it: F goes on in its first piece, as the reference has it."""
    file = setfl(folder, "sink.setfl", ALLOY, n_rho=12001, sink=2)
    for name, position in (("far", [[5, 5, 5], [10, 5, 5]]), ("alone", [[5, 5, 5], [17, 5, 5]]), ("near", [[5, 5, 5], [10, 5, 5], [7, 7, 5], [5, 5, 8]])):
        write(folder, name, np.array(position, float), ["Cu", "Ni", "Cu", "Ni"][:len(position)], 24.0)
        for precision in ("double", "mixed", "single"):
            row, force = still(folder, Path(folder) / f"{name}.xyz", file, f"run.precision={precision}")
            checks.that(force is not None, f"{name}, {precision}: {row}")


def test_names_and_masses(checks, folder):
    """A crystal has the first element of the file, its name and its mass; a deck's mass wins."""
    file = setfl(folder, "alloy.setfl", ALLOY, n_r=501, n_rho=501)
    words = ["potential.form=eam", f"potential.file={file}", "system.units=metal", "system.density=0.085", "system.cells=4", "system.temperature=300", "run.backend=cpu", "run.steps=2",
             "run.timestep=0.002", "output.existing=overwrite", "output.xyz_every=2"]
    deck = program.write_deck(Path(folder), "n", system={"start": "fcc"}).name
    done = program.run(deck, *words, folder=folder)
    checks.that(done.code == 0 and "Cu 63.546 amu" in done.stdout and "\nCu " in (Path(folder) / "n.xyz").read_text(), f"{done.last_lines()}")
    done = program.run(deck, *words, "potential.elements=Ni", folder=folder)
    checks.that(done.code == 0 and "Ni 58.693 amu" in done.stdout and "\nNi " in (Path(folder) / "n.xyz").read_text(), f"{done.last_lines()}")


def main():
    checks = program.Checks()
    checks.run(test_lammps, test_gradient, test_motion, test_refusals, test_density_below_zero, test_names_and_masses)
    checks.finish()


if __name__ == "__main__":
    main()
