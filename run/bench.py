#!/usr/bin/env python3
"""Speed of whole time loops on one GPU: the rows of inputs/bench/rows.csv, with target, verdict and what LAMMPS KOKKOS does.

Each system is melted (--melt), once in each precision, and leaves a restart file; timed is what goes on from there,
under one of two rules (inputs/bench/every.txt, safe.txt; over the latter drift.txt, for rows of drift). Rows run in turn
(A B C A B C ...), what is most important first, and the median of their speeds counts. The first run of a row is compared with the double-precision reference (PASSED, FAILED);
the others are the same run without. Above --verify-atoms the reference takes too long: there the change of the conserved
energy while each run was timed is held to a limit (energy kept, ENERGY LOST). A row that failed has no speed. --list shows
the rows, and the commands by which one makes them by hand.

--against FOLDER runs each row by turns with another program too: FOLDER is its source, FOLDER/build-gpu/mdmini the program,
FOLDER/inputs/bench its decks. A table shows the ratio of the speeds of each turn: median, lowest, highest.

The record is written anew after each run. When --budget is spent no run begins, nor one that would not fit by what the
first of its row took. Exit code 1: a row failed, or was refused.
"""
import argparse
import fnmatch
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_rows import DECKS, MEMORY_TARGET, PEERS, Melt, Row, drifts_as_double, read_table
from runs import NotRun
from scripts import Budget, Parser, check_paths, one_of, positive, save_json, whole

CLOCKS = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw,clocks_throttle_reasons.active"


def gpu_state():
    """What nvidia-smi says of the GPU; None where there is none."""
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={CLOCKS}", "--format=csv,noheader"], capture_output=True, text=True)
        return dict(zip(CLOCKS.split(","), done.stdout.strip().splitlines()[0].split(", "))) if done.returncode == 0 else None
    except (FileNotFoundError, IndexError):
        return None


class Bench:
    def __init__(self, a, rows, budget):
        self.a, self.rows, self.budget = a, rows, budget
        self.states, self.provenances, self.took = [], {}, {}  # provenances: "" is the program itself, " of NAME" another

    def note_state(self):
        self.states.append(gpu_state())

    def finished(self):
        return all(len(one.runs) == self.a.repeats for row in self.rows for one in (row, *row.against.values()))

    def save(self):
        save_json(self.a.output, {"command": sys.argv, "finished": self.finished(), "provenance": self.provenances.get(""),
                                  "against": {named.removeprefix(" of "): found for named, found in self.provenances.items() if named},
                                  "gpu_states": self.states, "rows": [row.record() for row in self.rows]})

    def has_no_time(self, name):
        left = None if self.budget.seconds is None else self.budget.seconds - self.budget.spent()
        return left is not None and left <= self.took.get(name, 0)

    def time(self, row, turn, a, named=""):
        """One run of a row, if there is time; what came of it in one line. a: arguments, with the program that runs it."""
        if row.not_run and row.not_run.kind != "time":
            return
        if self.has_no_time(row.name + named):
            row.not_run = NotRun("time", "time was up")
            return
        start = time.monotonic()
        try:
            row.time(a)
        except NotRun as why:
            row.not_run = why
            print(f"{row.name}{named}: {why}", flush=True)
            return
        except KeyError as key:
            if not named:
                raise
            row.not_run = NotRun("crashed", f"its report has no {key}, which this script reads: too old")
            print(f"{row.name}{named}: {row.not_run}", flush=True)
            return
        report = row.runs[-1]
        self.provenances.setdefault(named, {**report.pop("provenance"), "host": None})
        self.took[row.name + named] = time.monotonic() - start - report["verify_seconds"]
        print(f"{row.name}{named}: run {turn + 1} of {self.a.repeats}: {row.speeds()[-1]:.4g} {row.unit}, {row.verdict()}, "
              f"after {self.budget.spent():.0f} s", flush=True)

    def measure(self):
        self.note_state()
        for turn in range(self.a.repeats):
            for row in self.rows:
                programs = [(row, self.a), *((other, self.a.others[name], f" of {name}") for name, other in row.against.items())]
                for one, *program in programs if turn % 2 == 0 else reversed(programs):
                    self.time(one, turn, *program)
                self.save()
            self.note_state()
        self.save()


HEAD = (f"{'row':<16} {'atoms':>10} {'prec.':<6} {'rule':<10} {'steps':>7} {'runs':>4} {'steps/s':>9} {'G a.-steps/s':>12} "
        f"{'spread':>6} {'LAMMPS':>7} {'ratio':>6} {'target':>7} {'':6} {'B/atom':>6} {'':6} {'drift +- error':>19}  verdict")


def drift_text(figures):
    return f"{figures['drift']:.2g} +- {figures['drift_error']:.1g}"


def table(rows):
    """Lines of the table; target and LAMMPS in the unit of the row: steps/s, or G atom-steps/s."""
    def cell(value, form, width):
        return f"{'-' if value is None else format(value, form):>{width}}"

    def met(reached):
        return f"{'' if reached is None else 'met' if reached else 'MISSED':6}"

    lines = [HEAD]
    for row in rows:
        f = row.figures()
        giga = f["unit"] == "atom-steps/s"
        shown = [value and (value / 1e9 if giga else value) for value in (f["peer"], f["target"])]
        form = ".2f" if giga else ".0f"
        lines.append(f"{f['row']:<16} {f['atoms']:10d} {f['precision']:<6} {f['rule']:<10} {f['steps']:7d} {f['repeats']:4d} "
                     f"{cell(f['steps_per_second'], '.5g', 9)} "
                     f"{cell(f['atom_steps_per_second'] and f['atom_steps_per_second'] / 1e9, '.4g', 12)} "
                     f"{cell(f['spread'], '.1%', 6)} {cell(shown[0], form, 7)} {cell(f['ratio'], '.2f', 6)} "
                     f"{cell(shown[1], form, 7)} {met(f['reached'])} {cell(f['device_bytes_per_atom'], '.0f', 6)} "
                     f"{met(f['memory_reached'])} {'-' if f['drift'] is None else drift_text(f):>19}  "
                     f"{f['verdict'] or 'not run'}{': ' + f['not_run'] if f['not_run'] else ''}")
    return lines


def ratio_table(rows):
    """Lines of the ratios to other programs."""
    lines = [f"{'row':<16} {'over':<16} {'ratio':>7} {'lowest':>7} {'highest':>7}  verdict of the other"]
    for row in rows:
        for name, other in row.against.items():
            ratios = row.ratios(name)
            cells = [f"{statistics.median(ratios):7.4f} {min(ratios):7.4f} {max(ratios):7.4f}" if ratios else f"{'-':>7} {'-':>7} {'-':>7}"]
            lines.append(f"{row.name:<16} {name:<16} {cells[0]}  {other.verdict() or 'not run'}"
                         f"{f': {other.not_run}' if other.not_run else ''}")
    return lines


def notes(bench):
    """What the table does not say by itself."""
    found = [f"LAMMPS: KOKKOS, double precision, its own rule as in the row ({PEERS.relative_to(PEERS.parents[2])}); targets: of "
             f"one H200, B/atom at most {MEMORY_TARGET}"]
    for row in bench.rows:
        if row.verdict() in ("energy kept", "ENERGY LOST"):
            found.append(f"{row.name}: not compared with the reference; its conserved energy changed by "
                         f"{row.energy['moved']:.3g} per atom while it was timed, {row.energy['limit']:.3g} are allowed")
    drifting = [figures for figures in (row.figures() for row in bench.rows) if figures["drift"] is not None]
    if drifting:
        found.append("drift: of the conserved energy, epsilon per atom and step, with its standard error; target: at most twice "
                     "that in double precision")
    for double in (figures for figures in drifting if figures["precision"] == "double"):
        found += [f"{other['row']}: drift {drift_text(other)}, in double precision {drift_text(double)}: "
                  f"{drifts_as_double(other, double)}" for other in drifting
                  if other["precision"] != "double" and all(other[key] == double[key] for key in ("system", "atoms", "rule"))]
    clocks = [state and f"{state['clocks.sm']}, {state['temperature.gpu']} C" for state in bench.states]
    found.append("SM clock before the first turn and after each: " + "; ".join(map(str, clocks)) if any(clocks)
                 else "no nvidia-smi here: no clocks")
    for named, at in bench.provenances.items():
        built = f"mdmini {at['commit']}{' (changed)' if at['dirty'] else ''}"
        found.append(f"{named.removeprefix(' of ')}: {built}, {at['build_type']}" if named else
                     f"{at['machine']}, {built}, {at['backend']}: {at['backend_libraries']}")
    return found


def choose(table_rows, patterns):
    """Those that the patterns name, in the order of the patterns; without any, those that need not be asked for."""
    if not patterns:
        return [fields for fields in table_rows if not fields["asked"]]
    found = []
    for pattern in patterns.split(","):
        named = [fields for fields in table_rows if fnmatch.fnmatchcase(fields["row"], pattern)]
        if not named:
            raise ValueError(f"{pattern}: no such row; there are {', '.join(fields['row'] for fields in table_rows)}")
        found += [fields for fields in named if fields not in found]
    return found


def choose_rows(parser, a):
    """a.chosen: those rows of the table that --rows names."""
    if not os.path.isfile(a.table):
        parser.error(f"{a.table}: no such table")
    try:
        a.chosen = choose(read_table(a.table), a.rows)
    except ValueError as why:
        parser.error(f"--rows: {why}")


def read_arguments(words=None):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", type=os.path.abspath, nargs="?", help="the program; --list needs none")
    parser.add_argument("--rows", metavar="NAME,...",
                        help="rows to run, with * and ?, in this order (all up to 4 million atoms, as they stand in the table)")
    parser.add_argument("--repeats", type=whole, default=3, help="runs of each row (3)")
    parser.add_argument("--budget", type=positive, metavar="SECONDS", help="after which no run begins")
    parser.add_argument("--limit", type=positive, default=120, help="seconds that a run may take, its verification apart (120)")
    parser.add_argument("--verify-atoms", type=float, default=1.1e6, metavar="N",
                        help="up to which rows are compared with the reference (1.1e6)")
    parser.add_argument("--backend", default="cuda", type=one_of("auto", "cpu", "cuda"), metavar="{auto,cpu,cuda}",
                        help="run.backend of every run (cuda)")
    parser.add_argument("--melt", type=whole, default=1000, metavar="STEPS", help="before a system is timed (1000)")
    parser.add_argument("--words", default="", help='overrides of every run that is timed: "section.key=value ..."')
    parser.add_argument("--folder", type=os.path.abspath,
                        help="where melted systems are kept, for later calls, and runs have their files while they last (a "
                             "temporary one); a restart file takes 104 bytes an atom, and a row needs room for two")
    parser.add_argument("--against", metavar="FOLDER", action="append", default=[],
                        help="by turns with the program of another source; may stand several times (run/bench.sh takes commits too)")
    parser.add_argument("--table", default=str(DECKS / "rows.csv"), help="of the rows (inputs/bench/rows.csv)")
    parser.add_argument("--list", action="store_true", help="shows rows and commands, runs nothing")
    parser.add_argument("--output", default="bench.json", metavar="FILE.json", help="the record (bench.json)")
    a = parser.parse_args(words)
    if a.mdmini:
        check_paths(parser, a)
    elif not a.list:
        parser.error("no program to be timed: name one")
    if a.folder and not os.path.isdir(a.folder):
        parser.error(f"{a.folder}: no such folder")
    a.decks, a.others = DECKS, {}
    for folder in map(Path, map(os.path.abspath, a.against)):
        other = argparse.Namespace(**{**vars(a), "mdmini": str(folder / "build-gpu/mdmini"), "decks": folder / "inputs/bench"})
        if not os.access(other.mdmini, os.X_OK) or not other.decks.is_dir():
            parser.error(f"--against {folder}: it has no build-gpu/mdmini, or no inputs/bench")
        if folder.name in a.others:
            parser.error(f"--against: two folders with the name {folder.name}")
        a.others[folder.name] = other
    choose_rows(parser, a)
    return a


def make_rows(a, folder):
    """Rows that go on from the same melted system share it. Melted systems of other programs are theirs, in folders of their names."""
    peers, melts = read_table(PEERS), {}

    def row(fields, program, place):
        melt = Melt(fields, program, place)
        return Row(fields, melts.setdefault(melt.restart, melt), peers)

    rows = [row(fields, a, folder) for fields in a.chosen]
    for name, other in a.others.items():
        place = os.path.join(folder, name)
        os.makedirs(place, exist_ok=True)
        for mine in rows:
            mine.against[name] = row(mine.fields, other, place)
    return rows


def main():
    a = read_arguments()
    if a.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head` ends in silence
        for row in make_rows(a, "."):
            print(f"{row.name}: {row.n_atoms} atoms", *row.commands(), sep="\n    ")
        return 0
    budget = Budget(a.budget)
    budget.end_at_signals()
    if a.folder:
        tempfile.tempdir = a.folder
    with tempfile.TemporaryDirectory(prefix="mdmini-bench-") as place:
        rows = make_rows(a, a.folder or place)
        bench = Bench(a, rows, budget)
        bench.measure()
    print("", *table(rows), *(["", *ratio_table(rows), ""] if a.others else []), *notes(bench), f"{budget.spent():.0f} s in all", sep="\n")
    all_rows = {**{row.name: row for row in rows}, **{f"{row.name} of {name}": other for row in rows for name, other in row.against.items()}}
    if any(row.is_left_out("time") for row in all_rows.values()):
        print("UNFINISHED: time was up")
    failed = {name: row for name, row in all_rows.items() if row.has_failed()}
    for word, refused in (("FAILED", False), ("REFUSED", True)):
        names = [name for name, row in failed.items() if row.is_left_out("refused") == refused]
        if names:
            print(f"{word}: {', '.join(names)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
