"""Kernels are compiled once: what the log and the report say of it, jobs that start together, and where nothing can be kept."""
import json
import os
import subprocess
from pathlib import Path

import program
from program import Checks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
DECK = {"system": {"start": "fcc", "cells": 4, "density": 0.8442}, "run": {"steps": 2, "backend": BACKEND},
        "output": {"frames_every": 0}}


def begin(folder, name, environment):
    program.write_deck(folder, name, **DECK)
    return subprocess.Popen([program.program(), f"{name}.txt"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env=environment)


def finish(checks, folder, name, job):
    told = job.communicate()[0]
    checks.that(job.returncode == 0, f"{name}: exit code {job.returncode}: {told[-600:]}")
    line = next((line for line in told.splitlines() if line.startswith("kernels ")), "")
    return json.loads((Path(folder) / f"{name}.json").read_text())["compilation"], line


def test_kept(checks, folder):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MDMINI_KERNEL", "XDG_"))}
    environment["HOME"] = str(folder)
    cache = Path(folder) / ".cache" / "mdmini"
    together = [(name, begin(folder, name, environment)) for name in ("a", "b", "c")]
    for name, job in together:
        compiled, line = finish(checks, folder, name, job)
        if BACKEND == "cpu":
            checks.that(compiled == {"compiled": 0, "cached": 0, "seconds": 0, "cache": None} and not line, f"{compiled} {line}")
            continue
        checks.that(compiled["compiled"] + compiled["cached"] >= 6 and compiled["seconds"] > 0, f"{name}: {compiled}")
    if BACKEND == "cpu":
        return
    kept = sorted(path.name for path in cache.iterdir())
    checks.that(len(kept) >= 6 and all(name.endswith(".image") for name in kept), f"kept: {kept}")
    compiled, line = finish(checks, folder, "d", begin(folder, "d", environment))
    checks.that(compiled["compiled"] == 0 and compiled["cached"] >= 6 and compiled["cache"] == str(cache), f"again: {compiled}")
    checks.that(line == f"kernels   {compiled['cached']} files from the cache {cache}", line)
    (cache / kept[0]).write_bytes(b"")  # as a crash leaves it
    compiled, line = finish(checks, folder, "e", begin(folder, "e", environment))
    checks.that(compiled["compiled"] == 1 and line.endswith(f"from the cache {cache}"), f"one is damaged: {compiled}, {line}")
    environment["HOME"] = str(Path(folder) / "a.txt")  # a file: there can be no cache
    compiled, line = finish(checks, folder, "f", begin(folder, "f", environment))
    checks.that(compiled["cached"] == 0 and compiled["cache"] is None, f"no cache: {compiled}")
    checks.that(line.endswith("not kept: there is no folder for them (MDMINI_KERNEL_CACHE names one)"), line)
    environment["MDMINI_KERNEL_CACHE"] = str(Path(folder) / "nowhere")
    compiled, line = finish(checks, folder, "g", begin(folder, "g", environment))
    checks.that(compiled["cached"] == 0 and line.endswith("not kept: " + environment["MDMINI_KERNEL_CACHE"] +
                                                          " is not there, or cannot be written to"), line)


def main():
    checks = Checks()
    checks.run(test_kept)
    checks.finish()


main()
