"""run/gpu-check.sh, its stage of several processes: what is left out and why, what runs and what the table says of it, on
two emulated GPUs. nvidia-smi, nvcc, cmake, ctest and compute-sanitizer are stand-ins; mpirun has --ceilings take less
time."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import program
import ranks
from resuming import run_tests

SOURCE = Path(os.environ["MDMINI_SOURCE"])
IS_EMULATED = "emulated GPU" in program.run("--device", folder=".").stdout
STAND_INS = {
    "nvidia-smi": 'case $1 in -L) echo "GPU 0: NVIDIA X1";; *) echo NVIDIA X1;; esac',
    "nvcc": "echo release 1",
    "cmake": ":",
    "ctest": 'echo "1/1 Test #1: parallel/test_a ... Passed"; exit ${FAKE_CTEST:-0}',
    "compute-sanitizer": 'while case $1 in -*) true;; *) false;; esac; do shift; done\n'
                         '"$@" || exit\necho "========= ERROR SUMMARY: ${FAKE_ERRORS:-0} errors"',
    "mpirun": f'case $* in *--ceilings*) set -- "$@" --quick;; esac\nexec {ranks.LAUNCHER} "$@"',
}
PARTS = ("ranks-memcheck", "ranks-peers", "ranks-bench")


def results(folder):
    return folder / "run" / "results" / "x1"  # the name that nvidia-smi tells


def set_up(folder):
    """The scripts over a build that is there."""
    shutil.copytree(SOURCE / "run", folder / "run", ignore=shutil.ignore_patterns("results", "__pycache__"))
    (folder / "run/results").mkdir()
    for name in ("inputs", "tests", "tools"):
        (folder / name).symlink_to(SOURCE / name)
    (folder / "build-gpu").mkdir()
    (folder / "build-gpu/mdmini").symlink_to(program.program())
    (folder / "bin").mkdir()
    for name, text in STAND_INS.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    (folder / "run/results/peers.csv").symlink_to(SOURCE / "run/results/peers.csv")


def check_gpu(folder, **environment):
    """(exit code, the summary)"""
    done = subprocess.run([folder / "run/gpu-check.sh"], capture_output=True, text=True, env={
        **os.environ, **ranks.ENVIRONMENT, "PATH": f"{folder}/bin:{os.environ['PATH']}", "MDMINI_STAGES": "ranks",
        "MDMINI_RANKS": "--cells 8 --steps 20 --melt 20 --repeats 1", "MDMINI_EMULATOR_DEVICES": "2", **environment})
    summary = results(folder) / "gpu-check.txt"
    return done.returncode, summary.read_text() if summary.exists() else done.stdout + done.stderr


def test_left_out(checks, folder):
    """With one GPU, or none."""
    set_up(folder)
    for code, environment in ((0, {}), (1, {"FAKE_CTEST": "8"})):
        found, said = check_gpu(folder, **ranks.ONE_GPU, **environment)
        why = [line.partition("left out: ")[2] for line in said.splitlines() if line.startswith("two GPUs ")]
        checks.that(found == code and len(why) == 1 and len(why[0]) > 20, f"{found}: {said}")
        checks.that("ranks 0 and 1 share a GPU" in "".join(why) or not IS_EMULATED, f"{why}")
        checks.that("parallel/test_a ... Passed" in said and not any(name in said for name in PARTS), said)


def test_two(checks, folder):
    if not IS_EMULATED:
        print("test_two: not run: there are no emulated GPUs")
        return
    set_up(folder)
    code, said = check_gpu(folder)
    passed = [line.split()[0] for line in said.splitlines() if line.split()[1:2] == ["passed"]]
    checks.that(code == 0 and passed == ["build", "ranks-tests", *PARTS], f"{code}, {passed}: {said}")
    checks.that("left out: tests sanitize mutants ceilings bench" in said and "barrier of all GPUs" in said, said)
    checks.that(all(f"memcheck of 2 ranks, {way}: no errors" in said for way in ("kernels in graphs", "queue", "resident kernel")), said)
    report = json.loads((results(folder) / "ranks-bench.json").read_text())
    rows = {row["row"]: row for row in report["rows"]}
    checks.that(report["finished"] and list(rows) == ["2048-1", "2048-2", "4096-2"], f"rows {list(rows)}")
    for name, row in rows.items():
        n = (row["runs"][0]["ranks"] or {"n": 1})["n"]
        checks.that(row["verdict"] == "PASSED" and n == int(name[-1]), f"{name}: {row['verdict']}, {n} ranks")
        checks.that(row["steps_per_second"] == row["runs"][0]["steps_per_second"], f"{name}: {row['steps_per_second']} steps/s")
    ratio = rows["4096-2"]["steps_per_second"] / rows["2048-1"]["steps_per_second"]
    checks.that(f"4096 atoms on two GPUs, 2048 on one: {ratio:.2f} times the steps/s" in said, f"{ratio}: {said}")
    peers = json.loads((results(folder) / "ranks-peers.json").read_text())
    checks.that(peers["verdict"] == "PASSED", f"peers: {peers['verdict']}")


def test_failed(checks, folder):
    """A finding of the sanitizer, and rows that are refused."""
    if not IS_EMULATED:
        print("test_failed: not run: there are no emulated GPUs")
        return
    set_up(folder)
    code, said = check_gpu(folder, FAKE_ERRORS="1", MDMINI_RANKS="--cells 3 --repeats 1")
    failed = [line.split()[0] for line in said.splitlines() if line.split()[1:2] == ["FAILED"]]
    checks.that(code == 1 and failed == ["ranks-memcheck", "ranks-bench"] and "gpu-check: FAILED: ranks" in said, f"{code}, {failed}: {said}")
    checks.that("0 ranks without errors" in said and "not run: refused" in said and "not compared" in said, said)


if __name__ == "__main__":
    ranks.require()
    run_tests(test_left_out, test_two, test_failed)
