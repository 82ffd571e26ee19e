"""system.units = metal: inputs/argon.txt is the run of reduced units with its numbers scaled; every number names its unit; what has no
default is refused; restart files and files of coordinates keep the units."""
import csv
import json
import os
import re
from pathlib import Path

import numpy as np

import h5check
import program
import ranks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
ARGON = Path(os.environ["MDMINI_SOURCE"]) / "inputs/argon.txt"
# CODATA 2018, apart from those of the program: kg, J, J/K, 1/mol
AMU, ELECTRONVOLT, BOLTZMANN, AVOGADRO = 1.66053906660e-27, 1.602176634e-19, 1.380649e-23, 6.02214076e23
SIGMA, KELVIN, MASS = 3.4, 120.0, 39.948
EPSILON = KELVIN * BOLTZMANN / ELECTRONVOLT  # eV
TAU = 1e12 * SIGMA * 1e-10 * np.sqrt(MASS * AMU / (KELVIN * BOLTZMANN))  # ps
BAR = KELVIN * BOLTZMANN / (SIGMA * 1e-10) ** 3 / 1e5  # epsilon/sigma^3
FORCE = KELVIN * BOLTZMANN * AVOGADRO / 1e3 / SIGMA  # epsilon/sigma in kJ/mol/angstrom
STEPS = 60
SHORT = [f"run.backend={BACKEND}", "run.precision=double", "output.precision=double", f"run.steps={STEPS}", "output.thermo_every=10",
         "output.frames_every=30", "output.velocities_every=30", "output.forces_every=30", "output.existing=overwrite"]
REDUCED = {"system": {"start": "fcc", "cells": 6, "density": 0.02054 * SIGMA**3, "temperature": 200 / KELVIN, "seed": 1964},
           "potential": {"cutoff": 7.65 / SIGMA}, "run": {"timestep": f"{0.01 / TAU:.17g}"},
           "ensemble": {"thermostat": "csvr", "target": 94.4 / KELVIN, "relaxation": f"{0.5 / TAU:.17g}"},
           "neighbor": {"skin": 1.5 / SIGMA}}


def run(folder, *words, deck=ARGON, name="argon"):
    return program.run(deck, *words, f"output.name={name}", folder=folder, name=name)


def test_is_the_reduced_run(checks, folder):
    """The same trajectory to rounding: 60 steps of a melting crystal let 1e-16 grow by less than 1e5."""
    metal = run(folder, *SHORT)
    reduced = run(folder, *SHORT, deck=program.write_deck(folder, "reduced", **REDUCED), name="reduced")
    if not checks.that(metal.code == 0 and reduced.code == 0, f"{metal.last_lines()} {reduced.last_lines()}"):
        return
    one, other = metal.json(), reduced.json()
    scales = {"time": TAU, "temperature": KELVIN, "pressure": BAR, "potential_energy": EPSILON, "kinetic_energy": EPSILON,
              "total_energy": EPSILON, "conserved_energy": EPSILON}
    for key, scale in scales.items():
        shown, scaled = np.array(one["thermo"][key]), scale * np.array(other["thermo"][key])
        off = abs(shown - scaled).max() / abs(scaled).max()
        checks.that(off < 1e-10, f"{key}: {off:.2e}: {shown[-1]} is not {scaled[-1]}")
    checks.that(one["thermo"]["time"] == [0.01 * step for step in one["thermo"]["step"]], f"times: {one['thermo']['time']}")
    for key, scale in (("temperature", KELVIN), ("pressure", BAR), ("energy_drift_per_atom_step", EPSILON),
                       ("conserved_energy_per_atom", EPSILON)):
        checks.that(abs(one[key] - scale * other[key]) <= 1e-6 * abs(scale * other[key]), f"{key}: {one[key]}, {scale * other[key]}")
    for key in ("temperature", "potential_energy", "pressure"):
        value, right = one["averages"][key]["mean"], scales[key] * other["averages"][key]["mean"]
        checks.that(abs(value - right) < 1e-9 * abs(right), f"mean of {key}: {value}, {right}")
    value, right = one["tail_corrections"]["pressure"], BAR * other["tail_corrections"]["pressure"]
    checks.that(abs(value - right) < 1e-9 * abs(right), f"tail of the pressure: {value}, {right}")
    rows = {(check["name"].split(" (")[0], check.get("step")): check for check in one["checks"]}
    for check in other["checks"]:
        scale = {"sigma": SIGMA, "epsilon": EPSILON, "m sigma/tau": MASS * SIGMA / TAU}.get(check.get("unit"), 1)
        limit = rows[check["name"].split(" (")[0], check.get("step")]["limit"]
        checks.that(abs(limit - scale * check["limit"]) <= 1e-6 * abs(scale * check["limit"]), f"{check['name']}: limit {limit}, {scale * check['limit']}")
    with metal.h5() as a, reduced.h5() as b:
        for path, scale in (("position", SIGMA), ("velocity", SIGMA / TAU), ("force", FORCE), ("box/edges", SIGMA)):
            shown, scaled = a[f"particles/all/{path}/value"][:], scale * b[f"particles/all/{path}/value"][:]
            off = abs(shown - scaled)
            off = np.minimum(off, abs(off - SIGMA * b["particles/all/box/edges/value"][0, 0, 0])) if path == "position" else off
            checks.that(off.max() < 1e-9 * abs(scaled).max(), f"{path}: off by {off.max():.2e} of {abs(scaled).max():.3g}")
        for name, scale in (("temperature", KELVIN), ("pressure", BAR), ("density", SIGMA**-3), ("kinetic_energy", EPSILON)):
            shown, scaled = a[f"observables/{name}/value"][:], scale * b[f"observables/{name}/value"][:]
            checks.that(abs(shown - scaled).max() < 1e-9 * abs(scaled).max(), f"{name}: {shown} {scaled}")
        checks.that(np.allclose(a["particles/all/position/time"], [0, 0.3, 0.6], rtol=1e-15), "times of frames")


def test_named(checks, folder):
    """Log, table, report, trajectory and effective deck name the unit of each number."""
    done = run(folder, *SHORT)
    log, report = done.path("log").read_text(), done.json()
    checks.that("k = 8.617333262e-05 eV/K" in log and "1 amu = 1.6605390666e-27 kg" in log and "CODATA 2018" in log, "constants in the log")
    checks.that(re.search(r"step +time +temperature +potential +total +conserved +pressure\n +ps +K +eV +eV +eV +bar\n", log), "heading of the log")
    checks.that("reduced" not in log and "sigma)" not in log and "epsilon)" not in log, "reduced units in the log")
    checks.that(re.search(r"box 34.7\S* x 34.7\S* x 34.7\S* angstrom", log), "box in the log")
    for text in (r"\ntemperature +\S+ K ", r"\npotential energy +\S+ eV ", r"\npressure +\S+ bar ", r"drift +over the run +\S+ eV per atom and step"):
        checks.that(re.search(text, log), f"{text} is not in the log")
    with done.path("csv").open() as stream:
        head = next(csv.reader(stream))
    energies = [f"{kind} energy per atom (eV)" for kind in ("potential", "total", "conserved")]
    checks.that(head == ["step", "time (ps)", "temperature (K)", *energies, "pressure (bar)"], f"head of the table: {head}")
    checks.that(report["unit_style"] == "metal", report["unit_style"])
    units, named = report["units"], {"temperature": "K", "pressure": "bar", "time": "ps", "displacement": "angstrom", "rms": "eV/angstrom"}
    wanted = {key: named.get(key, "eV") for key in [*(key for key in report["thermo"] if key != "step"), *named,
              *(key for key in report if "energy" in key and key.endswith(("_per_atom", "_step")))]}
    checks.that(all(units.get(key) == unit for key, unit in wanted.items()), f"units of the report: {units}")
    checks.that({key for key, value in report["averages"].items() if isinstance(value, dict)} <= set(units), "units of the means")
    for check in report["checks"]:
        plain = "error / bound" in check["name"] or "pairs" in check["name"]
        checks.that(("unit" in check) != plain and (plain or f"({check['unit']})" in check["name"]), f"unit of {check['name']}")
    for key, unit in (("run.timestep", "ps"), ("system.temperature", "K"), ("potential.sigma", "angstrom"), ("system.masses", "amu"),
                      ("potential.epsilon_kelvin", "K"), ("ensemble.relaxation", "ps"), ("system.density", "1/angstrom^D")):
        checks.that(report["options"][key].get("unit") == unit, f"unit of {key}: {report['options'][key]}")
        line = re.search(rf"^{key.split('.')[1]} += .*$", report["effective_deck"], re.M).group(0)
        checks.that(f"# {unit}; " in line, f"the effective deck does not name the unit: {line}")
    problems = h5check.check(done.path("h5"), ["velocity", "force"])
    checks.that(not problems, f"NAME.h5: {problems}")
    with done.h5() as file:
        texts = {path: file[path].attrs["unit"] for path in ("particles/all/position/value", "particles/all/force/value", "particles/all/position/time")}
        kind = file["particles/all/position/value"].attrs.get_id("unit").get_type()
        checks.that(texts == dict(zip(texts, ("Angstrom", "kJ mol-1 Angstrom-1", "ps"))) and kind.is_variable_str(), f"units of NAME.h5: {texts}")
    checked = program.run("--check", ARGON, folder=folder)
    checks.that("CODATA 2018" in checked.stdout and re.search(r"^timestep += 0.01 +# ps; ", checked.stdout, re.M), "--check")


def test_effective_deck(checks, folder):
    """Read again, it is the same deck, to the letter: numbers are those given, not those computed with."""
    text = run(folder, *SHORT).json()["effective_deck"]
    (folder := Path(folder)).joinpath("again.txt").write_text(text)
    again = run(folder, deck="again.txt", name="again").json()
    strip = re.compile(r" +#.*$|^.*\bname .*$", re.M)
    checks.that(strip.sub("", text) == strip.sub("", again["effective_deck"]), "the effective deck changed")
    first, second = (json.loads((folder / f"{name}.json").read_text())["thermo"] for name in ("argon", "again"))
    checks.that(first == second, "the effective deck gives another run")


def test_no_defaults(checks, folder):
    """A number that suits reduced units only is no default; the message names file, line and a value that works. All are told."""
    deck = program.write_deck(folder, "bare", system={"units": "metal", "density": 0.02})
    done = program.run(deck.name, folder=folder)
    told = {"potential.epsilon": "0.01032 for argon; or potential.epsilon_kelvin, 119.8", "potential.sigma": "in angstrom; for example 3.405",
            "potential.cutoff": "8.512 (2.5 sigma) for argon", "run.timestep": "in ps; for example 0.011 (0.005 tau) for argon"}
    for key, words in told.items():
        line = next((line for line in done.stderr.splitlines() if f"no default of {key}:" in line), "")
        checks.that(done.code == 2 and "bare.txt:2: system.units: metal has" in line and words in line, f"{key}: {line or done.stderr}")
    given = ["potential.sigma=3", "potential.epsilon_kelvin=100", "system.masses=40"]
    done = program.run(deck.name, *given, folder=folder)
    checks.that("for example 7.5 (2.5 sigma)\n" in done.stderr and "for example 0.01 (0.005 tau)\n" in done.stderr, f"values of the deck: {done.stderr}")
    rest = [*given[:2], "potential.cutoff=7", "run.timestep=0.01"]
    for words, key in ((["system.temperature=90"], "system.masses: metal units have no default"), ([given[2]], "system.temperature: metal units have no default"),
                       ([given[2], "system.temperature=90", "ensemble.thermostat=rescale"], "no default of ensemble.target: give it, in K"),
                       ([given[2], "system.temperature=90", "run.minimize=fire"], "no default of run.minimize_force: give it, in eV/angstrom; for example 0.03"),
                       ([given[2], "system.temperature=90", "system.start=random", "system.atoms=100"], "no default of system.min_distance: give it, in angstrom; for example 2.55 (0.85 sigma)")):
        done = program.run(deck.name, *rest, *words, folder=folder)
        checks.that(done.code == 2 and key in done.stderr, f"{words}: {done.code} {done.stderr}")
    done = program.run("--check", deck.name, *rest, given[2], "system.temperature=90", folder=folder)
    checks.that(done.code == 0 and re.search(r"^skin += auto ", done.stdout, re.M), f"all is given: {done.last_lines()}")


def test_wrong_units(checks, folder):
    deck = program.write_deck(folder, "lj", system={"density": 0.8})
    for words, says in ((["potential.epsilon_kelvin=120"], "potential.epsilon_kelvin: has no effect: it needs system.units = metal"),
                        (["system.units=metal", "run.timestep=2fs"], 'run.timestep: read "2fs"'),
                        (["system.units=real"], "mdmini has no such units"), (["system.units=reduced"], 'did you mean "lj"')):
        done = program.run(deck.name, *words, folder=folder)
        checks.that(done.code == 2 and says in done.stderr, f"{words}: {done.code} {done.stderr}")
    for value in ("1", "0.0103"):  # 1 is the default of reduced units, and no less a number of eV
        done = program.run(ARGON, f"potential.epsilon={value}", folder=folder)
        checks.that(done.code == 2 and "potential.epsilon: has no effect: it needs potential.epsilon_kelvin = auto" in done.stderr, f"both: {done.stderr}")
    one = run(folder, *SHORT, "run.steps=0").json()
    other = run(folder, *SHORT, "run.steps=0", "potential.epsilon_kelvin=auto", f"potential.epsilon={EPSILON:.17g}").json()
    checks.that(abs(one["pressure"] - other["pressure"]) < 1e-11 * abs(one["pressure"]), f"epsilon in eV: {other['pressure']}, in K: {one['pressure']}")


def test_restart(checks, folder):
    whole = run(folder, *SHORT)
    part = run(folder, *SHORT, "run.steps=30", name="part")
    checks.that(part.code == 0 and whole.code == 0, part.last_lines())
    refused = program.run("--restart", "part.restart", "system.units=lj", folder=folder)
    checks.that(refused.code == 2 and "system.units: read lj, but it is metal in the run that is resumed, and the physics cannot change" in refused.stderr,
                refused.stderr)
    again = program.run("--restart", "part.restart", f"run.steps={STEPS}", folder=folder, name="part")
    if not checks.that(again.code == 0, again.last_lines()):
        return
    one, other = whole.json(), again.json()
    checks.that(other["unit_style"] == "metal" and one["thermo"] == other["thermo"], "the resumed run is another")
    with whole.h5() as a, again.h5() as b:
        for name in ("position", "velocity", "force"):
            checks.that(np.array_equal(a[f"particles/all/{name}/value"], b[f"particles/all/{name}/value"]), f"{name} of the resumed run")
        checks.that(b["particles/all/position/value"].attrs["unit"] == "Angstrom", "unit of the resumed trajectory")
    checks.that("metal units" in again.stdout and whole.path("csv").read_text() == again.path("csv").read_text(), "table of the resumed run")


def test_coordinates(checks, folder):
    """A frame of NAME.xyz starts a run of the same state, whichever column of velocities it has."""
    keys = ["potential.sigma=3.4", "potential.epsilon_kelvin=120", "potential.cutoff=7.65", "system.units=metal", "run.timestep=0.01",
            "run.steps=0", f"run.backend={BACKEND}", "run.precision=double"]
    for word, unit in (("velo", "angstrom/ps"), ("vel", "angstrom/fs"), ("momenta", "sqrt(amu*eV)")):
        done = run(folder, *SHORT, "output.xyz_every=60", f"output.xyz_velocities={word}", name=word)
        lines = done.path("xyz").read_text().splitlines()
        start = Path(folder) / f"start-{word}.xyz"
        start.write_text("\n".join(lines[len(lines) // 2:]) + "\n")
        comment = lines[1]
        checks.that("unit_style=metal length_unit=angstrom time_unit=ps temperature_unit=K energy_unit=eV pressure_unit=bar" in comment and
                    f"_unit={unit}" in comment, f"{word}: {comment}")
        again = program.run(start.name, *keys, folder=folder, name=start.stem)
        if not checks.that(again.code == 0, f"{word}: {again.last_lines()}"):
            continue
        one, other = done.json(), again.json()
        for key in ("temperature", "pressure", "potential_energy_per_atom"):
            checks.that(abs(one[key] - other[key]) < 1e-9 * abs(one[key]), f"{word}: {key} {other[key]}, was {one[key]}")
        told = "momenta are in sqrt(amu eV)" if word == "momenta" else f"velocities are in {unit}"
        checks.that(told in " ".join(again.stdout.split()), f"{word}: the log does not say {told}")


def test_relaxation(checks, folder):
    """run.minimize has the same steps as in reduced units, and shows eV/angstrom and eV."""
    words = ["run.minimize=fire", "run.minimize_steps=20", "system.start=random", "system.atoms=300", "run.steps=0", "run.precision=double", "output.existing=overwrite"]
    metal = run(folder, *words, "system.min_distance=2.04", f"run.minimize_force={10 * EPSILON / SIGMA:.17g}", f"run.backend={BACKEND}")
    reduced = run(folder, *words, "system.min_distance=0.6", f"run.backend={BACKEND}", deck=program.write_deck(folder, "reduced", **REDUCED), name="reduced")
    if not checks.that(metal.code == 0 and reduced.code == 0, f"{metal.last_lines()} {reduced.last_lines()}"):
        return
    one, other = metal.json()["minimization"], reduced.json()["minimization"]
    checks.that(one["steps"] == other["steps"], f"steps: {one['steps']}, {other['steps']}")
    for key, scale in (("largest_force", EPSILON / SIGMA), ("potential_energy_per_atom", EPSILON)):
        for name in (key, f"{key}_before"):
            checks.that(abs(one[name] - scale * other[name]) < 1e-6 * abs(scale * other[name]), f"{name}: {one[name]}, {scale * other[name]}")
            checks.that(metal.json()["units"][name] in ("eV/angstrom", "eV"), f"unit of {name}")
    log = " ".join(metal.stdout.split())
    checks.that(re.search(r"largest force \S+ eV/angstrom, was \S+; potential energy \S+ eV per atom", log), "relaxation in the log")


def test_ranks(checks, folder):
    """Each rank converts the block that it writes: the file is that of one process."""
    if ranks.why_not() or BACKEND != "cpu":
        print("test_ranks: not run: it needs mpirun, an MPI in the program, and the cpu backend")
        return
    words = [*SHORT, "reduce.accumulate=reproducible"]
    one = run(folder, *words)
    for frames in ("root", "all"):
        done = ranks.run(2, ARGON, *words, f"parallel.frames={frames}", f"output.name={frames}", folder=folder, name=frames)
        if not checks.that(done.code == 0, f"two ranks, {frames}: {done.last_lines()}"):
            continue
        with one.h5() as a, done.h5() as b:
            for name in ("position", "velocity", "force"):
                same = np.array_equal(a[f"particles/all/{name}/value"], b[f"particles/all/{name}/value"])
                checks.that(same, f"two ranks, parallel.frames = {frames}: {name}")


def test_flat(checks, folder):
    """In two dimensions pressures are in eV/angstrom^2."""
    deck = program.write_deck(folder, "flat", system={"units": "metal", "dimension": 2, "start": "hexagonal", "cells": "20 10", "density": 0.07,
                                                      "temperature": 50, "masses": 39.948},
                              potential={"epsilon_kelvin": 120, "sigma": 3.4, "cutoff": 8.5}, run={"timestep": 0.01, "steps": 20, "backend": BACKEND},
                              output={"thermo_every": 20, "frames_every": 20})
    done = program.run(deck.name, folder=folder)
    checks.that(done.code == 0 and "pressure (eV/angstrom^2)" in done.path("csv").read_text(), done.last_lines())
    checks.that(not h5check.check(done.path("h5"), []), f"{h5check.check(done.path('h5'), [])}")
    row = done.json()
    checks.that(abs(row["kinetic_energy_per_atom"] / row["temperature"] / (BOLTZMANN / ELECTRONVOLT) - (1 - 1 / row["n_atoms"])) < 1e-12, "temperature in K")


def main():
    checks = program.Checks()
    checks.run(test_is_the_reduced_run, test_named, test_effective_deck, test_no_defaults, test_wrong_units, test_restart, test_coordinates, test_relaxation, test_ranks, test_flat)
    checks.finish()


if __name__ == "__main__":
    main()
