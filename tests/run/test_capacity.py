"""Runs whose lists and bricks must get more room on the way: a gas that condenses, a slab that evaporates, a crowded droplet
that explodes in a large periodic box and in the open. Each with the list and, where the backend has them, with bricks: PASSED
at the end, nothing missed, and the same energies while chaos has not yet parted them.

MDMINI_TEST_BACKENDS; MDMINI_TEST_SCALE: how many times as many atoms, about (1); MDMINI_TEST_STEPS: times as many steps (1)."""
import json
import os
from pathlib import Path

import numpy

import program

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
SCALE = float(os.environ.get("MDMINI_TEST_SCALE", "1"))
LONGER = int(os.environ.get("MDMINI_TEST_STEPS", "1"))
SAME_STEPS = 20  # rounding of 1e-7 grows by e some three times in 0.1 tau: nothing that 1e-4 would see


def edge(n):
    """Atoms along an edge, of a number that grows with the scale."""
    return max(2, round(n * SCALE ** (1 / 3)))


def cube(n, spacing):
    """n[0] n[1] n[2] places, somewhat shaken."""
    places = numpy.stack(numpy.meshgrid(*(numpy.arange(k) for k in n), indexing="ij"), -1).reshape(-1, 3)
    return (places + 0.5 + numpy.random.default_rng(7).uniform(-0.05, 0.05, places.shape)) * spacing


def write_places(folder, name, places):
    numpy.savetxt(folder / f"{name}.dat", places, fmt="%.9f")
    return {"start": "file", "file": f"{name}.dat"}


def cases(folder):
    """Name, sections of the deck, whether room must have been added on the way. (What the first list of the crowded ones needs
    is added before the loop, where overflows are not counted; what spreads then needs more bricks, not longer rows.)"""
    n = edge(10)
    gas = {"system": {"start": "random", "atoms": n**3, "density": 0.15, "temperature": 0.7}, "neighbor": {"capacity": 24},
           "ensemble": {"thermostat": "rescale", "target": 0.3, "every": 5}, "run": {"steps": 1000}}
    yield "gas that condenses", gas, True
    n = edge(10)
    places = cube((n, n, 6), 1.1)
    slab = write_places(folder, "slab", places + [0, 0, 10])
    yield ("slab that evaporates",
           {"system": {**slab, "box": f"{1.1 * n} {1.1 * n} 40", "temperature": 3.0}, "run": {"steps": 300, "timestep": 0.002}},
           False)
    n = edge(9)
    drop = write_places(folder, "drop", cube((n, n, n), 0.95) + 20)
    length = 40 + 0.95 * n
    for boundary in ("periodic", "open"):
        yield (f"droplet that explodes, {boundary}",
               {"system": {**drop, "box": f"{length} {length} {length}", "boundary": boundary, "temperature": 4.0},
                "run": {"steps": 300, "timestep": 0.002}}, False)


def kernels():
    """Force kernels to compare."""
    listed = json.loads(program.run("--list-variants=json", folder=".").stdout)
    rows = next(backend for backend in listed["backends"] if backend["name"] == BACKEND)["variants"]
    has = any(row["switch"] == "force.kernel" and row["value"] == "brick" for row in rows)
    return ["list", "brick"] if has else ["list"]


def run_case(checks, folder, name, sections, kernel, room):
    file_name = f"{name.replace(' ', '-').replace(',', '')}-{kernel}"
    run = dict(sections["run"], backend=BACKEND)
    run["steps"] *= LONGER
    deck = program.write_deck(folder, file_name, **{**sections, "run": run, "force": {"kernel": kernel},
                                                    "output": {"frames_every": 0, "thermo_every": 10, "progress": "off"}})
    done = program.run(deck.name, folder=folder, timeout=500)
    what = f"{name}, {kernel}"
    if not checks.that(done.code == 0, f"{what}: exit code {done.code}: {done.last_lines()}"):
        return None
    report = done.json()
    checks.that(report["verdict"] == "PASSED", f"{what}: {report['verdict']}")
    checks.that(report["n_late_rebuilds"] == 0 and report["n_rebuilds"] > 3, f"{what}: {report['n_rebuilds']} rebuilds")
    print(f"{what}: {report['n_atoms']} atoms, {report['n_rebuilds']} rebuilds, {report['n_overflows']} overflows, "
          f"{report['loop_seconds']:.1f} s")
    checks.that(not room or report["n_overflows"] > 0, f"{what}: no more room was needed, so nothing was tested")
    return report["thermo"]


def main():
    checks = program.Checks()
    with program.temporary_folder() as folder:
        folder = Path(folder)
        for name, sections, room in cases(folder):
            tables = [run_case(checks, folder, name, sections, kernel, room) for kernel in kernels()]
            if None in tables or len(tables) < 2:
                continue
            for key in ("potential_energy", "kinetic_energy"):
                early = [numpy.array(table[key])[: SAME_STEPS // 10 + 1] for table in tables]
                off = numpy.abs(early[0] - early[1]).max()
                checks.that(off < 1e-4, f"{name}: {key} of the kernels differs by {off:.2e} in {SAME_STEPS} steps")
    checks.finish()


main()
