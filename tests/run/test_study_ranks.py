"""Studies of several processes: the number of processes is a factor, of one system or together with another key; such points are
started by the launcher; the efficiency is that of the runs; what is wrong is refused. And mdmini itself, by mpirun, where that is."""
import math
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import program
import ranks
from bench_study import SOURCE, Bench, points_of
from fake_mdmini import EFFICIENCY
from runs import LAUNCHER_S
from studies import report, stats, view
from studies.runner import Runner
from studies.scaling import cells
from studies.steps import small_cells

LAUNCHER = """#!/bin/sh
n=$2; shift 2
echo "--------------" >&2
echo "launcher: $n processes" >&2
FAKE_RANKS=$n exec "$@"
"""
WORDS = ["--words", "system.cells=8 run.steps=40", "--repeats", "3"]
STRONG = ["deck.txt", *WORDS, "--vary", "parallel.ranks=1,2,4", "--vary", "a.w=off,on"]
WEAK = ["deck.txt", "--words", "run.steps=40", "--repeats", "3", "--vary", "parallel.ranks & system.cells=1&5, 8 & 10", "--vary", "a.w=off,on"]


class Launched(Bench):
    """With a launcher, too."""

    def __init__(self, folder):
        super().__init__(folder)
        self.launcher = self.script("launch", LAUNCHER)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return f"{path} -n {{ranks}}"

    def study_of(self, output, *words, given=STRONG, launcher=None, **others):
        return self.run(output, "--launcher", launcher or self.launcher, *words, given=given, **others)


def rows_of(results):
    """{(number of processes, rest of the name): row of the scaling table}"""
    found = {}
    for row in results["scaling"]:
        label = row["point"].split("/", 1)[1]
        found[row["ranks"], " ".join(word for word in label.split() if word.startswith("a."))] = row
    return found


def speeds_of(lines, point):
    return [line["report"]["atom_steps_per_second"] for line in sorted(lines, key=lambda line: line["round"])
            if line["point"] == point and line["status"] == "ok"]


def check_rows(checks, name, lines, rows, n_first=1):
    """Efficiencies and their intervals from the runs themselves, and about what the fake has been told to do."""
    for (n, rest), row in rows.items():
        if n == n_first:
            checks.that(row["to"] == row["point"] and row["efficiency"] is None, f"{name}: the fewest: {row}")
            continue
        checks.that(row["to"] == rows[n_first, rest]["point"], f"{name}: {row['point']} is compared with {row['to']}")
        ratio = stats.paired_ratio(speeds_of(lines, row["to"]), speeds_of(lines, row["point"]))
        for key in ("value", "low", "high"):
            checks.near(row["efficiency"][key], getattr(ratio, key) * n_first / n, 1e-12, f"{name}: {key} of the efficiency of {n}")
            checks.near(row["speed_up"][key], getattr(ratio, key), 1e-11, f"{name}: {key} of the speed-up of {n}")
        expected = EFFICIENCY[n] / EFFICIENCY[n_first]
        checks.near(row["efficiency"]["value"], expected, 0.01 * expected, f"{name}: efficiency of {n}")
        checks.that(row["efficiency"]["n"] == 3 and row["efficiency"]["low"] < expected < row["efficiency"]["high"], f"{name}: {row}")


def test_strong(checks, bench):
    """One system, by 1, 2 and 4 processes."""
    done = bench.study_of("strong")
    if not checks.that(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}"):
        return
    results, lines = bench.results("strong"), bench.lines("strong")
    checks.that(len(results["systems"]) == 1 and len(results["points"]) == 6 and results["points"][0]["settings"] ==
                {"parallel.ranks": "1", "a.w": "on"}, f"{points_of(results).keys()}")
    checks.that(all(line["ranks"] == int(line["point"].split("parallel.ranks=")[1].split()[0]) ==
                    (line["report"]["ranks"] or {"n": 1})["n"] for line in lines), "started with other numbers of processes")
    rows = rows_of(results)
    checks.that(sorted(rows) == [(n, f"a.w={w}") for n in (1, 2, 4) for w in ("off", "on")], f"rows {sorted(rows)}")
    check_rows(checks, "strong", lines, rows)
    two = rows[2, "a.w=on"]
    checks.that((two["grid"], two["hosts"], two["atoms_per_rank"]) == ([1, 1, 2], 1, 1024) and rows[1, "a.w=on"]["grid"] is None, f"{two}")
    ratio = points_of(results)["parallel.ranks=2 a.w=on"]["ratio"]
    checks.that(ratio["outcome"] == "faster" and abs(ratio["value"] - two["speed_up"]["value"]) < 1e-12, f"ratio to the base: {ratio}")
    effect = next(one for one in results["effects"] if one["factors"] == ["parallel.ranks"] and one["levels"] == ["4"])
    checks.near(effect["value"], 4 * EFFICIENCY[4], 0.03, "main effect of 4 processes")
    checks.that(not any(one["besides"] for one in results["effects"]) and "overlap" not in points_of(results)["parallel.ranks=2 a.w=on"]["changed"],
                "a switch of several processes alone is told of as if one process had another")
    said = [line.split() for line in done.stdout.split("Efficiency: ")[1].split("\n\n")[0].splitlines()[2:]]
    page = report.sections(view.View(results), None, (), None)
    table = [line for line in page[page.index("## Scaling over processes"):] if line.startswith("| `")]
    written = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    checks.that(len(said) == len(written) == 6 and "strong scaling" in done.stdout, f"{said}, {written}")
    for text, cell, row in zip(said, written, results["scaling"]):
        shown = float(cell[-2])
        checks.that(f"s0/{cell[0].strip('`')}" == row["point"] and cell[1] == str(row["ranks"]) and
                    abs(shown - (row["efficiency"] or {"value": 1})["value"]) < 0.005 and cell[-2] in text, f"{cell}, {text}: {row}")


def test_weak(checks, bench):
    """Systems that grow with the processes; the ratio is across these, the order of a round one of all points."""
    done = bench.study_of("weak", given=WEAK)
    if not checks.that(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}"):
        return
    results, lines = bench.results("weak"), bench.lines("weak")
    checks.that([system["n_atoms"] for system in results["systems"]] == [500, 4000] and
                [system["words"]["parallel.ranks"] for system in results["systems"]] == ["1", "8"] and
                results["definition"]["factors"]["parallel.ranks & system.cells"] == ["1 & 5", "8 & 10"], f"{results['systems']}")
    rows = rows_of(results)
    checks.that(sorted(rows) == [(n, f"a.w={w}") for n in (1, 8) for w in ("off", "on")] and
                {row["atoms_per_rank"] for row in rows.values()} == {500}, f"rows {rows}")
    check_rows(checks, "weak", lines, rows)
    checks.that("weak scaling" in done.stdout and not any(point["ratio"] and abs(point["ratio"]["value"] - 1) > 0.2 for point in results["points"]),
                "points of two systems stand in one ratio")
    systems = [tuple(line["point"].split("/")[0] for line in lines if line["round"] == k) for k in range(3)]
    checks.that(set(systems) == {("s0", "s0", "s1", "s1"), ("s1", "s1", "s0", "s0")}, f"the systems have one order in all rounds: {systems}")


def test_together(checks, bench):
    """Switches that vary together, by design; where the fewest processes are two, these are what others are compared with."""
    vary = ["deck.txt", *WORDS, "--vary", "parallel.ranks &a.y=1 & 2, 4&1", "--vary", "a.w=on,off"]
    for design, n_points, base in (("full", 4, {"parallel.ranks & a.y": "1 & 2", "a.w": "on"}), ("one-at-a-time", 3, {})):
        done = bench.study_of(f"together-{design}", "--design", design, given=vary)
        results = bench.results(f"together-{design}")
        checks.that(done.returncode == 0 and len(results["points"]) == n_points and results["points"][0]["settings"] == base,
                    f"{design}: {done.stdout[-400:]}{done.stderr}")
        row = next(row for row in results["scaling"] if row["ranks"] == 4 and "a.w=off" not in row["point"])
        checks.near(row["efficiency"]["value"], EFFICIENCY[4] / 1.3, 0.01, f"{design}: efficiency along with a.y")
        checks.that(len(results["scaling"]) == n_points, f"{design}: {results['scaling']}")
    bench.study_of("from-two", given=["deck.txt", *WORDS, "--vary", "parallel.ranks=4,2"])
    results = bench.results("from-two")
    check_rows(checks, "from two", bench.lines("from-two"), rows_of(results), n_first=2)
    checks.that("with 2 processes, all else equal" in "\n".join(report.sections(view.View(results), None, (), None)), "the fewest are not named")


def test_fixed(checks, bench):
    """One number of processes for all points; and a study of one process knows no launcher."""
    bench.study_of("fixed", given=["deck.txt", "--words", "system.cells=8 run.steps=40 parallel.ranks=2", "--repeats", "3", "--vary", "a.w=on,off"])
    results = bench.results("fixed")
    checks.that(results["scaling"] == [] and {line["report"]["ranks"]["n"] for line in bench.lines("fixed")} == {2} and
                results["definition"]["launcher"] == "launch -n {ranks}", f"{results['definition']}")
    done = bench.run("one", "--launcher", "nix", given=["deck.txt", *WORDS, "--vary", "parallel.ranks=1", "--vary", "a.w=on,off"])
    checks.that(done.returncode == 0 and "launcher" not in bench.results("one")["definition"], f"one process: {done.stdout}{done.stderr}")


def test_points_refused(checks, bench):
    """What the program says of a number of processes is the reason, not what its launcher says; where it cannot start them, that is."""
    three = ["deck.txt", *WORDS, "--vary", "parallel.ranks=1,2,3"]
    done = bench.study_of("three", given=three)
    point = points_of(bench.results("three"))["parallel.ranks=3"]
    checks.that(done.returncode == 0 and point["status"] == "refused" and point["reason"] == "refused: parallel.grid: no grid of 3", f"{point}")
    done = bench.study_of("three-checked", "--check", given=three)
    checks.that(done.returncode == 0 and "refused: parallel.grid: no grid of 3" in done.stdout and "1 points are refused" in done.stdout,
                f"--check: {done.stdout}{done.stderr}")
    slots = bench.script("no-slots", "#!/bin/sh\necho ----- >&2\necho 'There are not enough slots' >&2\necho '  for all.' >&2\nexit 1\n")
    done = bench.study_of("slots", given=three, launcher=slots)
    points = bench.results("slots")["points"]
    checks.that(done.returncode == 0 and [point["status"] for point in points] == ["measured", "refused", "refused"] and
                points[1]["reason"] == "refused by the launcher: There are not enough slots for all." and
                [row["ranks"] for row in bench.results("slots")["scaling"]] == [1], f"{points}")
    unbound = bench.script("no-bind", "#!/bin/sh\necho 'A request ... in binding more' >&2\necho 'processes than cpus on a resource:' >&2\nexit 1\n")
    done = bench.study_of("unbound", given=WEAK, launcher=unbound)
    points = bench.results("unbound")["points"]
    checks.that(done.returncode == 0 and [point["status"] for point in points] == ["measured"] * 2 + ["refused"] * 2 and
                points[2]["reason"].startswith("refused by the launcher: A request"), f"{points}")
    done = bench.study_of("no-first", FAILS="a.w=off", given=["deck.txt", *WORDS, "--vary", "parallel.ranks=1,2", "--vary", "a.w=off"])
    checks.that(done.returncode == 3 and bench.results("no-first")["scaling"] == [], "what failed is in the table")
    done = bench.study_of("lonely", LONELY="1")
    checks.that(done.returncode == 2 and "was to start" in done.stderr and "the run was of 1" in done.stderr and
                not any(line["ranks"] > 1 for line in bench.lines("lonely")), f"processes that know nothing of each other: {done.stderr}")


def test_first_failed(checks, bench):
    """Without a speed of the fewest processes there is no efficiency."""
    done = bench.study_of("first-failed", DIES="cells=8", given=["deck.txt", *WORDS, "--vary", "parallel.ranks=2,4"])
    checks.that(done.returncode == 1 and bench.results("first-failed")["scaling"] == [], f"all died: {done.stdout[-300:]}")
    done = bench.study_of("two-failed", WOBBLES="ranks=2", given=["deck.txt", *WORDS, "--vary", "parallel.ranks=2,4"])
    results = bench.results("two-failed")
    checks.that(done.returncode == 3 and [(row["ranks"], row["efficiency"]) for row in results["scaling"]] == [(4, None)] and
                "over that with 2 processes, all else" in done.stdout and cells(results)[1][0][-3:] == ["-"] * 3,
                f"{results['scaling']}: {done.stdout}")


def test_refused(checks, bench):
    """What is wrong gets a message and exit code 2, and nothing is made."""
    def refused(expected, *words, launcher=bench.launcher):
        code, said = bench.judge("deck.txt", *words, "--launcher", launcher, "--program", bench.mdmini, "--output", bench.folder / "refused")
        checks.that(code == 2 and expected in said and not (bench.folder / "refused").exists() and "Traceback" not in said,
                    f"{words}, {launcher}: exit code {code}, {expected!r} was due: {said[-300:]}")

    for level in ("0", "x", "1.5", "-2", "inf"):
        refused(f"parallel.ranks: read '{level}'; allowed: a whole number from 1", "--vary", f"parallel.ranks=2,{level}")
    refused("parallel.ranks: read '0'", "--vary", "parallel.ranks & system.cells=1 & 5, 0 & 6")
    refused("parallel.ranks: read '0'", "--vary", "a.w=on,off", "--words", "parallel.ranks=0")
    for launcher in ("mpirun", "mpirun -n ranks", "{ranks}", "mpirun '-n {ranks}", ""):
        refused("launcher: read ", "--vary", "parallel.ranks=1,2", launcher=launcher)
    refused("launcher: nix -n {ranks}: no such program", "--vary", "parallel.ranks=1,2", launcher="nix -n {ranks}")
    for levels in ("1, 2 & 6", "1 & 5 & 3, 2 & 6", "1 &, 2 & 6", "1 & 5,"):
        refused("allowed: value & value, ", "--vary", f"parallel.ranks & system.cells={levels}")
    for expected, *words in (("parallel.ranks: varies twice", "parallel.ranks & system.cells=1 & 5, 2 & 6", "parallel.ranks=1,2"),
                             ("decks vary alone", "deck & parallel.ranks=deck.txt & 1, deck.txt & 2"),
                             ("a.q: no such key", "parallel.ranks & a.q=1 & 5, 2 & 6"), ('read "of"', "parallel.ranks & a.w=1 & on, 2 & of"),
                             ("the study sets it", "parallel.ranks & output.name=1 & x, 2 & y")):
        refused(expected, *(word for text in words for word in ("--vary", text)))
    refused("stands in [factors] and in words", "--vary", "parallel.ranks=1,2", "--words", "parallel.ranks=2")
    refused("makes its own points", "--vary", "parallel.ranks=1,2", "--design", "ladder")


def test_stops(checks, bench):
    """The table does not depend on where the study was killed, on shards, or on when it was made."""
    for name, words in (("strong", STRONG), ("weak", WEAK)):
        whole = bench.results(name)
        for at in (2, len(bench.lines(name)) - 1):
            output, marker = f"{name}-killed-{at}", bench.folder / f"{name}-killed-{at}.marker"
            done = bench.study_of(output, given=words, KILL_AT=at, KILL_MARKER=marker)
            checks.that(done.returncode == -signal.SIGKILL and len(bench.lines(output)) == at, f"{output}: {done.returncode}")
            done = bench.study_of(output, given=words)
            checks.that(done.returncode == 0 and bench.results(output)["scaling"] == whole["scaling"], f"{output}: another table: {done.stderr}")
        for k in (1, 2):
            bench.study_of(f"{name}-{k}", given=words, shard=(k, 2))
        done = bench.run(f"{name}-both", "--merge", str(bench.folder / f"{name}-1"), str(bench.folder / f"{name}-2"))
        checks.that(done.returncode == 0 and bench.results(f"{name}-both")["scaling"] == whole["scaling"], f"{name}: merged: {done.stderr}")
        before = (bench.folder / name / "results.json").read_bytes()
        done = bench.run("", "--report", str(bench.folder / name))
        checks.that(done.returncode == 0 and (bench.folder / name / "results.json").read_bytes() == before, f"{name}: --report: {done.stderr}")
    for k in range(1, 5):  # more than rounds: each makes some of the points, with the base beside them
        bench.study_of("parts", given=STRONG, shard=(k, 4))
    rows = rows_of(bench.results("parts"))
    checks.that(len(rows) == 6 and all(row["efficiency"]["n"] == 3 for (n, _), row in rows.items() if n > 1), f"parts: {rows}")
    code, said = bench.judge(*STRONG, "--launcher", f"{bench.launcher} -x", "--program", bench.mdmini, "--output", bench.folder / "strong")
    checks.that(code == 2 and 'launcher: "launch -n {ranks}" there' in said, f"another launcher: {said}")


DEAF = """#!/bin/sh
case "$*" in *--check*) shift 2; exec "$@" ;; esac
cd {}
trap 'echo told >told' TERM
echo there >there
while [ ! -e told ] || [ -e goes-on ]; do sleep 0.1; done
"""


def test_end(checks, bench):
    """A launcher is told to end, so that it can end its processes; one that goes on is killed."""
    launcher = bench.script("deaf", DEAF.format(bench.folder))
    command = bench.command("ended", "--launcher", launcher, given=["deck.txt", *WORDS, "--vary", "parallel.ranks=2,4"])
    for goes_on in (False, True):
        for name in ("there", "told"):
            (bench.folder / name).unlink(missing_ok=True)
        if goes_on:
            (bench.folder / "goes-on").touch()
        child = subprocess.Popen(command, cwd=bench.folder, env=bench.environment("ended"), stdout=subprocess.PIPE, text=True)
        while child.poll() is None and not (bench.folder / "there").exists():
            time.sleep(0.05)
        start = time.monotonic()
        child.send_signal(signal.SIGTERM)
        said = child.communicate()[0]
        checks.that(child.returncode == 75 and "stopped by SIGTERM" in said and (bench.folder / "told").exists() and
                    time.monotonic() - start < LAUNCHER_S + 300, f"goes on: {goes_on}: exit code {child.returncode}: {said}")


def test_sizes(checks):
    """Tries have as many atoms a process as of one; and what a launcher has started is timed with no other run beside it."""
    for n, expected in ((1, "20 20 20"), (8, "40 40 40"), (64, None)):
        system = Namespace(backend="cuda", n_atoms=64 * 32000, dimension=3, settings={"system.cells": "80 80 80"})
        point = Namespace(system=system, n_ranks=lambda n=n: n)
        system.points = [Namespace(n_ranks=lambda: 1), point]
        checks.that(small_cells(point).get("system.cells") == expected, f"{n} processes: {small_cells(point)}")
        overlaps = Runner.overlaps(Namespace(study=Namespace(factors={})), system)
        checks.that(overlaps == (n == 1), f"{n} processes: runs overlap: {overlaps}")


def test_mpirun(checks, folder):
    """The program itself: two processes of one run, that is verified as any other."""
    os.environ.update(ranks.ENVIRONMENT)
    why = ranks.why_not()
    if why:
        print(f"mpirun: skipped: {why}")
        return
    bench = Bench(folder)
    bench.mdmini = program.program()
    words = [SOURCE / "inputs/melt.txt", "--words", "run.backend=cpu run.threads=1 system.cells=8 run.steps=40 output.frames_every=0",
             "--repeats", "3", "--vary", "parallel.ranks=1,2,5"]
    done = bench.run("out", "--launcher", "mpirun -n {ranks}", given=words)
    results = bench.results("out")
    points = points_of(results)
    two, five = points["parallel.ranks=2"], points["parallel.ranks=5"]
    checks.that(done.returncode == 0 and two["status"] == "measured" and two["verdict"] == "PASSED" and two["n_steps"] == 40,
                f"two processes: exit code {done.returncode}: {two}: {done.stdout[-600:]}{done.stderr}")
    checks.that(five["status"] == "refused" and "mpirun" not in five["reason"][:20] and "parallel" in five["reason"], f"five processes: {five['reason']}")
    energies = [line["report"]["kinetic_energy_per_atom"] for line in bench.lines("out") if line["status"] == "ok"]
    checks.that(len(energies) > 3 and max(energies) - min(energies) < 1e-12,  # summed in another order
                f"the motion of one process, and of two: {energies}")
    rows = rows_of(results)
    efficiency = rows[2, ""]["efficiency"]
    checks.that(rows[2, ""]["atoms_per_rank"] == 1024 and (efficiency is None or math.isfinite(efficiency["value"])), f"{rows}")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    with program.temporary_folder() as folder:
        bench = Launched(Path(folder))
        for test in (test_strong, test_weak, test_together, test_fixed, test_points_refused, test_first_failed, test_refused, test_stops, test_end):
            start = time.monotonic()
            test(checks, bench)
            print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    test_sizes(checks)
    with program.temporary_folder() as folder:
        test_mpirun(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
