"""mdmini --bench: every row of the variants table, on every configuration, with a verdict; files and refusals as a run's."""
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import program
from program import Checks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
STAGES = ["sort", "neighbor", "force", "integrate", "reduce", "gather"]
CONFIGURATIONS = ["ordered", "melted", "shuffled"]
STATES = {"timed", "same as base", "without effect here", "refused", "skipped", "failed"}


def small_deck(folder, **run):
    return program.write_deck(folder, "small", system={"cells": 5, "density": 0.8442, "temperature": 1.44},
                              run={"steps": 30, "backend": BACKEND, **({"threads": 1} if BACKEND == "cpu" else {}), **run})


def listing(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def rows_of_table(folder):
    """(stage, `switch=value`) of the backend's table."""
    backends = json.loads(program.run("--list-variants=json", folder=folder).stdout)["backends"]
    rows = next(backend for backend in backends if backend["name"] == BACKEND)["variants"]
    return {(row["stage"], f"{row['switch']}={row['value']}") for row in rows if row["switch"]}


def check_case(checks, case):
    what = f"{case['stage']}, {case['configuration']}, {case['variant']}"
    checks.that(case["state"] in STATES, f"{what}: state {case['state']}")
    checks.that(case["state"] != "failed", f"{what}: failed its check: {case.get('reason')}")
    if case["state"] == "timed":
        checks.that(case["verdict"] == "PASSED", f"{what}: timed, but the verdict is {case['verdict']}")
        checks.that(0 < case["seconds_low"] <= case["seconds_per_call"] <= case["seconds_high"], f"{what}: times")
        checks.that(case["base_seconds_per_call"] > 0 and abs(case["interval_confidence"] - 0.98828125) < 1e-9,
                    f"{what}: base {case['base_seconds_per_call']}, interval of {case['interval_confidence']}")
        checks.that(0 < case["speed_low"] <= case["speed"] <= case["speed_high"], f"{what}: speeds")
        checks.that(case["distinguishable"] == (case["speed_low"] > 1 or case["speed_high"] < 1), f"{what}: judgement")
    else:
        checks.that("seconds_per_call" not in case and "speed" not in case, f"{what}: {case['state']}, but has a speed")
    if case["state"] == "without effect here":
        checks.that(re.fullmatch(r"needs \w+\.\w+ = .+", case["reason"]), f"{what}: no effect, but {case['reason']!r}")
    if case["state"] == "refused":
        checks.that(case["variant"].split("=")[0] in case["reason"] or "needs" in case["reason"],
                    f"{what}: refused without a reason: {case['reason']!r}")


def bench(asked, folder):
    """The report of --bench `asked`, and what the program said."""
    small_deck(folder)
    done = program.run("--bench", asked, "small.txt", "--melt", "20", folder=folder)
    report = Path(folder) / "small.bench.json"
    return done, json.loads(report.read_text()) if report.exists() else None


def test_all(checks, folder):
    """On a GPU stage by stage at once: each variant has kernels of its own, and compiling them is what takes the time."""
    asked = ["all"] if BACKEND == "cpu" else [*STAGES, "step"]
    folders = [Path(folder) / name for name in asked]
    for place in folders:
        place.mkdir()
    with ThreadPoolExecutor(len(asked)) as pool:
        benches = list(pool.map(bench, asked, folders))
    for name, place, (done, report) in zip(asked, folders, benches):
        if not checks.that(done.code == 0 and report, f"{name}: exit code {done.code}: {done.last_lines()}"):
            return
        checks.that(listing(place) == ["small.bench.json", "small.txt"], f"{name} left {listing(place)}")
        checks.that(report["verdict"] == "PASSED" and "verdict: PASSED" in done.stdout, f"{name}: verdict {report['verdict']}")
        checks.that(report["n_atoms"] == 500 and report["melt_steps"] == 20 and report["backend"] == BACKEND, "head of JSON")
        checks.that(bool(report["provenance"]["commit"]) and f"--bench {name}" in report["provenance"]["command"], "provenance")
    all_cases = [case for _, report in benches for case in report["cases"]]
    table = rows_of_table(folder)
    for stage in STAGES:
        expected = {value for of, value in table if of in (stage, "memory", "launch")} | {"base"}
        for configuration in CONFIGURATIONS:
            cases = [c for c in all_cases if c["stage"] == stage and c["configuration"] == configuration]
            names = [case["variant"] for case in cases]
            checks.that(len(names) == len(set(names)) and set(names) == expected,
                        f"{stage}, {configuration}: rows {sorted(set(names) ^ expected)} missing or too many")
            checks.that(cases[0]["variant"] == "base" and cases[0]["state"] == "timed", f"{stage}: no base")
            # A switch without `auto` has one of its values in the base.
            checks.that(any(case["state"] in ("same as base", "without effect here") for case in cases) or len(cases) == 1,
                        f"{stage}: nothing is as in the base")
    covered = {case["variant"] for case in all_cases}
    # What output costs is told beside steps: run/pipeline.sh. The halo is of several processes, and --bench of one.
    wanted = {value for of, value in table if of not in ("output", "halo")}
    checks.that(wanted <= covered, f"never timed: {sorted(wanted - covered)}")
    for case in all_cases:
        check_case(checks, case)
    # Where the base has bricks, threads that share a row are those of bricks, not of another kernel.
    if any(case["variant"] == "force.kernel=brick" and case["state"] == "same as base" for case in all_cases):
        rows = [case for case in all_cases if case["variant"].startswith("force.threads_per_atom=") and case["state"] == "timed"]
        checks.that(rows and not any("force.kernel=" in case.get("with", "") for case in rows),
                    f"another kernel: {[case['variant'] for case in rows if 'force.kernel=' in case.get('with', '')]}")
    checks.that(sum(case["state"] == "timed" for case in all_cases) > 3 * len(STAGES) + 3, "only bases were timed")


def test_table(checks, folder):
    """The table ranks by speed, and brute force over 4,000 atoms is slower than cells."""
    small_deck(folder)
    done = program.run("--bench", "neighbor", "small.txt", "system.cells=10", "neighbor.search=cell", "--melt", "10",
                       folder=folder)
    checks.that(done.code == 0, f"exit code {done.code}: {done.last_lines()}")
    tables = re.split(r"\n\n", done.stdout)
    melted = next((table for table in tables if table.lstrip().startswith("neighbor, melted")), "")
    ranking = [line.split() for line in melted.splitlines()[2:] if line.rstrip().endswith("PASSED")]
    speeds = [1.0 if words[0] == "base" else float(words[6]) for words in ranking]
    checks.that(len(speeds) > 2 and speeds == sorted(speeds, reverse=True), f"not ranked: {melted}")
    brute = [float(words[6]) for words in ranking if words[0] == "neighbor.search=brute"]
    checks.that(len(brute) == 1 and brute[0] < 0.8, f"brute force has {brute} of the speed of cells")


def test_no_effect(checks, folder):
    """Switches of a list where no kernel has one are not timed, nor a wait where nothing waits; each says why."""
    small_deck(folder)
    program.run("--bench", "neighbor", "small.txt", "force.kernel=pairs", "--melt", "0", folder=folder)
    cases = json.loads((Path(folder) / "small.bench.json").read_text())["cases"]
    states = {case["state"] for case in cases if case["variant"].startswith("neighbor.")}
    checks.that(states == {"without effect here"}, f"rows of a list that is not there: {states}")
    done = program.run("--bench", "integrate", "small.txt", "--melt", "0", "output.existing=overwrite", folder=folder)
    checks.that(done.code == 0, f"exit code {done.code}: {done.last_lines()}")
    cases = json.loads((Path(folder) / "small.bench.json").read_text())["cases"]
    waits = [case for case in cases if case["variant"] == "neighbor.rebuild=host-check"]
    checks.that(all(case["state"] == "skipped" and "--bench step" in case["reason"] for case in waits) and waits,
                f"host-check: {waits[:1]}")


def test_refusals(checks, folder):
    small_deck(folder)
    for words, says in [(["--bench", "frce", "small.txt"], 'did you mean "force"?'), (["--bench", "nothing", "small.txt"], "no such stage"), (["--bench"], "--bench"),
                        (["--bench", "force", "small.txt", "--melt", "-3"], "--melt"),
                        (["--bench", "force", "small.txt", "--melt", "3x"], "--melt"),
                        (["--bench", "force", "small.txt", "system.cells=2"], "box"),
                        (["--bench", "force"], "FILE")]:
        done = program.run(*words, folder=folder)
        checks.that(done.code == 2 and says in done.stderr, f"{words}: exit code {done.code}, {done.stderr!r}")
        checks.that(listing(folder) == ["small.txt"], f"{words} left {listing(folder)}")
    words = ["--bench", "gather", "small.txt", "--melt", "0"]
    first = program.run(*words, folder=folder)
    old = (Path(folder) / "small.bench.json").read_bytes()
    refused = program.run(*words, "output.existing=refuse", folder=folder)
    checks.that(first.code == 0 and refused.code == 2 and "small.bench.json" in refused.stderr, "refuse does not refuse")
    program.run(*words, folder=folder)
    checks.that((Path(folder) / "small.bench.1.json").read_bytes() == old, "no backup of the older results")


def main():
    checks = Checks()
    checks.run(test_all, test_table, test_no_effect, test_refusals)
    checks.finish()


main()
