"""Many-body forms (potential.form = sutton-chen) on the cpu: energies, forces and the virial tensor of numpy by all pairs; numbers of LAMMPS;
motion, ranks and restarts; refusals."""
import json
import re
from pathlib import Path

import h5py
import numpy as np

import program
import ranks
import restart_file

COPPER, NICKEL = (0.012382, 3.61, 9, 6, 39.432), (0.015707, 3.52, 9, 6, 39.432)  # Sutton, Chen, Phil. Mag. Lett. 61, 139 (1990)
MIXED = (0.013945, 3.565, 9, 6, 39.432)
NUMBERS = " ; ".join(f"{pair} {' '.join(map(str, numbers))}" for pair, numbers in (("1 1", COPPER), ("1 2", MIXED), ("2 2", NICKEL)))
LENGTH, CUTOFF, FROM = 4 * 3.57, 6.5, 5.2
DECK = {"system": {"start": "fcc", "cells": 4, "density": 4 / 3.61**3, "temperature": 0, "units": "metal", "masses": 63.546},
        "potential": {"form": "sutton-chen", "parameters": " ".join(map(str, COPPER)), "cutoff": 7, "shift": "none"},
        "run": {"backend": "cpu", "precision": "double", "steps": 0, "timestep": 0.002}, "output": {"existing": "overwrite"}}
MOVING = {"system": {"start": "fcc", "cells": 7, "density": 4 / 3.61**3, "temperature": 1600, "units": "metal", "types": 2, "fractions": "0.5 0.5",
                     "masses": "63.546 58.693", "seed": 3},
          "potential": {"form": "sutton-chen", "pairs": NUMBERS, "cutoff": 5, "shift": "switch"},
          "run": {"backend": "cpu", "steps": 60, "timestep": 0.002, "precision": "mixed"},
          "output": {"existing": "overwrite", "thermo_every": 10, "frames_every": 20, "velocities_every": 20, "progress": "off"}}


def start(folder):
    """256 atoms of two types near the sites of a crystal, with coordinates as the file has them."""
    random = np.random.default_rng(7)
    cell = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
    sites = np.concatenate([cell + (x, y, z) for x in range(4) for y in range(4) for z in range(4)]) * LENGTH / 4
    position = np.round((sites + random.normal(scale=0.12, size=sites.shape)) % LENGTH, 10)
    species = np.where(random.random(256) < 0.4, "Ni", "Cu")
    species[0] = "Cu"
    rows = "".join(f"{s} {x:.10f} {y:.10f} {z:.10f}\n" for s, (x, y, z) in zip(species, position))
    (Path(folder) / "start.xyz").write_text(f'256\nLattice="{LENGTH} 0 0 0 {LENGTH} 0 0 0 {LENGTH}" Properties=species:S:1:pos:R:3 pbc="T T T"\n{rows}')
    return position, (species == "Ni").astype(int)


def truncated(power, factor, r, shift):
    """factor r^-power as potential.shift cuts it, and its derivative."""
    u, du = factor * r**-power, -power * factor * r**(-power - 1)
    at, slope = factor * CUTOFF**-power, -power * factor * CUTOFF**(-power - 1)
    if shift == "energy":
        u = u - at
    if shift == "force":
        u, du = u - at - (r - CUTOFF) * slope, du - slope
    if shift == "switch":
        t = np.maximum((r**2 - FROM**2) / (CUTOFF**2 - FROM**2), 0)
        s, ds = (1 - t)**2 * (1 + 2 * t), -6 * t * (1 - t) * 2 * r / (CUTOFF**2 - FROM**2)
        u, du = u * s, du * s + u * ds
    return u, du


def by_numpy(position, kind, shift):
    """Energy, forces and virial tensor (xx, yy, zz, xy, xz, yz), by all pairs."""
    d = position[:, None] - position[None]
    d -= LENGTH * np.rint(d / LENGTH)
    r = np.sqrt((d**2).sum(axis=2))
    near = (r < CUTOFF) & (r > 0)
    r = np.where(near, r, CUTOFF)
    table = np.array([[COPPER, MIXED], [MIXED, NICKEL]])[kind[:, None], kind[None]]
    epsilon, a, n, m = table[..., 0], table[..., 1], table[..., 2], table[..., 3]
    phi, dphi = truncated(n, epsilon * a**n, r, shift)
    g, dg = truncated(m, a**m, r, shift)
    own = np.array([COPPER, NICKEL])[kind]
    rho = np.where(near, g, 0).sum(axis=1)
    slope = -own[:, 0] * own[:, 4] / (2 * np.sqrt(rho))
    along = np.where(near, -(dphi + (slope[:, None] + slope[None]) * dg) / r, 0)
    energy = np.where(near, phi, 0).sum() / 2 - (own[:, 0] * own[:, 4] * np.sqrt(rho)).sum()
    virial = np.einsum("ij,ija,ijb->ab", along, d, d) / 2
    return energy, (along[..., None] * d).sum(axis=1), virial[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def test_numpy_itself(checks, folder):
    """Its forces are the derivatives of its energies."""
    position, kind = start(folder)
    for shift in ("energy", "force", "switch"):
        force = by_numpy(position, kind, shift)[1]
        for atom, axis in ((0, 0), (17, 1), (200, 2)):
            ends = []
            for side in (-1, 1):
                moved = position.copy()
                moved[atom, axis] += side * 1e-5
                ends.append(by_numpy(moved, kind, shift)[0])
            checks.near(-(ends[1] - ends[0]) / 2e-5, force[atom, axis], 3e-6 * np.abs(force).max(), f"{shift}, atom {atom}")


def test_all_pairs(checks, folder):
    position, kind = start(folder)
    for shift in ("none", "energy", "force", "switch"):
        energy, force, virial = by_numpy(position, kind, shift)
        for precision, room in (("double", 1e-12), ("mixed", 2e-6), ("single", 1e-4)):
            words = [f"potential.shift={shift}", *([f"potential.switch_from={FROM}"] if shift == "switch" else []), f"run.precision={precision}"]
            done = program.run(Path(folder) / "start.xyz", "run.backend=cpu", "run.steps=0", "system.temperature=0", "potential.form=sutton-chen", f"potential.pairs={NUMBERS}",
                               f"potential.cutoff={CUTOFF}", "analysis.pressure=tensor", "output.frames_every=1", "output.forces_every=1", "output.precision=double",
                               "output.name=m", "output.existing=overwrite", *words, folder=folder)
            checks.that(done.code == 0, f"{shift}, {precision}: {done.last_lines()}")
            if done.code:
                continue
            with h5py.File(Path(folder) / "m.h5") as file:
                off = np.abs(file["particles/all/force/value"][0] - force).max()
            checks.that(off < room * np.abs(force).max(), f"{shift}, {precision}: forces off by {off}")
            row = {name: column[0] for name, column in json.loads((Path(folder) / "m.json").read_text())["thermo"].items()}
            checks.near(row["potential_energy"], energy / 256, room * abs(energy) / 256, f"{shift}, {precision}: energy")
            for name, right in zip(("xx", "yy", "zz", "xy", "xz", "yz"), virial / LENGTH**3):
                checks.near(row[f"pressure_{name}"], right, 4 * room * np.abs(virial).max() / LENGTH**3, f"{shift}, {precision}: pressure {name}")


def test_lone_pairs(checks, folder):
    """Pairs alone, up to the cutoff: roundings give densities near 0, also below it, and energies near 0."""
    gaps = [10.0**-k for k in range(1, 8)] * 3
    rows = "".join(f"Cu {20 * k + 5} 5 5\nCu {20 * k + 5 + CUTOFF * (1 - gap * (1 + k / 40)):.12f} 5 5\n" for k, gap in enumerate(gaps))
    (Path(folder) / "pairs.xyz").write_text(f'{2 * len(gaps)}\nLattice="{20 * len(gaps)} 0 0 0 20 0 0 0 20" Properties=species:S:1:pos:R:3 pbc="T T T"\n{rows}')
    epsilon, a, n, m, c = COPPER
    for shift in ("energy", "force", "switch"):
        r = np.array([CUTOFF * (1 - gap * (1 + k / 40)) for k, gap in enumerate(gaps)])
        right = (truncated(n, epsilon * a**n, r, shift)[0] / 2 - epsilon * c * np.sqrt(truncated(m, a**m, r, shift)[0])).mean()
        for precision, room in (("double", 1e-9), ("mixed", 5e-3), ("single", 5e-3)):  # roots of roundings
            words = [f"potential.shift={shift}", *([f"potential.switch_from={FROM}"] if shift == "switch" else []), f"run.precision={precision}"]
            done = program.run(Path(folder) / "pairs.xyz", "run.backend=cpu", "run.steps=0", "system.temperature=0", "system.units=metal", "potential.form=sutton-chen",
                               f"potential.parameters={' '.join(map(str, COPPER))}", f"potential.cutoff={CUTOFF}", "system.masses=63.546", "run.timestep=0.002",
                               "output.name=p", "output.existing=overwrite", *words, folder=folder)
            checks.that(done.code == 0, f"{shift}, {precision}: {done.last_lines()}")
            row = {name: column[0] for name, column in json.loads((Path(folder) / "p.json").read_text())["thermo"].items()}
            checks.near(row["potential_energy"], right, room * abs(right), f"{shift}, {precision}: energy")


def test_crystal(checks, folder):
    """The perfect crystal of LAMMPS (22 Jul 2025, from a fine table; its bar is 8.4e-8 smaller), and the way to it."""
    deck = program.write_deck(Path(folder), "f", **DECK).name
    done = program.run(deck, folder=folder)
    row = {name: column[0] for name, column in done.json()["thermo"].items()}
    checks.near(row["potential_energy"], -3.453802361143627, 1e-11, "energy of the crystal")
    checks.near(row["pressure"], 6087.921196424668 * (1.602176634 / 1.6021765), 1e-5, "pressure of the crystal, bar")
    away = program.write_deck(Path(folder), "a", **{**MOVING, "run": {**MOVING["run"], "steps": 40}, "system": {**DECK["system"], "temperature": 3000, "cells": 4},
                                                    "potential": {**DECK["potential"], "shift": "energy"}}).name
    done = program.run(away, "output.xyz_every=40", folder=folder)
    checks.that(done.code == 0, f"away from the crystal: {done.last_lines()}")
    frame = "\n".join((Path(folder) / "a.xyz").read_text().splitlines()[-258:])
    (Path(folder) / "away.xyz").write_text(frame + "\n")
    for way in ("steepest", "fire"):
        done = program.run(Path(folder) / "away.xyz", *(f"{section}.{key}={value}" for section, keys in DECK.items() for key, value in keys.items()
                                                        if section != "output" and key not in ("start", "cells", "density")),
                           f"run.minimize={way}", "run.minimize_force=1e-9", "output.name=back", "output.existing=overwrite", folder=folder)
        energy = done.code or json.loads((Path(folder) / "back.json").read_text())["thermo"]["potential_energy"][0]
        checks.near(energy, -3.453802361143627, 1e-10, f"{way}: {done.last_lines() if done.code else ''}")


def test_motion(checks, folder):
    """Every order of memory, every shift and precision; the same bits with energies at every step and for any number of threads."""
    deck = program.write_deck(Path(folder), "m", **MOVING).name
    frames = {}
    for words in (["run.threads=1"], ["run.threads=2"], ["force.energy=every-step"], ["analysis.pressure=tensor"], ["memory.sort=morton"], ["memory.layout=soa"], ["memory.layout=aos"],
                  ["run.precision=double"], ["run.precision=single"], ["potential.shift=force"], ["potential.shift=energy"], ["neighbor.rebuild=every", "neighbor.every=5"],
                  ["force.arithmetic=fast"], ["neighbor.predict=off"], ["memory.allocation=per-call"], ["launch.fuse=off"], ["reduce.accumulate=reproducible"],
                  ["ensemble.thermostat=langevin", "ensemble.target=900", "ensemble.relaxation=0.1"]):
        done = program.run(deck, *words, folder=folder)
        checks.that(done.code == 0, f"{words}: {done.last_lines()}")
        with h5py.File(Path(folder) / "m.h5") as file:
            frames[" ".join(words)] = file["particles/all/position/value"][-1]
    for words in ("run.threads=2", "force.energy=every-step", "analysis.pressure=tensor"):
        checks.that(np.array_equal(frames["run.threads=1"], frames[words]), f"{words} changes the motion")
    done = program.run(deck, "run.timestep=0.05", folder=folder)
    checks.that(done.code == 3, f"a time step that is far too long: {done.code}")


def test_ranks(checks, folder):
    """The bits of one process, and passed verifications; a resumed run ends like one that was not."""
    if why := ranks.why_not():
        print(f"test_ranks: not run: {why}")
        return
    deck = program.write_deck(Path(folder), "r", **MOVING).name
    words = ["reduce.accumulate=reproducible", "output.precision=double", "restart.every=20"]
    for precision in ("double", "mixed"):
        whole = program.run(deck, *words, f"run.precision={precision}", folder=folder)
        checks.that(whole.code == 0, f"one process: {whole.last_lines()}")
        for ending in ("h5", "restart"):
            (Path(folder) / f"r.{ending}").rename(Path(folder) / f"whole.{ending}")
        for grid, more in (("2 1 1", []), ("1 2 2", ["parallel.overlap=off"]), ("2 1 2", ["memory.layout=soa"])):
            n = int(np.prod([int(word) for word in grid.split()]))
            done = ranks.run(n, deck, *words, *more, f"run.precision={precision}", f"parallel.grid={grid}", "run.threads=1", folder=folder)
            checks.that(done.code == 0, f"{grid}, {precision}: {done.last_lines()}")
            found = ranks.differences(Path(folder) / "whole.h5", Path(folder) / "r.h5", energies=1e-12)
            checks.that(not found, f"{grid}, {precision}: {found[:3]}")
    program.run(deck, *words, "run.precision=mixed", "run.steps=40", folder=folder)
    done = program.run("--restart", "r.restart", "run.steps=60", folder=folder, name="r")
    checks.that(done.code == 0, f"resumed: {done.last_lines()}")
    different = restart_file.difference(Path(folder) / "whole.restart", Path(folder) / "r.restart")
    checks.that(not different, f"a resumed run differs: {different}")


def test_refusals(checks, folder):
    deck = program.write_deck(Path(folder), "f", **{**DECK, "potential": {**DECK["potential"], "shift": "switch"}}).name
    for words, says in ((["force.kernel=pairs"], "force.kernel: pairs does not run with potential.form = sutton-chen; take list"),
                        (["force.kernel=cell"], "force.kernel: cell does not run with potential.form = sutton-chen; take list"),
                        (["neighbor.list=half"], "neighbor.list: half does not run with potential.form = sutton-chen; take full"),
                        (["force.cutoff_test=branch"], "force.cutoff_test: branch does not run with potential.form = sutton-chen; take select"),
                        (["run.backend=cuda"], "only the cpu backend has it: take run.backend = cpu"),
                        (["potential.shift=none", "run.steps=1"], "none is for run.steps = 0"),
                        (["potential.parameters=0.01 3.6 9 6"], "4 numbers; sutton-chen takes `epsilon a n m c`"),
                        (["potential.parameters=0.01 3.6 9 3 39"], "number 4 of `epsilon a n m c` is a number above 3"),
                        (["potential.parameters=0.01 3.6 9 6 0"], "allowed: numbers above 0"),
                        (["potential.parameters=0.01 3.6 4 9 39"], "atoms fall into each other unless n is above m / 2"),
                        (["potential.epsilon=2"], "potential.epsilon: has no effect")):
        done = program.run(deck, "--check", *words, folder=folder)
        checks.that(done.code == 2 and says in re.sub(r"\s+", " ", done.stderr), f"{words}: {done.stderr}")
    done = program.run(deck, "--check", "run.backend=auto", folder=folder)
    checks.that(done.code == 0 and "only the cpu backend has potential.form = sutton-chen" in done.stdout, f"auto: {done.stdout}")


def main():
    checks = program.Checks()
    checks.run(test_numpy_itself, test_all_pairs, test_lone_pairs, test_crystal, test_motion, test_ranks, test_refusals)
    checks.finish()


if __name__ == "__main__":
    main()
