"""The presets inputs/presets: naive.txt has the first value of every switch, fast.txt the default, and the rungs
ladder-*.txt lead from the one to the other, one change each. Every prefix of the ladder passes --check here, but where
the backend says that it lacks a value."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM, SOURCE = os.environ.get("MDMINI", ""), os.environ.get("MDMINI_SOURCE", "")
sys.path.insert(0, str(Path(SOURCE) / "run"))
from decks import read_deck
# As inputs/SWITCHES.md says under "The presets".
NAIVE_EXCEPTIONS = {"reduce.accumulate": "double"}  # in double precision nothing else is right
# A rung changes one switch, or one idea: these keys together.
IDEAS = {"list": {"force.kernel", "neighbor.search", "neighbor.threads_per_atom", "neighbor.write", "neighbor.list", "neighbor.order",
                  "neighbor.sorted"},
         "brick": {"force.kernel", "memory.sort", "memory.brick_grid", "memory.brick_cells", "memory.staging", "neighbor.distances"},
         "brick-cells": {"memory.brick_grid", "memory.brick_cells"},
         "kernel": {"force.kernel", "memory.sort", "neighbor.threads_per_atom", "launch.fuse"},
         "persistent": {"launch.graph", "launch.persistent"},
         "pipeline": {"output.pipeline", "output.streams"}}
failures = []


def check(holds, text):
    if not holds:
        failures.append(text)
        print("FAILED:", text)
    return holds


def effective(*words):
    """(values, keys that have no effect, exit code, messages) of --check."""
    done = subprocess.run([PROGRAM, "--check", *map(str, words)], capture_output=True, text=True)
    section, values, moot = "", {}, set()
    for line in done.stdout.splitlines():
        match = re.match(r"(# )?(\w+) +=\s+(.*?) +# (.*)", line)
        if line.startswith("["):
            section = line.strip("[]")
        elif match and section:
            key = f"{section}.{match[2]}"
            values[key] = match[3]
            if match[1] and "not used: needs" in match[4]:
                moot.add(key)
    return values, moot, done.returncode, done.stderr


def main():
    if not PROGRAM or not SOURCE:
        print("skipped: MDMINI or MDMINI_SOURCE is not set")
        return 77
    listed = subprocess.run([PROGRAM, "--list-options=json"], check=True, stdout=subprocess.PIPE).stdout
    options = {f"{row['section']}.{row['key']}": row for row in json.loads(listed)}
    switches = {key: row for key, row in options.items()
                if row["kind"] == "performance" and "choices" in row and key not in ("run.backend", "system.random")
                and not key.startswith("parallel.")}  # presets are of one process
    inputs = Path(SOURCE) / "inputs"
    melt, presets = inputs / "melt.txt", inputs / "presets"
    naive, fast = presets / "naive.txt", presets / "fast.txt"
    rungs = sorted(presets.glob("ladder-*.txt"))
    numbers = {path.name.split("-")[1] for path in rungs}
    check(len(numbers) == len(rungs) and all(re.fullmatch(r"\d\d", number) for number in numbers),
          f"rungs without a number of their own: {[path.name for path in rungs]}")

    # Each preset says all that it can say, and says it right.
    for path, expected in ((naive, {key: NAIVE_EXCEPTIONS.get(key, row["choices"][0]) for key, row in switches.items()}),
                           (fast, {key: row["default"] for key, row in switches.items()})):
        given, (_, moot, code, messages) = read_deck(path), effective(melt, path)
        # A backend may lack a value of naive.txt: what has no effect is then known from its own message alone.
        check(code == 0 or "backend does not have it" in messages, f"{path.name}: {messages}")
        for key in switches:
            if code == 0:
                check((key in given) != (key in moot), f"{path.name}: {key} is {'given' if key in given else 'missing'}")
            if key in given:
                check(given[key] == expected[key], f"{path.name}: {key} is {given[key]}, expected {expected[key]}")
        check(set(given) <= set(switches), f"{path.name}: no switches: {set(given) - set(switches)}")

    # One change a rung, from what stands there to something else. A switch that begins to have an effect begins naive.
    standing, n_checked, lacking = read_deck(naive), 0, []
    for k, rung in enumerate(rungs):
        name, given = rung.stem.split("-", 2)[2], read_deck(rung)
        check(set(given) == IDEAS.get(name, set(list(given)[:1])) and given, f"{rung.name}: changes {sorted(given)}")
        for key, value in given.items():
            check(key in switches and standing.get(key) != value, f"{rung.name}: {key} is {value} already")
            if key not in standing:
                check(value == switches[key]["choices"][0], f"{rung.name}: {key} begins with {value}")
        standing.update(given)
        _, _, code, messages = effective(melt, naive, *rungs[:k + 1])
        refused = [line for line in messages.splitlines()
                   if "backend does not have it" not in line and "run.backend=auto took" not in line]
        check(not refused, f"{rung.name}, and what is below it: {refused}")
        lacking += [rung.name] if code else []
        n_checked += code == 0
    top, top_moot, code, messages = effective(melt, naive, *rungs)
    best, best_moot, _, _ = effective(melt, fast)
    check(code == 0, f"the whole ladder: {messages}")
    check(len(best) == len(options), f"{len(best)} keys in the effective deck, {len(options)} in the table")
    differ = {key for key in best if top.get(key) != best[key]}
    check(not differ and top_moot == best_moot, f"the top of the ladder is not fast.txt: {sorted(differ)}")
    print(f"{len(rungs)} rungs, {n_checked} pass the check here" +
          (f"; this backend lacks a value of {', '.join(lacking)}" if lacking else ""))
    check(n_checked > 0, "no rung could be checked")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
