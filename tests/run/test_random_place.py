"""system.random: the initial state is the same, bit for bit, whether host or GPU make the random numbers of the start; the report
says where; what cannot be is refused; a run that goes on makes none. The state is that of the restart file of a run of no steps.

MDMINI_TEST_ variables as in support/resuming.py."""
import os
import subprocess

import program
import restart_file
from resuming import BACKEND, deck, resume, run_tests

LATTICE = {"seed": 5}
PLACES = {"start": "random", "cells": None, "atoms": 600, "density": 0.4, "types": 2, "seed": 6}
HAS_CUDA = "cuda (" in subprocess.run([program.program(), "--version"], capture_output=True, text=True).stdout


def start(checks, folder, place, system, *words):
    """A run of no steps, which leaves place.restart; its report."""
    done = program.run(deck(folder, "start", system=system), "run.steps=0", f"output.name={place}", f"system.random={place}",
                       "output.existing=overwrite", *words, folder=folder, name=place)
    if not checks.that(done.code == 0, f"system.random={place} {words}: {done.last_lines()}"):
        return None
    return done.json()


def test_same_state(checks, folder):
    """And another seed, or another generator, gives another state."""
    generators = ["philox", "xorwow", "mrg32k3a"] if HAS_CUDA else ["philox"]
    places = ["host", "auto", "device"] if BACKEND == "cuda" else ["host", "auto"]
    for system in (LATTICE, PLACES):
        for generator in generators:
            what = f"{system}, {generator}"
            told = [start(checks, folder, place, system, f"system.generator={generator}") for place in places]
            if not all(told):
                continue
            for place, report in zip(places, told):
                made_on = "host" if place == "auto" else place
                checks.that(report["random_made_on"] == made_on, f"{what}, {place}: made on {report['random_made_on']}")
                checks.that(report["random_numbers"] == told[0]["random_numbers"] >= 3 * report["n_atoms"],
                            f"{what}, {place}: {report['random_numbers']} numbers")
                checks.that(0 < report["random_seconds"] < report["setup_seconds"], f"{what}, {place}: {report['random_seconds']} s")
                differ = restart_file.difference(folder / "host.restart", folder / f"{place}.restart")
                checks.that(not differ, f"{what}, {place}: the initial states differ in {differ}")
            start(checks, folder, "auto", system, f"system.generator={generator}", "system.seed=7")
            differ = restart_file.difference(folder / "host.restart", folder / "auto.restart")
            checks.that(differ, f"{what}: another seed gives the same state")
    start(checks, folder, "auto", LATTICE)
    start(checks, folder, "host", LATTICE, f"system.generator={generators[-1]}")
    differ = restart_file.difference(folder / "host.restart", folder / "auto.restart")
    checks.that(bool(differ) == (len(generators) > 1), f"two generators: the states differ in {differ}")


def test_log(checks, folder):
    name = deck(folder, "start", system=LATTICE)
    text = " ".join(program.run(name, "run.steps=2", folder=folder).stdout.split())
    for words in ("made on the host in ", "auto system.random = host: "):
        checks.that(words in text, f"{words!r} is not in the log: {text[-400:]}")


def test_many(checks, folder):
    """Numbers of many atoms are made on the GPU of the run."""
    if BACKEND == "cuda":
        report = start(checks, folder, "auto", {"dimension": 2, "start": "square", "cells": 510, "density": 0.05}, "report.verify=off", "restart.every=0",
                       "output.frames_every=0", "output.velocities_every=0", "output.images_every=0", "potential.cutoff=2.5")
        checks.that(report and report["random_made_on"] == "device", f"made on {report and report['random_made_on']}")


def test_refused(checks, folder):
    """Exit code 2, and the way out, where no GPU makes the numbers; and a check that has no GPU says that it did not look."""
    os.environ.update(CUDA_VISIBLE_DEVICES="", MDMINI_EMULATOR_DEVICES="0")
    for backend, reason in (("cpu", "the cpu backend uses no GPU"), ("auto", "run.backend = auto took the cpu backend here")):
        name = deck(folder, "start", system={**LATTICE, "random": "device"}, run={"backend": backend, "threads": None})
        for words in ([], ["--check"]):
            done = program.run(*words, name, folder=folder)
            checks.that(done.code == 2 and f"system.random: device, but {reason}: take system.random = host or auto" in done.stderr,
                        f"{backend} {words}: {done.code} {done.stderr}")
    name = deck(folder, "start", system={**LATTICE, "random": "device"}, run={"backend": "cuda", "threads": None})
    done = program.run("--check", name, folder=folder)
    checks.that(done.code == (0 if HAS_CUDA else 2), f"a check without a GPU: {done.code} {done.stderr}")
    del os.environ["CUDA_VISIBLE_DEVICES"], os.environ["MDMINI_EMULATOR_DEVICES"]


def test_resumed(checks, folder):
    """Numbers that the start has made are not made again, so that the key has no part in a run that goes on."""
    program.run(deck(folder, "parts", system=LATTICE), "run.steps=20", folder=folder)
    for place in ("device", "host"):
        done = resume(folder, "parts", "run.steps=40" if place == "device" else "run.steps=60", f"system.random={place}")
        if checks.that(done.code == 0, f"resumed with {place}: {done.last_lines()}"):
            report = done.json()
            checks.that(report["resumed"]["same_bits"], f"resumed with {place}: {report['resumed']}")
            checks.that(report["random_numbers"] == 0 and report["random_made_on"] is None, f"resumed with {place}: makes numbers")
    program.run(deck(folder, "whole", system=LATTICE), "run.steps=60", folder=folder)
    differ = restart_file.difference(folder / "parts.restart", folder / "whole.restart")
    checks.that(not differ, f"resumed with other places: the end differs in {differ}")


run_tests(test_same_state, test_log, test_many, test_refused, test_resumed)
