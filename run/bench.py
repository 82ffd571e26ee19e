#!/usr/bin/env python3
"""Speed of whole runs, with the verdict beside each number.

Runs every case several times, cases in turn (A B C A B C ...), each in a folder of its own, and prints the median of
atom-steps per second with the spread, from the NAME.json of each run. A run that did not pass its verification has no
speed; the comparison with the reference is made in the first repeat of a case, the others are the same run without
it. The table goes to standard output, all of it with its provenance to a JSON file.

usage: bench.py MDMINI [--backend cuda|cpu] [--cells 10,20,40,63] [--precisions single,mixed,double] [--steps N]
                [--repeats 3] [--words "section.key=value ..."] [--output FILE.json]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

DECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inputs", "melt.txt")


def gpu_state():
    query = "name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active"
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True)
        return dict(zip(query.split(","), done.stdout.strip().splitlines()[0].split(", "))) if done.returncode == 0 else None
    except (FileNotFoundError, IndexError):
        return None


def steps_for(cells, steps):
    """About the same work for every size, so that small systems run long enough to be timed."""
    atoms = 4 * cells ** 3
    return steps or max(1000, min(20000, int(4e8 / atoms) // 100 * 100))


def run(mdmini, words):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([mdmini, os.path.abspath(DECK), *words], cwd=folder, capture_output=True, text=True)
        path = os.path.join(folder, "melt.json")
        if not os.path.exists(path):
            raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        report = json.load(open(path))
        report.pop("thermo", None)
        report.pop("effective_deck", None)
        return report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mdmini")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--cells", default="10,20,40,63")
    parser.add_argument("--precisions", default="single,mixed,double")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--words", default="")
    parser.add_argument("--output")
    a = parser.parse_args()
    cases = [(int(c), p) for p in a.precisions.split(",") for c in a.cells.split(",")]
    results = {case: [] for case in cases}
    states = [gpu_state()]
    for repeat in range(a.repeats):
        for cells, precision in cases:
            steps = steps_for(cells, a.steps)
            words = [f"system.cells={cells}", f"run.steps={steps}", f"run.precision={precision}", f"run.backend={a.backend}",
                     f"output.thermo_every={steps // 5}", "output.progress=off", *a.words.split()]
            if repeat > 0:
                words.append("report.verify=off")
            results[cells, precision].append(run(os.path.abspath(a.mdmini), words))
            states.append(gpu_state())
    print(f"{'atoms':>10} {'precision':>9} {'steps':>7} {'atom-steps/s':>13} {'steps/s':>10} {'spread':>7} {'drift':>10}  verdict")
    failed = False
    for (cells, precision), reports in results.items():
        verdicts = {reports[0]["verdict"]} | {r["verdict"] for r in reports[1:] if r["verdict"] == "FAILED"}
        speeds = [r["atom_steps_per_second"] for r in reports]
        passed = verdicts == {"PASSED"}
        failed |= not passed
        n, median = reports[0]["n_atoms"], statistics.median(speeds)
        spread = (max(speeds) - min(speeds)) / median
        figures = f"{median:13.4g} {median / n:10.5g} {spread:7.1%}" if passed else f"{'-':>13} {'-':>10} {'-':>7}"
        print(f"{n:10d} {precision:>9} {reports[0]['n_steps']:7d} {figures} {reports[0]['energy_drift_per_atom_step']:10.2e}"
              f"  {', '.join(sorted(verdicts))}")
    if a.output:
        cases_out = [{"cells": c, "precision": p, "runs": r} for (c, p), r in results.items()]
        json.dump({"command": sys.argv, "gpu_states": states, "cases": cases_out}, open(a.output, "w"), indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
