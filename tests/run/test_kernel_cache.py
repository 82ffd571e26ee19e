"""Kernels are compiled once: what the log and the report say of it, jobs that start together, and where nothing can be kept."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import program
from program import Checks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
DECK = {"system": {"start": "fcc", "cells": 4, "density": 0.8442}, "run": {"steps": 2, "backend": BACKEND},
        "output": {"frames_every": 0}}


def begin(folder, name, environment, mdmini=None):
    program.write_deck(folder, name, **DECK)
    return subprocess.Popen([mdmini or program.program(), f"{name}.txt"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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
            checks.that(compiled == {"compiled": 0, "cached": 0, "installed": 0, "seconds": 0, "cache": None} and not line, f"{compiled} {line}")
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


def test_installed(checks, folder):
    """Kernels of share/mdmini/kernels are found with an empty cache, but for damaged ones and where others can write."""
    if BACKEND == "cpu":
        return
    place, cache = Path(folder) / "place", Path(folder) / "cache"
    kernels = place / "share" / "mdmini" / "kernels"
    (place / "bin").mkdir(parents=True)
    mdmini = shutil.copy(program.program(), place / "bin" / "mdmini")

    def run(name, into):
        into.mkdir(parents=True, exist_ok=True)
        into.chmod(0o755)
        environment = {**os.environ, "MDMINI_KERNEL_CACHE": str(into)}
        return finish(checks, folder, name, begin(folder, name, environment, mdmini))

    compiled, line = run("a", cache)
    n = compiled["compiled"]
    checks.that(n >= 6 and compiled["installed"] == 0 and "installation" not in line, f"nothing installed: {compiled}, {line}")
    cache.rename(Path(folder) / "first")
    compiled, line = run("b", kernels)
    checks.that(compiled["compiled"] == n and compiled["installed"] == 0, f"the folder is filled: {compiled}, {line}")
    compiled, line = run("c", cache)
    checks.that(compiled["compiled"] == 0 and compiled["installed"] == compiled["cached"] == n, f"installed: {compiled}")
    checks.that(line == f"kernels   {n} files of the installation" and not list(cache.iterdir()), line)
    image = sorted(kernels.iterdir())[0]
    image.write_bytes(image.read_bytes()[:-9] + b"!" + image.read_bytes()[-8:])
    compiled, line = run("d", cache)
    checks.that(compiled["compiled"] == 1 and compiled["installed"] == n - 1 and line.endswith(f", kept in {cache}"), f"{compiled}, {line}")
    compiled, line = run("e", cache)
    checks.that(compiled["compiled"] == 0 and compiled["installed"] == n - 1 and line.endswith(f"1 file from the cache {cache}"), f"{compiled}, {line}")
    kernels.chmod(0o777)
    compiled, line = run("f", cache)
    checks.that(compiled["compiled"] == n - 1 and compiled["installed"] == 0, f"others can write there: {compiled}, {line}")
    kernels.chmod(0o755)
    environment = {**os.environ, "MDMINI_KERNEL_CACHE": ""}
    compiled, line = finish(checks, folder, "g", begin(folder, "g", environment, mdmini))
    checks.that(compiled["compiled"] == n, f"the cache is off: {compiled}, {line}")


def main():
    checks = Checks()
    checks.run(test_kept)
    checks.run(test_installed)
    checks.finish()


main()
