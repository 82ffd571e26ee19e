#!/usr/bin/env python3
"""One GPU beside two of the same host, in steps/s: the melt of inputs/bench/lj.txt under the rule of every.txt.

Each system is melted on one GPU. What goes on from there is timed on one and, by --launcher, on two: the same system
(strong scaling), and of the largest one twice as much (weak scaling: as many atoms for each GPU as on one). All are timed
in turn in one call, and the medians count; verdicts are those of run/bench.sh. The record is written anew after each run.
Exit code 1: a row failed, or was refused.
"""
import argparse
import os
import shutil
import sys
import tempfile

from bench import Bench, make_rows
from scripts import Budget, Parser, check_paths, one_of, positive, whole

HEAD = f"{'atoms':>10} {'GPUs':>4} {'steps':>7} {'runs':>4} {'steps/s':>9} {'spread':>6}  verdict"


def row_of(cells, n_gpus, a):
    """As a line of inputs/bench/rows.csv. cells: of the crystal, along each axis."""
    x, y, z = cells
    steps = a.steps or (20000 if x * y * z < 100000 else 4000)  # half a second on an H200
    n_atoms = 4 * x * y * z
    return {"row": f"{n_atoms}-{n_gpus}", "system": "lj", "cells": f"{x} {y} {z}", "atoms": n_atoms, "precision": "mixed",
            "rule": "every", "steps": steps, "target": "", "unit": "steps/s", "launcher": a.launcher if n_gpus > 1 else ""}


def choose_rows(a):
    """The rows, and which are compared: (what it shows, of two GPUs, of one)."""
    n = max(a.cells)
    rows = [row_of((cells,) * 3, n_gpus, a) for cells in a.cells for n_gpus in (1, 2)]
    rows.append(row_of((n, n, 2 * n), 2, a))
    names = [row["row"] for row in rows]
    pairs = [("the same system", two, one) for one, two in zip(names[:-1:2], names[1:-1:2])]
    return rows, pairs + [("as many atoms for each", names[-1], row_of((n,) * 3, 1, a)["row"])]


def table(rows, pairs):
    lines = [HEAD]
    figures = {row.name: row.figures() for row in rows}
    for row in rows:
        f = figures[row.name]
        cells = [f"{f['steps_per_second']:9.5g}" if f["steps_per_second"] else f"{'-':>9}",
                 f"{f['spread']:6.1%}" if f["spread"] is not None else f"{'-':>6}"]
        lines.append(f"{f['atoms']:10d} {2 if row.launcher else 1:4d} {f['steps']:7d} {f['repeats']:4d} {' '.join(cells)}  "
                     f"{f['verdict'] or 'not run'}{': ' + f['not_run'] if f['not_run'] else ''}")
    for what, two, one in pairs:
        speeds = [figures[name]["steps_per_second"] for name in (two, one)]
        lines.append(f"{what}: {figures[two]['atoms']} atoms on two GPUs, {figures[one]['atoms']} on one: " +
                     (f"{speeds[0] / speeds[1]:.2f} times the steps/s" if all(speeds) else "not compared"))
    return lines


def numbers(text):
    return [whole(word) for word in text.split(",")]


def read_arguments():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", type=os.path.abspath, help="the program")
    parser.add_argument("--launcher", default="mpirun --bind-to none -n 2", help="what starts two processes (%(default)s)")
    parser.add_argument("--cells", type=numbers, default=[32, 63], metavar="N,...",
                        help="of the fcc crystals along each axis (32,63: 131,072 and 1,000,188 atoms)")
    parser.add_argument("--steps", type=whole, help="that are timed (some tenths of a second on an H200)")
    parser.add_argument("--repeats", type=whole, default=3, help="runs of each row (3)")
    parser.add_argument("--budget", type=positive, metavar="SECONDS", help="after which no run begins")
    parser.add_argument("--limit", type=positive, default=120,
                        help="seconds that a run may take, its verification apart (120)")
    parser.add_argument("--backend", default="cuda", type=one_of("cpu", "cuda"), metavar="{cpu,cuda}",
                        help="of every run (cuda)")
    parser.add_argument("--melt", type=whole, default=1000, metavar="STEPS", help="before a system is timed (1000)")
    parser.add_argument("--output", default="bench-ranks.json", metavar="FILE.json", help="the record (bench-ranks.json)")
    a = parser.parse_args()
    check_paths(parser, a)
    if not shutil.which(a.launcher.split()[0]):
        parser.error(f"--launcher: {a.launcher.split()[0]}: no such program on the PATH")
    a.words, a.verify_atoms = "", 3e6  # of bench.py
    return a


def main():
    a = read_arguments()
    budget = Budget(a.budget)
    budget.end_at_signals()
    with tempfile.TemporaryDirectory(prefix="mdmini-bench-") as folder:
        a.chosen, pairs = choose_rows(a)
        rows = make_rows(a, folder)
        Bench(a, rows, budget).measure()
    print("", *table(rows, pairs), f"{budget.spent():.0f} s in all", sep="\n")
    return 1 if any(row.has_failed() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
