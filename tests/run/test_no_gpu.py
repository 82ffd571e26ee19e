"""--check on a machine without a GPU, of a deck that asks for one: all that can be told is checked, and the rest is named. The
program sees no GPU here whatever the machine has; a build without the cuda backend could not run the deck anywhere."""
import os
import subprocess
from pathlib import Path

import program
from studies.listings import Program

SOURCE = Path(os.environ["MDMINI_SOURCE"])
os.environ.update(CUDA_VISIBLE_DEVICES="", MDMINI_EMULATOR_DEVICES="0")
HAS_CUDA = "cuda (" in subprocess.run([program.program(), "--version"], capture_output=True, text=True).stdout


def small_deck(folder, **more):
    return program.write_deck(folder, "small", system={"cells": 4, "density": 0.8442}, potential={"cutoff": 2.2},
                              run={"backend": "cuda", "steps": 4}, neighbor={"skin": 0.2}, **more).name


def test_good(checks, folder):
    """Exit code 0; what was not checked; the output is a deck; nothing is written."""
    deck = small_deck(folder)
    told = program.run("--check", deck, folder=folder)
    if not HAS_CUDA:
        checks.that(told.code == 2 and "without the cuda backend" in told.stderr, f"no cuda backend: {told.last_lines()}")
        return
    checks.that(told.code == 0 and not told.stderr, f"a good deck: {told.code} {told.stderr}")
    lines = told.stdout.splitlines()
    for words in ("no GPU to check it with", "run.backend=cuda: no ", "256 atoms", "memory    not known",
                  "# checked: all that can be told without a GPU", "# NOT checked: ", "force.kernel", "launch.block_size"):
        checks.that(any(words in line for line in lines), f"{words!r} is not said: {told.stdout[-600:]}")
    checks.that("can run here" not in told.stdout, "the check says that it can run here")
    given = program.run("--check", deck, "force.kernel=list", folder=folder).stdout.partition("NOT checked")[2]
    checks.that("launch.block_size" in given and "force.kernel" not in given, f"force.kernel is given: {given}")
    (Path(folder) / "again.txt").write_text(told.stdout)
    again = program.run("--check", "again.txt", folder=folder)
    checks.that(again.code == 0, f"its output as a deck: {again.last_lines()}")
    checks.that(sorted(path.name for path in Path(folder).iterdir()) == ["again.txt", "small.txt"], "the check leaves files")
    done = program.run(deck, folder=folder)
    checks.that(done.code == 2 and "run.backend=cuda: no " in done.stderr, f"the run itself: {done.last_lines()}")


def test_bad(checks, folder):
    """What needs no GPU to be found wrong is found."""
    deck = small_deck(folder)
    for words, expected in ((["launch.graph=on", "reduce.scratch=per-call"], "reduce.scratch=per-call: needs launch.graph=off"),
                            (["force.kernel=cell", "memory.sort=none"], "force.kernel=cell: needs memory.sort="),
                            (["run.precision=double", "force.arithmetic=fast"], "force.arithmetic=fast: needs run.precision="),
                            (["neighbor.skin=9"], "a periodic axis needs"), (["output.directory=nowhere"], "nowhere"),
                            (["run.threads=3"], "run.threads: has no effect")):
        told = program.run("--check", deck, *words, folder=folder)
        checks.that(told.code == 2 and expected in told.stderr and not told.stdout, f"{words}: {told.code} {told.stderr}")


def test_study(checks, folder):
    """Points pass where a study is only checked, and are refused with the reason where it would run."""
    known = Program(program.program())
    words = [str(Path(folder) / small_deck(folder))]
    refused = known.check(words)
    checks.that(refused.errors and refused.errors[0].startswith("run.backend=cuda: no "), f"a point that would run: {refused.errors}")
    known.may_lack_gpu = True
    passed = known.check(words)
    checks.that(not passed.errors and passed.backend == "cuda" and passed.n_atoms == 256, f"a point that is checked: {passed}")


if not HAS_CUDA:
    print("not tested but for the refusal: this build has no cuda backend")
checks = program.Checks()
checks.run(test_good, *((test_bad, test_study) if HAS_CUDA else ()))
checks.finish()
