"""run/bench_cpu.py: its figures follow from the turns, and a small system goes through it, with LAMMPS, with another LAMMPS and its
words, or without."""
import os
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
sys.path.insert(0, str(SOURCE / "run"))
import bench_cpu  # noqa: E402


def turn(precision, speed, lammps, others=0.0, verdict="PASSED"):
    report = {"verdict": verdict, "atom_steps_per_second": speed}
    return {"rule": "safe", "precision": precision, "report": report, "lammps": lammps, "style": lammps and "lj/cut/opt", "others": others}


def test_figures(checks):
    """Invented turns: the median of the ratios of quiet turns, of all where none is quiet, of none where one failed."""
    turns = [turn("double", 30e6, 10e6), turn("double", 28e6, 20e6), turn("double", 20e6, 10e6), turn("double", 9e6, 1e6, 0.5),
             turn("mixed", 40e6, 20e6, 0.2), turn("single", 50e6, 10e6), turn("single", 50e6, 10e6, 0, "FAILED")]
    double, mixed, single = bench_cpu.figures(turns)
    checks.near(double["ratio"], 2.0, 1e-12, "median ratio of the quiet turns 3, 1.4 and 2")
    checks.near(double["speed"], 28e6, 1e-3, "median speed")
    checks.near(double["lammps"], 10e6, 1e-3, "median speed of LAMMPS")
    checks.that((double["n_quiet"], double["n_turns"]) == (3, 4), f"quiet turns {double['n_quiet']} of {double['n_turns']}")
    checks.near(mixed["ratio"], 2.0, 1e-12, "ratio without a quiet turn")
    checks.that(single["speed"] is None and single["ratio"] is None, "a failed run has a speed")
    lines = bench_cpu.table([double, mixed, single]).splitlines()
    checks.that("met" in lines[1] and "MISSED" in lines[2] and "FAILED" in lines[3] and "met" not in lines[3], "\n".join(lines))
    alone, = bench_cpu.figures([turn("double", 30e6, None)])
    checks.that(alone["ratio"] is None and alone["target"] is None and alone["speed"] == 30e6, f"without LAMMPS: {alone}")


def test_run(checks, folder, path):
    done = subprocess.run([str(SOURCE / "run/bench-cpu.sh"), program.program(), "--cells", "6", "--steps", "40", "--melt", "40",
                           "--turns", "1", "--processes", "1", "--precisions", "double"], cwd=folder, capture_output=True,
                          text=True, env={**os.environ, "PATH": path})
    checks.that(done.returncode == 0, done.stdout[-500:] + done.stderr[-500:])
    rows = [line for line in done.stdout.splitlines() if line.startswith(("every 20", "safe"))]
    checks.that(len(rows) == 2 and all(row.endswith("PASSED") for row in rows), done.stdout)
    checks.that(not os.listdir(folder), f"left behind: {os.listdir(folder)}")
    return done.stdout


def test_without_lammps(checks, folder):
    """A PATH with what the script needs, and nothing else."""
    for name in ("bash", "dirname"):
        (Path(folder) / name).symlink_to(next(path for path in (Path("/bin") / name, Path("/usr/bin") / name) if path.exists()))
    (Path(folder) / "python3").symlink_to(sys.executable)
    with program.temporary_folder() as place:
        text = test_run(checks, place, str(folder))
    checks.that("LAMMPS is not installed" in text and "MPI" not in text, text)


STAND_INS = {"mpirun": """#!/bin/sh
while [ "$1" != -np ]; do shift; done
shift 2
exec "$@"
""", "fake-lmp": """#!/bin/sh
[ "$1" != -h ] || { echo "Compiler: a stand-in's"; exit; }
case "$*" in *" nix "*) echo "ERROR: Illegal package command"; exit 1;; esac
echo "$*" >> "$(dirname "$0")/words"
echo "LAMMPS (a stand-in)
  (1) pair lj/cut/intel, perpetual
Loop time of 1e-9 on 1 procs for 40 steps with 864 atoms"
"""}


def test_other_lammps(checks, folder):
    """Its words arrive, with the precision of mdmini; what is missing, refused or quietly ignored is told before a run is timed."""
    for name, text in STAND_INS.items():
        (Path(folder) / name).write_text(text)
        (Path(folder) / name).chmod(0o755)

    def run(words, *more, lammps=f"{folder}/fake-lmp"):
        done = subprocess.run([str(SOURCE / "run/bench-cpu.sh"), program.program(), "--cells", "6", "--steps", "40", "--melt", "40",
                               "--turns", "1", "--processes", "1", "--precisions", "double,mixed", "--lammps", lammps,
                               "--lammps-words", words, *more], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        return done.returncode, done.stdout + done.stderr

    code, said = run("-sf intel -pk intel 0 mode {precision}")
    checks.that(code == 0 and "LAMMPS (a stand-in), a stand-in's, 1 MPI ranks: -sf intel -pk intel 0 mode {precision}" in said, said)
    rows = [line.split() for line in said.splitlines() if line.startswith("safe")]
    checks.that([row[1] for row in rows] == ["double", "mixed"] and all(target in row for target, row in zip(("3.0", "4.5"), rows))
                and all("MISSED" in row for row in rows), said)
    got = (Path(folder) / "words").read_text().splitlines()
    expected = [f"-sf intel -pk intel 0 mode {precision} -log none -in {deck}.in" for deck, precision in
                [("melt", "double"), ("melt", "mixed"), *2 * [("timed", "double"), ("timed", "mixed")]]]
    checks.that(got == expected, f"words {got}")
    for words, more, expected_code, expected in (
            ("-sf intel -pk nix 0", (), 1, "exit code 1\nERROR: Illegal package command\n"),
            ("-sf kk", (), 1, "no pair style lj/cut/kk: lj/cut/intel ran"),
            ("-sf intel", ("--processes", "2"), 1, "1 of 2 ranks: it was built without the MPI of")):
        code, said = run(words, *more)
        checks.that(code == expected_code and expected in said and "Traceback" not in said, f"{words}: exit code {code}: {said}")
    code, said = run("-sf intel", lammps="nix")
    checks.that(code == 2 and "nix: no such program" in said, f"a missing LAMMPS: exit code {code}: {said}")


def main():
    checks = Checks()
    test_figures(checks)
    with program.temporary_folder() as folder:
        test_run(checks, folder, os.environ["PATH"])
    with program.temporary_folder() as folder:
        test_without_lammps(checks, folder)
    with program.temporary_folder() as folder:
        test_other_lammps(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
