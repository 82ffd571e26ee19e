#!/usr/bin/env python3
"""Climbs the ladder from naive to fast, and leaves each switch out of fast: speed, ratio and verdict of every step.

The ladder: inputs/presets/naive.txt over the deck, then ladder-01-..., ladder-02-... on top, one change each; the ratio
is to the step below. Left out: fast.txt with one switch at its naive value; the ratio is to fast.txt, below 1 where the
switch earns something. What ran differently besides (a value needs another one, takes one away, or an `auto` chose
otherwise) is shown with the change; a change that changed nothing here has no speed.

Each is tried in a small system first, several side by side, so that a rung is timed for about --seconds (what is left
out: for the time steps of fast.txt); one that would take more than --limit is not run, and says so. Runs are repeated in
turn (A B C A B C ...), the median is given with its spread. A run that did not pass its verification has no speed; the first
repeat compares with the reference, the others are the same run without. A run that crashes fails the script; one that the
program refuses, or that takes too long, does not.

A million atoms in some minutes on a GPU: --cells 63 --seconds 0.3 --limit 5 --repeats 1

usage: ladder.py MDMINI [--deck FILE] [--backend auto|cpu|cuda] [--cells 20] [--seconds 3] [--limit 60] [--repeats 3]
                 [--steps N] [--parts ladder,without] [--words "section.key=value ..."] [--output FILE.json]
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from decks import read_deck

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
INTERVAL = 20  # steps: whole intervals of the rebuild rule of melt.txt
SMALL_CELLS = 20  # of the small system: 32,000 atoms of an fcc crystal
SMALL_SECONDS, SMALL_STEPS = 0.1, 400  # that a try there may take: far above what the first launches cost


class NotRun(Exception):
    """There is no report, and why."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind  # refused, too slow, crashed


def listing(mdmini, what):
    return json.loads(subprocess.run([mdmini, f"--list-{what}=json"], check=True, stdout=subprocess.PIPE).stdout)


class Program:
    """Runs the program on one deck and size, and knows what its backend has."""

    def __init__(self, a, cells):
        self.path, self.deck = os.path.abspath(a.mdmini), os.path.abspath(a.deck)
        self.cells, self.limit = cells, a.limit
        # Of the files, the presets of the other backend's switches pass; so the backend comes with the overrides.
        self.common = ["output.frames_every=0", "output.progress=off", "output.name=step", f"run.backend={a.backend}",
                       *a.words.split()]
        done = subprocess.run([self.path, "--check", self.deck, *self.common], capture_output=True, text=True)
        found = re.search(r"# backend +(\w+),", done.stdout)
        if not found:
            raise SystemExit(done.stderr.strip())
        self.backend = found[1]
        self.options = {f"{row['section']}.{row['key']}": row for row in listing(self.path, "options")}
        table = next(b for b in listing(self.path, "variants")["backends"] if b["name"] == self.backend)
        self.lacks = set(table["lacks"])
        self.rows = {(row["switch"], row["value"]): row for row in table["variants"] if row["switch"]}
        self.switches = {(row["stage"], row["switch"].split(".")[1]): row["switch"] for row in self.rows.values()}

    def run(self, step, n_steps, verify, cells=None):
        """The report of a run; NotRun where there is none."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.path, self.deck, *map(str, step.layers), *self.common, *step.words,
                       f"system.cells={cells or self.cells}", f"run.steps={n_steps}",
                       f"output.thermo_every={max(1, n_steps)}", f"report.verify={'on' if verify else 'off'}"]
            try:
                # Start and comparison with the reference are outside the loop, and not what the limit is for.
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                      timeout=self.limit + (600 if verify else 30))
            except subprocess.TimeoutExpired:
                raise NotRun("too slow", f"{n_steps} steps took more than {self.limit:g} s") from None
            message = (done.stderr.strip().splitlines() or ["no message"])[0].replace("mdmini: error: ", "")
            if done.returncode == 2:
                raise NotRun("refused", "refused: " + message)
            if done.returncode not in (0, 3):  # 3: the physics failed, which the report says
                raise NotRun("crashed", f"CRASHED: exit code {done.returncode}: {message[:200]}")
            path = Path(folder) / "step.json"
            if not path.exists():
                raise NotRun("crashed", f"CRASHED: exit code {done.returncode}, and no report")
            report = json.loads(path.read_text())
            for key in ("thermo", "effective_deck", "options"):
                report.pop(key, None)
            return report

    def ran(self, report):
        """{switch: value} that had an effect in a run."""
        found = {"run.precision": report["precision"]}
        for stage in report["stages"]:
            for word in stage["ran"].split():
                key, value = word.split("=")
                found[self.switches[stage["stage"], key]] = value
        return found


def holds(term, settings):
    key, values = term.split("=")
    return settings.get(key, "auto") in (*values.split("|"), "auto")


def companions(program, settings, key, value):
    """What else must change for key = value to be legal: {key: value}. Either the value needs it, or a value that stands
    there needs what is left."""
    settings, changed = {**settings, key: value}, {}
    for _ in range(4):  # chains are short
        for other in [key, *changed, *settings]:  # what is settled already comes first, and stays
            row = program.rows.get((other, settings[other]))
            for term in (row["needs"].split() if row else []):
                if holds(term, settings):
                    continue
                needed, allowed = term.split("=")
                settled = {key, *changed}
                if needed not in settled:
                    changed[needed] = settings[needed] = allowed.split("|")[0]
                elif other not in settled:
                    legal = [word for word in program.options[other]["choices"] if (other, word) in program.rows and
                             all(holds(t, settings) for t in program.rows[other, word]["needs"].split())]
                    if legal:
                        changed[other] = settings[other] = legal[-1]
    return changed


def differences(ran, base, but):
    """In words: the switches that ran otherwise than in the base, but for those named."""
    changed = [f"{key}={value}" for key, value in ran.items() if base.get(key) != value and key not in but]
    gone = {}
    for key in base:
        if key not in ran and key not in but:
            section, name = key.split(".")
            gone.setdefault(section, []).append(name)
    without = [f"{section}.{'/'.join(names)}" for section, names in gone.items()]
    return " ".join(filter(None, ["with " + " ".join(changed) if changed else "",
                                  "without " + " ".join(without) if without else ""]))


class Step:
    def __init__(self, name, change, given=(), layers=(), words=(), reason=None):
        self.name, self.change, self.given = name, change, set(given)  # in words; the switches that it sets
        self.layers, self.words = list(layers), list(words)
        self.reason, self.kind = reason, "refused" if reason else None  # why it does not run
        self.n_steps, self.per_step, self.ratio, self.runs = 0, None, None, []
        self.small = self.ran = None  # report of the small system; what ran in the one that is asked for
        self.predicted, self.correction, self.has_all_pairs = None, 1, False  # seconds of a step; measured over predicted

    def give_up(self, kind, reason):
        self.kind, self.reason = kind, reason

    def try_small(self, program):
        """Seconds of a step in a small system. The first try has start-up costs in it; the second is long enough."""
        cells, n_steps = min(program.cells, SMALL_CELLS), 2
        try:
            for _ in range(2):
                if not self.reason:
                    self.small = program.run(self, n_steps, False, cells)
                    per_step = self.small["loop_seconds"] / n_steps
                    n_steps = max(2, min(SMALL_STEPS, int(SMALL_SECONDS / per_step)))
        except NotRun as why:
            self.give_up(why.kind, str(why) + (f" (in a system of cells={cells})" if cells < program.cells else ""))

    def predict(self, program):
        """Seconds of a step, from the small system: stages that test all pairs grow with the square of the atoms."""
        ran, loop = program.ran(self.small), self.small["loop_seconds"]
        growth = (program.cells / min(program.cells, SMALL_CELLS)) ** 3
        squared = {stage for stage, key, word in (("force", "force.kernel", "pairs"), ("neighbor", "neighbor.search", "brute"))
                   if ran.get(key, "").startswith(word)}
        self.has_all_pairs = bool(squared)
        all_pairs = min(loop, sum(row["seconds"] or 0 for row in self.small["stages"] if row["stage"] in squared))
        return growth * (loop - all_pairs + growth * all_pairs) / self.small["n_steps"]

    def plan(self, program, a, before):
        """The number of steps, from the small system and from the ratio between both sizes in the step before."""
        if self.reason:
            return
        self.predicted = self.predict(program)
        fits = before and before.has_all_pairs == self.has_all_pairs
        self.per_step = self.predicted * (before.correction if fits else 1)
        if INTERVAL * self.per_step > a.limit:
            self.give_up("too slow", f"{INTERVAL} steps would take about {INTERVAL * self.per_step:.2g} s, as "
                                     f"{self.small['n_atoms']} atoms say; the limit is {a.limit:g} s")
        else:
            self.set_steps(a.steps or a.seconds / self.per_step, a.limit)

    def set_steps(self, wanted, limit):
        """Whole intervals, about as many as wanted, within the limit."""
        n = min(wanted, limit / self.per_step, 100000)
        self.n_steps = max(1, round(n / INTERVAL)) * INTERVAL

    def repeat(self, program, first):
        if self.reason:
            return
        try:
            report = program.run(self, self.n_steps, first)
        except NotRun as why:
            self.give_up(why.kind, str(why))
            return
        self.runs.append(report)
        measured = report["loop_seconds"] / report["n_steps"]
        self.ran = program.ran(report)
        self.correction, self.per_step = measured / self.predicted, measured

    def compare(self, base):
        """What ran otherwise than in the base belongs to the change; where nothing did, there is no change to time."""
        if self.reason or not base:
            return
        others = differences(self.ran, base.ran, self.given)
        if others:
            self.change = f"{self.change} {others}".strip()
        elif self.ran == base.ran:
            self.give_up("without effect", f"without effect here: it runs as {base.name}")

    def verdict(self):
        if not self.runs:
            return None
        later = {run["verdict"] for run in self.runs[1:]}
        return "FAILED" if "FAILED" in later else self.runs[0]["verdict"]

    def speed(self):
        return statistics.median(run["atom_steps_per_second"] for run in self.runs) if self.verdict() == "PASSED" else None

    def spread(self):
        speeds = [run["atom_steps_per_second"] for run in self.runs]
        return (max(speeds) - min(speeds)) / statistics.median(speeds)


def ladder_steps(program):
    presets = INPUTS / "presets"
    layers = [presets / "naive.txt"]
    steps = [Step("naive", "every switch at its naive value", layers=layers)]
    for rung in sorted(presets.glob("ladder-*.txt")):
        layers = [*layers, rung]
        given = read_deck(rung)
        missing = [f"{key}={value}" for key, value in given.items()
                   if key not in program.lacks and value != "auto" and (key, value) not in program.rows
                   and not key.startswith("run.")]
        reason = None
        if set(given) <= program.lacks:
            reason = f"the {program.backend} backend has no such stage"
        elif missing:
            reason = f"the {program.backend} backend does not have {', '.join(missing)}"
        change = " ".join(f"{key}={value}" for key, value in given.items())
        steps.append(Step(rung.stem, change if len(given) == 1 else rung.read_text().splitlines()[0][2:], given, layers,
                          reason=reason))
    return steps


def without_steps(program):
    fast = INPUTS / "presets" / "fast.txt"
    standing = read_deck(fast)
    steps = [Step("fast", "every switch at its best", layers=[fast])]
    for key, value in standing.items():
        naive = program.options[key]["choices"][0]
        if naive == value:
            continue
        reason = f"the {program.backend} backend has no such stage" if key in program.lacks else None
        along = companions(program, standing, key, naive)
        words = [f"{k}={v}" for k, v in {key: naive, **along}.items()]
        steps.append(Step(f"{key}={naive}", "", [key], [fast], words, reason))
    return steps


def compare_all(steps, against_first):
    """Ratios, and what changed besides: against the first step, or the one before."""
    base, base_speed = None, None
    for step in steps:
        step.compare(base)
        speed = step.speed()
        if step.reason or speed is None:
            continue
        step.ratio = speed / base_speed if base else None
        if base is None or not against_first:
            base, base_speed = step, speed


def print_table(title, steps):
    print(f"\n{title}\n{'step':<34} {'steps':>6} {'atom-steps/s':>12} {'ratio':>7} {'spread':>7}  {'verdict':<8} change")
    for step in steps:
        speed = step.speed()
        if step.reason or speed is None:
            print(f"{step.name:<34} {'-':>6} {'-':>12} {'-':>7} {'-':>7}  {step.verdict() or 'not run':<8} "
                  f"{step.reason or step.change}")
            continue
        ratio = f"{step.ratio:7.3f}" if step.ratio else f"{'-':>7}"
        print(f"{step.name:<34} {step.n_steps:6d} {speed:12.4g} {ratio} {step.spread():7.1%}  {step.verdict():<8} "
              f"{step.change}")
    sys.stdout.flush()


def record(step):
    return {"step": step.name, "change": step.change, "layers": [Path(layer).name for layer in step.layers],
            "words": step.words, "n_steps": step.n_steps, "atom_steps_per_second": None if step.reason else step.speed(),
            "ratio": step.ratio, "verdict": step.verdict(), "not_run": step.reason, "kind": step.kind, "runs": step.runs}


def first_repeat(program, a, part, steps):
    """Plans each step by what is known of the one before, and runs it verified."""
    before = None
    for k, step in enumerate(steps):
        step.plan(program, a, before)
        same_motion = part == "without" and k > 0  # compared with fast.txt: the same steps
        if same_motion and not step.reason and not steps[0].reason:
            step.set_steps(steps[0].n_steps, a.limit)
        step.repeat(program, True)
        if step.runs and not (a.steps or same_motion) and step.runs[0]["loop_seconds"] < a.seconds / 3:
            planned = step.n_steps
            step.set_steps(a.seconds / step.per_step, a.limit)
            if step.n_steps > planned:
                step.runs.clear()
                step.repeat(program, True)
        if step.runs and not same_motion:
            before = step


def measure(a, cells):
    program = Program(a, cells)
    parts = {"ladder": ladder_steps, "without": without_steps}
    chosen = {name: parts[name](program) for name in a.parts.split(",")}
    steps = [step for part in chosen.values() for step in part]
    # Side by side most of a try's time, which is start and compilation, passes at once; on the cpu backend it is the loop.
    with ThreadPoolExecutor(1 if program.backend == "cpu" else min(8, os.cpu_count())) as pool:
        list(pool.map(lambda step: step.try_small(program), steps))
    for name, part in chosen.items():
        first_repeat(program, a, name, part)
    for _ in range(1, a.repeats):
        for step in steps:
            step.repeat(program, False)
    atoms = next((step.runs[0]["n_atoms"] for step in steps if step.runs), None)
    for name, part in chosen.items():
        compare_all(part, name == "without")
        title = "from naive to fast; ratio to the step before" if name == "ladder" else \
            "one switch of fast.txt put back; ratio to fast.txt"
        print_table(f"{title}: {program.backend}, {atoms or cells} {'atoms' if atoms else 'cells'}", part)
    return {"cells": cells, "backend": program.backend, "n_atoms": atoms,
            **{name: [record(step) for step in part] for name, part in chosen.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini")
    parser.add_argument("--deck", default=str(INPUTS / "melt.txt"))
    parser.add_argument("--backend", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--cells", default="20", help="system.cells of each table, separated by commas")
    parser.add_argument("--seconds", type=float, default=3, help="that a timed run should take")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take at most")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="of every run, in place of --seconds")
    parser.add_argument("--parts", default="ladder,without")
    parser.add_argument("--words", default="", help="more overrides, separated by blanks")
    parser.add_argument("--output")
    a = parser.parse_args()
    start, tables = time.monotonic(), []
    with tempfile.TemporaryDirectory() as kernels:  # the same kernels are asked for again and again
        os.environ.setdefault("MDMINI_KERNEL_CACHE", kernels)
        for cells in a.cells.split(","):
            tables.append(measure(a, int(cells)))
            if a.output:  # after each: a later one may be cut off
                Path(a.output).write_text(json.dumps({"command": sys.argv, "tables": tables}, indent=1) + "\n")
    print(f"\n{time.monotonic() - start:.0f} s in all")
    steps = [step for table in tables for part in ("ladder", "without") for step in table.get(part, [])]
    failed = [step["step"] for step in steps if step["kind"] == "crashed" or step["runs"] and step["verdict"] != "PASSED"]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed or not any(step["runs"] for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
