"""run/pipeline.py on a small system: its figures follow from the reports that it keeps, and its picture is there."""
import json
import os
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
sys.path.insert(0, str(SOURCE / "run"))
import pipeline


class Arguments:
    steps = 100


def report(seconds, verdict="PASSED"):
    return {"loop_seconds": seconds, "verdict": verdict, "n_atoms": 1000}


def test_figures(checks, folder):
    """Invented loops: 2 s without frames, 3 s in line, 2.25 s overlapped; the fastest of each counts."""
    reports = {("", 0, ""): [report(2.5), report(2.0)], ("here", 10, "off"): [report(3.0), report(3.5)],
               ("here", 10, "on"): [report(2.25), report(2.25)], ("here", 50, "off"): [report(2.02), report(2.02)],
               ("here", 50, "on"): [report(2.0), report(2.0)], ("here", 20, "off"): [report(3.0, "FAILED"), report(3.0)],
               ("here", 20, "on"): [report(2.5), report(2.5)]}
    rows = {(row["every"], row["pipeline"]): row for row in pipeline.figures(Arguments, reports, {"here": folder})}
    checks.near(rows[0, ""]["atom_steps_per_second"], 1000 * 100 / 2.0, 1e-6, "speed without frames")
    checks.near(rows[10, "off"]["overhead"], 0.5, 1e-12, "overhead in line")
    checks.near(rows[10, "on"]["overhead"], 0.125, 1e-12, "overhead overlapped")
    checks.near(rows[10, "on"]["hidden"], 0.75, 1e-12, "share hidden")
    checks.near(rows[10, "on"]["bytes_per_second"], 10 * 12000 / 2.25, 1e-6, "bytes per second")
    checks.that(rows[50, "on"]["hidden"] is None, "a share of next to nothing is given")
    failed = rows[20, "off"]
    checks.that(failed["overhead"] is None and failed["atom_steps_per_second"] is None, "figures of a failed case")
    checks.that(rows[20, "on"]["hidden"] is None, "a share is given beside a failed case")
    for row in rows.values():
        rates = row["place_bytes_per_second"], row["place_synced_bytes_per_second"]
        checks.that(row["every"] == 0 or rates[0] >= rates[1] > 0, f"the place takes {rates}")
    checks.that(not os.listdir(folder), f"left behind: {os.listdir(folder)}")


def test_run(checks, folder):
    done = subprocess.run([sys.executable, "-B", str(SOURCE / "run/pipeline.py"), program.program(), "--backend", "cpu",
                           "--cells", "5", "--steps", "40", "--every", "20,5", "--repeats", "1", "--places", f"here={folder}",
                           "--traces", "t", "--output", "figures.json"], cwd=folder, capture_output=True, text=True)
    if not checks.that(done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]):
        return
    data = json.loads((Path(folder) / "figures.json").read_text())
    cases = [(row["every"], row["pipeline"]) for row in data["rows"]]
    checks.that(cases == [(0, ""), (20, "off"), (20, "on"), (5, "off"), (5, "on")], f"cases {cases}")
    for row, runs in zip(data["rows"], data["runs"]):
        first = runs["reports"][0]
        checks.that(row["verdict"] == first["verdict"] == "PASSED", f"{row} has the verdict {first['verdict']}")
        checks.that(row["loop_seconds"] == first["loop_seconds"], "a loop is not that of its report")
        checks.that((first["h5_bytes"] > 12 * 500 * 40 // row["every"]) if row["every"] else first["h5_bytes"] == 0,
                    f"every {row['every']}: the trajectory has {first['h5_bytes']} bytes")
    left = sorted(os.listdir(folder))
    checks.that(left == ["figures.json", "t"], f"left {left}")
    traces = sorted(os.listdir(Path(folder) / "t"))
    checks.that([name for name in traces if name.endswith(".json")] == ["off.json", "on.json"], f"traces {traces}")


def test_no_gpu(checks, folder):
    """Says what is missing and what runs without, and runs nothing."""
    done = subprocess.run([sys.executable, "-B", str(SOURCE / "run/pipeline.py"), program.program(), "--places", f"here={folder}"], cwd=folder,
                          capture_output=True, text=True, env={**os.environ, "MDMINI_EMULATOR_DEVICES": "0", "CUDA_VISIBLE_DEVICES": ""})
    checks.that(done.returncode == 2 and "pipeline.py: needs a GPU: " in done.stderr and "--backend cpu --cells 20 --steps 200" in done.stderr,
                f"{done.returncode}: {done.stderr}")
    checks.that(not os.listdir(folder) and not done.stdout, f"left {os.listdir(folder)}: {done.stdout}")


def main():
    checks = Checks()
    for test in (test_figures, test_run, test_no_gpu):
        with program.temporary_folder() as folder:
            test(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
