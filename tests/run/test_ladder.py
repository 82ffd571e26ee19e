"""run/ladder.py on a small system: every rung and every switch of fast.txt has a line, and each that runs has passed; what
does not run says why; the limit is kept. On the cpu backend: what the script does is the same on every one."""
import json
import os
import subprocess
import sys
from pathlib import Path

import program

SOURCE = Path(os.environ["MDMINI_SOURCE"]) if "MDMINI_SOURCE" in os.environ else None
if SOURCE:
    sys.path.insert(0, str(SOURCE / "run"))
    import ladder
REASONS = ("backend has no such stage", "backend does not have", "refused: ", "without effect here: ")


def climb(folder, *words, mdmini=None):
    output = Path(folder) / "ladder.json"
    done = subprocess.run([sys.executable, "-B", SOURCE / "run/ladder.py", mdmini or program.program(), "--backend", "cpu",
                           "--cells", "5", "--repeats", "1", "--output", output, *words], capture_output=True, text=True)
    return done, json.loads(output.read_text())["tables"][0] if output.exists() else None


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


def test_differences(checks):
    """What ran otherwise stands in the table, but for what the step set itself; what has no effect any more, too."""
    base = {"a.x": "fast", "a.y": "on", "b.u": "1", "b.v": "2"}
    for ran, but, expected in ((base, [], ""), ({**base, "a.x": "slow"}, ["a.x"], ""),
                               ({**base, "a.x": "slow", "a.y": "off"}, ["a.x"], "with a.y=off"),
                               ({"a.x": "fast", "a.z": "3"}, ["a.z"], "without a.y b.u/v"),
                               ({"a.x": "slow", "b.u": "1", "b.v": "2"}, [], "with a.x=slow without a.y")):
        found = ladder.differences(ran, base, but)
        checks.that(found == expected, f"{ran}: {found!r}, expected {expected!r}")


def test_comparison(checks):
    """The ratio of a step that ran as its base would be noise: it has none. Against the first, or the one before."""
    def step(name, speed, ran):
        made = ladder.Step(name, "", [name])
        made.ran, made.runs = ran, [{"verdict": "PASSED", "atom_steps_per_second": speed}]
        return made

    for against_first, expected in ((True, [None, 2, None, 4]), (False, [None, 2, None, 2])):
        steps = [step("base", 1, {"x": "1"}), step("x", 2, {"x": "2"}), step("y", 3, {"x": "1" if against_first else "2"}),
                 step("x", 4, {"x": "4"})]
        ladder.compare_all(steps, against_first)
        checks.that([s.ratio for s in steps] == expected, f"ratios {[s.ratio for s in steps]}, expected {expected}")
        checks.that(steps[2].kind == "without effect" and steps[3].kind is None, f"kinds {[s.kind for s in steps]}")


def test_prediction(checks):
    """From 20 to 40 cells a step takes 8 times as long; what tests all pairs 64 times."""
    class Big:
        cells = 40
        ran = staticmethod(lambda report: report["ran"])

    for ran, expected in (({"force.kernel": "list", "neighbor.search": "cell"}, 8 * 10),
                          ({"force.kernel": "list", "neighbor.search": "brute-tiled"}, 8 * 9 + 64 * 1),
                          ({"force.kernel": "pairs"}, 8 * 6 + 64 * 4)):
        step = ladder.Step("x", "")
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
        changed = ladder.companions(Backend, standing, key, value)
        checks.that(changed == expected, f"{key} = {value}: changed along {changed}, expected {expected}")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    for test in (test_companions, test_differences, test_comparison, test_prediction):
        test(checks)
    for test in (test_steps, test_limit, test_crash):
        with program.temporary_folder() as folder:
            test(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
