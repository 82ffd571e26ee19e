#!/usr/bin/env python3
"""The cpu backend beside LAMMPS on the melt of inputs/melt.txt: Debian's lmp with opt styles, which are in double precision, or
another one, --lammps, with its own words, --lammps-words, in which {precision} is that of mdmini.

Each program melts the crystal once for --melt steps and keeps a restart file; timed is what follows, the whole time loop as
each program gives it. They take turns, LAMMPS before every run of mdmini, so that each turn gives a ratio; on a shared machine
only these mean anything, and the median counts. LAMMPS runs as many MPI ranks as mdmini has threads. Two rules:

  every 20   the benchmark's: lists rebuilt every 20 steps at a skin of 0.3, nobody looks whether that was too late
  safe       rebuilt when an atom has moved half the skin; LAMMPS at a skin of 0.3, mdmini at the one it chooses

A turn is quiet if other processes took less than 5 per cent of the processors during both of its runs; where some turns
were quiet, the others are left out. Each run waits for a quiet second, --patience seconds at most. Every run of mdmini verifies
itself: one that does not pass has no speed, and the exit code is 1. Without LAMMPS the speeds of mdmini stand alone.

usage: run/bench-cpu.sh MDMINI [--turns 9] [--steps 500] [--melt 1000] [--cells 20] [--processes 2] [--patience 0]
                        [--precisions double,mixed,single] [--words "section.key=value ..."]
                        [--lammps lmp] [--lammps-words "-sf opt"]

LAMMPS with its INTEL package, in the precision of mdmini:
  run/bench-cpu.sh build/mdmini --lammps PATH/lmp --lammps-words "-sf intel -pk intel 0 mode {precision}"
"""
import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts import Parser, check_program

INPUTS = Path(__file__).resolve().parents[1] / "inputs"
DECKS = [str(INPUTS / "melt.txt"), str(INPUTS / "presets/every.txt")]
TARGETS = {"lj/cut/opt": {"double": 1.5, "mixed": 2.5}, "lj/cut/intel": {"double": 3, "mixed": 4.5}}  # times LAMMPS, by its pair style
RULES = {"every 20": ([], "every 20 check no"),
         "safe": (["neighbor.rebuild=device-check", "neighbor.skin=auto"], "every 1 check yes")}
QUIET = 0.05  # share of the processors that others may take

COMMON = """pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 {rule}
fix 1 all nve
thermo {steps}
run {steps}
"""
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
""" + COMMON + "write_restart melt.lammps\n"
TIMED = "read_restart melt.lammps\n" + COMMON


class Watch:
    """What others take of the processors between its making and a call of share()."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle = fields[3] + fields[4]
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), (sum(fields) - idle) / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime

    def share(self):
        wall, busy, own = (after - before for after, before in zip(self.now(), self.start))
        return max(0, busy - own) / (wall * os.cpu_count())


def wait_for_quiet(patience_s):
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        watch = Watch()
        time.sleep(1)
        if watch.share() < QUIET:
            return


def run(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode not in (0, 3):  # 3: a verdict of mdmini
        errors = "\n".join(line for line in done.stdout.splitlines() if line.startswith("ERROR"))  # of LAMMPS; mpirun says much more
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{errors or done.stdout[-800:] + done.stderr[-800:]}")
    return done.stdout


class Lammps:
    """One LAMMPS with its words: melted once; style is the pair style that ran."""

    def __init__(self, a, words, folder):
        self.folder, self.steps = folder, a.steps
        folder.mkdir()
        # Not bound: where others run on one core, the ranks may move as threads do. One thread a rank, unless the words say more.
        self.words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-x", "OMP_NUM_THREADS=1", "-np", str(a.processes),
                      a.lammps, *words.split(), "-log", "none", "-in"]
        (folder / "melt.in").write_text(MELT.format(cells=a.cells, steps=a.melt, rule=RULES["every 20"][1]))
        text = run(self.words + ["melt.in"], folder)
        self.version = text.splitlines()[0]
        self.compiler = re.search(r"^Compiler: (.*)", run([a.lammps, "-h"], folder), re.M)[1]
        self.style = re.search(r"pair (lj/cut\S*),", text)[1]
        n_processes = int(re.search(r"Loop time of \S+ on (\d+) procs", text)[1])
        if n_processes < a.processes:
            sys.exit(f"{a.lammps}: {n_processes} of {a.processes} ranks: it was built without the MPI of {shutil.which('mpirun')}")
        suffix = re.search(r"-(?:sf|suffix) (?:hybrid )?(\S+)", words)
        if suffix and not self.style.endswith("/" + suffix[1]):  # LAMMPS runs its plain styles then, without a word
            sys.exit(f"{a.lammps}: no pair style lj/cut/{suffix[1]}: {self.style} ran with the words {words}")

    def speed(self, rule):
        (self.folder / "timed.in").write_text(TIMED.format(steps=self.steps, rule=RULES[rule][1]))
        text = run(self.words + ["timed.in"], self.folder)
        seconds, n_steps, n_atoms = re.search(r"Loop time of (\S+) on .* for (\d+) steps with (\d+) atoms", text).groups()
        return int(n_steps) * int(n_atoms) / float(seconds)


class Mdmini:
    def __init__(self, a, folder, precision):
        self.a, self.folder, self.melted = a, folder, folder / f"{precision}.restart"
        run([a.mdmini, *DECKS, f"system.cells={a.cells}", f"run.steps={a.melt}", f"run.precision={precision}",
             "run.backend=cpu", f"run.threads={a.processes}", "output.name=timed", "output.progress=off", "report.verify=off",
             "output.existing=overwrite", f"restart.every={a.melt}"], folder)
        (folder / "timed.restart").rename(self.melted)

    def report(self, rule):
        steps = self.a.melt + self.a.steps
        run([self.a.mdmini, "--restart", self.melted.name, f"run.steps={steps}", f"output.thermo_every={steps}",
             "report.verify=on", "restart.every=0", *RULES[rule][0], *self.a.words.split()], self.folder)
        report = json.loads((self.folder / "timed.json").read_text())
        return {key: report[key] for key in ("verdict", "atom_steps_per_second", "n_atoms", "provenance")}


def peers(a, folder):
    """{precision: LAMMPS, None without it}; precisions whose words are the same share one."""
    if not all(shutil.which(program) for program in (a.lammps, "mpirun")):
        print("LAMMPS is not installed (Debian packages lammps, openmpi-bin): no ratios")
        return dict.fromkeys(a.precisions.split(","))
    words = {precision: a.lammps_words.replace("{precision}", precision) for precision in a.precisions.split(",")}
    made = {text: Lammps(a, text, folder / f"lammps-{n}") for n, text in enumerate(dict.fromkeys(words.values()))}
    return {precision: made[text] for precision, text in words.items()}


def measure(a, folder):
    """LAMMPS (None without it), and turns: rule, precision, the report of mdmini, the speed and the pair style of LAMMPS, what
    others took."""
    lammps = peers(a, folder)
    programs = {precision: Mdmini(a, folder, precision) for precision in lammps}
    turns = []
    for _ in range(a.turns):
        for rule in RULES:
            for precision, mdmini in programs.items():
                peer = lammps[precision]
                wait_for_quiet(a.patience)
                watch = Watch()
                speed = peer.speed(rule) if peer else None
                others = watch.share()
                wait_for_quiet(a.patience)
                watch = Watch()
                report = mdmini.report(rule)
                turns.append({"rule": rule, "precision": precision, "report": report, "lammps": speed,
                              "style": peer and peer.style, "others": max(others, watch.share())})
    return next(iter(lammps.values())), turns


def figures(turns):
    """A row for each rule and precision: medians over its quiet turns, or where there is none, over all."""
    rows = []
    for rule, precision in dict.fromkeys((turn["rule"], turn["precision"]) for turn in turns):
        case = [turn for turn in turns if (turn["rule"], turn["precision"]) == (rule, precision)]
        quiet = [turn for turn in case if turn["others"] < QUIET]
        counted = quiet or case
        verdicts = sorted({turn["report"]["verdict"] for turn in case})
        passed = verdicts == ["PASSED"]
        beside = passed and case[0]["lammps"] is not None
        ratios = [turn["report"]["atom_steps_per_second"] / turn["lammps"] for turn in counted] if beside else []
        rows.append({"rule": rule, "precision": precision, "verdict": ", ".join(verdicts), "n_turns": len(case),
                     "n_quiet": len(quiet), "target": TARGETS.get(case[0]["style"], {}).get(precision) if beside else None,
                     "lammps": statistics.median(turn["lammps"] for turn in counted) if case[0]["lammps"] else None,
                     "speed": statistics.median(turn["report"]["atom_steps_per_second"] for turn in counted) if passed else None,
                     "ratio": statistics.median(ratios) if ratios else None,
                     "lowest": min(ratios, default=None), "highest": max(ratios, default=None)})
    return rows


def table(rows):
    def cell(value, form, width):
        return f"{'-' if value is None else format(value, form):>{width}}"

    lines = [f"{'rule':<9} {'precision':<9} {'LAMMPS':>8} {'mdmini':>8} {'ratio':>6} {'lowest':>7} {'highest':>7} {'quiet':>7} "
             f"{'target':>7} {'':6}  verdict"]
    for row in rows:
        million = [row[key] and row[key] / 1e6 for key in ("lammps", "speed")]
        met = "" if row["target"] is None else "met" if row["ratio"] >= row["target"] else "MISSED"
        lines.append(f"{row['rule']:<9} {row['precision']:<9} {cell(million[0], '.2f', 8)} {cell(million[1], '.2f', 8)} "
                     f"{cell(row['ratio'], '.2f', 6)} {cell(row['lowest'], '.2f', 7)} {cell(row['highest'], '.2f', 7)} "
                     f"{row['n_quiet']:3} of {row['n_turns']:<2} {cell(row['target'], '.1f', 6)} {met:6}  {row['verdict']}")
    return "\n".join(lines)


def main():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", type=os.path.abspath)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--melt", type=int, default=1000)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--patience", type=float, default=0)
    parser.add_argument("--precisions", default="double,mixed,single")
    parser.add_argument("--words", default="")
    parser.add_argument("--lammps")
    parser.add_argument("--lammps-words")
    a = parser.parse_args()
    check_program(parser, a.mdmini)
    for program in (a.lammps or "lmp", "mpirun") if a.lammps or a.lammps_words else ():  # asked for, it has to be there
        if not shutil.which(program):
            parser.error(f"{program}: no such program")
    a.lammps = os.path.abspath(shutil.which(a.lammps)) if a.lammps else "lmp"
    a.lammps_words = "-sf opt" if a.lammps_words is None else a.lammps_words
    with tempfile.TemporaryDirectory(prefix="mdmini-bench-") as name:
        lammps, turns = measure(a, Path(name))
    first = turns[0]["report"]
    at = first["provenance"]
    print(f"{first['n_atoms']} atoms, {a.steps} steps after {a.melt} of melting, M atom-steps/s\n{at['machine']}: "
          f"{at['machine_details']}\nmdmini {at['commit']}{' (changed)' if at['dirty'] else ''}, {at['c_compiler']}"
          + (f"\n{lammps.version}, {lammps.compiler}, {a.processes} MPI ranks: {a.lammps_words}" if lammps else ""))
    rows = figures(turns)
    print(table(rows))
    return 0 if all(row["verdict"] == "PASSED" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
