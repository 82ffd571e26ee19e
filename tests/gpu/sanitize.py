#!/usr/bin/env python3
"""compute-sanitizer over every variant: memcheck, racecheck, initcheck, synccheck.

Walks the covering design of the tests (tests/support/walk_list: all pairs of switch values), each combination on one of
the systems below in turn, every system with the defaults, and the elementary kernels of --ceilings. Each run is a child of
its own; several run side by side. Combinations that together have every value come first, for all tools; what the budget
leaves out after them is said.
Prints what failed and a count; exit code 1 when a tool found anything, did not sum up, or did not meet a value.

With --ranks it is memcheck of each of two processes instead, on a GPU each, that store into each other's memory: in each
way to make many steps in one go; and of two whose messages NCCL brings.

usage: sanitize.py MDMINI [--walk-list PROGRAM] [--tools memcheck,racecheck,...] [--jobs N] [--budget SECONDS] [--log FILE]
       sanitize.py MDMINI --ranks [--log FILE]
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import process_group

COMMON = ["run.steps=24", "output.thermo_every=8", "output.frames_every=12", "output.velocities_every=12", "output.forces_every=12",
          "output.images_every=12", "report.counters=on"]
SYSTEMS = {
    "melt": ["system.cells=5", "system.density=0.8442", "system.temperature=1.44"],
    "two-dimensional": ["system.dimension=2", "system.start=hexagonal", "system.cells=13 8", "system.density=0.86"],
    "open": ["system.cells=4", "system.density=0.8442", "system.boundary=open"],
    "slab": ["system.cells=6 6 5", "system.density=0.8442", "system.boundary=periodic periodic open"],
    "two types, force shift": ["system.cells=5", "system.density=0.8442", "system.types=2", "system.fractions=0.7 0.3",
                               "potential.sigma=1 0.9", "potential.shift=force"],
    "thermostat": ["system.cells=5", "system.density=0.8442", "ensemble.thermostat=rescale", "ensemble.target=0.5 1.5"],
    "csvr, morse": ["system.cells=5", "system.density=0.8442", "ensemble.thermostat=csvr", "ensemble.target=1", "ensemble.relaxation=0.1",
                    "ensemble.every=2", "potential.form=morse", "potential.parameters=1 5 1.1"],
    "langevin, yukawa, switch": ["system.cells=5", "system.density=0.8442", "ensemble.thermostat=langevin", "ensemble.target=1",
                                 "ensemble.friction=5", "potential.form=yukawa", "potential.parameters=4 1.5",
                                 "potential.shift=switch"],
    "power": ["system.cells=5", "system.density=0.8442", "potential.form=power", "potential.parameters=1 1 12"],
    "wca": ["system.cells=5", "system.density=0.8442", "potential.form=wca"],
}
CEILINGS = "elementary kernels"
LISTS = {"force.kernel=" + kernel for kernel in ("list", "list-split", "cluster", "brick", "auto")}
NARROW = ["neighbor.capacity=20"]  # the list overflows and regrows
# Runs of two processes: bricks of one cell, 30 lists, of which the last ones are one graph each.
RANKS = 2
OVER_RANKS = ["system.cells=8", "system.density=0.8442", "system.temperature=1.44", "run.steps=90",
              "force.kernel=brick", "memory.sort=brick", "memory.brick_grid=cells",
              "memory.brick_cells=1", "force.threads_per_atom=1", "launch.fuse=step",
              "output.thermo_every=30", "output.frames_every=30"]
DIRECT, BY_COUNT = ["parallel.transport=direct"], ["neighbor.rebuild=every", "neighbor.every=3"]
BY_KERNELS = ["launch.persistent=off", "launch.passes=kernels", "launch.graph=on"]
WAYS = {"kernels in graphs": [*DIRECT, *BY_COUNT, *BY_KERNELS],
        "queue": [*DIRECT, *BY_COUNT, "launch.persistent=off", "launch.passes=queue"],
        "queue, checked": [*DIRECT, "neighbor.rebuild=device-check", "launch.persistent=off", "launch.passes=queue"],
        "resident kernel": [*DIRECT, *BY_COUNT, "launch.persistent=on"],
        "nccl": ["parallel.transport=nccl", *BY_COUNT, *BY_KERNELS]}
FOUND, REFUSED = 99, 2             # exit codes: of the sanitizer, of mdmini
LIMIT_S = 300                      # of a run


def combinations(walk_list):
    """The switches of each combination; those first that bring values which none before them has."""
    done = subprocess.run([walk_list, "cuda", "pairs"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{walk_list} failed:\n{done.stdout[-2000:]}{done.stderr}")
    rest = [line.split() for line in done.stdout.splitlines() if re.match(r"[a-z]+\.[a-z_]+=\S", line)]
    met, first = set(), []
    while rest:
        best = max(rest, key=lambda words: len(set(words) - met))
        if not set(best) - met:
            break
        met |= set(best)
        first.append(best)
        rest.remove(best)
    return first, rest


def run(mdmini, tool, system, words):
    narrow = NARROW if not words or LISTS & set(words) else []
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "deck.txt"), "w").write("# sanitizer\n[run]\nbackend = cuda\n")
        arguments = ["--ceilings", "--quick", "run.backend=cuda"] if system == CEILINGS else [
            "deck.txt", *COMMON, *SYSTEMS[system], *narrow, *words]
        command = ["compute-sanitizer", f"--tool={tool}", f"--error-exitcode={FOUND}", mdmini, *arguments]
        code, text = process_group.run(command, LIMIT_S, cwd=folder)
        return (-1, f"no end after {LIMIT_S} s") if code is None else (code, text)


def judge(mdmini, tool, system, words):
    """(system that ran, what is wrong or "", output). A system that cannot have the switches gives way to the melt."""
    code, text = run(mdmini, tool, system, words)
    if code == REFUSED and system not in ("melt", CEILINGS):
        system = "melt"
        code, text = run(mdmini, tool, system, words)
    if code != 0:
        return system, f"exit code {code}", text
    if not re.search(r"SUMMARY: 0 (errors|hazards)", text):
        return system, "no summary without errors", text
    return system, "", text


def check_ranks(mdmini, log):
    """Prints what memcheck says of each way; whether it found nothing."""
    n_failed = 0
    for way, words in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "deck.txt"), "w").write("# sanitizer\n[run]\nbackend = cuda\n")
            command = ["timeout", "--kill-after=10", str(LIMIT_S), "mpirun", "-n", str(RANKS),  # which ends its processes
                       "compute-sanitizer", "--tool=memcheck", f"--error-exitcode={FOUND}",
                       *["--report-api-errors=no"] * (way == "nccl"),  # it asks for kernels that a GPU may not have
                       mdmini, "deck.txt", *OVER_RANKS, *words]
            code, text = process_group.run(command, LIMIT_S + 20, cwd=folder)
        n_clean = len(re.findall(r"SUMMARY: 0 errors", text))
        wrong = code != 0 or n_clean != RANKS
        found = f"exit code {code}, {n_clean} ranks without errors" if wrong else "no errors"
        print(f"memcheck of {RANKS} ranks, {way}: {found}")
        if wrong:
            n_failed += 1
            print(f"=== {way}: {' '.join(words)}\n{text}", file=log, flush=True)
    return n_failed == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mdmini")
    parser.add_argument("--ranks", action="store_true")
    parser.add_argument("--walk-list")
    parser.add_argument("--tools", default="memcheck,racecheck,initcheck,synccheck")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--budget", type=float, default=200)
    parser.add_argument("--log")
    a = parser.parse_args()
    mdmini, tools, log = os.path.abspath(a.mdmini), a.tools.split(","), open(a.log, "w") if a.log else sys.stdout
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process_group.stop())
    if a.ranks:
        return 0 if check_ranks(mdmini, log) else 1
    first, rest = combinations(a.walk_list or os.path.join(os.path.dirname(mdmini), "tests", "walk_list"))
    names = list(SYSTEMS)
    walked = [(names[k % len(names)], words) for k, words in enumerate(first + rest)]
    must = [(name, []) for name in [CEILINGS, *names]] + walked[:len(first)]
    values = set().union(*map(set, first))
    end, met = time.monotonic() + a.budget, {tool: set() for tool in tools}
    n_run, n_late, failed = dict.fromkeys(tools, 0), 0, []

    def work(tool, system, words, needed):
        if process_group.is_stopped() or not needed and time.monotonic() > end:
            return tool, words, None
        return tool, words, judge(mdmini, tool, system, words)

    with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        os.environ.setdefault("MDMINI_KERNEL_CACHE", cache)  # the tools run the same kernels
        futures = [pool.submit(work, tool, *one, needed)
                   for part, needed in ((must, True), (walked[len(first):], False)) for one in part for tool in tools]
        for future in concurrent.futures.as_completed(futures):
            tool, words, result = future.result()
            if result is None:
                n_late += 1
                continue
            system, wrong, text = result
            n_run[tool] += 1
            met[tool] |= set(words)
            if wrong:
                failed.append((tool, wrong, system, " ".join(words)))
                print(f"=== {tool}, {wrong}: {system}: {' '.join(words)}\n{text}", file=log, flush=True)
    for tool in tools:
        mine = [f for f in failed if f[0] == tool]
        print(f"{tool}: {n_run[tool]} runs, {len(mine)} failed, {len(met[tool] & values)} of {len(values)} switch values")
        for _, wrong, system, words in mine[:8]:
            print(f"    {wrong}: {system}: {words}")
    if n_late:
        print(f"{n_late} of {len(futures)} runs left out: {a.budget:.0f} s were over")
    return 1 if failed or any(values - met[tool] for tool in tools) else 0


if __name__ == "__main__":
    sys.exit(main())
