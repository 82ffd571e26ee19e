"""Long runs of the melt: the default beside double precision. The conserved energy does not drift; temperature, pressure and
radial distribution are the same within statistics, errors of means by blocks. A wrong cutoff and lists that are much too old are
told apart by the same measures.

MDMINI_TEST_LONG="CELLS:STEPS ...": fcc cells along an edge and steps; on a GPU "10:1000000 20:100000".
MDMINI_TEST_BACKENDS."""
import os
from pathlib import Path

import numpy

import program

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
SIZES = [tuple(int(word) for word in pair.split(":")) for pair in os.environ.get("MDMINI_TEST_LONG", "5:6000").split()]
N_BLOCKS = 20
# Two-sided probability of a false alarm with 19 + 19 degrees of freedom: 1e-5 (Student's t).
ALLOWED = 5.1


def run(checks, folder, name, cells, steps, words):
    """The second half of a run and its report: the first melts."""
    deck = program.write_deck(folder, name, system={"start": "fcc", "cells": cells, "density": 0.8442, "temperature": 1.44},
                              run={"steps": steps, "backend": BACKEND},
                              output={"frames_every": max(steps // 100, 1), "thermo_every": max(steps // 2000, 1),
                                      "precision": "double", "progress": "off"})
    done = program.run(deck.name, *words, folder=folder, timeout=3000)
    if not checks.that(done.code in (0, 3) and done.path("json").exists(), f"{name}: {done.code} {done.last_lines()}"):
        return None
    with done.h5() as h5:
        n_frames = len(h5["particles/all/position/step"])
        frames = [program.Frame(h5, k) for k in range(n_frames // 2, n_frames)]
        n = len(h5["observables/temperature/value"])
        series = {key: numpy.asarray(h5[f"observables/{key}/value"])[n // 2:] for key in ("temperature", "pressure")}
    return done.json(), series, frames


def mean_and_error(values):
    """By means of blocks (Flyvbjerg and Petersen, J. Chem. Phys. 91, 461 (1989)), each longer than what remembers."""
    values = numpy.asarray(values)
    values = values[: len(values) // N_BLOCKS * N_BLOCKS]
    blocks = values.reshape(N_BLOCKS, -1, *values.shape[1:]).mean(axis=1)
    return blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / numpy.sqrt(N_BLOCKS)


def radial(frame, edges):
    """g(r) of a frame, of some 100 atoms against all."""
    length, n = frame.edges, len(frame.position)
    counts = numpy.zeros(len(edges) - 1)
    for i in range(0, n, max(1, n // 100)):
        d = frame.position - frame.position[i]
        d -= length * numpy.round(d / length)
        counts += numpy.histogram(numpy.sqrt((d**2).sum(axis=1)), edges)[0]
    shell = 4 / 3 * numpy.pi * (edges[1:]**3 - edges[:-1]**3) * n / length.prod()
    return counts / len(range(0, n, max(1, n // 100))) / shell


def measure(result):
    report, series, frames = result
    edges = numpy.linspace(0.9, 3.0, 15)  # wide bins: few enough that 5 sigma is never reached by chance
    values = {key: mean_and_error(series[key]) for key in series}
    values["g(r)"] = mean_and_error([radial(frame, edges) for frame in frames])
    return values


def worst(first, second):
    """Of each quantity, the largest difference in units of its error."""
    found = {}
    for key in first:
        error = numpy.sqrt(first[key][1] ** 2 + second[key][1] ** 2)
        found[key] = float(numpy.max(numpy.abs(first[key][0] - second[key][0]) / error))
    return found


def drift_limit(n_atoms, steps):
    """Four standard deviations of the slope of a walk: pairs that cross the cutoff, where the force jumps, kick the energy of this
    melt so that 4,000 atoms over 5,000 steps show 7e-9 (tests/physics/test_dynamics.c, drift_limit)."""
    return 4 * 7e-9 * (4000 / n_atoms * 5000 / steps) ** 0.5


def check_smooth(checks, folder, cells, steps):
    """With a force that ends smoothly the energy hardly walks, and what the arithmetic adds shows: the default drifts as double
    precision does. (By lists that last: particles are brought back into the box when they are rebuilt.)"""
    reports = {}
    for name, words in (("double", ["run.precision=double"]), ("default", [])):
        result = run(checks, folder, f"smooth-{name}-{cells}", cells, steps, ["potential.shift=force", "neighbor.skin=auto", *words])
        if result is None:
            return
        reports[name] = result[0]
        print(f"{4 * cells**3} atoms, {steps} steps, shift = force, {name}: drift {drift_text(result[0])}, {result[0]['verdict']}")
    drift, error = ([reports[name][key] for name in ("default", "double")]
                    for key in ("energy_drift_per_atom_step", "energy_drift_error_per_atom_step"))
    checks.that(abs(drift[0] - drift[1]) < ALLOWED * numpy.hypot(*error), f"shift = force: drifts {drift}, errors {error}")


def drift_text(report):
    return f"{report['energy_drift_per_atom_step']:.1e} +- {report['energy_drift_error_per_atom_step']:.1e}"


def main():
    checks = program.Checks()
    with program.temporary_folder() as folder:
        for cells, steps in SIZES:
            cases = {"double": ["run.precision=double"], "default": [], "cutoff": ["potential.cutoff=2.2"],
                     "old": ["neighbor.rebuild=every", "neighbor.every=60", "neighbor.skin=0.05"]}
            results = {name: run(checks, Path(folder), f"{name}-{cells}", cells, steps, words)
                       for name, words in cases.items()}
            if None in results.values():
                continue
            measures = {name: measure(result) for name, result in results.items()}
            print(f"{4 * cells**3} atoms, {steps} steps, double: drift {drift_text(results['double'][0])}")
            for name in ("default", "cutoff", "old"):
                off = worst(measures["double"], measures[name])
                report = results[name][0]
                what = f"{4 * cells**3} atoms, {steps} steps, {name}"
                print(what + ": " + ", ".join(f"{key} {value:.1f} errors off" for key, value in off.items()),
                      f"drift {drift_text(report)}, {report['verdict']}")
                if name == "default":
                    checks.that(max(off.values()) < ALLOWED, f"{what}: {off}")
                else:
                    checks.that(max(off.values()) > ALLOWED, f"{what}: the fault was not seen: {off}")
            for name in ("double", "default"):
                report = results[name][0]
                checks.that(report["verdict"] == "PASSED", f"{name}: {report['verdict']}: {report['checks']}")
                drift = report["energy_drift_per_atom_step"]
                checks.that(abs(drift) < drift_limit(4 * cells**3, steps), f"{name}: drift {drift:.2e}")
            drift = results["old"][0]["energy_drift_per_atom_step"]
            checks.that(abs(drift) > drift_limit(4 * cells**3, steps), f"old lists do not drift: {drift:.2e}")
            checks.that(results["old"][0]["n_late_rebuilds"] > 0, "old lists were not counted as late")
            check_smooth(checks, Path(folder), cells, steps)
    checks.finish()


main()
