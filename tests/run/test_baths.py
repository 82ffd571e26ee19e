"""Runs with each thermostat: the mean of the temperature, its fluctuations, the conserved energy in every file, restarts, refusals.
That of langevin from rest, for unlike masses and in two dimensions.

MDMINI_TEST_BACKENDS: the first one runs."""
import csv
import os
import re
from pathlib import Path

import h5py
import numpy as np

import program
import ranks
import restart_file

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
N, TARGET, RELAXATION, TIMESTEP = 108, 1.2, 0.1, 0.004
STEPS = 30_000 if BACKEND == "cpu" else 400  # an emulated GPU is slow
DECK = {"system": {"start": "fcc", "cells": 3, "density": 0.6, "temperature": TARGET}, "potential": {"cutoff": 2.2, "shift": "energy"},
        "neighbor": {"skin": 0.3}, "run": {"backend": BACKEND, "steps": STEPS, "timestep": TIMESTEP}, "ensemble": {"target": TARGET},
        "output": {"existing": "overwrite", "progress": "off", "thermo_every": 5, "frames_every": 100}, "restart": {"every": 0}}
BATHS = {"rescale": {"every": 5}, "csvr": {"relaxation": RELAXATION, "every": 5}, "nose-hoover": {"relaxation": RELAXATION, "every": 5},
         "langevin": {"relaxation": RELAXATION}}


def deck(folder, name, bath, **more):
    content = {section: {**keys, **more.get(section, {})} for section, keys in DECK.items()}
    content["ensemble"].update(thermostat=bath, **BATHS[bath])
    return program.write_deck(Path(folder), name, **content).name


def test_ensembles(checks, folder):
    """Of N atoms the temperature varies by 2 / (degrees of freedom) of its square in the canonical ensemble; rescale holds it too still."""
    for bath in BATHS:
        degrees = 3 * N if bath == "langevin" else 3 * (N - 1)  # it moves the centre of mass, too
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
        total = np.array(report["potential_energy"]) + degrees / (2 * N) * np.array(report["temperature"])
        moved = np.ptp(conserved)
        checks.that(moved < 0.02 and np.ptp(total) > 5 * moved, f"{bath}: the conserved energy moves by {moved}, the total energy by {np.ptp(total)}")
        if BACKEND != "cpu":
            continue
        warm = np.array(report["temperature"])[steps.index(2000):]
        error = TARGET * np.sqrt(2 / degrees * 2 * RELAXATION / (TIMESTEP * (STEPS - 2000)))  # correlated over two relaxation times
        checks.that(bath == "rescale" or abs(warm.mean() - TARGET) < 5 * error, f"{bath}: {warm.mean()} +- {error}")
        share = warm.var() / TARGET**2 * degrees / 2
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


def test_chain(checks, folder):
    """Restarts have the state of the chain. What is conserved does not drift: the total energy and that of the chain, in units of k T
    by Q u^2 / 2 and N k T x, which is the heat."""
    test_seeds(checks, folder, "nose-hoover")
    steps = 40_000 if BACKEND == "cpu" else 200
    done = program.run(deck(folder, "b", "nose-hoover", potential={"shift": "force"}, run={"steps": steps, "timestep": 0.002, "precision": "double"},
                            output={"thermo_every": 20, "frames_every": 0}), folder=folder)
    if checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", done.last_lines()):
        conserved, total = (np.array(done.json()["thermo"][name]) for name in ("conserved_energy", "total_energy"))
        half = len(conserved) // 2
        drift, noise = conserved[half:].mean() - conserved[:half].mean(), conserved.std()
        checks.that(noise < 0.002 * total.std(), f"the conserved energy varies by {noise}, the total energy by {total.std()}")
        # Six seeds: 4e-6 to 1.2e-4 of either sign, as of a random walk.
        checks.that(abs(drift) < 0.003 * total.std(), f"the conserved energy drifts by {drift}, the total energy varies by {total.std()}")
        checks.that("chain of 3; conserved: total energy and that of the chain" in done.path("log").read_text(), "the log does not say what is conserved")
    if BACKEND == "cpu":
        for start, target in ((1.2, 0.1), (0.05, 1.2), (3, 0.3)):  # far from the target, where the chain is fast
            words = [f"system.temperature={start}", f"ensemble.target={target}", "run.steps=400", "run.timestep=0.002", "system.cells=6"]
            done = program.run(deck(folder, "b", "nose-hoover", potential={"shift": "force"}), *words, folder=folder)
            checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{words}: {done.last_lines()}")
        words = ["system.temperature=1.2", "ensemble.target=1e-9", "run.steps=400"]  # heat in quanta of the start, not of the target
        done = program.run(deck(folder, "b", "langevin", potential={"shift": "force"}), *words, folder=folder)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{words}: {done.last_lines()}")
    for words, said in ((["ensemble.every=7"], "ensemble.every: read 7, a time of 0.028, but the relaxation time is 0.1 ("), (["ensemble.target=0"], "ensemble.target: read 0; the masses of a chain"),
                        (["ensemble.chain=9"], "ensemble.chain: read"), (["system.temperature=0"], "nothing to scale")):
        done = program.run(deck(folder, "b", "nose-hoover"), *words, folder=folder)
        checks.that(done.code == 2 and said in done.stderr, f"{words}: {done.code} {done.stderr}")
    done = program.run(deck(folder, "b", "csvr"), "ensemble.chain=4", folder=folder)
    checks.that(done.code == 2 and "ensemble.chain: has no effect" in done.stderr, f"{done.code} {done.stderr}")


def test_from_rest(checks, folder):
    """Friction and noise heat atoms at rest, and cool; each component of the velocity is Gaussian, of unlike masses with kT / m."""
    steps = 3000 if BACKEND == "cpu" else 200
    name = deck(folder, "b", "langevin", system={"temperature": 0, "cells": 4, "types": 2, "masses": "1 4"}, run={"steps": steps},
                output={"frames_every": 100, "thermo_every": 100, "velocities_every": 100})
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
        momentum = (velocity * mass[None, :, None]).sum(axis=1)
        checks.that(0.2 < (momentum**2).mean() / (mass.sum() * TARGET) < 3, f"{words}: the square of the total momentum is {(momentum**2).mean()}")


def test_long_step(checks, folder):
    """Collisions at each step of a long time step change the shadow energy, for which nobody pays: the conserved energy drifts, and
    the verdict knows by how much."""
    if BACKEND != "cpu":
        return
    done = program.run(deck(folder, "b", "langevin", system={"density": 0.8442, "temperature": 1.0}, potential={"shift": "force"},
                            run={"timestep": 0.008, "steps": 50_000, "precision": "double"}, ensemble={"relaxation": 0.02}), "ensemble.relaxation=0.02",
                       "ensemble.target=1", "output.thermo_every=1000", "output.frames_every=0", folder=folder)
    conserved = done.json()["thermo"]["conserved_energy"]
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{done.last_lines()}")
    checks.that(conserved[-1] - conserved[0] > 0.01, f"it moved by {conserved[-1] - conserved[0]}: nothing that needs more room than other runs have")


def test_flat(checks, folder):
    """In two dimensions nothing moves out of the plane."""
    done = program.run(deck(folder, "b", "langevin", system={"dimension": 2, "start": "square", "cells": 10, "density": 0.5}, run={"steps": 200}, output={"velocities_every": 100}), folder=folder)
    if checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", done.last_lines()):
        with done.h5() as file:
            velocity = file["particles/all/velocity/value"][-1]
        checks.that(velocity.shape[1] == 2 or not velocity[:, 2].any(), f"{velocity[:3]}")


def free_gas(folder, cells=8, **more):
    """Atoms that never meet."""
    return deck(folder, "free", "langevin", **{**more, "system": {"cells": cells, "density": 1e-6, "temperature": TARGET, **more.get("system", {})}})


def read(done, *names):
    with done.h5() as file:
        return [file[f"particles/all/{name}/value"][...].astype(float) for name in names]


WRONG = (1, 1.05, 0.95)  # shares of the friction: the first is right, and what is asked of it must fail for the others


def test_diffusion(checks, folder):
    """Of free atoms velocities decay as exp(-gamma t), and D is kT / (m gamma): in either a friction that is off by 5 % shows."""
    if BACKEND != "cpu":
        return
    friction, every, steps, timestep = 5.0, 20, 4000, 0.01
    name = free_gas(folder, cells=13, run={"steps": steps, "timestep": timestep, "precision": "mixed"},
                    output={"frames_every": every, "velocities_every": every, "unwrapped": "on", "thermo_every": 1000})
    for wrong in WRONG:
        done = program.run(name, "ensemble.relaxation=auto", f"ensemble.friction={friction * wrong}", folder=folder)
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{wrong}: {done.last_lines()}"):
            continue
        x, v = (column[10:] for column in read(done, "position", "velocity"))
        n, lag = x[0].size, 2
        decay = -np.log((v[lag:] * v[:-lag]).mean() / (v * v).mean()) / (lag * every * timestep)
        time = 2000 * timestep
        way = x[100:] - x[:-100]
        D = (way[::90]**2).mean() / (2 * (time - (1 - np.exp(-friction * wrong * time)) / (friction * wrong)))
        # 19 relaxation times of velocities a run; two displacements a component that hardly share time, 26,364 components: 0.6 % of D
        right = [abs(decay / friction - 1) < 0.02, abs(D * friction / TARGET - 1) < 4 / np.sqrt(n)]
        checks.that(all(right) if wrong == 1 else not any(right), f"friction {wrong} of it: decay {decay}, D {D}, expected {friction}, {TARGET / friction}")


def test_kicks(checks, folder):
    """Free atoms at rest get the noise of one step: Gaussian (kurtosis 3), of the variance (1 - exp(-2 gamma dt)) kT / m. They heat as
    1 - exp(-2 gamma t), and hot ones cool so: each shows a friction that is off by 5 %. (Moments in equilibrium are those of Boltzmann
    whatever the friction is: mean and variance of the kinetic energy, the distribution of velocities, the potential energy.)"""
    if BACKEND != "cpu":
        return
    friction, timestep, cells = 5.0, 0.01, 20
    name = free_gas(folder, cells=cells, run={"timestep": timestep, "precision": "mixed"}, system={"temperature": 0},
                    output={"frames_every": 1, "velocities_every": 1, "thermo_every": 1})
    n = 3 * 4 * cells**3  # components
    for wrong in WRONG:
        words = ["ensemble.relaxation=auto", f"ensemble.friction={friction * wrong}"]
        done = program.run(name, *words, "run.steps=1", folder=folder)
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{wrong}: {done.last_lines()}"):
            continue
        kicks = read(done, "velocity")[0][-1]
        share, kurtosis = (kicks**2).mean() / (TARGET * -np.expm1(-2 * friction * timestep)), (kicks**4).mean() / (kicks**2).mean()**2
        is_right = abs(share - 1) < 4 * np.sqrt(2 / n)
        checks.that(is_right == (wrong == 1), f"friction {wrong} of it: the variance of the kicks is {share} of what it is to be")
        checks.that(abs(kurtosis - 3) < 4 * np.sqrt(24 / n) and abs(kicks.mean()) < 4 * kicks.std() / np.sqrt(n), f"kurtosis {kurtosis}, mean {kicks.mean()}")
        for start, steps in ((0, 4), (8, 10)):  # where 5 % of the friction are the most beside the noise
            done = program.run(name, *words, f"run.steps={steps}", f"system.temperature={start}", "output.frames_every=0", folder=folder)
            found = done.json()["thermo"]["temperature"][-1]
            left = np.exp(-2 * friction * steps * timestep)
            wanted = TARGET * (1 - left) + start * left
            is_right = abs(found / wanted - 1) < 4 * np.sqrt(2 / n) * (1 if start == 0 else 0.6)  # velocities at the start have exactly their temperature
            checks.that(is_right == (wrong == 1), f"friction {wrong} of it, from {start}: temperature {found}, expected {wanted}")


def test_time_steps(checks, folder):
    """BAOAB: the potential energy of a crystal hardly depends on the time step, though velocities of whole steps get colder by (w dt)^2 / 4."""
    if BACKEND != "cpu":
        return
    found = []
    for timestep, steps in ((0.002, 120_000), (0.01, 60_000)):
        done = program.run(deck(folder, "b", "langevin", system={"density": 1.0, "temperature": 0.3, "cells": 4}, run={"timestep": timestep, "steps": steps, "precision": "double"},
                                output={"thermo_every": 20, "frames_every": 0}), "ensemble.relaxation=0.1", "ensemble.target=0.3", folder=folder)
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{timestep}: {done.last_lines()}"):
            return
        rows = [np.array(done.json()["thermo"][name])[200:] for name in ("potential_energy", "temperature")]
        found += [(blocks.mean(), blocks.std(ddof=1) / 8) for blocks in (row[:len(row) // 64 * 64].reshape(64, -1).mean(axis=1) for row in rows)]
    error = np.hypot(found[0][1], found[2][1])
    checks.that(error < 0.0015 and abs(found[0][0] - found[2][0]) < 4 * error, f"potential energy {found[0][0]} and {found[2][0]} +- {error}")
    colder = 1 - found[3][0] / 0.3  # 0.006 by the curvature of an fcc crystal
    checks.that(0.002 < colder < 0.012, f"velocities at the long step are colder by {colder} +- {found[3][1] / 0.3}")


def test_numbers(checks, folder, precision="double"):
    """The noise of an atom at a step is the same bits: on both backends in double and in single precision, after a restart, in any order of
    atoms, on any number of ranks.
    That of free atoms is all that moves them."""
    words = {"run": {"steps": 40, "precision": precision}, "output": {"frames_every": 40, "velocities_every": 40, "precision": "double"}, "restart": {"every": 20}}
    name, found = free_gas(folder, cells=4, **words), {}
    runs = {"cpu": ["run.backend=cpu"], "seed": ["run.backend=cpu", "system.seed=2"]}
    if BACKEND != "cpu":
        runs |= {BACKEND: ["run.backend=cuda"], "plain": ["run.backend=cuda", "launch.fuse=off", "launch.persistent=off", "launch.graph=off", "memory.sort=none", "force.kernel=list"]}
    for run, more in runs.items():
        done = program.run(name, *more, f"output.name={run}", folder=folder, name=run)
        if checks.that(done.code == 0, f"{run}: {done.last_lines()}"):
            found[run] = read(done, "velocity")[0][-1]
    for n in () if ranks.why_not() else (2, 4):
        done = ranks.run(n, name, *runs[BACKEND], f"output.name=of{n}", folder=folder, name=f"of{n}", **(next(iter(ranks.transports(n).values()), {}) if BACKEND == "cuda" else {}))
        if checks.that(done.code == 0, f"{n} ranks: {done.last_lines()}"):
            found[f"of{n}"] = read(done, "velocity")[0][-1]
    done = program.run(name, *runs[BACKEND], "run.steps=20", "output.frames_every=20", "output.velocities_every=20", "output.name=cut", folder=folder, name="cut")
    done = program.run("--restart", "cut.restart", "run.steps=40", folder=folder, name="cut")
    if checks.that(done.code == 0, f"cut: {done.last_lines()}"):
        found["cut"] = read(done, "velocity")[0][-1]
    for run, velocity in found.items():
        checks.that(np.array_equal(velocity, found["cpu"]) == (run != "seed"), f"{run}: {velocity[:2]}, cpu: {found['cpu'][:2]}")
    first = read(program.run(name, "run.backend=cpu", "system.seed=1", folder=folder), "velocity")[0][0]
    noise = [(found[run] - first * np.exp(-40 * TIMESTEP / (2 * RELAXATION))).ravel() for run in ("cpu", "seed")]
    checks.that(abs(np.corrcoef(noise[0], found["seed"].ravel())[0, 1]) < 5 / np.sqrt(noise[0].size), "two neighbouring seeds are correlated")


def test_single_numbers(checks, folder):
    test_numbers(checks, folder, "single")


def test_ways(checks, folder):
    """However steps are issued, the motion and the heat are the same to the bit."""
    if BACKEND != "cuda":
        return
    ends = {}
    for way in ("launch.graph=off", "launch.graph=on", "launch.fuse=step launch.passes=queue", "launch.persistent=on launch.barrier=grid"):
        done = program.run(deck(folder, "b", "langevin", system={"cells": 6}, run={"steps": 60, "precision": "double"}, reduce={"accumulate": "reproducible"}), "launch.fuse=step" if "launch.fuse" not in way else "run.steps=60",
                           "launch.persistent=off" if "persistent" not in way else "run.steps=60", "force.kernel=brick", "memory.sort=brick", "memory.brick_grid=cells",
                           *way.split(), "output.frames_every=0", "output.thermo_every=20", folder=folder)
        if checks.that(done.code == 0, f"{way}: {done.last_lines()}"):
            ends[way] = [done.json()["thermo"][key] for key in ("potential_energy", "temperature", "conserved_energy")]
    first = next(iter(ends), None)
    for way, end in ends.items():
        checks.that(end == ends[first], f"{way}: {end}; {first}: {ends[first]}")


def test_extremes(checks, folder):
    """Relaxation times far below and far above the steps of the thermostat, and very few atoms: velocities may turn round."""
    few = {"system": {"cells": 2, "density": 0.1, "temperature": 0.5}}
    for bath, relaxation in [(bath, relaxation) for bath in BATHS if "relaxation" in BATHS[bath] for relaxation in ("0.008", "0.01", "1e12", "1e300")
                             if bath != "nose-hoover" or float(relaxation) > 1]:
        done = program.run(deck(folder, "b", bath, run={"steps": 300}, **few), f"ensemble.relaxation={relaxation}", "output.frames_every=0", folder=folder)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{bath}, {relaxation}: {done.last_lines()}")
        rows = {name: np.array(column) for name, column in done.json()["thermo"].items() if name in ("total_energy", "conserved_energy")}
        heat = np.ptp(rows["total_energy"] - rows["conserved_energy"])
        checks.that(heat > 1e-2 if float(relaxation) < 1 else heat < 1e-3, f"{bath}, {relaxation}: {heat}")


def allowed(done, option, side):
    """The limit in the message about an option."""
    found = re.search(rf"{re.escape(option)}: .*; allowed.*: {side} (?:a quarter of it, )?([0-9.e+-]+)", done.stderr)
    return found[1].rstrip(".") if found else None


def test_limits(checks, folder):
    """The limit that a message names is accepted, whatever the digits of the time step."""
    for bath, option, value, side in (("csvr", "relaxation", "1e-5", "from"), ("langevin", "friction", "1e5", "up to"), ("langevin", "relaxation", "1e-5", "from"),
                                           ("nose-hoover", "relaxation", "1e-5", "from"), ("nose-hoover", "every", "1000", "up to")):
        for timestep in ("0.003", "0.0012345678", "0.001999999999", "0.00070000001", "0.0049999951"):
            words = [deck(folder, "b", bath, run={"steps": 2000}), f"run.timestep={timestep}", "ensemble.relaxation=auto", "run.steps=8"]
            first = ["ensemble.every=1"] if (bath, option) == ("nose-hoover", "relaxation") else []
            done = program.run(*words, *first, f"ensemble.{option}={value}", folder=folder)
            limit = allowed(done, f"ensemble.{option}", side)
            if not checks.that(done.code == 2 and limit, f"{bath}, {option} = {value}: {done.code} {done.stderr}"):
                continue
            done = program.run(*words, *first, f"ensemble.{option}={limit}", folder=folder)
            checks.that(done.code == 0, f"{bath}, time step {timestep}: the allowed {option} = {limit}: {done.last_lines()}")
            beyond = float(limit) * (1 - 1e-4 if side == "from" else 1 + 1e-4) if option != "every" else int(limit) + 1
            done = program.run(*words, *first, f"ensemble.{option}={beyond!r}", folder=folder)
            checks.that(done.code == 2, f"{bath}, time step {timestep}: {option} = {beyond}, beyond the limit: {done.code}")
    done = program.run(deck(folder, "b", "rescale", run={"steps": 10}), "system.temperature=1.2345e-8", "ensemble.target=1e6", "run.precision=mixed", folder=folder)
    limit = allowed(done, "ensemble.target", "up to")
    done = program.run(deck(folder, "b", "rescale", run={"steps": 2}), "system.temperature=1.2345e-8", f"ensemble.target={limit}", "run.precision=mixed", folder=folder)
    checks.that(done.code == 0, f"the allowed target {limit}: {done.code} {done.last_lines()}")
    done = program.run(deck(folder, "b", "rescale", run={"steps": 10}), "analysis.rdf_every=5", "analysis.rdf_max=50", folder=folder)
    limit = allowed(done, "analysis.rdf_max", "up to")
    done = program.run(deck(folder, "b", "rescale", run={"steps": 10}), "analysis.rdf_every=5", f"analysis.rdf_max={limit}", folder=folder)
    checks.that(done.code == 0, f"the allowed rdf_max {limit}: {done.code} {done.last_lines()}")


def test_refusals(checks, folder):
    for words, said in ((["ensemble.relaxation=0"], 'command line: ensemble.relaxation: read "0"; allowed: a number above 0'),
                        (["ensemble.relaxation=-1"], 'command line: ensemble.relaxation: read "-1"; allowed: a number above 0'),
                        (["ensemble.relaxation=0.0079"], "command line: ensemble.relaxation: read 0.0079; allowed: from 0.008"),
                        (["ensemble.friction=1"], "ensemble.friction: has no effect"),
                        (["ensemble.target=1 -1"], 'command line: ensemble.target: read "-1"'),
                        (["system.temperature=0"], "ensemble.thermostat: nothing to scale: all atoms are at rest at step 0")):
        done = program.run(deck(folder, "b", "csvr"), *words, folder=folder)
        checks.that(done.code == 2 and said in done.stderr, f"{words}: {done.code} {done.stderr}")
    for words, said in ((["ensemble.every=5"], "ensemble.every: has no effect"), (["ensemble.friction=63"], "command line: ensemble.friction: read 63; allowed: up to 62.5"),
                        (["ensemble.friction=0"], 'command line: ensemble.friction: read "0"; allowed: a number above 0')):
        done = program.run(deck(folder, "b", "langevin"), *words, folder=folder)
        checks.that(done.code == 2 and said in done.stderr, f"{words}: {done.code} {done.stderr}")
    done = program.run(deck(folder, "b", "csvr", run={"steps": 20}, restart={"every": 10}), folder=folder)
    done = program.run("--restart", "b.restart", "run.steps=40", "ensemble.relaxation=0.2", folder=folder)
    checks.that(done.code == 2 and "ensemble.relaxation: read 0.2, but it is 0.1 in the run that is resumed" in done.stderr, f"{done.code} {done.stderr}")


if __name__ == "__main__":
    checks = program.Checks()
    checks.run(test_ensembles, test_seeds, test_langevin_seeds, test_chain, test_from_rest, test_long_step, test_flat, test_diffusion, test_kicks, test_time_steps, test_numbers, test_single_numbers, test_ways,
               test_extremes, test_limits, test_refusals)
    checks.finish()
