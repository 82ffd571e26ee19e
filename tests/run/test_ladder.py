"""run/ladder.py on a small system: every rung and every switch of fast.txt has a line, and each that runs has passed; what
does not run says why; the limit is kept; what was measured survives an end at any time; no loop is timed beside another run.
On the cpu backend: what the script does is the same on every one."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import program

SOURCE = Path(os.environ["MDMINI_SOURCE"]) if "MDMINI_SOURCE" in os.environ else None
if SOURCE:
    sys.path.insert(0, str(SOURCE / "run"))
    import ladder
    import rungs
REASONS = ("backend has no such stage", "backend does not have", "refused: ", "without effect here: ")


def command(output, *words, mdmini=None):
    return [sys.executable, "-B", SOURCE / "run/ladder.py", mdmini or program.program(), "--backend", "cpu", "--cells", "5",
            "--repeats", "1", "--output", output, *words]


def climb(folder, *words, mdmini=None):
    output = Path(folder) / "ladder.json"
    done = subprocess.run(command(output, *words, mdmini=mdmini), capture_output=True, text=True)
    return done, json.loads(output.read_text())["tables"][0] if output.exists() else None


def late_rows(text):
    """Names of the rows with the mark of late rebuilds."""
    return [line.split()[0] for line in text.splitlines() if len(line.split()) > 3 and line.split()[3].endswith("*")]


def test_steps(checks, folder):
    done, table = climb(folder, "--seconds", "0.02")
    if not checks.that(done.returncode == 0 and table, f"exit code {done.returncode}: {done.stdout}{done.stderr}"):
        return
    rungs = sorted(path.stem for path in (SOURCE / "inputs/presets").glob("ladder-*.txt"))
    checks.that([step["step"] for step in table["ladder"]] == ["naive", *rungs], "the ladder is not complete")
    checks.that(len(table["without"]) > 20, f"{len(table['without'])} lines of what is left out")
    for step in table["ladder"] + table["without"]:
        name = step["step"]
        checks.that(name in done.stdout, f"{name}: not in the table")
        if step["not_run"]:
            checks.that(any(reason in step["not_run"] for reason in REASONS), f"{name}: {step['not_run']}")
        else:
            checks.that(step["verdict"] == "PASSED" and step["atom_steps_per_second"] > 0 and step["n_steps"] >= 20,
                        f"{name}: {step['verdict']}, {step['n_steps']} steps")
    for part in ("ladder", "without"):
        ran = [step for step in table[part] if not step["not_run"]]
        checks.that(len(ran) >= 2 and all(step["ratio"] > 0 for step in ran[1:]), f"{part}: {len(ran)} ran")
        print(f"{part}: {len(ran)} of {len(table[part])} ran")
    late = [step["step"] for step in table["ladder"] + table["without"] if not step["not_run"] and step["n_late_rebuilds"]]
    checks.that(late_rows(done.stdout) == late and 0 < len(late) < len(table["ladder"]), f"late rebuilds in {late}")
    checks.that(done.stdout.count("\n* rebuilds came late: ") == 2, "no note of late rebuilds")
    checks.that(table["finished"] and "UNFINISHED" not in done.stdout, "a whole table is not finished")
    checks.that(" rows, " in done.stdout.splitlines()[0] and " runs at most" in done.stdout, "no word of how many runs")


def test_limit(checks, folder):
    """Where nothing fits into the limit nothing is timed, and the script says so and fails."""
    done, table = climb(folder, "--limit", "1e-9", "--parts", "without")
    checks.that(done.returncode == 1, f"exit code {done.returncode}")
    checks.that(table and not any(step["runs"] for step in table["without"]), "something ran beyond the limit")
    checks.that("the limit is 1e-09 s" in done.stdout, f"no word of the limit: {done.stdout[:300]}")


def test_crash(checks, folder):
    """A step that dies fails the script, and is not taken for one that was refused; the others are timed."""
    dying = Path(folder) / "dying"
    dying.write_text(f"""#!/bin/sh
case "$*" in *force.cutoff_test=branch*run.steps*) kill -SEGV $$ ;; esac
exec {program.program()} "$@"
""")
    dying.chmod(0o755)
    done, table = climb(folder, "--steps", "20", "--parts", "without", mdmini=dying)
    checks.that(done.returncode == 1 and "FAILED: force.cutoff_test=branch\n" in done.stdout,
                f"exit code {done.returncode}: {done.stdout[-300:]}")
    kinds = {step["step"]: step["kind"] for step in table["without"]}
    checks.that(kinds["force.cutoff_test=branch"] == "crashed", f"the dead step is {kinds['force.cutoff_test=branch']}")
    checks.that(kinds["fast"] is None and "crashed" not in [kind for name, kind in kinds.items() if "cutoff" not in name],
                f"the others: {kinds}")


def in_process(n_runs, *words, mdmini=None):
    """The table of one size, as the script makes it, after n_runs runs that were timed, and all runs that were started."""
    class Ended(ladder.Budget):
        def is_over(self):
            return len([run for run in started if run.is_timed and not run.why_killed]) >= n_runs

    started, n_saved = [], []
    a = ladder.read_arguments([str(mdmini or program.program()), "--backend", "cpu", "--parts", "ladder", *words])
    table = ladder.Table(a, 6, Ended(None), lambda: n_saved.append(json.dumps(table.record())))
    start = table.program.start

    def watched(step, n_steps, verify, cells=None):
        run = start(step, n_steps, verify, cells)
        run.is_timed, run.began = cells is None, time.monotonic()
        started.append(run)
        return run

    table.program.start = watched
    return table, started, n_saved


def test_budget(checks, folder):
    """When time is up no run begins; text and file say what is missing, which is no failure."""
    for n_runs, repeats in ((0, 1), (3, 1), (25, 2)):
        table, started, saved = in_process(n_runs, "--steps", "20", "--repeats", str(repeats))
        table.measure()
        steps = table.steps()
        n_made = sum(len(step.runs) for step in steps)
        late = [step for step in steps if step.kind == "time"]
        checks.that(n_made == n_runs, f"{n_made} runs, {n_runs} were due")
        checks.that(all(not step.runs and "time was up" in ladder.row_text(step) for step in late) and
                    bool(late) == (repeats == 1), f"{len(late)} rows not run, {n_runs} runs")
        checks.that(table.n_left_out() > 0 and not table.record()["finished"], "an unfinished table says that it is not")
        checks.that(len(saved) == len(steps) * repeats, f"saved {len(saved)} times, {len(steps)} rows")
    done, table = climb(folder, "--budget", "1e-3", "--parts", "ladder")
    checks.that(done.returncode == 0 and "UNFINISHED: time was up" in done.stdout and not table["finished"],
                f"exit code {done.returncode}: {done.stdout[-200:]}")


def test_overlap(checks, folder):
    """A run is set up while the one before it is verified; its loop begins when that one is gone, or it is run again."""
    for name, script, at_once in (("slow start", "sleep 0.5; exec {} \"$@\"", True), ("slow end", "{} \"$@\"; sleep 0.5", False)):
        slow = Path(folder) / name.replace(" ", "-")
        slow.write_text("#!/bin/sh\n" + script.format(program.program()) + "\n")
        slow.chmod(0o755)
        table, started, _ = in_process(1000, "--steps", "400", "--repeats", "1", mdmini=slow)
        table.overlap = True
        table.measure()
        timed = [run for run in started if run.is_timed and not run.why_killed]
        pairs = list(zip(timed, timed[1:]))
        checks.that(len(pairs) > 5, f"{name}: {len(timed)} runs")
        checks.that(all(two.loop_began >= one.gone for one, two in pairs), f"{name}: a loop began beside another run")
        n_meanwhile = sum(two.began < one.gone for one, two in pairs)
        checks.that((n_meanwhile > 5) == at_once, f"{name}: {n_meanwhile} runs were set up before the last was gone")


def test_cut(checks, folder):
    """Killed at once, or ended by a signal: what was measured is in the file, and no program is left behind."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        output = Path(folder) / f"cut-{number}.json"
        child = subprocess.Popen(command(output, "--steps", "200"), stdout=subprocess.PIPE, text=True)
        for line in child.stdout:
            if line.startswith("ladder-01"):
                break
        child.send_signal(number)
        text = child.communicate()[0]
        found = json.loads(output.read_text())
        steps = found["tables"][0]["ladder"]
        checks.that(not found["finished"] and not found["tables"][0]["finished"], f"signal {number}: it looks finished")
        checks.that(steps[0]["verdict"] == "PASSED" and not all(step["runs"] or step["not_run"] for step in steps) or
                    number != signal.SIGKILL, f"signal {number}: {[step['verdict'] for step in steps]}")
        if number == signal.SIGTERM:
            checks.that(child.returncode == 0 and "UNFINISHED" in text, f"exit code {child.returncode}: {text[-200:]}")
            checks.that("time" in [step["kind"] for step in steps], "nothing is left out for time")


def test_typing(checks, folder):
    """What was typed wrong gets one line."""
    for words in (["--parts", "foo"], ["--cells", "abc"], ["--cells", "0"], ["--repeats", "-1"], ["--seconds", "x"],
                  ["--deck", "nix.txt"], ["--output", f"{folder}/nix/ladder.json"], ["--budget", "0"], ["--what"],
                  ["--words", "a=b"]):
        done, _ = climb(folder, *words)
        checks.that(done.returncode == 2 and len(done.stderr.splitlines()) == 1 and not done.stdout,
                    f"{words}: exit code {done.returncode}: {done.stdout[:100]}{done.stderr[-300:]}")
    for mdmini in (Path(folder) / "nix", "/bin/true", folder):
        done, _ = climb(folder, mdmini=mdmini)
        checks.that(done.returncode == 2 and len(done.stderr.splitlines()) == 1, f"{mdmini}: {done.stderr[-300:]}")


def test_differences(checks):
    """What ran otherwise stands in the table, but for what the step set itself; what has no effect any more, too."""
    base = {"a.x": "fast", "a.y": "on", "b.u": "1", "b.v": "2"}
    for ran, but, expected in ((base, [], ""), ({**base, "a.x": "slow"}, ["a.x"], ""),
                               ({**base, "a.x": "slow", "a.y": "off"}, ["a.x"], "with a.y=off"),
                               ({"a.x": "fast", "a.z": "3"}, ["a.z"], "without a.y b.u/v"),
                               ({"a.x": "slow", "b.u": "1", "b.v": "2"}, [], "with a.x=slow without a.y")):
        found = rungs.differences(ran, base, but)
        checks.that(found == expected, f"{ran}: {found!r}, expected {expected!r}")


def test_comparison(checks):
    """The ratio of a step that ran as its base would be noise: it has none. Against the first, or the one before."""
    def step(name, speed, ran):
        made = rungs.Step(name, "", [name])
        made.ran, made.runs = ran, [{"verdict": "PASSED", "atom_steps_per_second": speed, "n_late_rebuilds": 0}]
        return made

    for against_first, expected in ((True, [None, 2, None, 4]), (False, [None, 2, None, 2])):
        steps = [step("base", 1, {"x": "1"}), step("x", 2, {"x": "2"}), step("y", 3, {"x": "1" if against_first else "2"}),
                 step("x", 4, {"x": "4"})]
        for k in range(2 * len(steps)):  # a second time changes nothing
            ladder.compare(steps, k % len(steps), against_first)
        checks.that([s.ratio for s in steps] == expected, f"ratios {[s.ratio for s in steps]}, expected {expected}")
        checks.that(steps[2].kind == "without effect" and steps[3].kind is None, f"kinds {[s.kind for s in steps]}")


def test_plan(checks):
    """Known from the step before; but what is much slower than it has no start-up costs in its try to be taken off."""
    class Big:
        cells = 40
        ran = staticmethod(lambda report: {})

    class Arguments:
        steps, seconds, limit = 0, 1, 100

    for seconds in (0.5, 2, 4):
        before, step = rungs.Step("before", ""), rungs.Step("x", "")
        for one, loop in ((before, 1e-3), (step, seconds * 1e-3)):
            one.small = {"loop_seconds": loop, "n_steps": 1, "stages": [], "n_atoms": 1}
        before.plan(Big, Arguments, None)
        before.correction = 0.5
        step.plan(Big, Arguments, before)
        wanted = round(1 / (8e-3 * seconds * (0.5 if seconds < 3 else 1)) / 20) * 20
        checks.that(step.n_steps == wanted, f"{seconds} times as slow: {step.n_steps} steps, expected {wanted}")


def test_prediction(checks):
    """From 20 to 40 cells a step takes 8 times as long; what tests all pairs 64 times."""
    class Big:
        cells = 40
        ran = staticmethod(lambda report: report["ran"])

    for ran, expected in (({"force.kernel": "list", "neighbor.search": "cell"}, 8 * 10),
                          ({"force.kernel": "list", "neighbor.search": "brute-tiled"}, 8 * 9 + 64 * 1),
                          ({"force.kernel": "pairs"}, 8 * 6 + 64 * 4)):
        step = rungs.Step("x", "")
        step.small = {"loop_seconds": 20, "n_steps": 2, "ran": ran,
                      "stages": [{"stage": "force", "seconds": 8}, {"stage": "neighbor", "seconds": 2},
                                 {"stage": "gather", "seconds": None}]}
        checks.that(step.predict(Big) == expected, f"{ran}: {step.predict(Big)} s a step, expected {expected}")


def test_companions(checks):
    """What has to change along with a switch: what it needs, and what needs it."""
    class Backend:
        options = {"a.x": {"choices": ["slow", "fast"]}, "a.y": {"choices": ["off", "on"]}, "a.z": {"choices": ["1", "2"]}}
        rows = {("a.x", "slow"): {"needs": "a.y=off"}, ("a.x", "fast"): {"needs": ""}, ("a.y", "off"): {"needs": ""},
                ("a.y", "on"): {"needs": "a.x=fast"}, ("a.z", "1"): {"needs": ""}, ("a.z", "2"): {"needs": "a.y=on"}}

    standing = {"a.x": "fast", "a.y": "on", "a.z": "2"}
    for key, value, expected in (("a.z", "1", {}), ("a.y", "off", {"a.z": "1"}), ("a.x", "slow", {"a.y": "off", "a.z": "1"})):
        changed = rungs.companions(Backend, standing, key, value)
        checks.that(changed == expected, f"{key} = {value}: changed along {changed}, expected {expected}")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    for test in (test_companions, test_differences, test_comparison, test_prediction, test_plan):
        test(checks)
    for test in (test_steps, test_limit, test_crash, test_budget, test_overlap, test_cut, test_typing):
        with program.temporary_folder() as folder:
            test(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
