"""mdmini against LAMMPS: the same coordinates give the same energies and pressure, and the same short trajectory.

mdmini melts its crystal for 200 steps; the state it has then (double precision, to the bit) is given to LAMMPS, and
both go on for 200 steps."""
import sys
from pathlib import Path

import numpy

import lammps
import program
from program import Checks, Frame

N_STEPS = 200
TIMESTEP = 0.004
ROUNDOFF = 2.0**-53

COMMON = ["output.frames_every=200", "output.precision=double", "output.velocities_every=200", "run.precision=double",
          f"run.steps={2 * N_STEPS}", f"run.timestep={TIMESTEP}", "run.threads=2", "neighbor.rebuild=host-check",
          "neighbor.skin=0.3", "output.thermo_every=200"]
MELT = ["system.start=fcc", "system.cells=6", "system.density=0.8442", "system.temperature=1.44"]
CRYSTAL = ["system.dimension=2", "system.start=hexagonal", "system.cells=24 14", "system.density=0.8",
           "system.temperature=1.5"]
MIXTURE = ["system.types=2", "system.fractions=0.7 0.3", "system.masses=1 2.5"]
ONE = ["* * 1.0 1.0 2.5"]

# name, dimension, shift, words for mdmini, masses, pair coefficients for LAMMPS (i j epsilon sigma cutoff)
CASES = [
    ("melt", 3, "none", MELT, [1], ONE),
    ("melt-energy", 3, "energy", MELT, [1], ONE),
    ("melt-force", 3, "force", MELT, [1], ONE),
    ("crystal", 2, "none", CRYSTAL, [1], ONE),
    ("crystal-force", 2, "force", CRYSTAL, [1], ONE),
    # Unlike pairs by the mixing rule of each program,
    ("mixed", 3, "energy", MELT + MIXTURE + ["potential.epsilon=1 0.6", "potential.sigma=1 0.9"], [1, 2.5],
     ["1 1 1.0 1.0 2.5", "2 2 0.6 0.9 2.5"]),
    # and given: the mixture of Kob and Andersen, Phys. Rev. E 51, 4626 (1995).
    ("kob-andersen", 3, "energy",
     MELT + MIXTURE + ["potential.epsilon=1 0.5", "potential.sigma=1 0.88", "potential.pairs=1 2 1.5 0.8 2.0"],
     [1, 2.5],
     ["1 1 1.0 1.0 2.5", "2 2 0.5 0.88 2.5", "1 2 1.5 0.8 2.0"]),
]


def pair_scales(frame, dimension, cutoff=2.5):
    """Upper bounds of what pairs are made of, by all pairs: sums of |repulsion| + |attraction| of energy and force, and
    the largest of the forces' sums. epsilon = sigma = 1 bounds all pairs of the cases but one with 1.5."""
    energy = force = largest = 0.0
    for i, place in enumerate(frame.position):
        d = (frame.position - place)[:, :dimension]
        d -= frame.edges[:dimension] * numpy.rint(d / frame.edges[:dimension])
        r_sq = (d * d).sum(axis=1)
        r_sq = r_sq[(r_sq > 0) & (r_sq < cutoff**2)]
        e = 1.5 * 4 * (r_sq**-6 + r_sq**-3).sum()
        f = 1.5 * (48 * r_sq**-6.5 + 24 * r_sq**-3.5).sum()
        energy += e / 2
        force += f / 2
        largest = max(largest, f)
    return energy, force, largest


def rounding(frame, dimension):
    """How far two programs in double precision may differ in energy per atom and in the virial per atom: both evaluate
    each pair with some 50 roundings (derived in tests/support/tolerance.h), and see distances that are off by the
    rounding of coordinates of the size of the box."""
    energy, force, _ = pair_scales(frame, dimension)
    n, length = len(frame.position), frame.edges[:dimension].max()
    slope = 14 * force  # |d(r F)/dr| <= 13 A + 7 B - F, A + B the parts of the force
    return (2 * ROUNDOFF * (50 * energy + 4 * length * force) / n,
            2 * ROUNDOFF * (50 * 12 * energy + 4 * length * slope) / n)


def furthest(one, other, frame, dimension):
    d = (one - other)[:, :dimension]
    return abs(d - frame.edges[:dimension] * numpy.rint(d / frame.edges[:dimension])).max()


def compare(checks, folder, case):
    name, dimension, shift, words, masses, coefficients = case
    deck = program.write_deck(folder, name, system={"dimension": dimension})
    done = program.run(deck.name, *words, f"potential.shift={shift}", *COMMON, folder=folder)
    if not checks.that(done.code == 0, f"{name}: mdmini ended with {done.code}: {done.last_lines()}"):
        return
    with done.h5() as h5:
        start, end = Frame(h5, 1), Frame(h5, 2)
    checks.that((start.step, end.step) == (N_STEPS, 2 * N_STEPS), f"{name}: frames at {start.step} and {end.step}")

    data = Path(folder) / f"{name}.data"
    lammps.write_data(data, start, dimension, masses)
    rows, places = lammps.run(Path(folder), data, dimension, shift, 2.5, coefficients, N_STEPS, TIMESTEP)
    energy_off, virial_off = rounding(start, dimension)
    volume_per_atom = start.edges[:dimension].prod() / len(start.position)
    pressure_off = virial_off / (dimension * volume_per_atom)
    kinetic_off = 2 * 10 * ROUNDOFF * start.observables["kinetic_energy"]
    checks.that(rows[0][0] < -0.5 and rows[0][1] > 0.2, f"{name}: a trivial state says nothing")

    def same(row, frame, factor, when):
        checks.near(frame.observables["potential_energy"], row[0], factor[0], f"{name}: potential energy {when}")
        checks.near(frame.observables["kinetic_energy"], row[1], factor[1], f"{name}: kinetic energy {when}")
        checks.near(frame.observables["pressure"], row[2], factor[2], f"{name}: pressure {when}")

    same(rows[0], start, (energy_off, kinetic_off, pressure_off + kinetic_off / volume_per_atom), "at the start")

    # What rounding does to a trajectory: each step adds, in either program, the rounding of a coordinate and that of
    # the force (over the time that is left); chaos makes it grow. How much is seen from LAMMPS itself, from places
    # off by 1e-9.
    shifted = Frame.__new__(Frame)
    shifted.__dict__.update(start.__dict__)
    push = 1e-9
    shifted.position = start.position.copy()
    shifted.position[:, :dimension] += numpy.where(start.position < start.edges / 2, push, -push)[:, :dimension]
    data = Path(folder) / f"{name}-shifted.data"
    lammps.write_data(data, shifted, dimension, masses)
    shifted_rows, shifted_places = lammps.run(Path(folder), data, dimension, shift, 2.5, coefficients, N_STEPS,
                                              TIMESTEP)
    growth = max(furthest(shifted_places, places, start, dimension) / push, 1)
    _, _, force_parts = pair_scales(start, dimension)
    step_error = ROUNDOFF * (2 * start.edges.max() + 50 * force_parts * TIMESTEP * N_STEPS * TIMESTEP)
    allowed = 2 * N_STEPS * step_error * growth
    off = furthest(end.position, places, start, dimension)
    way = furthest(end.position, start.position, start, dimension)
    print(f"{name}: {len(start.position)} atoms, energy {start.observables['potential_energy']:.7f} "
          f"(LAMMPS off by {abs(start.observables['potential_energy'] - rows[0][0]):.1e}, allowed {energy_off:.1e}), "
          f"pressure {start.observables['pressure']:.7f} "
          f"({abs(start.observables['pressure'] - rows[0][2]):.1e}, {pressure_off:.1e}); after {N_STEPS} steps off by "
          f"{off:.1e} (allowed {allowed:.1e}, grown {growth:.0f} times, atoms moved {way:.2f})")
    checks.that(allowed < 1e-4 * way, f"{name}: tolerance {allowed:.1e} after {N_STEPS} steps says nothing")
    checks.that(off <= allowed, f"{name}: trajectories differ by {off:.3g}, allowed {allowed:.3g}")
    # The sums follow the places as those of the shifted run do.
    follow = [abs(shifted_rows[N_STEPS][k] - rows[N_STEPS][k]) / push * allowed / growth for k in range(3)]
    factors = [energy_off, kinetic_off, pressure_off]
    same(rows[N_STEPS], end, [10 * follow[k] + factors[k] for k in range(3)], "at the end")


def main():
    if not lammps.command():
        print("SKIPPED: lmp is not installed (Debian package lammps)")
        sys.exit(program.SKIPPED)
    checks = Checks()
    with program.temporary_folder() as folder:
        for case in CASES:
            compare(checks, folder, case)
    checks.finish()


main()
