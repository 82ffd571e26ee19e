"""parallel.frames = all: each rank writes a block of ids, and the file is the one that rank 0 alone, or one process, writes; also of runs
that go on by other ranks, or are killed. What it cannot do is refused, and what fails on one rank ends all, with its name.

MDMINI_TEST_ONLY: names of tests, with commas between; MDMINI_TEST_SEED: of what is random."""
import os
import random
import resource
import subprocess
import time

import h5py

import program
import ranks
from resuming import run_tests, wait_for
from test_ranks_bits import DROP, MELT, OUTPUT, PLANE, TWO
from test_ranks_restart import SMALL, begin, deck, every, go_on, same_particles

random.seed(int(os.environ.get("MDMINI_TEST_SEED", "1")))
ALL = "parallel.frames=all"
# Three frames of 108 atoms share a page of the file.
FEW = {**MELT, "system": {**MELT["system"], "cells": 3, "density": 0.3}, "potential": {"cutoff": 2.0}}
# Some ranks have no atom, and no ids.
LONE = {**FEW, "system": {"start": "random", "atoms": 3, "density": 0.003, "temperature": 1.0, "seed": 7}}
APART = {"frames_every": 10, "velocities_every": 20, "images_every": 10, "forces_every": 15}


def frames(path):
    """Steps, and {quantity: numbers}."""
    with h5py.File(path, "r") as h5:
        group = h5["particles/all"]
        return list(group["position/step"][...]), {name: group[f"{name}/value"][...] for name in ("position", "velocity", "image")}


def wait_for_rows(path, n, seconds=600):
    end = time.monotonic() + seconds
    while path.read_text().count("\n") < n and time.monotonic() < end:
        time.sleep(0.01)


def test_same_file(checks, folder):
    for name, system, output, words, numbers in (
            ("melt", MELT, every(20), "", (2, 8)), ("apart", MELT, APART, "run.precision=double output.precision=double", (3,)),
            ("few", FEW, {**every(10), "precision": "single"}, "", (2,)), ("lone", LONE, APART, "", (4, 8)), ("unwrapped", DROP, {"images_every": 0, "unwrapped": "on"}, "", (4,)),
            ("inline", PLANE, {**APART, "precision": "single"}, "output.pipeline=off", (4,))):
        content = {**system, "system": {**system["system"], **(TWO if system is not LONE else {})}}
        file = program.write_deck(folder, name, **content, output={**OUTPUT, **output}).name
        one = begin(folder, 1, file, "one", *words.split(), ALL)  # one process has no use for it
        for n in numbers:
            done = begin(folder, n, file, "all", *words.split(), ALL)
            if checks.that(one.code == done.code == 0, f"{name}, {n}: {one.last_lines()} {done.last_lines()}"):
                same_particles(checks, folder, "one", "all", f"{name}, {n} ranks")
        begin(folder, numbers[0], file, "root", *words.split())
        same_particles(checks, folder, "root", "all", f"{name}, by rank 0")
        with h5py.File(folder / "all.h5", "r") as h5:
            positions = h5["particles/all/position/value"]
            checks.that((positions.chunks[0] > 1) == (name in ("few", "lone")), f"{name}: chunks of {positions.chunks}")
            checks.that(len(positions) > 2, f"{name}: {len(positions)} frames")


def test_goes_on(checks, folder):
    """By other ranks, with more frames than the file had room for, and by rank 0 alone."""
    name = deck(folder, "small")
    whole = begin(folder, 1, name, "whole", "run.steps=90")
    checks.that(whole.code == 0, f"{whole.last_lines()}")
    first = begin(folder, 4, name, "part", ALL, "run.steps=33", "output.precision=double")
    for n, words in ((2, ["run.steps=60"]), (3, ["run.steps=72", "parallel.frames=root"]), (2, ["run.steps=90", ALL])):
        done = go_on(folder, n, "part", *words)
        checks.that(first.code == done.code == 0, f"{n}, {words}: {first.last_lines()} {done.last_lines()}")
    (steps, expected), (own_steps, own) = (frames(folder / f"{run}.h5") for run in ("whole", "part"))
    missing = [step for step in steps if step not in own_steps]
    checks.that(not missing, f"no frames of steps {missing}")
    for k, step in enumerate(steps):
        for quantity in expected:
            one, other = expected[quantity][k], own[quantity][own_steps.index(step)]
            checks.that(one.tobytes() == other.tobytes(), f"{quantity} of step {step}")


def test_kills(checks, folder):
    """A rank is killed at any moment: what was committed is there, and right."""
    name = deck(folder, "killed", run={"steps": 100000}, output={**every(5), "commit_frames": 3})
    for k in range(4):
        for path in folder.glob("killed.*[v5]"):
            path.unlink()
        started = ranks.start(3, name, ALL, folder=folder)
        wait_for(folder / "killed.csv")
        wait_for_rows(folder / "killed.csv", random.randrange(20, 150))
        os.kill(started.processes()[k % 3], 9)
        done = started.wait(folder, "killed", 600)
        checks.that(done.code not in (0, None), f"kill {k}: exit code {done.code}")
        mended = program.run("--recover", "killed.h5", folder=folder)
        if not checks.that(mended.code == 0, f"kill {k}: {mended.last_lines()}"):
            continue
        steps, found = frames(folder / "killed.h5")
        checks.that(len(steps) > 3, f"kill {k}: {len(steps)} frames")
        program.run(name, "output.name=whole", f"run.steps={steps[-1]}", folder=folder)
        expected = frames(folder / "whole.h5")[1]
        for quantity in found:
            checks.that(found[quantity].tobytes() == expected[quantity][:len(steps)].tobytes(), f"kill {k}: {quantity} of {len(steps)} frames")


def test_full_disk(checks, folder):
    """A rank that finds no room: one message with its name, exit code 4, and the frames of before."""
    name = deck(folder, "full", run={"steps": 100000})
    started = ranks.start(4, name, ALL, folder=folder)
    wait_for(folder / "full.csv")
    wait_for_rows(folder / "full.csv", 20)
    resource.prlimit(started.processes()[2], resource.RLIMIT_FSIZE, (3000000, 3000000))
    done = started.wait(folder, "full", 600)
    told = [line for line in done.stderr.splitlines() if line.startswith("mdmini: error")]
    checks.that(done.code == 4, f"full disk: exit code {done.code}, {done.last_lines()}")
    checks.that(len(told) == 1 and "full.h5" in told[0] and "rank 2" in told[0] and "File too large" in told[0], f"full disk: {told}")
    steps = frames(folder / "full.h5")[0]
    checks.that(len(steps) > 5 and steps == list(range(0, 5 * len(steps), 5)), f"full disk: steps {steps}")


def test_lost(checks, folder):
    """The disk loses what one rank has written, which is known when that is brought to the disk: the run fails, whatever the others have."""
    slow_disk = program.layer("SLOW_DISK")
    if not slow_disk:
        return
    name = deck(folder, "lost", run={"steps": 20})
    for rank in ("2", None):
        environment = {"MDMINI_TEST_LOST_RANK": rank} if rank else {}
        done = ranks.run(4, name, ALL, "output.existing=overwrite", folder=folder, name="lost", LD_PRELOAD=slow_disk, **environment)
        told = [line for line in done.stderr.splitlines() if line.startswith("mdmini: error")]
        checks.that((done.code, len(told)) == ((4, 1) if rank else (0, 0)), f"lost by {rank}: exit code {done.code}, {done.last_lines()}")
        if rank and told:
            checks.that("lost.h5" in told[0] and "rank 2" in told[0] and "Input/output error" in told[0], f"lost by {rank}: {told}")


def test_folders_apart(checks, folder):
    """Ranks that do not see the same folder; or see a file of the same name there."""
    name = deck(folder, "apart")
    words = [program.program(), str(folder / name), ALL]
    for what in ("none", "another"):
        for k in (0, 1):
            (folder / f"{what}{k}").mkdir()
        if what == "another":
            (folder / "another1/apart.h5").write_bytes(b"something else")
        command = [ranks.LAUNCHER, "-n", "1", "-wdir", str(folder / f"{what}0"), *words, ":", "-n", "1", "-wdir", str(folder / f"{what}1"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **ranks.ENVIRONMENT})
        told = "No such file" if what == "none" else "another file is here"
        checks.that(done.returncode == 4 and "rank 1" in done.stderr and told in done.stderr and "take root" in done.stderr,
                    f"{what}: {done.returncode} {done.stderr[-600:]}")
    left = (folder / "another1/apart.h5").read_bytes()
    checks.that(left == b"something else", f"the other file was written to: {left[:100]}")


def test_refused(checks, folder):
    name = deck(folder, "refused")
    for word in ("output.compression=gzip-1", "output.xyz_every=10"):
        checks.that(begin(folder, 1, name, "alone", ALL, word).code == 0, f"{word}: one process has no use for it, and does not run")
        for n in (2, 3):
            done = begin(folder, n, name, "refused", ALL, word)
            checks.that(done.code == 2 and f"parallel.frames = all does not go with {word.split('=')[0]}" in done.stderr and "take root" in done.stderr,
                        f"{word}, {n}: {done.code} {done.stderr[-300:]}")


if __name__ == "__main__":
    ranks.require()
    run_tests(test_same_file, test_goes_on, test_kills, test_full_disk, test_lost, test_folders_apart, test_refused)
