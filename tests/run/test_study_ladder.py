"""Studies of design ladder and leave-one-out on a small system: every rung and every switch of fast.txt has a point, and each that
runs has passed; what does not run says why; the limit and the budget are kept; no loop is timed beside another run.
On the cpu backend: what the study does is the same on every one."""
import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import program
from studies import TOP
from studies.definition import read_study
from studies.designs import design
from studies.listings import Program
from studies.records import Folder
from studies.results import make_results
from studies.rungs import companions, differences
from studies.runner import Runner
from studies.steps import Timing, predict
from studies.view import with_few_steps
from runs import NotRun
from scripts import Budget

SOURCE = Path(os.environ["MDMINI_SOURCE"]) if "MDMINI_SOURCE" in os.environ else None
REASONS = ("backend has no such switch", "backend does not have", "refused: ", "it runs as ")
WORDS = "run.backend=cpu system.cells=5"


def climb(folder, name, *words, mdmini=None):
    """A study of this design: what came of the command, and results.json."""
    output = Path(folder) / f"{name}-{len(list(Path(folder).iterdir()))}"
    done = subprocess.run([sys.executable, "-B", SOURCE / "tools/study.py", SOURCE / "inputs/melt.txt", "--design", name, "--words",
                           WORDS, "--repeats", "1", "--program", mdmini or program.program(), "--output", output, "--no-report", *words],
                          capture_output=True, text=True)
    return done, json.loads((output / "results.json").read_text()) if (output / "results.json").exists() else None


def late_rows(text):
    """Names of the rows of the table with the mark of late rebuilds."""
    return [line.split()[0] for line in text.splitlines() if len(line.split()) > 3 and line.split()[3].endswith("*")]


def test_points(checks, folder):
    rungs = sorted(path.stem for path in (SOURCE / "inputs/presets").glob("ladder-*.txt"))
    for name, first in (("ladder", "naive"), ("leave-one-out", "fast")):
        done, results = climb(folder, name, "--seconds", "0.02")
        if not checks.that(done.returncode == 0 and results, f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}"):
            continue
        labels = [point["label"] for point in results["points"]]
        checks.that(labels == ["naive", *rungs] if name == "ladder" else labels[0] == "fast" and len(labels) > 20, f"{labels}")
        checks.that(results["systems"][0]["base"] == f"s0/{first}", f"base {results['systems'][0]['base']}")
        measured = [point for point in results["points"] if point["status"] == "measured"]
        for point in results["points"]:
            checks.that(point["label"] in done.stdout, f"{point['label']}: not in the table")
            if point["status"] != "measured":
                checks.that(any(reason in point["reason"] for reason in REASONS) and not point["speed"] and not point["ratio"],
                            f"{point['label']}: {point['status']}: {point['reason']}")
        checks.that(all(point["verdict"] == "PASSED" and point["speed"]["value"] > 0 and point["n_steps"] >= 20 for point in measured),
                    f"{name}: verdicts")
        kind = "step_ratio" if name == "ladder" else "ratio"
        checks.that(len(measured) > 8 and all(point[kind]["value"] > 0 for point in measured[1:]), f"{name}: {len(measured)} ran")
        checks.that(results["finished"] and "UNFINISHED" not in done.stdout, "a whole study is not finished")
        late = [point["label"] for point in measured if point["n_late_rebuilds"]]
        checks.that(late_rows(done.stdout) == late and 0 < len(late) < len(measured), f"late rebuilds in {late}")
        checks.that(done.stdout.count("\n* rebuilds came late: ") == 1, "no note of late rebuilds")
        if name == "leave-one-out":
            checks.that(len({point["n_steps"] for point in measured}) == 1, "another number of steps is another motion")
        print(f"{name}: {len(measured)} of {len(labels)} ran")


def test_limit(checks, folder):
    """Where nothing fits into the limit nothing is timed, and the study says so and fails."""
    done, results = climb(folder, "leave-one-out", "--limit", "1e-9")
    checks.that(done.returncode == 1, f"exit code {done.returncode}")
    checks.that(results and {point["status"] for point in results["points"]} == {"too slow", "refused"},
                "something ran beyond the limit")
    checks.that("the limit is 1e-09 s" in done.stdout, f"no word of the limit: {done.stdout[:300]}")


def test_crash(checks, folder):
    """A point that dies fails the study, and is not taken for one that was refused; the others are timed."""
    dying = Path(folder) / "dying"
    dying.write_text(f"""#!/bin/sh
case "$*" in *run.steps*force.cutoff_test=branch*) kill -SEGV $$ ;; esac
exec {program.program()} "$@"
""")
    dying.chmod(0o755)
    done, results = climb(folder, "leave-one-out", "--words", f"{WORDS} run.steps=20", mdmini=dying)
    checks.that(done.returncode == 1 and "FAILED: s0/force.cutoff_test=branch\n" in done.stdout,
                f"exit code {done.returncode}: {done.stdout[-300:]}")
    kinds = {point["label"]: point["status"] for point in results["points"]}
    checks.that(kinds["force.cutoff_test=branch"] == "crashed", f"the dead point is {kinds['force.cutoff_test=branch']}")
    checks.that(kinds["fast"] == "measured" and list(kinds.values()).count("crashed") == 1, f"the others: {kinds}")


def in_process(folder, n_runs, *words, mdmini=None):
    """A ladder as the command makes it, until n_runs runs have been timed; its Runner, and all runs that were started."""
    class Ended(Budget):
        def is_over(self):
            return len([run for run in started if run.is_timed and not run.why_killed]) >= n_runs

    started, given = [], {"design": "ladder", "decks": str(TOP / "inputs/melt.txt"), "words": f"run.backend=cpu system.cells=6 {words[0]}",
                          "repeats": words[1]}
    known, study = Program(str(mdmini or program.program())), read_study(None, given)
    systems = design(known, study)
    place = Folder(folder)
    record = {"format": "x", "definition": {}, "program": [], "points": []}
    place.claim(record)
    runner = Runner(known, study, systems, place, Ended(None))
    start = runner.start

    def watched(point, n_steps, verify, extra=None):
        run = start(point, n_steps, verify, extra)
        run.is_timed, run.began = runner.is_timing, time.monotonic()
        started.append(run)
        return run

    plan, runner.start, runner.is_timing = runner.plan, watched, False

    def planned():
        plan()
        runner.is_timing = True

    runner.plan = planned
    return runner, started


def test_budget(checks, folder):
    """When time is up no run begins, and what is left is known."""
    for n_runs, repeats in ((0, 1), (3, 1), (25, 2)):
        runner, _ = in_process(Path(folder) / str(n_runs), n_runs, "run.steps=20", str(repeats))
        n_all = len(runner.left())
        runner.run()
        lines = [line for line in runner.folder.all_runs() if line["status"] == "ok"]
        checks.that(len(lines) == n_runs and len(runner.left()) == n_all - n_runs > 0, f"{len(lines)} runs, {n_runs} were due")
    done, results = climb(folder, "ladder", "--budget", "1e-3")
    checks.that(done.returncode == 75 and "UNFINISHED: " in done.stdout and not results["finished"],
                f"exit code {done.returncode}: {done.stdout[-200:]}")
    checks.that({point["status"] for point in results["points"]} == {"not run", "refused"} and
                "not run yet" in done.stdout and "runs are left; time was up;" in done.stdout, "nothing is left out for time")


def test_overlap(checks, folder):
    """A run is set up while the one before it is verified; its loop begins when that one is gone, or it is run again."""
    begun = time.monotonic()
    program.run(TOP / "inputs/melt.txt", "run.backend=cpu", "system.cells=6", "run.steps=400", folder=folder)
    slow_s = max(0.3, 3 * (time.monotonic() - begun))  # much longer than all else, on a busy machine as well
    for name, script, at_once in (("slow-start", f"sleep {slow_s:.2f}; exec {{}} \"$@\"", True), ("slow-end", f"{{}} \"$@\"; sleep {slow_s:.2f}", False)):
        slow = Path(folder) / name
        case = "case \"$*\" in *report.verify=on*) ;; *) exec {} \"$@\" ;; esac\n"  # tries are as fast as ever
        slow.write_text("#!/bin/sh\n" + (case + script).format(program.program(), program.program()) + "\n")
        slow.chmod(0o755)
        runner, started = in_process(Path(folder) / f"{name}-study", 7, "run.steps=400", "1", mdmini=slow)
        runner.overlaps = lambda system: True
        runner.run()
        timed = [run for run in started if run.is_timed and not run.why_killed]
        pairs = list(zip(timed, timed[1:]))
        checks.that(len(pairs) > 5, f"{name}: {len(timed)} runs")
        checks.that(all(two.loop_began >= one.gone for one, two in pairs), f"{name}: a loop began beside another run")
        n_meanwhile = sum(two.began < one.gone for one, two in pairs)
        checks.that((n_meanwhile > 2) == at_once, f"{name}: {n_meanwhile} runs were set up before the last was gone")


def test_again(checks, folder):
    """A point whose turn comes again while its run of the round before is still being verified: that is waited for, so that it is
    verified once, and keeps its steps."""
    runner, started = in_process(Path(folder) / "again", 100, "", "2")
    runner.plan()
    point = next(point for system in runner.systems for point in system.points if runner.timings[point.id].predicted)
    del started[:]
    runner.pending = point, 0, 0, runner.time(point, 0, 0)
    n_first = len(started)
    runner.time(point, 1, 0).report()
    words = [[word for word in run.child.args if word.startswith(("report.verify=", "run.steps="))] for run in started[n_first - 1:]]
    steps = f"run.steps={started[n_first - 1].n_steps}"  # of the last one: a run that was too short is made again
    checks.that([set(one) for one in words] == [{steps, "report.verify=on"}, {steps, "report.verify=off"}], f"run again: {words}")


def test_few_steps(checks):
    """Points whose loops are much shorter than the base's are named; on a ladder, where all have steps of their own, none."""
    points = [{"id": name, "label": name, "status": status, "n_steps": n_steps} for name, status, n_steps in (
        ("base", "measured", 1200), ("short", "measured", 380), ("long", "measured", 420), ("refused", "refused", None))]
    for design, expected in (("full", ["short"]), ("leave-one-out", ["short"]), ("ladder", [])):
        found = [point["id"] for point in with_few_steps({"definition": {"design": design}}, points, "base")]
        checks.that(found == expected, f"{design}: few steps: {found}")


def test_differences(checks):
    """What ran otherwise stands in the table, but for what the point set itself; what has no effect any more, too."""
    base = {"a.x": "fast", "a.y": "on", "b.u": "1", "b.v": "2"}
    for ran, but, expected in ((base, [], ""), ({**base, "a.x": "slow"}, ["a.x"], ""),
                               ({**base, "a.x": "slow", "a.y": "off"}, ["a.x"], "with a.y=off"),
                               ({"a.x": "fast", "a.z": "3"}, ["a.z"], "without a.y b.u/v"),
                               ({"a.x": "slow", "b.u": "1", "b.v": "2"}, [], "with a.x=slow without a.y")):
        found = differences(ran, base, but)
        checks.that(found == expected, f"{ran}: {found!r}, expected {expected!r}")


def synthetic_point(name, settings=None):
    return {"id": f"s0/{name}", "system": "s0", "label": name, "settings": settings or {}, "change": "", "said": ["a.x"], "layers": [], "reason": None}


def synthetic_run(point, n_round, ran, speed, n_steps=20, n_late=0):
    return {"point": point["id"], "round": n_round, "shard": "1/1", "status": "ok", "reason": "", "verified": n_round == 0,
            "started": str(n_round), "ran": {"a.x": ran}, "deterministic": True,
            "report": {"atom_steps_per_second": speed, "verdict": "PASSED", "n_late_rebuilds": n_late, "n_steps": n_steps, "checks": [],
                       "stages": [], "energy_drift_per_atom_step": 1e-9, "provenance": {}}}


def synthetic_results(design, points, runs, levels=()):
    """Of runs in a system of 32,000 atoms; levels: of the factor a.x, if it is one."""
    factors = [{"key": "a.x", "kind": "performance", "levels": levels, "base": levels[0]}] if levels else []
    return make_results({"definition": {"design": design, "confidence": 0.95, "repeats": 1 + max(run["round"] for run in runs), "name": "x"},
                         "switches": ["a.x"], "command": "", "factors": factors, "systems": [{"id": "s0", "n_atoms": 32000}],
                         "points": points}, runs)


def test_comparison(checks):
    """The ratio of a point that ran as its base would be noise: it has none. Against the first, or the rung below."""
    for name, ran, expected in (("leave-one-out", "1214", [None, 2, None, 4]), ("ladder", "1224", [None, 2, None, 2])):
        points = [synthetic_point(str(k)) for k in range(4)]
        runs = [synthetic_run(point, 0, ran[k], k + 1) for k, point in enumerate(points)]
        found = synthetic_results(name, points, runs)["points"]
        kind = "step_ratio" if name == "ladder" else "ratio"
        ratios = [point[kind]["value"] if point[kind] else None for point in found]
        checks.that(all(one is other or one and other and abs(one - other) < 1e-12 for one, other in zip(ratios, expected)),
                    f"ratios {ratios}, expected {expected}")
        checks.that([point["status"] for point in found] == ["measured", "measured", "without effect", "measured"], name)


def results_of(late, n_steps):
    """Of a factor in three rounds; late: the level at which rebuilds come late."""
    levels = ["slow", "fast"]
    points = [synthetic_point(level, {"a.x": level}) for level in levels]
    runs = [synthetic_run(point, n_round, point["label"], (k + 1) * (1 + 0.01 * n_round), n_steps, int(point["label"] == late))
            for k, point in enumerate(points) for n_round in range(3)]
    return synthetic_results("full", points, runs, levels)


def test_late_and_short(checks):
    """An effect is marked where its level or the base's had late rebuilds; runs that are too short for a drift have none."""
    for late, is_late in (("", False), ("slow", True), ("fast", True)):
        effects = results_of(late, 20000)["effects"]
        checks.that(len(effects) == 1 and effects[0]["is_late"] == is_late, f"late at {late!r}: {effects}")
    for n_steps, drift in ((20000, 1e-9), (10000, None)):  # from 13,000 on
        found = [point["drift"] for point in results_of("", n_steps)["points"]]
        checks.that(found == [drift] * 2, f"{n_steps} steps: drifts {found}")


def timing(predicted, correction=None, has_all_pairs=False, interval=20):
    made = Timing(interval)
    made.predicted, made.correction, made.has_all_pairs, made.n_small = predicted, correction, has_all_pairs, 1
    return made


def test_plan(checks):
    """What was measured tells how good predictions are; but what is much slower has no start-up costs in its try to be taken off,
    and what tests all pairs is no measure for what does not."""
    for seconds, has_all_pairs, factor in ((0.5, False, 0.5), (2, False, 0.5), (4, False, 1), (2, True, 1)):
        before, point = timing(8e-3, 0.5), timing(8e-3 * seconds, has_all_pairs=has_all_pairs)
        point.plan(1, 100, [before])
        wanted = round(1 / (8e-3 * seconds * factor) / 20) * 20
        checks.that(point.n_steps == wanted, f"{seconds} times as slow: {point.n_steps} steps, expected {wanted}")
    near = timing(1e-3)
    near.plan(1, 100, [timing(1e-2, 3), timing(2e-3, 0.5), timing(5e-3, 7)])
    checks.that(near.n_steps == 2000, f"{near.n_steps} steps, expected 2000 by the nearest")
    slow = timing(0.2)
    try:
        slow.plan(1, 3.9, [])
        checks.that(False, "20 steps of 0.2 s fit into 3.9 s")
    except NotRun as why:
        checks.that(why.kind == "too slow" and "the limit is 3.9 s" in str(why), str(why))
    slow.plan(1, 9, [], n_steps=100)
    checks.that(slow.n_steps == 40, f"{slow.n_steps} steps, expected 40 within the limit")


def test_prediction(checks):
    """From 4,000 to 32,000 atoms a step takes 8 times as long; what tests all pairs 64 times."""
    report = {"loop_seconds": 20, "n_steps": 2, "n_atoms": 4000,
              "stages": [{"stage": "force", "seconds": 8}, {"stage": "neighbor", "seconds": 2}, {"stage": "gather", "seconds": None}]}
    for ran, expected in (({"force.kernel": "list", "neighbor.search": "cell"}, 8 * 10),
                          ({"force.kernel": "list", "neighbor.search": "brute-tiled"}, 8 * 9 + 64 * 1),
                          ({"force.kernel": "pairs"}, 8 * 6 + 64 * 4)):
        found = predict(report, ran, 32000)
        checks.that(found == (expected, expected != 80), f"{ran}: {found}, expected {expected}")


def test_companions(checks):
    """What has to change along with a switch: what it needs, and what needs it."""
    listing = Namespace(options={"a.x": {"choices": ["slow", "fast"]}, "a.y": {"choices": ["off", "on"]}, "a.z": {"choices": ["1", "2"]}},
                        rows={("a.x", "slow"): {"needs": "a.y=off"}, ("a.x", "fast"): {"needs": ""}, ("a.y", "off"): {"needs": ""},
                              ("a.y", "on"): {"needs": "a.x=fast"}, ("a.z", "1"): {"needs": ""}, ("a.z", "2"): {"needs": "a.y=on"}})
    standing = {"a.x": "fast", "a.y": "on", "a.z": "2"}
    for key, value, expected in (("a.z", "1", {}), ("a.y", "off", {"a.z": "1"}), ("a.x", "slow", {"a.y": "off", "a.z": "1"})):
        changed = companions(listing.options, listing.rows, standing, key, value)
        checks.that(changed == expected, f"{key} = {value}: changed along {changed}, expected {expected}")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    for test in (test_companions, test_differences, test_comparison, test_late_and_short, test_prediction, test_plan, test_few_steps):
        test(checks)
    for test in (test_points, test_limit, test_crash, test_budget, test_overlap, test_again):
        with program.temporary_folder() as folder:
            start = time.monotonic()
            test(checks, folder)
            print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    checks.finish()


if __name__ == "__main__":
    main()
