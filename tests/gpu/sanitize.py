#!/usr/bin/env python3
"""compute-sanitizer over every variant: memcheck, racecheck, initcheck, synccheck.

Walks the option table (mdmini --list-options=json): the product of all performance switches that have named values,
for a small periodic 3-D melt, and one run of each other kind of system (2-D, open, two types). Each run is a child of its
own; several run side by side. Prints what failed and a count; exit code 1 when any tool found anything.

usage: sanitize.py MDMINI [--tools memcheck,racecheck,...] [--jobs N] [--log FILE]
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = {"run.backend"}  # the backend is what is being checked
MELT = ["system.cells=5", "system.density=0.8442", "system.temperature=1.44", "run.steps=24", "neighbor.capacity=20",
        "output.thermo_every=8", "output.frames_every=12", "output.velocities=on", "output.forces=on",
        "output.images=on"]
SYSTEMS = {
    "two-dimensional": ["system.dimension=2", "system.start=hexagonal", "system.cells=13 8", "system.density=0.86",
                        "run.steps=24", "output.thermo_every=8"],
    "open": ["system.cells=4", "system.density=0.8442", "system.boundary=open", "run.steps=24", "output.thermo_every=8"],
    "slab": ["system.cells=6 6 5", "system.density=0.8442", "system.boundary=periodic periodic open", "run.steps=24"],
    "two types, force shift": ["system.cells=5", "system.density=0.8442", "system.types=2", "system.fractions=0.7 0.3",
                               "potential.sigma=1 0.9", "potential.shift=force", "run.steps=24"],
    "thermostat": ["system.cells=5", "system.density=0.8442", "ensemble.thermostat=rescale", "ensemble.target=0.5 1.5",
                   "run.steps=24"],
}


def switch_product(mdmini):
    options = json.loads(subprocess.run([mdmini, "--list-options=json"], check=True, capture_output=True).stdout)
    switches = []
    for option in options:
        name = f'{option["section"]}.{option["key"]}'
        if option["kind"] == "performance" and option.get("choices") and name not in SKIPPED:
            switches.append([f"{name}={value}" for value in option["choices"]])
    return [list(values) for values in itertools.product(*switches)]


def run(mdmini, tool, label, words):
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "deck.txt"), "w").write("# sanitizer\n[run]\nbackend = cuda\n")
        command = ["compute-sanitizer", f"--tool={tool}", "--error-exitcode=99", mdmini, "deck.txt", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        return tool, label, words, done.returncode, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mdmini")
    parser.add_argument("--tools", default="memcheck,racecheck,initcheck,synccheck")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--log")
    a = parser.parse_args()
    mdmini = os.path.abspath(a.mdmini)
    cases = [("melt " + " ".join(words), MELT + words) for words in switch_product(mdmini)]
    cases += list(SYSTEMS.items())
    failed, log = [], open(a.log, "w") if a.log else sys.stdout
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        futures = [pool.submit(run, mdmini, tool, label, words) for tool in a.tools.split(",") for label, words in cases]
        for future in concurrent.futures.as_completed(futures):
            tool, label, words, code, text = future.result()
            if code != 0:
                failed.append((tool, label, code))
                print(f"=== {tool}, {label}: exit code {code}\n{text}", file=log, flush=True)
    for tool in a.tools.split(","):
        n = sum(1 for f in failed if f[0] == tool)
        print(f"{tool}: {len(cases)} runs, {n} failed")
        for _, label, code in [f for f in failed if f[0] == tool][:8]:
            print(f"    exit code {code}: {label}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
