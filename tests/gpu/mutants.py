#!/usr/bin/env python3
"""Breaks every kernel in turn, and wants a test to notice.

Kernels are read from a folder at run time (MDMINI_KERNELS), so a mutant is a copy of them with one change: nothing is
built. The mutants stand in mutations/. For each mutant its killers are run in order, test programs narrowed to the
switches that select the broken code, until one turns red; the same killers must be green without the change. A mutant
that all of them pass has SURVIVED: a hole in the tests, and exit code 1. So are a change that no longer fits the source
and one that does not compile: an error, for the table must not rot; and mutants whose turn did not come, by --budget or
because the run was ended.

usage: mutants.py BUILD [--jobs N] [--only TEXT,...] [--every N] [--shard K/N] [--budget SECONDS] [--json FILE]
                        [--resume FILE] [--list]

BUILD is a build folder with tests, for a GPU or for its emulation. --only: mutants whose names have one of the texts;
--every: each n-th, a sample; --shard: those of share K (from 0) of N, so that N calls do them all; --resume: what an earlier
call with --json killed stays killed, if the kernels are still the same to the byte, and the mutant, and the others have their turn.
Some killers need a
GPU, others the emulation; a mutant that has none here is left out, and so is one that survives where a killer skips something for
want of another GPU.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import process_group
from mutations import MUTANTS

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = ("cuda/kernels", "cuda/context/shared.h", "physics")  # as CMakeLists.txt embeds them
LIMIT_S = 300  # without a mutant
RECORD_S = 10  # from one record to the next


def limit(seconds):
    """A killer that takes so much longer than without the mutant has found a hang."""
    return 20 + 5 * seconds


NO_COMPILE = "do not compile"
LACKS = "needs compute capability"  # says a test that skips what the GPU lacks
SKIPPED = 77  # of a test that cannot run here
GREEN, RED, ABSENT, BROKEN = "green", "red", "absent", "broken"
VERDICTS = ("killed", "SURVIVED", "ERROR", "NOT RUN", "left out")


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
    if len(mutant.old) != len(mutant.new):
        raise ValueError(f"{len(mutant.old)} texts to change into {len(mutant.new)}")
    for old, new in zip(mutant.old, mutant.new):
        begin, end = region(text, mutant.head) if mutant.head else (0, len(text))
        n_found = text.count(old, begin, end)
        if n_found != 1:
            raise ValueError(f"{old!r} stands {n_found} times in {mutant.file} {mutant.head}, not once")
        at = text.index(old, begin, end)
        text = text[:at] + new + text[at + len(old):]
    return text


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

    def __init__(self, build, budget_s):
        self.end = time.monotonic() + budget_s if budget_s else None
        self.build = os.path.abspath(build)
        cache = open(os.path.join(build, "CMakeCache.txt")).read()
        self.emulated = re.search(r"^MDMINI_CUDA:\w+=EMULATED", cache, re.M) is not None
        self.sanitizer = shutil.which("compute-sanitizer")
        self.lock, self.baselines = threading.Lock(), {}

    def command(self, killer):
        """Program, arguments and environment; None where it cannot run."""
        if killer.words:
            return not self.emulated and [
                self.sanitizer or "compute-sanitizer", f"--tool={killer.program}", "--error-exitcode=99",
                os.path.join(self.build, "mdmini"), "deck.txt", "run.backend=cuda", *killer.words]
        if killer.program.endswith(".py"):
            return [sys.executable, "-B", os.path.join(TESTS, killer.program)]
        return [os.path.join(self.build, "tests", killer.program)]

    def run(self, killer, folder, limit_s):
        """(outcome, how it showed, after how many seconds)."""
        command = self.command(killer)
        if not command or killer.only not in ("", "emulated" if self.emulated else "gpu"):
            return ABSENT, "", 0
        environment = dict(os.environ, MDMINI_TEST_BACKENDS="cuda", MDMINI_TEST_STOP="1", OMP_NUM_THREADS="1",
                           **dict(killer.environment))
        if killer.program.endswith(".py"):
            environment.update(MDMINI=os.path.join(self.build, "mdmini"), PYTHONPATH=os.pathsep.join(
                os.path.join(TESTS, name) for name in ("support", "../tools")))
        if folder:
            environment["MDMINI_KERNELS"] = folder
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            open(os.path.join(place, "deck.txt"), "w").write("# mutant\n")
            try:
                code, text = process_group.run(command, limit_s, cwd=place, env=environment)
            except OSError as error:
                return BROKEN, str(error), 0
            outcome, how = (RED, f"no end after {limit_s:.0f} s") if code is None else self.judge(killer, code, text)
        return outcome, how, time.monotonic() - start

    @staticmethod
    def judge(killer, code, text):
        if NO_COMPILE in text:
            return BROKEN, text[text.index(NO_COMPILE):][:600]
        if code == SKIPPED:
            return ABSENT, ""
        if code == 0:
            return GREEN, LACKS if LACKS in text else ""
        if killer.words and code == 2:
            return BROKEN, text[-600:]
        for pattern in (r"^FAILED .*?: (.*?)( \[|$)", r"(verdict: FAILED)", r"^.*emulator: (.*)", r"SUMMARY: (.*)", r"^.*(?i:error)\S* (.*)"):
            found = re.search(pattern, text, re.M)
            if found:
                said = re.sub(r"/\S*/(?=(src|tests)/)", "", found.group(1))  # wherever the checkout stands
                return RED, " ".join(said.split())[:100]
        return RED, f"exit code {code}"

    def baseline(self, killer):
        """Whether it is green without a change; run once."""
        with self.lock:
            mine = killer not in self.baselines
            if mine:
                self.baselines[killer] = concurrent.futures.Future()
        if mine:
            self.baselines[killer].set_result(self.run(killer, None, LIMIT_S))
        return self.baselines[killer].result()

    def hunt(self, mutant, parent):
        """What became of a mutant, for the JSON file."""
        found = {"name": mutant.name, "file": mutant.file, "head": mutant.head,
                 "change": [mutant.old, mutant.new], "killer": None, "how": "",
                 "seconds": 0}
        if process_group.is_stopped() or self.end and time.monotonic() > self.end:
            return dict(found, verdict="NOT RUN", how="the time was over")
        try:
            folder = make_folder(mutant, parent)
        except (ValueError, OSError) as error:
            return dict(found, verdict="ERROR", how=str(error))
        tried, lacked = [], []
        for killer in mutant.killers:
            baseline, text, seconds = self.baseline(killer)
            if baseline == ABSENT:
                continue
            if baseline == GREEN:
                outcome, how, seconds = self.run(killer, folder, limit(seconds))
                lacking = outcome == GREEN and how == LACKS  # that it noticed nothing means nothing
                (lacked if lacking else tried).append(killer.name)
            if process_group.is_stopped():  # it may have been ended from outside
                return dict(found, verdict="NOT RUN", how="ended while it ran")
            if baseline != GREEN:
                return dict(found, verdict="ERROR", how=f"{killer.name} fails without a mutant: {text}")
            found["seconds"] = round(found["seconds"] + seconds, 2)
            if outcome == BROKEN:
                return dict(found, verdict="ERROR", how=how)
            if outcome == RED:
                shutil.rmtree(folder)
                return dict(found, verdict="killed", killer=killer.name, how=how)
        shutil.rmtree(folder)
        if lacked:
            return dict(found, verdict="left out", how=f"the GPU lacks what is needed: {', '.join(lacked)}")
        if not tried:
            return dict(found, verdict="left out",
                        how="for " + ("a GPU" if self.emulated else "the emulation") + " only: " + mutant.killers[0].name)
        return dict(found, verdict="SURVIVED", how=", ".join(tried))


def slow_first(mutant):
    """So that nobody waits for the last one."""
    return {"racecheck": 2, "test_dynamics": 3}.get(mutant.killers[0].program, 0) + (len(mutant.killers) > 2)


def hash_kernels():
    """Of the text of all that mutants change, and of the numbers of words in it."""
    total = hashlib.sha256()
    for name in (*KERNELS, "deck/choices.def"):
        for path in sorted(Path(SOURCE, name).rglob("*")) or [Path(SOURCE, name)]:
            if path.is_file():
                total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def killed_before(path, mutants, emulated):
    """What the JSON file of an earlier call says of those of the mutants that were killed and are still the same."""
    with open(path) as file:
        record = json.load(file)
    if record["emulated"] != emulated:
        sys.exit(f"{path} is a record of {'the emulation' if record['emulated'] else 'a GPU'}")
    if record.get("kernels") != hash_kernels():
        sys.exit(f"{path} is a record of other kernels")
    same = {m.name: ([m.file, m.head, [list(m.old), list(m.new)]], [k.name for k in m.killers]) for m in mutants}
    return [r for r in record["mutants"] if r["verdict"] == "killed" and r["name"] in same
            and [r["file"], r["head"], r["change"]] == same[r["name"]][0] and r["killer"] in same[r["name"]][1]]


def write_record(path, bench, shard, results):
    order = {m.name: k for k, m in enumerate(MUTANTS)}
    results.sort(key=lambda r: order[r["name"]])
    counts = {verdict: sum(r["verdict"] == verdict for r in results) for verdict in VERDICTS}
    if path:
        with open(path + ".part", "w") as file:
            json.dump({"emulated": bench.emulated, "kernels": hash_kernels(), "shard": shard, "counts": counts,
                       "mutants": results}, file, indent=1)
        os.replace(path + ".part", path)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--budget", type=float)
    parser.add_argument("--json")
    parser.add_argument("--resume")
    parser.add_argument("--list", action="store_true")
    a = parser.parse_args()
    chosen = [m for m in MUTANTS if any(text in m.name for text in a.only.split(","))][::a.every]
    share, n_shares = map(int, a.shard.split("/"))
    chosen = chosen[share::n_shares]
    if len({m.name for m in MUTANTS}) != len(MUTANTS):
        sys.exit("two mutants have the same name")
    if a.list:
        print(*(f"{m.name}: {m.file} {m.head}: {m.old!r} -> {m.new!r}" for m in chosen), sep="\n")
        return 0
    bench, start = Bench(a.build, a.budget), time.monotonic()
    written = start
    results = killed_before(a.resume, chosen, bench.emulated) if a.resume else []
    known = {r["name"] for r in results}
    chosen = [m for m in chosen if m.name not in known]
    for number in (signal.SIGTERM, signal.SIGINT):  # what has not been judged is NOT RUN
        signal.signal(number, lambda *_: process_group.stop())
    with tempfile.TemporaryDirectory() as parent, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        os.makedirs(os.path.join(parent, "cache"))
        os.environ.setdefault("MDMINI_KERNEL_CACHE", os.path.join(parent, "cache"))
        for future in concurrent.futures.as_completed(
                [pool.submit(bench.hunt, m, parent) for m in sorted(chosen, key=slow_first, reverse=True)]):
            r = future.result()
            results.append(r)
            by = f"by {r['killer']}, {r['seconds']:.1f} s: {r['how']}" if r["killer"] else r["how"]
            print(f"{r['verdict']:8}  {r['name']:52}  {by}", flush=True)
            if time.monotonic() > written + RECORD_S:  # whatever ends this, another call can go on from there
                write_record(a.json, bench, a.shard, results)
                written = time.monotonic()
    counts = write_record(a.json, bench, a.shard, results)
    before = f", {len(known)} of them in an earlier call" if known else ""
    print(f"{len(results)} mutants{before} in {time.monotonic() - start:.0f} s: " + ", ".join(
        f"{n} {verdict}" for verdict, n in counts.items() if n or verdict == "SURVIVED"))
    for r in results:
        if r["verdict"] in ("SURVIVED", "ERROR", "NOT RUN"):
            print(f"    {r['verdict']}: {r['name']}: {r['how']}")
    if counts["NOT RUN"]:
        print(f"UNFINISHED: {counts['NOT RUN']} mutants have not had their turn")
    return 1 if counts["SURVIVED"] or counts["ERROR"] or counts["NOT RUN"] or not counts["killed"] else 0


if __name__ == "__main__":
    sys.exit(main())
