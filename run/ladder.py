#!/usr/bin/env python3
"""Climbs the ladder from naive to fast, and leaves each switch out of fast: speed, ratio and verdict of every step.

The ladder: inputs/presets/naive.txt over the deck, then ladder-01-..., ladder-02-... on top, one change each; the ratio
is to the step below. Left out: fast.txt with one switch at its naive value; the ratio is to fast.txt, below 1 where the
switch earns something. Where a value needs another one, or takes one away, that is changed along and shown.

Each is tried with few time steps first, so that a rung is timed for about --seconds (what is left out: for the time steps of
fast.txt); one that would take more than --limit is not run, and says so. Runs are repeated in turn (A B C A B C ...), the median is given with its spread. A run that did
not pass its verification has no speed; the first repeat compares with the reference, the others are the same run without.

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
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
INTERVAL = 20  # steps: whole intervals of the rebuild rule of melt.txt


def listing(mdmini, what):
    return json.loads(subprocess.run([mdmini, f"--list-{what}=json"], check=True, stdout=subprocess.PIPE).stdout)


def read_deck(path):
    """{section.key: value} of a deck."""
    section, found = "", {}
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            key, value = (word.strip() for word in line.split("="))
            found[f"{section}.{key}"] = value
    return found


class Program:
    """Runs the program on one deck and size, and knows what its backend has."""

    def __init__(self, a, cells):
        self.path, self.deck = os.path.abspath(a.mdmini), os.path.abspath(a.deck)
        self.limit = a.limit
        # Of the files, the presets of the other backend's switches pass; so the backend comes with the overrides.
        self.common = [f"system.cells={cells}", "output.frames_every=0", "output.progress=off", "output.name=step",
                       f"run.backend={a.backend}", *a.words.split()]
        done = subprocess.run([self.path, "--check", self.deck, *self.common], capture_output=True, text=True)
        found = re.search(r"# backend +(\w+),", done.stdout)
        if not found:
            raise SystemExit(done.stderr.strip())
        self.backend = found[1]
        self.options = {f"{row['section']}.{row['key']}": row for row in listing(self.path, "options")}
        table = next(b for b in listing(self.path, "variants")["backends"] if b["name"] == self.backend)
        self.lacks = set(table["lacks"])
        self.rows = {(row["switch"], row["value"]): row for row in table["variants"]}

    def run(self, layers, words, steps, verify):
        """The report of a run, or why there is none."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.path, self.deck, *map(str, layers), *self.common, *words, f"run.steps={steps}",
                       f"output.thermo_every={max(1, steps)}", f"report.verify={'on' if verify else 'off'}"]
            try:
                # The comparison with the reference is outside the loop, and not what the limit is for.
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                      timeout=self.limit + (600 if verify else 10))
            except subprocess.TimeoutExpired:
                return f"{steps} steps took more than {self.limit:g} s"
            if done.returncode == 2:
                return "refused: " + done.stderr.splitlines()[0].replace("mdmini: error: ", "")
            try:
                report = json.loads((Path(folder) / "step.json").read_text())
            except FileNotFoundError:
                return f"exit code {done.returncode}: {done.stderr.strip()[:200]}"
            for key in ("thermo", "effective_deck", "options"):
                report.pop(key, None)
            return report


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


class Step:
    def __init__(self, name, change, layers=(), words=(), reason=None):
        self.name, self.change, self.layers, self.words = name, change, list(layers), list(words)
        self.reason = reason  # why it does not run
        self.n_steps, self.per_step, self.ratio, self.runs = 0, None, None, []

    def plan(self, program, a):
        """Finds the number of steps, from runs of few."""
        for tried in (2, None):
            if self.reason:
                return
            report = program.run(self.layers, self.words, tried or self.n_steps, False)
            if isinstance(report, str):
                self.reason = report
                return
            self.per_step = report["loop_seconds"] / report["n_steps"]
            if INTERVAL * self.per_step > a.limit:
                self.reason = (f"{INTERVAL} steps would take about {INTERVAL * self.per_step:.3g} s, "
                               f"the limit is {a.limit:g} s")
            # The first try has start-up costs in it; the second is long enough to count on.
            self.set_steps(a.steps or (a.seconds / 10 if tried else a.seconds) / self.per_step, a.limit)

    def set_steps(self, wanted, limit):
        """Whole intervals, about as many as wanted, within the limit."""
        if not self.reason:
            n = min(wanted, limit / self.per_step, 100000)
            self.n_steps = max(1, round(n / INTERVAL)) * INTERVAL

    def repeat(self, program, first):
        if self.reason:
            return
        report = program.run(self.layers, self.words, self.n_steps, first)
        if isinstance(report, str):
            self.reason = report
        else:
            self.runs.append(report)

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
    steps = [Step("naive", "every switch at its naive value", layers)]
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
        steps.append(Step(rung.stem, change if len(given) == 1 else rung.read_text().splitlines()[0][2:], layers,
                          reason=reason))
    return steps


def without_steps(program):
    fast = INPUTS / "presets" / "fast.txt"
    standing = read_deck(fast)
    steps = [Step("fast", "every switch at its best", [fast])]
    for key, value in standing.items():
        naive = program.options[key]["choices"][0]
        if naive == value:
            continue
        reason = f"the {program.backend} backend has no such stage" if key in program.lacks else None
        along = companions(program, standing, key, naive)
        words = [f"{k}={v}" for k, v in {key: naive, **along}.items()]
        steps.append(Step(f"{key}={naive}", "with " + " ".join(words[1:]) if along else "", [fast], words, reason))
    return steps


def print_table(title, steps, against_first):
    print(f"\n{title}\n{'step':<34} {'steps':>6} {'atom-steps/s':>12} {'ratio':>7} {'spread':>7}  {'verdict':<8} change")
    base = None
    for step in steps:
        speed = step.speed()
        if step.reason or speed is None:
            print(f"{step.name:<34} {'-':>6} {'-':>12} {'-':>7} {'-':>7}  {step.verdict() or 'not run':<8} "
                  f"{step.reason or step.change}")
            continue
        step.ratio = speed / base if base else None
        ratio = f"{step.ratio:7.3f}" if base else f"{'-':>7}"
        print(f"{step.name:<34} {step.n_steps:6d} {speed:12.4g} {ratio} {step.spread():7.1%}  {step.verdict():<8} "
              f"{step.change}")
        if base is None or not against_first:
            base = speed
    sys.stdout.flush()


def record(step):
    return {"step": step.name, "change": step.change, "layers": [Path(layer).name for layer in step.layers],
            "words": step.words, "n_steps": step.n_steps, "atom_steps_per_second": step.speed(),
            "ratio": step.ratio, "verdict": step.verdict(), "not_run": step.reason, "runs": step.runs}


def measure(a, cells):
    program = Program(a, cells)
    parts = {"ladder": ladder_steps, "without": without_steps}
    chosen = {name: parts[name](program) for name in a.parts.split(",")}
    steps = [step for part in chosen.values() for step in part]
    for step in steps:
        step.plan(program, a)
    for step in chosen.get("without", [])[1:]:  # compared with fast.txt: the same steps of the same motion
        step.set_steps(chosen["without"][0].n_steps, a.limit)
    for repeat in range(a.repeats):
        for step in steps:
            step.repeat(program, repeat == 0)
    atoms = next((step.runs[0]["n_atoms"] for step in steps if step.runs), None)
    for name, part in chosen.items():
        title = "from naive to fast; ratio to the step before" if name == "ladder" else \
            "one switch of fast.txt put back; ratio to fast.txt"
        print_table(f"{title}: {program.backend}, {atoms} atoms", part, name == "without")
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
    tables = [measure(a, int(cells)) for cells in a.cells.split(",")]
    if a.output:
        Path(a.output).write_text(json.dumps({"command": sys.argv, "tables": tables}, indent=1) + "\n")
    steps = [step for table in tables for part in ("ladder", "without") for step in table.get(part, [])]
    failed = [step["step"] for step in steps if step["runs"] and step["verdict"] != "PASSED"]
    if failed:
        print(f"\nFAILED: {', '.join(failed)}")
    return 1 if failed or not any(step["runs"] for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
