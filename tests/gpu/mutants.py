#!/usr/bin/env python3
"""Breaks every kernel in turn, and wants a test to notice.

Kernels are read from a folder at run time (MDMINI_KERNELS), so a mutant is a copy of them with one change: nothing is
built. The table of mutants is mutant_table.py. For each mutant its killers are run in order, test programs narrowed to the
switches that select the broken code, until one turns red; the same killers must be green without the change. A mutant
that all of them pass has SURVIVED: a hole in the tests, and exit code 1. So are a change that no longer fits the source
and one that does not compile: an error, for the table must not rot.

usage: mutants.py BUILD [--jobs N] [--only TEXT,...] [--every N] [--json FILE] [--list]

BUILD is a build folder with tests, for a GPU or for its emulation. --only: mutants whose names have one of the texts;
--every: each n-th, a sample. Some killers need a GPU, others the emulation; a mutant that has none here is left out.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from mutant_table import MUTANTS

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
KERNELS = ("cuda/kernels", "cuda/shared.h", "deck/choices.h", "physics")  # as CMakeLists.txt embeds them
LIMIT_S = 120  # a killer that takes longer has found a hang
NO_COMPILE = "do not compile"
GREEN, RED, ABSENT, BROKEN = "green", "red", "absent", "broken"


def region(text, head):
    """Where the function (or structure) stands whose first line contains head: to the first line that begins with }."""
    starts = [m.start() for m in re.finditer(r"^(?![ /*#}]).*$", text, re.M) if head in m.group()]
    if len(starts) != 1:
        raise ValueError(f"{len(starts)} places begin with {head!r}, not one")
    line_end = text.index("\n", starts[0])
    if text[starts[0]:line_end].endswith("}"):
        return starts[0], line_end
    return starts[0], re.compile(r"^}", re.M).search(text, line_end).start()


def change(text, mutant):
    """The text with the change; ValueError when it does not fit exactly once."""
    begin, end = region(text, mutant.head) if mutant.head else (0, len(text))
    n_found = text.count(mutant.old, begin, end)
    if n_found != 1:
        raise ValueError(f"{mutant.old!r} stands {n_found} times in {mutant.file} {mutant.head}, not once")
    at = text.index(mutant.old, begin, end)
    return text[:at] + mutant.new + text[at + len(mutant.old):]


def make_folder(mutant, parent):
    folder = tempfile.mkdtemp(dir=parent)
    for name in KERNELS:
        there = os.path.join(folder, name)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        (shutil.copytree if os.path.isdir(os.path.join(SOURCE, name)) else shutil.copy)(os.path.join(SOURCE, name), there)
    path = os.path.join(folder, mutant.file)
    text = change(open(path).read(), mutant)
    open(path, "w").write(text)
    return folder


class Bench:
    """Runs killers; remembers which are green."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        cache = open(os.path.join(build, "CMakeCache.txt")).read()
        self.emulated = re.search(r"^MDMINI_CUDA:\w+=EMULATED", cache, re.M) is not None
        self.sanitizer = shutil.which("compute-sanitizer")
        self.lock, self.baselines = threading.Lock(), {}

    def command(self, killer):
        """Program, arguments and environment; None where it cannot run."""
        if killer.words:
            run = [os.path.join(self.build, "mdmini"), "deck.txt", "run.backend=cuda", *killer.words]
            if killer.program == "mdmini":
                return run
            return self.sanitizer and not self.emulated and [
                self.sanitizer, f"--tool={killer.program}", "--error-exitcode=99", *run]
        return [os.path.join(self.build, "tests", killer.program)]

    def run(self, killer, folder):
        """(outcome, how it showed)."""
        command = self.command(killer)
        if not command or killer.only not in ("", "emulated" if self.emulated else "gpu"):
            return ABSENT, ""
        environment = dict(os.environ, MDMINI_TEST_BACKENDS="cuda", MDMINI_TEST_STOP="1", **dict(killer.environment))
        if folder:
            environment["MDMINI_KERNELS"] = folder
        with tempfile.TemporaryDirectory() as place:
            open(os.path.join(place, "deck.txt"), "w").write("# mutant\n")
            try:
                done = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                return RED, f"no end after {LIMIT_S} s"
        return self.judge(killer, done)

    @staticmethod
    def judge(killer, done):
        text = done.stdout
        if NO_COMPILE in text:
            return BROKEN, text[text.index(NO_COMPILE):][:600]
        if done.returncode == 0:
            return GREEN, ""
        if killer.words and done.returncode == 2:
            return BROKEN, text[-600:]
        for pattern in (r"^FAILED .*?: (.*?)( \[|$)", r"(verdict: FAILED)", r"^.*emulator: (.*)", r"SUMMARY: (.*)", r"^.*(?i:error)\S* (.*)"):
            found = re.search(pattern, text, re.M)
            if found:
                return RED, " ".join(found.group(1).split())[:100]
        return RED, f"exit code {done.returncode}"

    def baseline(self, killer):
        """Whether it is green without a change; run once."""
        with self.lock:
            mine = killer not in self.baselines
            if mine:
                self.baselines[killer] = concurrent.futures.Future()
        if mine:
            self.baselines[killer].set_result(self.run(killer, None))
        return self.baselines[killer].result()

    def hunt(self, mutant, parent):
        """What became of a mutant, for the JSON file."""
        start = time.monotonic()
        found = {"name": mutant.name, "file": mutant.file, "change": [mutant.old, mutant.new], "killer": None, "how": ""}
        try:
            folder = make_folder(mutant, parent)
        except (ValueError, OSError) as error:
            return dict(found, verdict="ERROR", how=str(error), seconds=0)
        outcome, n_tried = GREEN, 0
        for killer in mutant.killers:
            baseline, text = self.baseline(killer)
            if baseline == ABSENT:
                continue
            if baseline != GREEN:
                return dict(found, verdict="ERROR", how=f"{killer.name} fails without a mutant: {text}", seconds=0)
            killed_at = time.monotonic()
            outcome, how = self.run(killer, folder)
            n_tried += 1
            if outcome == BROKEN:
                return dict(found, verdict="ERROR", how=how, seconds=0)
            if outcome == RED:
                found.update(killer=killer.name, how=how, seconds=round(time.monotonic() - killed_at, 2))
                break
        shutil.rmtree(folder)
        if outcome == RED:
            return dict(found, verdict="killed")
        if n_tried == 0:
            return dict(found, verdict="left out", how="none of its killers runs here", seconds=0)
        return dict(found, verdict="SURVIVED", how=", ".join(k.name for k in mutant.killers),
                    seconds=round(time.monotonic() - start, 2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    a = parser.parse_args()
    chosen = [m for m in MUTANTS if any(text in m.name for text in a.only.split(","))][::a.every]
    if len({m.name for m in MUTANTS}) != len(MUTANTS):
        sys.exit("two mutants have the same name")
    if a.list:
        print(*(f"{m.name}: {m.file} {m.head}: {m.old!r} -> {m.new!r}" for m in chosen), sep="\n")
        return 0
    bench, results, start = Bench(a.build), [], time.monotonic()
    with tempfile.TemporaryDirectory() as parent, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        os.makedirs(os.path.join(parent, "cache"))
        os.environ.setdefault("MDMINI_KERNEL_CACHE", os.path.join(parent, "cache"))
        for future in concurrent.futures.as_completed([pool.submit(bench.hunt, m, parent) for m in chosen]):
            r = future.result()
            results.append(r)
            by = f"by {r['killer']}, {r['seconds']:.1f} s: {r['how']}" if r["killer"] else r["how"]
            print(f"{r['verdict']:8}  {r['name']:52}  {by}", flush=True)
    counts = {verdict: sum(r["verdict"] == verdict for r in results)
              for verdict in ("killed", "SURVIVED", "ERROR", "left out")}
    print(f"{len(results)} mutants in {time.monotonic() - start:.0f} s: " + ", ".join(
        f"{n} {verdict}" for verdict, n in counts.items() if n or verdict == "SURVIVED"))
    for r in results:
        if r["verdict"] in ("SURVIVED", "ERROR"):
            print(f"    {r['verdict']}: {r['name']}: {r['how']}")
    if a.json:
        with open(a.json, "w") as file:
            json.dump({"emulated": bench.emulated, "counts": counts, "mutants": results}, file, indent=1)
    return 1 if counts["SURVIVED"] or counts["ERROR"] or not counts["killed"] else 0


if __name__ == "__main__":
    sys.exit(main())
