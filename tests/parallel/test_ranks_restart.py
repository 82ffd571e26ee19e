"""Runs over several ranks that are stopped, and go on over another number of ranks: the bits of a run that never stopped. What they
write is what one process writes.

MDMINI_TEST_ONLY: names of tests, with commas between; MDMINI_TEST_SEED: of what is random."""
import os
import random
import resource
import signal
import time

import program
import ranks
import restart_file
from resuming import resume, run_tests, same_end, wait_for
from test_ranks_bits import MELT, OUTPUT

random.seed(int(os.environ.get("MDMINI_TEST_SEED", "1")))


def every(n):
    return {key: n for key in ("frames_every", "velocities_every", "images_every", "thermo_every")}


# Two types; a list is rarely made just where the run is stopped.
SMALL = {**MELT, "system": {**MELT["system"], "cells": 6, "types": 2, "fractions": "0.5 0.5", "masses": "1 2"},
         "run": {"steps": 60, "backend": "cpu"},
         "output": {**OUTPUT, **every(5), "forces_every": 0}}


def deck(folder, name, **more):
    content = {section: {**SMALL.get(section, {}), **more.get(section, {})} for section in {**SMALL, **more}}
    return program.write_deck(folder, name, **content).name


def go_on(folder, n, name, *words):
    return ranks.run(n, "--restart", f"{name}.restart", *words, folder=folder, name=name) if n > 1 \
        else resume(folder, name, *words)


def begin(folder, n, deck, name, *words):
    words = [deck, f"output.name={name}", *words]
    return ranks.run(n, *words, folder=folder, name=name) if n > 1 else program.run(*words, folder=folder, name=name)


def same_particles(checks, folder, whole, name, what):
    different = ranks.differences(folder / f"{whole}.h5", folder / f"{name}.h5")
    checks.that(not different, f"{what}: {'; '.join(different)}")
    rows = [[line.split(",")[0] for line in (folder / f"{run}.csv").read_text().splitlines()] for run in (whole, name)]
    checks.that(rows[0] == rows[1] and len(rows[0]) > 3, f"{what}: thermo rows of steps {rows}")


def test_other_ranks(checks, folder):
    """Stopped at step 33: between two lists, between two frames, on one number of ranks, and resumed on another."""
    name = deck(folder, "small")
    for precision in ("mixed", "double"):
        words = [f"run.precision={precision}"]
        whole = program.run(name, *words, "output.name=whole", "run.steps=60", folder=folder, name="whole")
        checks.that(whole.code == 0, f"{precision}: {whole.last_lines()}")
        for before, after in ((4, 2), (1, 8)) if precision == "mixed" else ((8, 1), (2, 3)):
            what = f"{precision}, {before} -> {after}"
            first = begin(folder, before, name, "part", *words, "run.steps=35")
            checks.that(first.code == 0, f"{what}: {first.last_lines()}")
            done = go_on(folder, after, "part", "run.steps=60")
            if checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.code}, {done.last_lines()}"):
                same_particles(checks, folder, "whole", "part", what)


def test_heated(checks, folder):
    """A thermostat takes velocities from sums: they have the same bits on another grid where sums do, and only there it is claimed."""
    name = deck(folder, "heated", ensemble={"thermostat": "rescale", "target": "1 1.6", "every": 4, "last_step": 50}, restart={"every": 20})
    for sums in ("reproducible", "double"):
        words = [f"reduce.accumulate={sums}"]
        whole = begin(folder, 2, name, "whole", *words, "run.steps=60")
        first = begin(folder, 2, name, "part", *words, "run.steps=33")
        done = go_on(folder, 4, "part", "run.steps=60")
        if not checks.that(whole.code == first.code == done.code == 0, f"{sums}: {first.last_lines()} {done.last_lines()}"):
            continue
        is_told = done.json()["resumed"]["same_bits"]
        different = ranks.differences(folder / "whole.h5", folder / "part.h5", 0)
        checks.that(is_told == (sums == "reproducible"), f"{sums}: {done.json()['resumed']}")
        checks.that(bool(different) != is_told, f"{sums}: {'; '.join(different)}")


def test_same_ranks(checks, folder):
    """On the same grid all is the same: restart file, frames, thermo rows, verdict."""
    name = deck(folder, "small", restart={"every": 20})
    whole = begin(folder, 3, name, "whole", "run.steps=60")
    first = begin(folder, 3, name, "part", "run.steps=35")
    done = go_on(folder, 3, "part", "run.steps=60")
    if checks.that(whole.code == first.code == done.code == 0, f"{first.last_lines()} {done.last_lines()}"):
        same_end(checks, folder, "whole", "part", "3 -> 3")


def stopped_unverified(checks, folder, n, name):
    """A run that is told to stop once it has begun its log, before its start is verified: whether one of ten was."""
    for _ in range(10):
        for path in folder.glob("early.*"):
            if path.name != name:
                path.unlink()
        started = ranks.start(n, name, folder=folder)
        pids = started.wait_for_all(n)
        wait_for(folder / "early.log")
        is_there = n - 1 in pids and is_told(pids[n - 1])
        done = started.wait(folder, "early", 600)
        if done.code == 75 and done.json()["n_steps"] == 0 and not done.json()["checks"]:
            return True
        if not checks.that(is_there and done.code in (75, -signal.SIGUSR1, 128 + signal.SIGUSR1),
                           f"{n} ranks: exit code {done.code}, {done.last_lines()}"):
            return False
    return checks.that(False, f"{n} ranks: no signal came so early")


def is_told(pid):
    try:
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        return False
    return True


def test_unverified(checks, folder):
    """Those that go on verify the start, of atoms that now are on other ranks."""
    name = deck(folder, "early", system={"cells": 12}, run={"steps": 1000000}, output=every(10000))  # room on any disk
    for n, after in ((2, 4), (3, 1)):
        what = f"{n} -> {after}, stopped before its verification"
        if stopped_unverified(checks, folder, n, name):
            done = go_on(folder, after, "early", "run.steps=10")
            checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.code}, {done.last_lines()}")


def test_signal_to_one(checks, folder):
    """Any rank that is told to stop stops all, at one step."""
    for rank, n in ((2, 4), (0, 2)):
        name = deck(folder, f"told{rank}", run={"steps": 1000000}, output=every(50))
        stem = name[:-len(".txt")]
        started = ranks.start(n, name, folder=folder)
        wait_for(folder / f"{stem}.csv")
        time.sleep(random.uniform(0.05, 0.5))
        begun = time.monotonic()
        os.kill(started.processes()[rank], signal.SIGUSR1)
        done = started.wait(folder, stem, 600)
        what = f"SIGUSR1 to rank {rank} of {n}"
        if not checks.that(done.code == 75, f"{what}: exit code {done.code}, {done.last_lines()}"):
            continue
        checks.that(time.monotonic() - begun < 120, f"{what}: {time.monotonic() - begun:.1f} s to stop")
        report = done.json()
        checks.that(report["exit_code"] == 75 and report["stopped"]["by"] == "SIGUSR1", f"{what}: {report.get('stopped')}")
        end = report["n_steps"] // 50 * 50 + 100
        after = go_on(folder, 6 - n, stem, f"run.steps={end}")
        checks.that(after.code == 0 and after.json()["n_steps"] == end, f"{what}: {after.code}, {after.last_lines()}")
        program.run(name, "output.name=whole", f"run.steps={end}", folder=folder)
        same_particles(checks, folder, "whole", stem, what)


def test_walltime(checks, folder):
    name = deck(folder, "timed", run={"steps": 10000000}, output=every(1000))
    for walltime in (4, 16, 64):  # a busy machine makes no step in a short one
        done = ranks.run(3, name, f"run.walltime={walltime}", "output.existing=overwrite", folder=folder, name="timed")
        if done.code == 75:
            break
    if not checks.that(done.code == 75, f"run.walltime: exit code {done.code}, {done.last_lines()}"):
        return
    checks.that(done.json()["stopped"]["by"] == "the walltime", f"{done.json().get('stopped')}")
    step = restart_file.run_numbers(restart_file.sections(done.path("restart")))[0]
    checks.that(step == done.json()["n_steps"] > 0, f"run.walltime: the restart file is of step {step}")


def test_same_files(checks, folder):
    """Frames, rows and the XYZ file of four ranks are those of one process."""
    name = deck(folder, "small", output={"precision": "single", "xyz_every": 10, "xyz_velocities": "velo"})
    begin(folder, 1, name, "one")
    done = begin(folder, 4, name, "four", "parallel.grid=2 1 2")
    if not checks.that(done.code == 0, f"{done.last_lines()}"):
        return
    same_particles(checks, folder, "one", "four", "trajectory")
    files = [(folder / f"{run}.xyz").read_text().splitlines() for run in ("one", "four")]
    atoms = [[line for line in lines if "Lattice" not in line] for lines in files]
    checks.that(atoms[0] == atoms[1] and len(atoms[0]) > 5 * 864, "the XYZ files differ")


def test_full_disk(checks, folder):
    """Rank 0, which writes, finds no room: one message, exit code 4, and no rank waits for ever."""
    name = deck(folder, "full", run={"steps": 100000})
    started = ranks.start(4, name, folder=folder)
    wait_for(folder / "full.csv")
    resource.prlimit(started.processes()[0], resource.RLIMIT_FSIZE, (3000000, 3000000))
    done = started.wait(folder, "full", 600)
    told = [line for line in done.stderr.splitlines() if line.startswith("mdmini: error")]
    checks.that(done.code == 4, f"full disk: exit code {done.code}, {done.last_lines()}")
    checks.that(len(told) == 1 and "full.h5" in told[0] and "rank" not in told[0], f"full disk: {told}")


if __name__ == "__main__":
    ranks.require()
    run_tests(test_other_ranks, test_heated, test_same_ranks, test_unverified, test_signal_to_one, test_walltime, test_same_files,
              test_full_disk)
