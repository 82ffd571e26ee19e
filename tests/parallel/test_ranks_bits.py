"""Runs over several ranks have the bits of one process: positions, velocities, images, forces, species, in every grid of domains
that fits, with every switch that runs over ranks. Each grid and each value of a switch has its turn, not all combinations.

MDMINI_TEST_ONLY: the name of one case."""
import math
import os
from pathlib import Path

import program
import ranks

OUTPUT = {"frames_every": 50, "velocities_every": 50, "images_every": 50, "forces_every": 50, "thermo_every": 50,
          "precision": "double", "progress": "off", "existing": "overwrite"}
# A crystal that melts: 13.4 sigma, of which domains may be a quarter along each axis.
MELT = {"system": {"start": "fcc", "cells": 8, "density": 0.8442, "temperature": 1.44, "seed": 87287},
        "potential": {"cutoff": 2.5}, "neighbor": {"skin": 0.3}, "run": {"steps": 100, "backend": "cpu"}}
# A drop at rest in the vacuum, warm enough to lose atoms.
DROP = {**MELT, "system": {**MELT["system"], "cells": 6, "boundary": "open"}}
SLAB = {**MELT, "system": {**MELT["system"], "cells": "6 6 8", "boundary": "periodic open periodic"}}
PLANE = {**MELT, "system": {"dimension": 2, "start": "hexagonal", "cells": "24 12", "density": 0.8, "temperature": 1.44}}
HEATED = {**MELT, "ensemble": {"thermostat": "rescale", "target": "1 1.6", "every": 3}}
NOISY = {**MELT, "ensemble": {"thermostat": "csvr", "relaxation": 0.1, "target": "1 1.6", "every": 3}}
KICKED = {**MELT, "ensemble": {"thermostat": "langevin", "friction": 5, "target": "1 1.6"}}
REPRODUCIBLE = "reduce.accumulate=reproducible"
TWO = {"types": 2, "fractions": "0.7 0.3", "masses": "1 2"}
THREE = {"types": 3, "fractions": "0.5 0.3 0.2", "masses": "1 0.5 3"}
PAIRS = {2: {"epsilon": "1 0.5", "sigma": "1 0.88"}, 3: {"epsilon": "1 0.5 1.2", "sigma": "1 0.88 0.95"}}

# Name, system, more of it, switches, grids. Of the melt all grids of 2, 3, 4, 6 and 8 domains are here.
CASES = (
    ("default", MELT, {}, "", ("2 1 1", "1 2 1", "1 1 2", "2 2 2")),
    ("every", MELT, {}, "run.precision=double neighbor.rebuild=every neighbor.every=5 memory.sort=morton "
                        "memory.layout=soa launch.fuse=off", ("3 1 1", "1 3 1", "4 2 1")),
    ("host", MELT, {}, "run.precision=single neighbor.rebuild=host-check neighbor.predict=off memory.sort=hilbert "
                       "memory.layout=aos memory.allocation=per-call", ("1 1 3", "4 1 1", "1 2 4")),
    ("device", MELT, {}, "run.precision=double neighbor.predict=off memory.layout=vec4 force.energy=every-step "
                         "force.cutoff_test=branch", ("1 4 1", "2 2 1", "2 4 1")),
    ("single", MELT, {}, "run.precision=single memory.layout=soa neighbor.rebuild=host-check neighbor.predict=velocity "
                         "force.arithmetic=fast", ("1 1 4", "2 1 2", "1 4 2")),
    ("compensated", MELT, {}, "reduce.accumulate=compensated memory.layout=aos memory.sort=hilbert launch.fuse=off "
                              "output.pipeline=off", ("1 2 2", "2 1 3", "2 1 4")),
    ("two", MELT, TWO, "run.precision=mixed memory.sort=morton memory.layout=soa", ("3 2 1", "1 3 2", "4 1 2")),
    ("three", MELT, THREE, "run.precision=double memory.layout=aos memory.allocation=per-call "
                           "force.energy=every-step", ("2 3 1", "3 1 2", "1 2 3")),
    # velocities follow from sums, which are the same for any grid
    ("thermostat", HEATED, {}, "reduce.accumulate=reproducible", ("2 1 1", "1 1 3", "2 2 2")),
    ("thermostat2", HEATED, TWO, "reduce.accumulate=reproducible run.precision=double memory.layout=soa launch.fuse=off run.threads=2",
     ("1 4 1", "3 1 2")),
    ("csvr", NOISY, {}, "reduce.accumulate=reproducible", ("2 1 1", "1 2 2")),
    ("chain", {**NOISY, "ensemble": {**NOISY["ensemble"], "thermostat": "nose-hoover", "relaxation": 0.2}}, {}, "reduce.accumulate=reproducible", ("2 1 1", "1 2 2")),
    ("langevin", KICKED, TWO, "reduce.accumulate=reproducible", ("2 1 1", "1 2 2")),
    ("langevin2", KICKED, {}, "run.precision=double ensemble.target=1", ("4 1 1",)),
    ("narrow", MELT, {}, "neighbor.capacity=40 reduce.accumulate=single run.threads=2", ("2 2 1",)),
    ("drop", DROP, {}, "neighbor.rebuild=every neighbor.every=4", ("2 1 1", "2 2 2")),
    ("drop2", DROP, TWO, "run.precision=double neighbor.predict=velocity", ("3 1 2",)),
    ("slab", SLAB, {}, "run.precision=single memory.sort=cell", ("1 4 1", "2 3 1")),
    ("plane", PLANE, {}, "", ("4 2 1", "8 1 1")),
    ("plane3", PLANE, THREE, "run.precision=double memory.layout=soa neighbor.rebuild=host-check", ("1 3 1",)),
    ("sheet", PLANE, {"boundary": "open"}, "run.precision=single memory.layout=aos", ("2 2 1",)),
)


def write_case(folder, name, system, more):
    content = {section: dict(keys) for section, keys in system.items()}
    content["system"].update(more)
    content["potential"].update(PAIRS.get(content["system"].get("types"), {}))
    return program.write_deck(folder, name, **content, output=OUTPUT).name


def n_domains(grid):
    x, y, z = map(int, grid.split())
    return x * y * z


def compare(checks, folder, deck, switches, grid, whole, energies, **environment):
    n = n_domains(grid)
    done = ranks.run(n, deck, *switches, f"parallel.grid={grid}", "output.name=ranks", folder=folder, name="ranks", **environment)
    what = f"{deck} {' '.join(switches)} parallel.grid='{grid}'"
    if not checks.that(done.code == 0, f"{what}: exit code {done.code}, {done.last_lines()}"):
        return
    for figure in ("verdict", "n_rebuilds", "n_late_rebuilds", "neighbors_per_atom", "counters"):
        one, other = whole.json().get(figure), done.json().get(figure)
        checks.that(other == one or isinstance(one, float) and math.isclose(other, one, rel_tol=1e-12),
                    f"{what}: {figure} {other}, one process {one}")
    pairs = list(zip(whole.json()["checks"], done.json()["checks"]))
    checks.that(len(pairs) == len(whole.json()["checks"]) > 8, f"{what}: {len(pairs)} checks")
    for one, other in pairs:  # sums in another order; the limit of the energy's change has the rounding that was found, in it
        near = 1e-2 if one["name"].startswith("conserved energy") else 1e-4
        checks.that(one["name"] == other["name"] and math.isclose(one["limit"], other["limit"], rel_tol=near),
                    f"{what}: {other['name']} of {other['limit']}, one process {one['limit']}")
    different = ranks.differences(whole.path("h5"), done.path("h5"), energies)
    checks.that(not different, f"{what}: {'; '.join(different)}")
    announced, held = (done.json()[f"memory_{word}device_bytes"] for word in ("announced_", ""))
    checks.that(held <= 1.1 * announced, f"{what}: {held} bytes held on the GPU, {announced} announced")


def check_grids(checks, folder, deck, switches, grids, words_of=lambda grid: ([], {})):
    """A run of one process, which passes, and those of these grids. Returns the first; None: it failed. words_of: for runs over
    ranks alone, and their environment."""
    whole = program.run(deck, *switches, "output.name=whole", folder=folder, name="whole")
    if not checks.that(whole.code == 0 and whole.json()["verdict"] == "PASSED", f"{deck}: {whole.last_lines()}"):
        return None
    energies = 0 if REPRODUCIBLE in switches else 1e-12 if "run.precision=double" in switches else None
    for grid in grids:
        words, environment = words_of(grid)
        compare(checks, folder, deck, [*switches, *words], grid, whole, energies, **environment)
    return whole


def run_case(checks, folder, name, system, more, switches, grids):
    whole = check_grids(checks, folder, write_case(folder, name, system, more), switches.split(), grids)
    checks.that(not whole or whole.json()["n_rebuilds"] > 3, f"{name}: {whole and whole.json()['n_rebuilds']} rebuilds")


def same_grid_twice(checks, folder):
    """Rows in ascending order of their entries depend on where copies stand: the bits are those of the same grid."""
    deck = write_case(folder, "sorted", MELT, TWO)
    for name in ("once", "again"):
        done = ranks.run(3, deck, "neighbor.sorted=on", "parallel.grid=1 3 1", f"output.name={name}", folder=folder, name=name)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{deck}: {done.last_lines()}")
    different = ranks.differences(folder / "once.h5", folder / "again.h5", 0)
    checks.that(not different, f"neighbor.sorted=on, twice: {'; '.join(different)}")


def main():
    ranks.require()
    checks, only = program.Checks(), os.environ.get("MDMINI_TEST_ONLY")
    for name, *case in CASES:
        if only not in (None, name):
            continue
        with program.temporary_folder() as folder:
            run_case(checks, Path(folder), name, *case)
    if only in (None, "sorted"):
        with program.temporary_folder() as folder:
            same_grid_twice(checks, Path(folder))
    checks.finish()


if __name__ == "__main__":
    main()
