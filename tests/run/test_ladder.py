"""run/ladder.py on a small system: every rung and every switch of fast.txt has a line, and each that runs has passed; what
does not run says why; the limit is kept. On the cpu backend: what the script does is the same on every one."""
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import program

SOURCE = Path(os.environ["MDMINI_SOURCE"]) if "MDMINI_SOURCE" in os.environ else None
REASONS = ("backend has no such stage", "backend does not have", "refused: ")


def climb(folder, *words):
    output = Path(folder) / "ladder.json"
    done = subprocess.run([sys.executable, "-B", SOURCE / "run/ladder.py", program.program(), "--backend", "cpu",
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
        ran = [step for step in table[part] if step["runs"]]
        checks.that(len(ran) >= 2 and all(step["ratio"] > 0 for step in ran[1:]), f"{part}: {len(ran)} ran")
        print(f"{part}: {len(ran)} of {len(table[part])} ran")


def test_limit(checks, folder):
    """Where nothing fits into the limit nothing is timed, and the script says so and fails."""
    done, table = climb(folder, "--limit", "1e-9", "--parts", "without")
    checks.that(done.returncode == 1, f"exit code {done.returncode}")
    checks.that(table and not any(step["runs"] for step in table["without"]), "something ran beyond the limit")
    checks.that("the limit is 1e-09 s" in done.stdout, f"no word of the limit: {done.stdout[:300]}")


def test_companions(checks):
    """What has to change along with a switch: what it needs, and what needs it."""
    spec = importlib.util.spec_from_file_location("ladder", SOURCE / "run/ladder.py")
    ladder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ladder)

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
    test_companions(checks)
    for test in (test_steps, test_limit):
        with program.temporary_folder() as folder:
            test(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
