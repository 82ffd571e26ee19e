"""run.minimize: a rattled crystal becomes the perfect one, with the energy that LAMMPS finds; random points that overlap become a start from
which each precision runs, with forces up to the bound; the same bits on any number of ranks; what cannot be relaxed is said.

MDMINI_TEST_BACKENDS: the first one runs."""
import os
from pathlib import Path

import numpy as np

import program
import ranks
from program import Checks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
START = Path(__file__).with_name("lj-rattled.xyz")
# `minimize 0 1e-8 20000 100000` of LAMMPS (22 Jul 2025, units lj, lj/cut 2.5), min_style fire, sd and cg alike: energy per atom.
CRYSTAL = -6.77336805302
SMALL = {"system": {"start": "random", "atoms": 300, "density": 0.8, "min_distance": 0, "temperature": 1},
         "run": {"backend": BACKEND, "steps": 20, "minimize": "fire", "minimize_force": 5},
         "output": {"existing": "overwrite", "thermo_every": 10, "frames_every": 20, "forces_every": 20, "precision": "double"}}


def deck(folder, **more):
    return program.write_deck(folder, "m", **{section: {**SMALL.get(section, {}), **more.get(section, {})} for section in {**SMALL, **more}}).name


def what(done):
    return f"{done.code}, {done.last_lines()}"


def test_crystal(checks, folder):
    for method in ("fire", "steepest") if BACKEND == "cpu" else ("steepest",):
        done = program.run(START, f"run.backend={BACKEND}", f"run.minimize={method}", "run.minimize_force=1e-8", "run.minimize_steps=2000", "run.steps=5",
                           "system.boundary=periodic", "system.temperature=0.01", "potential.shift=none", "output.name=m", folder=folder, name="m")
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{method}: {what(done)}"):
            continue
        found = done.json()["minimization"]
        checks.that(abs(found["potential_energy_per_atom"] - CRYSTAL) < 1e-10, f"{method}: {found}")
        checks.that(found["largest_force"] <= 1e-8 < 10 < found["largest_force_before"] and found["steps"] < 1000, f"{method}: {found}")
        first = done.json()["thermo"]["potential_energy"][0]
        checks.that(abs(first - CRYSTAL) < 1e-5, f"{method}: the run starts at {first}")


def test_random(checks, folder):
    cases = [("mixed", {}), ("single", {"dimension": 2, "density": 0.6}), ("double", {"types": 2, "masses": "1 20", "fractions": "0.5 0.5"})]
    for precision, system in cases if BACKEND == "cpu" else cases[:1]:
        done = program.run(deck(folder, system=system, run={"precision": precision}), "output.name=m", folder=folder, name="m")
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{precision}: {what(done)}"):
            continue
        with done.h5() as file:
            force = np.linalg.norm(file["particles/all/force/value"][0], axis=1).max()
        found = done.json()["minimization"]
        checks.that(force < 5.01 and abs(force - found["largest_force"]) < 1e-3 * force, f"{precision}: largest force {force}, {found}")
        checks.that("atoms start very close" not in done.stdout and "relaxed   fire" in done.stdout, f"{precision}: {done.stdout[-2000:]}")


def forces_on(x):
    """Of Lennard-Jones atoms at x, all within the cutoff of each other."""
    apart = x[:, None] - x[None]
    r_sq = (apart**2).sum(axis=2) + np.eye(len(x))
    return ((24 * (2 * r_sq**-6 - r_sq**-3) / r_sq * (1 - np.eye(len(x))))[..., None] * apart).sum(axis=1)


def fire_by_hand(x, n_steps):
    """(positions after each step, how many steps went uphill, and of how many only F v before the kick says so): FIRE (Bitzek et al., Phys. Rev.
    Lett. 97, 170201 (2006)) in the order of minimize.c, with F v itself for the power, and time steps by the curvature of the pair at contact."""
    longest = 1 / np.sqrt(4 * (12 * 13 - 6 * 7))
    dt, alpha, n_downhill, v, found, n_uphill, n_before = longest / 10, 0.1, 0, np.zeros_like(x), [], 0, 0
    for _ in range(n_steps):
        force = forces_on(x)
        power = (force * v).sum()
        v = v + dt * force
        if power < -1e-9 * (v * v).sum() / 2 / dt:
            n_uphill, n_before = n_uphill + 1, n_before + ((force * v).sum() > 0)
            dt, alpha, n_downhill = max(dt / 2, longest / 500), 0.1, 0
            v = dt * force
        else:
            n_downhill += 1
            v = (1 - alpha) * v + alpha * force * np.sqrt((v * v).sum() / (force * force).sum())
            if n_downhill > 5:
                dt, alpha = min(1.1 * dt, longest), 0.99 * alpha
        x = x + dt * v
        found.append(x)
    return found, n_uphill, n_before


def test_fire(checks, folder):
    """A few atoms, step by step against FIRE by hand: a step that goes uphill is known by the sign of F v before the kick."""
    start = 4 + np.array([[0, 0, 0], [1.25, 0.1, 0.2], [0.2, 1.2, -0.1], [0.8, 1, 1.1], [-0.4, 0.6, 1.3], [1.5, 1.3, 0.1]])
    (Path(folder) / "drop.xyz").write_text(f'{len(start)}\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3\n' + "".join(f"Ar {x:.15g} {y:.15g} {z:.15g}\n" for x, y, z in start))
    n_steps = 140 if BACKEND == "cpu" else 60
    right, n_uphill, n_before = fire_by_hand(start, n_steps)
    checks.that(n_uphill > 1 and n_before > 0, f"uphill in {n_uphill} steps, in {n_before} of them by the power before the kick alone: this would tell no sign")
    for n in range(20, n_steps + 1, 20):
        done = program.run("drop.xyz", f"run.backend={BACKEND}", "run.minimize=fire", "run.minimize_force=1e-12", f"run.minimize_steps={n}", "run.steps=0", "system.boundary=periodic",
                           "system.temperature=0", "potential.cutoff=4", "potential.shift=none", "output.name=p", "output.existing=overwrite", "output.frames_every=1", "output.precision=double",
                           folder=folder, name="p")
        if checks.that(done.code == 0, f"{n} steps: {what(done)}"):
            with done.h5() as file:
                off = np.abs(file["particles/all/position/value"][0] - right[n - 1]).max()
            checks.that(off < 1e-9, f"{n} steps: atoms are {off} from where they are by hand")


def test_points(checks, folder):
    """4,000 random points at the density of a liquid: after 400 steps LAMMPS' sd is at -6.67 to -6.69, its cg at -6.92 (of other points)."""
    for method, most in (("fire", -6.85), ("steepest", -6.6)) if BACKEND == "cpu" else ():
        done = program.run(deck(folder, system={"atoms": 4000, "density": 0.8442}, potential={"shift": "none"}), f"run.minimize={method}", "run.minimize_force=1e-3",
                           "run.minimize_steps=400", folder=folder, name="m")
        if checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{method}: {what(done)}"):
            found = done.json()["minimization"]
            checks.that(found["potential_energy_per_atom_before"] > 1e9 and found["potential_energy_per_atom"] < most, f"{method}: {found}")


def test_without(checks, folder):
    """Without it the same start does not run: the test above would otherwise show nothing."""
    done = program.run(deck(folder, run={"minimize": "off"}), folder=folder, name="m")
    checks.that(done.code == 2 and "run.minimize_force: has no effect" in done.stderr, what(done))
    lines = {key: value for key, value in SMALL["run"].items() if not key.startswith("minimize")}
    done = program.run(program.write_deck(folder, "m", **{**SMALL, "run": lines}).name, folder=folder, name="m")
    checks.that(done.code == 3 and "run.minimize = fire moves them apart" in " ".join((done.stdout + done.stderr).split()), what(done))


def test_limit(checks, folder):
    done = program.run(deck(folder), "run.minimize_steps=33", "run.minimize_force=1e-6", "run.steps=0", folder=folder, name="m")
    checks.that(done.code == 0 and done.json()["minimization"]["steps"] == 33 and "the relaxation ended after run.minimize_steps = 33" in done.stderr + done.stdout, what(done))


def test_bench(checks, folder):
    """Its steps begin at the start of the deck: a relaxation is not ignored in silence."""
    done = program.run("--bench", "reduce", deck(folder), folder=folder, name="m")
    checks.that(done.code == 2 and "run.minimize: --bench starts where the deck does" in done.stderr, what(done))


def test_resumed(checks, folder):
    """A run that goes on is not relaxed again."""
    words = [deck(folder), "restart.every=10", "output.name=m"]
    first = program.run(*words, "run.steps=10", folder=folder, name="m")
    done = program.run("--restart", "m.restart", "run.steps=20", folder=folder, name="m")
    checks.that(first.code == 0 and done.code == 0 and "minimization" not in done.json(), f"{what(first)}, {what(done)}")
    whole = program.run(*words, "output.name=w", folder=folder, name="w")
    with done.h5() as one, whole.h5() as other:
        checks.that(np.array_equal(one["particles/all/position/value"][-1], other["particles/all/position/value"][-1]), "other positions at the end")


def test_one_place(checks, folder):
    place = Path(folder) / "two.xyz"
    place.write_text('3\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3\nAr 1 1 1\nAr 1 1 1\nAr 4 4 4\n')
    done = program.run(place.name, f"run.backend={BACKEND}", "run.minimize=fire", "run.steps=5", "system.boundary=periodic", "system.temperature=1", folder=folder, name="two")
    checks.that(done.code == 2 and "is where that of line 3 is" in done.stderr, what(done))


def test_ranks(checks, folder):
    if BACKEND != "cpu" or ranks.why_not():
        return
    name, starts = deck(folder, system={"atoms": 1500}), []
    for n in (1, 2, 4):
        done = ranks.run(n, name, f"output.name=n{n}", "run.steps=0", folder=folder, name=f"n{n}") if n > 1 else program.run(name, "output.name=n1", "run.steps=0", folder=folder, name="n1")
        if checks.that(done.code == 0, f"{n} ranks: {what(done)}"):
            with done.h5() as file:
                starts.append(file["particles/all/position/value"][0])
    checks.that(len(starts) == 3 and all(np.array_equal(starts[0], other) for other in starts), "starts depend on the number of ranks")


def main():
    checks = Checks()
    checks.run(test_crystal, test_fire, test_random, test_points, test_without, test_limit, test_bench, test_resumed, test_one_place, test_ranks)
    checks.finish()


if __name__ == "__main__":
    main()
