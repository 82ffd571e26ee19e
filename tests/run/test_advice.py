"""What the log advises: bad starts and their ways out, atoms that do not feel each other, types that nothing tells apart, cutoffs
inside the core, tail corrections, why a run has no verdict. Each way that a message names is tried."""
import json
import math
import random
import re
import shlex
import signal
import subprocess
import time

import program
from program import Checks

RUN = {"run": {"steps": 300}, "output": {"frames_every": 0, "existing": "overwrite"}}


def said(done):
    """The log as one line: messages are wrapped."""
    return " ".join(done.stdout.split())


def start(folder, name, *words, **sections):
    return program.run(program.write_deck(folder, name, **{**RUN, **sections}), *words, folder=folder)


def write_points(folder, name, points):
    path = program.Path(folder) / f"{name}.txt"
    path.write_text("\n".join(" ".join(f"{x:.9f}" for x in point) for point in points) + "\n")
    return path.name


def fcc(n, edge):
    return [((x + dx) * edge, (y + dy) * edge, (z + dz) * edge) for x in range(n) for y in range(n) for z in range(n)
            for dx, dy, dz in ((0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5))]


def ways(text):
    """`section.key = value` of a message."""
    return re.findall(r"([a-z]+\.[a-z_]+) = ([a-z0-9.]+[a-z0-9])", text)


def blown_up(checks, done, name):
    text = said(done)
    checks.that(done.code == 3 and "atoms start very close" in text and "atoms started too close to each other (see the warning" in text,
                f"{name}: exit code {done.code}: {text[-900:]}")
    return text[text.index("warning: atoms start"):].split("forces,")[0].split("stopped at")[0]


def runs(checks, done, name):
    checks.that(done.code == 0 and "atoms start very close" not in done.stdout, f"{name}: exit code {done.code}: {done.last_lines()}")


def test_random_places(checks, folder):
    for dimension, density in ((3, 0.8), (2, 0.7)):
        system = {"start": "random", "atoms": 500, "dimension": dimension, "density": density, "min_distance": 0.02}
        advice = ways(blown_up(checks, start(folder, "r", system=system), f"{dimension}-D, random"))
        checks.that(advice == [("system.min_distance", "0.85"), ("run.minimize", "fire")], f"{advice}")
        for way in advice:
            runs(checks, start(folder, "r", "=".join(way), system=system), f"{dimension}-D, {way}")
    text = blown_up(checks, start(folder, "r", system={**system, "dimension": 3, "density": 1.4}), "crowded")
    checks.that("a system.density up to 0.85," in text and "system.start = fcc with system.cells" in text, text)
    runs(checks, start(folder, "r", system={**system, "dimension": 3, "density": 0.85, "min_distance": 0.85}), "as crowded as advised")
    runs(checks, start(folder, "r", system={"start": "fcc", "cells": 5, "density": 1.0}), "the lattice")


def test_places_of_a_file(checks, folder):
    random.seed(40)
    points = write_points(folder, "points", [[9 * random.random() for _ in range(3)] for _ in range(500)])
    given = {"system": {"start": "file", "file": points, "box": "9 9 9"}}
    advice = ways(blown_up(checks, start(folder, "p", **given), "500 random points"))
    checks.that(advice == [("system.start", "random"), ("system.atoms", "500"), ("system.density", "0.6859"), ("run.minimize", "fire")], f"{advice}")
    runs(checks, start(folder, "p", system={key.split(".")[1]: value for key, value in advice[:3]}), "as advised")
    runs(checks, start(folder, "p", "run.minimize=fire", **given), "relaxed")
    for name, sigma in (("nanometres", 0.34), ("angstrom", 3.4)):
        edge = 1.68 * sigma
        crystal = write_points(folder, name, fcc(6, edge))
        given = {"system": {"start": "file", "file": crystal, "box": " ".join([f"{6 * edge:.9f}"] * 3), "temperature": 0.8}}
        if sigma < 1:
            text = blown_up(checks, start(folder, "u", neighbor={"skin": 0.1}, potential={"cutoff": 1.5}, **given), name)
        else:
            done = start(folder, "u", **given)
            text = said(done)
            checks.that(done.code == 0 and "no pair of atoms is within the cutoff (2.5): all forces are zero" in text, f"{name}: {text[-500:]}")
        checks.that("potential.sigma and potential.cutoff in that unit, and a run.timestep of some 0.005 times that sigma" in text, text)
        done = start(folder, "u", f"run.timestep={0.005 * sigma}", f"neighbor.skin={0.3 * sigma}",
                     potential={"sigma": sigma, "cutoff": 2.5 * sigma}, **given)
        runs(checks, done, f"{name}, as advised")
        checks.that("all forces are zero" not in done.stdout, f"{name}: {done.stdout[-500:]}")


def test_no_pairs(checks, folder):
    for name, points, warns in (("two far apart", [(0, 0, 0), (9, 0, 0)], True),
                                ("a pair", [(0, 0, 0), (1.1, 0, 0)], False)):
        file = write_points(folder, "few", points)
        done = start(folder, "f", system={"start": "file", "file": file, "boundary": "open"})
        checks.that(done.code == 0 and ("all forces are zero" in done.stdout) == warns, f"{name}: {done.code} {done.last_lines()}")


def test_timestep(checks, folder):
    done = start(folder, "t", system={"cells": 4, "density": 0.8}, run={"steps": 200, "timestep": 0.08})
    checks.that(done.code == 3 and "run.timestep = 0.08 is too large: take a smaller one (0.005 is usual" in said(done), said(done)[-600:])
    checks.that("temperatures in epsilon/k, not in femtoseconds and kelvin (inputs/README.md" in said(done), said(done)[-600:])
    runs(checks, start(folder, "t", system={"cells": 4, "density": 0.8}, run={"steps": 200, "timestep": 0.005}), "0.005")
    done = start(folder, "t", system={"cells": 6, "density": 0.8442, "temperature": 1.44}, run={"steps": 1000, "timestep": 0.025})
    failed = [check for check in done.json()["checks"] if not check["passed"]]
    checks.that(done.code == 3 and [check["name"] for check in failed] == ["conserved energy, change per atom"] and failed[0]["limit"] < 0.06,
                f"energies of a step that is too long, but does not blow up: {done.code} {failed}")
    checks.that("take run.timestep below 0.025" in said(done) and "potential.shift" not in said(done).split("failed")[-1], said(done)[-600:])
    done = start(folder, "t", system={"cells": 4, "density": 0.8, "types": 2}, potential={"pairs": "1 2 1e-6 0.02 0.05"},
                 run={"steps": 200, "timestep": 0.2})
    checks.that("the sigma of a pair, and that of types 1 and 2 is 0.02" in said(done), said(done)[-600:])
    done = start(folder, "t", system={"cells": 8, "density": 2.5})
    checks.that("lower system.density" in said(done), said(done)[-900:])


def oscillation(density, n=3, cutoff=2.5):
    """w^2 of an atom of an fcc crystal of Lennard-Jones: the mean of the second derivatives by its place."""
    edge = (4 / density)**(1 / 3)
    total = 0
    for x, y, z in fcc(2 * n, edge):
        r = math.dist((x, y, z), (n * edge,) * 3)
        if 0 < r < cutoff:
            total += 4 * (12 * 13 / r**14 - 6 * 7 / r**8) + 2 / r * 4 * (-12 / r**13 + 6 / r**7)
    return total / 3


def test_long_timestep(checks, folder):
    """A step that conserves the energy, but is long for the oscillations of the atoms, is warned of; the step of the warning is not."""
    melt = {"cells": 5, "density": 0.8442, "temperature": 1.44}
    done = start(folder, "long", system=melt, run={"steps": 300, "timestep": 0.02, "backend": "cpu"})
    found = re.search(r"warning: run.timestep = 0.02 \(\S*/long.txt:\d+\) is long .*? is ([0-9.]+) % too low for .*? Below ([0-9.]+) it is", said(done))
    report = done.json()["time_step"]
    checks.that(done.code == 0 and found and 2 <= float(found[1]) <= 3 and report["note"].startswith("run.timestep = 0.02"), f"0.02: {found} {report}")
    for timestep in (found[2], 0.005):
        done = start(folder, "long", system=melt, run={"steps": 300, "timestep": timestep, "backend": "cpu"})
        report = done.json()["time_step"]
        checks.that(done.code == 0 and "run.timestep =" not in said(done).split("energy, drift")[1] and report["note"] is None and report["temperature_error"] <= 0.01,
                    f"{timestep}: {report} {said(done)[-600:]}")
    light = {**melt, "types": 2, "fractions": "0.95 0.05", "masses": "1 0.02"}  # the mean over all atoms is a third of 1 %
    report = start(folder, "light", system=light, run={"steps": 300, "timestep": 0.003, "backend": "cpu"}).json()["time_step"]
    checks.that(report["note"] and 0.02 < report["temperature_error"] < 0.06, f"a few light atoms: {report}")
    crystal = {"cells": 5, "density": 1, "temperature": 1e-6}
    done = start(folder, "long", system=crystal, run={"steps": 1, "timestep": 0.02})
    checks.near(done.json()["time_step"]["temperature_error"], oscillation(1) * 0.02**2 / 4, 1e-5, "a crystal")
    for name, sections in (("no step", {"run": {"steps": 0}}), ("not verified", {"report": {"verify": "off"}})):
        report = start(folder, "long", system=melt, **sections).json()["time_step"]
        checks.that(report == {"temperature_error": None, "note": None}, f"{name}: {report}")


def test_types(checks, folder):
    """Named if mass and all pairs are the same, and not if anything differs."""
    system = {"cells": 4, "density": 0.8, "types": 3}
    for change, alike in (({}, "1 and 2"), ({"system": {"masses": "1 2 2"}}, "2 and 3"), ({"system": {"masses": "1 2 3"}}, None),
                          ({"potential": {"epsilon": "1 1.2 1"}}, "1 and 3"), ({"potential": {"sigma": "1 0.9 0.8"}}, None),
                          ({"potential": {"pairs": "1 2 0.5 1"}}, None), ({"potential": {"pairs": "1 3 0.5 1"}}, None)):
        system_too = {**system, **change.get("system", {})}
        done = start(folder, "same", "--check", **{**change, "system": system_too})
        found = re.search(r"note +types (\d and \d)", done.stdout)
        checks.that(done.code == 0 and (found[1] if found else None) == alike, f"{change}: {found}, not {alike}: {done.stdout[:900]}")


def check_cutoffs(checks, folder, name, expected, *words, **sections):
    """The pairs that --check and the log of a run name; the way out of the first of them. None: there is no such warning."""
    system = {"start": "sc", "cells": 8, "density": 0.02, "temperature": 1, **sections.pop("system", {})}
    for first in ([], ["--check"]):
        done = start(folder, "core", *words, *first, system=system, run={"steps": 2}, **sections)
        found = re.search(r"warning: cut at or inside the minimum.*?: pairs? (.*?)\. For.*?(potential.pairs = [-0-9. e]+)", said(done))
        checks.that(done.code == 0 and (found and found[1]) == expected, f"{name} {first}: {found}, not {expected}: {done.last_lines()}")
    return found and found[2].strip().replace(" = ", "=")


def test_cutoffs(checks, folder):
    two = {"types": 2}
    way = check_cutoffs(checks, folder, "mixture", "2 2 (sigma 3, cutoff 2.5)", system=two, potential={"sigma": "1 3"})
    checks.that(way == "potential.pairs=2 2 1 3 7.5", f"{way}")
    check_cutoffs(checks, folder, "as advised", None, way, system=two, potential={"sigma": "1 3"})
    check_cutoffs(checks, folder, "wca", None, system=two, potential={"sigma": "1 3", "form": "wca"})
    check_cutoffs(checks, folder, "one type", "1 1 (sigma 1, cutoff 0.9)", potential={"cutoff": 0.9})
    check_cutoffs(checks, folder, "at the minimum", "1 1 (sigma 1, cutoff 1.122)", potential={"cutoff": 2**(1 / 6)})
    check_cutoffs(checks, folder, "beyond it", None, potential={"cutoff": 1.13})
    check_cutoffs(checks, folder, "a pair", "1 2 (sigma 2, cutoff 2.2)", system=two, potential={"pairs": "1 2 1 2 2.2"})
    many = "1 1 (sigma 3, cutoff 2.5), 1 2 (sigma 3, cutoff 2.5), 1 3 (sigma 3, cutoff 2.5), 2 2 (sigma 3, cutoff 2.5) and 2 more"
    check_cutoffs(checks, folder, "many", many, system={"types": 3}, potential={"sigma": 3})


def test_thermostat(checks, folder):
    """One that never acts, because its first time is behind the last step, is warned of; the ways out serve."""
    system, scaled = {"start": "sc", "cells": 8, "density": 0.8}, {"thermostat": "rescale", "target": 2, "every": 50}
    for name, words, told in (("a short run", [], "ensemble.every is 50 (bad.txt), run.steps 20 (bad.txt)"),
                              ("an early end", ["run.steps=100", "ensemble.last_step=30"],
                               "ensemble.every is 50 (bad.txt), ensemble.last_step 30 (command line)"),
                              ("often", ["ensemble.every=20"], None), ("long", ["run.steps=50"], None), ("no step", ["run.steps=0"], None),
                              ("none", ["ensemble.thermostat=none"], None)):
        done = start(folder, "bad", "--check", *words, system=system, run={"steps": 20}, ensemble=scaled)
        found = re.search(r"warning: the thermostat never acts: (.*?): take a smaller one, or ensemble.thermostat = none", said(done))
        told_here = found and re.sub(r"\([^()]*/bad.txt:\d+\)", "(bad.txt)", found[1])
        checks.that(done.code == 0 and told_here == told, f"{name}: {told_here}, not {told}: {done.stdout[:900]}")


def integrals(epsilon, sigma, cutoff, dimension):
    """Of U and of -r U' / D over half of all space beyond the cutoff: Simpson's rule in 1/r."""
    n, energy, pressure = 2000, 0, 0
    for k in range(1, n + 1):
        s = k / n / cutoff
        weight = (1 if k == n else 4 if k % 2 else 2) / (3 * n * cutoff) * (4 if dimension == 3 else 2) * math.pi / 2
        shell = s**-(dimension + 1)  # r^(D-1) dr
        p = (sigma * s)**6
        energy += weight * shell * 4 * epsilon * (p * p - p)
        pressure += weight * shell * 4 * epsilon * (12 * p * p - 6 * p) / dimension
    return energy, pressure


def tails(checks, folder, name, *words, **sections):
    done = start(folder, "tail", *words, run={"steps": 0}, **sections)
    checks.that(done.code == 0, f"{name}: {done.last_lines()}")
    tail, text = done.json()["tail_corrections"], said(done)
    if tail["energy_per_atom"] is None:
        checks.that(tail["pressure"] is None and tail["note"].startswith("none: ") and f"tails {tail['note']}" in text, f"{name}: {tail}")
    else:
        checks.that(f"tails energy {tail['energy_per_atom']:.6g} per atom, pressure {tail['pressure']:.6g}: {tail['note']}" in text, f"{name}: {text[:900]}")
    return tail, done.json()


def test_tails(checks, folder):
    """Liquid argon (Rahman 1964), mixtures by pair against integrals, in two dimensions; none where a number would mislead."""
    argon = {"cells": 6, "density": 0.8072, "temperature": 0.787}
    for shift in ("none", "energy"):
        tail, report = tails(checks, folder, f"argon, {shift}", system=argon, potential={"shift": shift})
        checks.near(tail["pressure"], -0.697, 5e-4, f"argon, {shift}: pressure")
        checks.near(tail["energy_per_atom"], -0.4322, 5e-4, f"argon, {shift}: energy")
        checks.that(("U(cutoff)" in tail["note"]) == (shift == "energy"), tail["note"])
        checks.near(report["potential_energy_per_atom"] - report["pairs_per_atom"] * (0 if shift == "none" else 0.016316891), -6.26, 0.3,
                    f"argon, {shift}: nothing is added")
    for dimension, lattice, cells in ((3, "fcc", 6), (2, "square", 24)):
        tail, report = tails(checks, folder, f"mixture in {dimension}-D", "potential.pairs=1 2 1.3 0.8 2; 2 2 0.5 1.1 2.2",
                             system={"start": lattice, "cells": cells, "dimension": dimension, "density": 0.6, "types": 2, "fractions": "0.25 0.75"})
        energy = pressure = 0
        for share, pair in ((0.0625, (1, 1, 2.5)), (0.375, (1.3, 0.8, 2)), (0.5625, (0.5, 1.1, 2.2))):
            of_pair = integrals(*pair, dimension)
            energy += share * 0.6 * of_pair[0]
            pressure += share * 0.36 * of_pair[1]
        checks.near(tail["energy_per_atom"], energy, 1e-6, f"mixture in {dimension}-D: energy")
        checks.near(tail["pressure"], pressure, 1e-6, f"mixture in {dimension}-D: pressure")
    file = write_points(folder, "few", [(0, 0, 0), (1.1, 0, 0)])
    for name, sections in (("force", {"system": argon, "potential": {"shift": "force"}}), ("wca", {"system": argon, "potential": {"form": "wca"}}),
                           ("switch", {"system": argon, "potential": {"shift": "switch"}}),
                           ("open", {"system": {"start": "file", "file": file, "boundary": "open"}})):
        tail, _ = tails(checks, folder, name, **sections)
        checks.that(tail["energy_per_atom"] is None and name in tail["note"], f"{name}: {tail}")


def test_no_verdict(checks, folder):
    folder = program.Path(folder)
    system = {"cells": 4, "density": 0.8}
    done = start(folder, "none", system=system, report={"verify": "off"})
    checks.that("verdict: NOT CHECKED - forces were compared with nothing" in said(done) and "run with report.verify = on" in said(done), said(done)[-400:])
    done = start(folder, "none", system=system)
    checks.that(said(done).endswith("verdict: PASSED"), said(done)[-100:])
    program.write_deck(folder, "a long one", system=system, **{**RUN, "run": {"steps": 10**8}, "restart": {"every": 50}})
    child = subprocess.Popen([program.program(), "a long one.txt"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while not (folder / "a long one.restart").exists() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    told = child.communicate()[0]
    text = " ".join(told.split())
    checks.that(child.returncode == 75 and "verdict: NOT CHECKED - forces at the last step, energy and momentum are judged at the end, and the "
                "run was stopped before it: resume it by the command above" in text, f"{child.returncode}: {text[-500:]}")
    again = re.search("resume with: mdmini (--restart .*)", told)[1]
    stopped = json.loads((folder / "a long one.json").read_text())["stopped"]
    checks.that(stopped["resume"] == f"mdmini {again}", f"{stopped} and {again}")
    done = program.run(*shlex.split(again), "run.walltime=3", folder=folder, name="a long one")
    checks.that(done.code in (0, 75), f"as advised: {done.code}: {done.last_lines()}")


def main():
    checks = Checks()
    checks.run(test_random_places, test_places_of_a_file, test_no_pairs, test_timestep, test_long_timestep, test_types, test_cutoffs, test_thermostat, test_tails, test_no_verdict)
    checks.finish()


if __name__ == "__main__":
    main()
