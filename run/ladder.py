#!/usr/bin/env python3
"""Climbs the ladder from naive to fast, and leaves each switch out of fast: speed, ratio and verdict of every step.

The ladder: inputs/presets/naive.txt over the deck, then ladder-01-..., ladder-02-... on top, one change each; the ratio
is to the step below. Left out: fast.txt with one switch at its naive value; the ratio is to fast.txt, below 1 where the
switch earns something. What ran differently besides (a value needs another one, takes one away, or an `auto` chose
otherwise) is shown with the change; a change that changed nothing here has no speed.

Each is tried in a small system first, several side by side (which compiles its kernels, too), so that a rung is timed for
about --seconds (what is left out: for the time steps of fast.txt); one that would take more than --limit is not run, and
says so. Each row is printed, and --output written, as soon as it is measured. Runs are repeated in turn (A B C A B C ...), a
table for each turn, with the median so far and its spread; the last one counts. A run that did not pass its verification
has no speed; the first turn compares with the reference, the others are the same runs without. On a GPU the next run
is set up while the last is being verified, and never while a loop is timed. A run that crashes fails the script; one that
the program refuses, that takes too long, or that --budget left no time for, does not.

A * behind a speed: rebuilds came late (n_late_rebuilds), so the list has missed pairs.

A million atoms on a GPU: --cells 63 --seconds 0.3 --limit 5 --repeats 1
"""
import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rungs import INPUTS, ladder_steps, without_steps
from runs import Program
from scripts import Budget, Parser, check_paths, positive, save_json, whole

OVERLAP_ATOMS = 5000000  # beyond it two of them might not find room at the same time


def compare(steps, k, against_first):
    """Ratio of step k, and what changed besides: against the first step, or the last one before it that has a speed."""
    known = [step for step in steps[:min(k, 1) if against_first else k] if not step.reason and step.speed() is not None]
    steps[k].compare(known[-1] if known else None)


HEAD = f"{'step':<34} {'steps':>6} {'runs':>4} {'atom-steps/s':>12}  {'ratio':>7} {'spread':>7}  {'verdict':<8} change"
NOTE = """* rebuilds came late: its list has missed pairs, so its speed is not that of a correct list, and a ratio between a row with
  this mark and one without it is not the worth of a switch (neighbor.rebuild = every at this interval and skin)"""


def row_text(step):
    speed = step.speed()
    if step.reason or speed is None:
        return (f"{step.name:<34} {'-':>6} {len(step.runs) or '-':>4} {'-':>12}  {'-':>7} {'-':>7}  "
                f"{step.verdict() or 'not run':<8} {step.reason or step.change}")
    ratio = f"{step.ratio:7.3f}" if step.ratio else f"{'-':>7}"
    return (f"{step.name:<34} {step.n_steps:6d} {len(step.runs):4d} {speed:12.4g}{'*' if step.n_late_rebuilds() else ' '} "
            f"{ratio} {step.spread():7.1%}  {step.verdict():<8} {' '.join(filter(None, [step.change, step.others]))}".rstrip())


def record(step):
    return {"step": step.name, "change": f"{step.change} {step.others}".strip(),
            "layers": [Path(layer).name for layer in step.layers],
            "words": step.words, "n_steps": step.n_steps, "atom_steps_per_second": None if step.reason else step.speed(),
            "ratio": step.ratio, "verdict": step.verdict(), "n_late_rebuilds": step.n_late_rebuilds(),
            "not_run": step.reason, "kind": step.kind, "runs": step.runs}


class Table:
    """The steps of one size, and the turns in which they are run."""
    TITLES = {"ladder": "from naive to fast; ratio to the step before", "without": "one switch of fast.txt put back; ratio to fast.txt"}
    STEPS = {"ladder": ladder_steps, "without": without_steps}

    def __init__(self, a, cells, budget, save):
        self.a, self.cells, self.budget, self.save = a, cells, budget, save
        self.program = Program(a, cells)
        self.parts = {name: self.STEPS[name](self.program) for name in a.parts}
        self.timed = None  # part, number, turn and run of the step whose loop is over and whose end is to be waited for
        self.overlap = self.program.backend != "cpu" and self.program.n_atoms < OVERLAP_ATOMS  # there, cores do the loop, too

    def steps(self):
        return [step for part in self.parts.values() for step in part]

    def n_left_out(self):
        """Runs that are still to be made, or that time was up for."""
        return sum(self.a.repeats - len(step.runs) for step in self.steps() if not step.reason or step.kind == "time")

    def record(self):
        return {"cells": self.cells, "backend": self.program.backend, "n_atoms": self.program.n_atoms,
                "finished": self.n_left_out() == 0,
                **{name: [record(step) for step in part] for name, part in self.parts.items()}}

    def plan(self):
        steps = self.steps()
        n = sum(not step.reason for step in steps)
        print(f"{self.program.backend}, {self.program.n_atoms} atoms: {len(steps)} rows, {n} to be tried and timed: "
              f"{n * self.a.repeats} runs at most" + (", while time lasts" if self.budget.seconds is not None else ""),
              flush=True)
        # Side by side most of a try's time, which is start and compilation, passes at once; on the cpu backend it is the loop.
        with ThreadPoolExecutor(1 if self.program.backend == "cpu" else min(8, os.cpu_count())) as pool:
            list(pool.map(lambda step: step.try_small(self.program, self.a, self.budget), steps))
        print(f"tried after {self.budget.spent():.0f} s", flush=True)

    def choose_steps(self, part, k, before):
        """How many time steps, by what is known of the step before."""
        step, first = self.parts[part][k], self.parts[part][0]
        step.plan(self.program, self.a, before)
        if part == "without" and k > 0 and not step.reason and not first.reason:
            step.set_steps(first.n_steps, self.a.limit)  # compared with fast.txt: the same motion

    def time(self, part, k, turn):
        """Starts a step and stays until its loop is over; the step before is finished meanwhile. None: no run."""
        step = self.parts[part][k]
        if not self.overlap:
            self.finish()
        if step.out_of_time(self.budget) or step.reason:
            return None
        run = self.program.start(step, step.n_steps, turn == 0)
        last_gone = self.finish()
        run.loop_is_over.wait()
        step.observe(run)
        n_steps = step.n_steps
        if turn == 0 and not self.a.steps and not (part == "without" and k > 0) and \
                0 < (run.loop_seconds() or 0) < self.a.seconds / 3:
            step.set_steps(self.a.seconds / step.per_step, self.a.limit)
        disturbed = run.loop_began and last_gone and last_gone > run.loop_began
        if (disturbed or step.n_steps > n_steps) and not self.budget.is_over():
            run.discard()
            run = self.program.start(step, step.n_steps, turn == 0)
            run.loop_is_over.wait()
            step.observe(run)
        return run

    def finish(self):
        """Takes what came of the step that was timed last, prints and saves it. When its run was gone."""
        if not self.timed:
            return None
        (part, k, turn, run), self.timed = self.timed, None
        steps = self.parts[part]
        if run:
            steps[k].collect(self.program, run)
        compare(steps, k, part == "without")
        if k == 0:
            turns = f" (turn {turn + 1} of {self.a.repeats})" if self.a.repeats > 1 else ""
            print(f"\n{self.TITLES[part]}: {self.program.backend}, {self.program.n_atoms} atoms{turns}\n{HEAD}")
        print(row_text(steps[k]), flush=True)
        if k == len(steps) - 1 and any(step.n_late_rebuilds() for step in steps):
            print(NOTE, flush=True)
        self.save()
        return run.gone if run else None

    def turn(self, turn):
        for part, steps in self.parts.items():
            before = None
            for k, step in enumerate(steps):
                if turn == 0:
                    self.choose_steps(part, k, before)
                run = self.time(part, k, turn)
                self.finish()  # where there was no run, it still waits
                self.timed = part, k, turn, run
                if run and run.loop_seconds() and not (part == "without" and k > 0):
                    before = step
        self.finish()

    def measure(self):
        self.plan()
        for turn in range(self.a.repeats):
            if turn == 0 or not self.budget.is_over():
                self.turn(turn)


def part_names(text):
    for name in text.split(","):
        if name not in Table.STEPS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(Table.STEPS)}")
    return list(dict.fromkeys(text.split(",")))


def read_arguments(words=None):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", help="the program")
    parser.add_argument("--deck", default=str(INPUTS / "melt.txt"), help="what is run, below the presets (inputs/melt.txt)")
    parser.add_argument("--backend", default="auto", choices=("auto", "cpu", "cuda"), help="run.backend of every run (auto)")
    parser.add_argument("--cells", default=[20], type=lambda text: [whole(word) for word in text.split(",")], metavar="N,...",
                        help="system.cells of each table: 20 makes 32,000 atoms of melt.txt, 63 a million (20)")
    parser.add_argument("--seconds", type=positive, default=3, help="that a timed loop should take (3)")
    parser.add_argument("--limit", type=positive, default=60,
                        help="seconds that a loop may take at most: fewer steps, or the row is not run (60)")
    parser.add_argument("--repeats", type=whole, default=3, help="runs of each row (3)")
    parser.add_argument("--steps", type=whole, default=0, help="of every run, in place of --seconds")
    parser.add_argument("--parts", type=part_names, default=list(Table.STEPS), metavar="PART,...",
                        help="ladder: from naive to fast; without: fast.txt less one switch (both)")
    parser.add_argument("--words", default="", help='overrides of every run: "section.key=value ..."')
    parser.add_argument("--budget", type=positive, metavar="SECONDS",
                        help="after which no run begins: the rest is listed as not run, and the table as unfinished")
    parser.add_argument("--output", metavar="FILE.json", help="all reports, written anew after each row")
    a = parser.parse_args(words)
    check_paths(parser, a)
    if not os.path.isfile(a.deck):
        parser.error(f"{a.deck}: no such deck")
    return a


def main():
    a = read_arguments()
    budget, tables = Budget(a.budget), []

    def save(finished=False):
        if a.output:
            save_json(a.output, {"command": sys.argv, "finished": finished, "tables": [table.record() for table in tables]})

    budget.end_at_signals()
    with tempfile.TemporaryDirectory() as kernels:  # the same kernels are asked for again and again
        os.environ.setdefault("MDMINI_KERNEL_CACHE", kernels)
        for cells in a.cells:
            tables.append(Table(a, cells, budget, save))
            tables[-1].measure()
    n_left_out = sum(table.n_left_out() for table in tables)
    save(not n_left_out)
    print(f"\n{budget.spent():.0f} s in all")
    steps = [step for table in tables for step in table.steps()]
    failed = [step.name for step in steps if step.kind == "crashed" or step.runs and step.verdict() != "PASSED"]
    if n_left_out:
        print(f"UNFINISHED: time was up before {n_left_out} runs")
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed or not any(step.runs for step in steps) and not n_left_out else 0


if __name__ == "__main__":
    sys.exit(main())
