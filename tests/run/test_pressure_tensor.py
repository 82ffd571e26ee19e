"""analysis.pressure = tensor: components against sums by all pairs in numpy over a frame, in two and three dimensions, of mixtures and of a
sheared crystal; trace and scalar; files, averages, restarts and ranks.

MDMINI_TEST_ variables as in support/resuming.py."""
import csv
import json

import h5py
import numpy as np

import h5check
import program
import ranks
from resuming import BACKEND, deck, resume, run_tests, same_end

NAMES = ("xx", "yy", "zz", "xy", "xz", "yz")
AXES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
TENSOR = "analysis.pressure=tensor"
LJ = {"epsilon": [1.0], "sigma": [1.0], "cutoff": 2.5}
TWO = {"types": 2, "fractions": "0.6 0.4", "masses": "1 2.5"}
# Every force kernel, sum and precision; the second word: relative to the sums of sizes.
WAYS = {"cpu": ([], ["run.precision=double"], ["run.precision=single", "force.kernel=cell"], ["force.cutoff_test=branch", "run.precision=double"],
                ["force.cutoff_test=branch", "force.kernel=cell"], ["neighbor.list=half", "memory.layout=soa"], ["force.kernel=pairs", "run.precision=double"],
                ["force.kernel=pairs", "force.cutoff_test=branch"], ["reduce.accumulate=reproducible"], ["reduce.accumulate=compensated", "memory.layout=aos"],
                ["force.energy=every-step", "launch.fuse=off"]),
        "cuda": ([], ["run.precision=double"], ["force.kernel=list", "run.precision=single"], ["force.kernel=list", "neighbor.list=half", "memory.sort=none"],
                 ["force.kernel=list-split", "force.partial_sums=shared"], ["force.kernel=list-split", "force.partial_sums=atomic"],
                 ["force.kernel=cluster", "run.precision=double"], ["force.kernel=cluster", "reduce.accumulate=reproducible"], ["force.kernel=cell"],
                 ["force.kernel=pairs", "run.precision=double"], ["force.kernel=pairs-tiled", "force.cutoff_test=branch"],
                 ["force.kernel=brick", "force.threads_per_atom=4", "reduce.accumulate=reproducible"], ["force.kernel=brick", "reduce.finish=host"],
                 ["force.kernel=list", "reduce.finish=atomic", "reduce.method=shared"], ["launch.persistent=on"],
                 ["launch.persistent=off", "launch.fuse=step", "launch.passes=queue", "neighbor.rebuild=every", "force.kernel=brick"])}


def pressure_of(position, velocity, mass, kind, length, dimension, of_pairs):
    """The tensor [3][3], by all pairs, and the sum of the sizes of its terms over volume and dimension. of_pairs: {(kinds): (epsilon, sigma)}."""
    i, j = np.triu_indices(len(position), 1)
    d = position[i] - position[j]
    d -= np.where(length > 0, length, 1) * np.rint(d / np.where(length > 0, length, np.inf))
    r_sq = (d**2).sum(axis=1)
    i, j, d, r_sq = (values[r_sq < of_pairs["cutoff"]**2] for values in (i, j, d, r_sq))
    epsilon = np.sqrt(np.array(of_pairs["epsilon"])[kind[i]] * np.array(of_pairs["epsilon"])[kind[j]])
    sigma = (np.array(of_pairs["sigma"])[kind[i]] + np.array(of_pairs["sigma"])[kind[j]]) / 2
    six = (sigma**2 / r_sq)**3
    over_r = 24 * epsilon * (2 * six**2 - six) / r_sq
    size = 24 * epsilon * (2 * six**2 + six)
    tensor = np.einsum("p,pa,pb->ab", over_r, d, d) + np.einsum("i,ia,ib->ab", mass, velocity, velocity)
    volume = np.prod(length[:dimension])
    return tensor / volume, (size.sum() + (mass[:, None] * velocity**2).sum()) / volume


def tensor_of(row):
    """Of a row of a table by keys."""
    found = np.zeros((3, 3))
    for name, (a, b) in zip(NAMES, AXES):
        found[a, b] = found[b, a] = row.get(f"pressure_{name}") or 0
    return found


def check_frames(checks, done, what, dimension, masses=(1,), of_pairs=LJ):
    """Each frame by all pairs; NAME.h5, NAME.csv and NAME.json have the same numbers."""
    if not checks.that(done.code == 0, f"{what}: {done.last_lines()}"):
        return
    thermo = done.json()["thermo"]
    names = [name for name, axes in zip(NAMES, AXES) if max(axes) < dimension]
    checks.that([key for key in thermo if key.startswith("pressure_")] == [f"pressure_{name}" for name in names], f"{what}: {list(thermo)}")
    with open(done.path("csv"), newline="") as file:
        table = list(csv.DictReader(file))
    for name in names:
        unit = f"epsilon/sigma^{dimension}"
        checks.that([float(row[f"pressure {name} ({unit})"]) for row in table] == thermo[f"pressure_{name}"], f"{what}: NAME.csv, {name}")
    single = done.json()["precision"] != "double"
    with done.h5() as h5:
        particles, observables = h5["particles/all"], h5["observables"]
        kind = np.asarray(particles["species"]) - np.min(particles["species"])
        length = np.diag(particles["box/edges/value"][0])
        checks.that(observables["pressure_tensor/value"].shape[1:] == (3, 3), f"{what}: {observables['pressure_tensor/value'].shape}")
        for k, step in enumerate(particles["position/step"]):
            row = {key: column[thermo["step"].index(step)] for key, column in thermo.items()}
            right, size = pressure_of(particles["position/value"][k].astype(float), particles["velocity/value"][k].astype(float),
                                      np.array(masses)[kind], kind, length, dimension, of_pairs)
            found, stored = tensor_of(row), observables["pressure_tensor/value"][k]
            off, room = np.abs(found - right).max(), (2e-6 if single else 1e-12) * size
            checks.that(off < room, f"{what}, step {step}: {found.tolist()}, all pairs {right.tolist()}, off by {off:.2g} of {room:.2g}")
            checks.that((stored == found).all() and observables["pressure_tensor/step"][k] == step, f"{what}, step {step}: NAME.h5 {stored.tolist()}")
            off = abs(np.trace(found) / dimension - row["pressure"])
            checks.that(off < room / 10, f"{what}, step {step}: trace {np.trace(found) / dimension!r}, scalar {row['pressure']!r}")
    checks.that(not h5check.check(done.path("h5")), f"{what}: {h5check.check(done.path('h5'))}")
    named = [check["name"] for check in done.json()["checks"] if "tensor" in check["name"]]
    checks.that(len(named) == (6 if thermo["step"][-1] else 3) and done.json()["verdict"] == "PASSED", f"{what}: checks {named}")


EVERY_FRAME = {"frames_every": 20, "thermo_every": 10, "velocities_every": 20, "images_every": 0, "precision": "double", "existing": "overwrite"}


def test_kernels(checks, folder):
    """A melting crystal by each way; in two dimensions and of two types by some."""
    small = deck(folder, "m", potential={"cutoff": 2.2, "shift": "energy"}, run={"steps": 40}, output=EVERY_FRAME, restart={"every": 0})
    flat = deck(folder, "flat", system={"dimension": 2, "start": "hexagonal", "cells": "16 14", "density": 0.8, "temperature": 0.8}, potential={"cutoff": 2.5, "shift": "none"},
                run={"steps": 40}, output=EVERY_FRAME, restart={"every": 0})
    two = deck(folder, "two", system={**TWO, "cells": 5, "density": 0.7}, potential={"cutoff": 2.2, "epsilon": "1 0.7", "sigma": "1 0.9"},
               run={"steps": 40}, output=EVERY_FRAME, restart={"every": 0})
    of_two = {"epsilon": [1, 0.7], "sigma": [1, 0.9], "cutoff": 2.2}
    for k, words in enumerate(WAYS[BACKEND]):
        check_frames(checks, program.run(small, TENSOR, *words, folder=folder), f"{words}", 3, of_pairs={**LJ, "cutoff": 2.2})
        if k % 3 == 0:
            check_frames(checks, program.run(flat, TENSOR, *words, folder=folder), f"2-D, {words}", 2)
        if k % 3 == 1:
            check_frames(checks, program.run(two, TENSOR, *words, folder=folder), f"two types, {words}", 3, (1, 2.5), of_two)


def write_sheared(path, shift=(0.09, 0.06, -0.05)):
    """A crystal of 256 atoms, squeezed along z, every second atom of which is shifted: that strains all its pairs alike."""
    cells, edge = 4, (4 / 0.8442) ** (1 / 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corner = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    place, length = ((corner + basis).reshape(-1, 3) + 0.25) * edge, cells * edge * np.array([1, 1, 0.9])
    place[:, 2] *= 0.9
    place[::2] += shift
    lines = [f"{len(place)}", f'Lattice="{length[0]} 0 0 0 {length[1]} 0 0 0 {length[2]}" Properties=species:S:1:pos:R:3 pbc="T T T"']
    path.write_text("\n".join([*lines, *(f"A {x!r} {y!r} {z!r}" for x, y, z in place.tolist())]) + "\n")


def test_sheared(checks, folder):
    """A strained crystal at rest: off-diagonal components that are far from zero and differ from each other."""
    write_sheared(folder / "s.xyz")
    for precision in ("double", "mixed"):
        done = program.run("s.xyz", f"run.backend={BACKEND}", f"run.precision={precision}", "run.steps=0", "system.temperature=0", "potential.cutoff=2.2",
                           "neighbor.skin=0.2", "output.frames_every=1", "output.velocities_every=1", "output.precision=double", "output.existing=overwrite",
                           "output.name=s", "potential.shift=none", TENSOR, folder=folder)
        check_frames(checks, done, f"sheared, {precision}", 3, of_pairs={**LJ, "cutoff": 2.2})
        row = {key: column[0] for key, column in done.json()["thermo"].items()}
        values = [row[f"pressure_{name}"] for name in NAMES]
        apart = min(abs(a - b) for k, a in enumerate(values) for b in values[:k])
        checks.that(apart > 0.02 and min(map(abs, values)) > 0.05, f"sheared, {precision}: components are too near to each other, or to zero: {values}")


def test_scalar(checks, folder):
    """Without it there is none of it, and the scalar numbers are the same with it: on the cpu to the bit; on a GPU another kernel, whose
    blocks have other sizes, adds up in another order."""
    name, runs = deck(folder, "m", output={"existing": "overwrite"}), []
    for words in ([], [TENSOR]):
        done = program.run(name, *words, folder=folder)
        with done.h5() as h5:
            checks.that(("pressure_tensor" in h5["observables"]) == bool(words), f"{words}: {list(h5['observables'])}")
        runs.append(done.json())
        checks.that(any("pressure_xy" in key for key in json.dumps(runs[-1]).split('"')) == bool(words), f"{words}: NAME.json")
        checks.that(("pressure xy" in done.stdout) == bool(words), f"{words}: the log")
    plain, tensor = runs
    for key in plain["thermo"]:
        for one, other in zip(plain["thermo"][key], tensor["thermo"][key]):
            checks.near(one, other, 0 if BACKEND == "cpu" else 1e-7 * max(1, abs(other)), f"{key} with the tensor")


def test_averages(checks, folder):
    done = program.run(deck(folder, "m", run={"steps": 400}, output={"frames_every": 0, "velocities_every": 0, "images_every": 0}), TENSOR, folder=folder)
    thermo, averages = done.json()["thermo"], done.json()["averages"]
    half = [k for k, step in enumerate(thermo["step"]) if step >= 200]
    for name in NAMES:
        mean = np.mean([thermo[f"pressure_{name}"][k] for k in half])
        checks.near(averages[f"pressure_{name}"]["mean"], mean, 1e-12, f"mean of {name}")
        checks.that(f"pressure {name}" in done.stdout, f"{name} is not in the log")
    checks.near(sum(averages[f"pressure_{name}"]["mean"] for name in NAMES[:3]) / 3, averages["pressure"]["mean"], 1e-6, "trace of the means")


def test_restart(checks, folder):
    """Stopped and gone on, to the bit; rows of before stay; a scalar run goes on as one with the tensor, but not in its trajectory."""
    whole = program.run(deck(folder, "whole"), TENSOR, folder=folder)
    checks.that(whole.code == 0, whole.last_lines())
    first = program.run(deck(folder, "part", run={"steps": 40}), TENSOR, folder=folder)
    done = resume(folder, "part", "run.steps=60")
    checks.that(first.code == 0 and done.code == 0, done.last_lines())
    same_end(checks, folder, "whole", "part", "gone on")
    plain = program.run(deck(folder, "plain", run={"steps": 40}), folder=folder)
    done = resume(folder, "plain", "run.steps=60", TENSOR)
    checks.that(plain.code == 0 and done.code == 2 and "analysis.pressure cannot change within a file" in done.stderr, f"{done.code}: {done.stderr[-500:]}")
    done = resume(folder, "plain", "run.steps=60", TENSOR, "output.frames_every=0", "output.velocities_every=0", "output.images_every=0")
    column = done.json()["thermo"]["pressure_xy"] if done.code == 0 else []
    right = whole.json()["thermo"]["pressure_xy"]
    checks.that(len(column) == len(right) and column[:9] == [None] * 9, f"{done.code}: {column}")
    for one, other in zip(column[9:], right[9:]):
        checks.near(one, other, 0 if BACKEND == "cpu" else 1e-7, "xy of the run that went on")


def test_open(checks, folder):
    """An open box has no volume."""
    done = program.run(deck(folder, "m"), TENSOR, "system.boundary=open", folder=folder)
    checks.that(done.code == 2 and "analysis.pressure: a pressure needs the volume of the whole box" in done.stderr, f"{done.code}: {done.stderr}")


def test_units(checks, folder):
    """In metal units the components are in bar, as the pressure is."""
    words = ("system.units=metal", "system.density=0.0214", "potential.epsilon=0.0104", "potential.sigma=3.4", "potential.cutoff=7.5", "neighbor.skin=0.7",
             "system.masses=39.948", "system.temperature=120", "run.timestep=0.01")
    done = program.run(deck(folder, "m", neighbor={"skin": None}, potential={"cutoff": None}, system={"density": None, "temperature": None}), TENSOR, *words, folder=folder)
    if not checks.that(done.code == 0, done.last_lines()):
        return
    row, units = done.json(), done.json()["units"]
    checks.that(abs(sum(row[f"pressure_{name}"] for name in NAMES[:3]) / 3 - row["pressure"]) < 1e-4 * abs(row["pressure"]), f"{row['pressure']}")
    checks.that(all(units[f"pressure_{name}"] == "bar" for name in NAMES), f"{units}")
    checks.that("pressure xy (bar)" in done.path("csv").read_text().splitlines()[0], "the head of NAME.csv")
    with done.h5() as h5:
        checks.that(h5["observables/pressure_tensor/value"].attrs["unit"] == "bar", "the unit in NAME.h5")
        checks.near(h5["observables/pressure_tensor/value"][-1][0][1], row["pressure_xy"], 1e-9 * abs(row["pressure_xy"]), "NAME.h5")


def test_ranks(checks, folder):
    """The bits of one process with reproducible sums, on grids of domains."""
    if ranks.why_not():
        print(f"not run: several processes: {ranks.why_not()}")
        return
    switches = {"cpu": [], "cuda": ["force.kernel=brick", "memory.sort=brick", "memory.brick_grid=cells", "memory.brick_cells=2", "force.threads_per_atom=2",
                                    "neighbor.distances=thread", "launch.fuse=step", "launch.passes=kernels", "launch.persistent=off"]}[BACKEND]
    melt = deck(folder, "m", system={"cells": 8}, potential={"cutoff": 2.5}, neighbor={"skin": 0.3}, run={"threads": None},
                output={"existing": "overwrite"})
    rows = []
    for n, grid in ((1, "1 1 1"), (2, "2 1 1"), (4, "1 2 2")):
        words = [melt, TENSOR, "reduce.accumulate=reproducible", *switches, *([f"parallel.grid={grid}"] if n > 1 else [])]
        words += ["parallel.transport=staged"] * (BACKEND == "cuda" and n > 1)
        done = ranks.run(n, *words, folder=folder, name="m") if n > 1 else program.run(*words, folder=folder)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{n} ranks: {done.last_lines()}")
        rows.append(done.json()["thermo"])
    for n, row in zip((2, 4), rows[1:]):
        for name in ("pressure", *(f"pressure_{name}" for name in NAMES)):
            checks.that(row[name] == rows[0][name], f"{n} ranks: {name} differs")


run_tests(test_kernels, test_sheared, test_scalar, test_averages, test_restart, test_open, test_units, test_ranks)
