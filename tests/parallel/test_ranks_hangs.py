"""No rank waits for ever: one that is killed or does not answer ends all, and what was written can be read. Messages that come
late change nothing.

MDMINI_TEST_BACKENDS: cuda leaves out what the cpu runs; MDMINI_TEST_ONLY: names of tests, with commas between; MDMINI_TEST_SEED: of what is random."""
import os
import random
import re
import signal
import sys
import time

import h5py

import program
import ranks
from resuming import BACKEND, run_tests, wait_for
from test_ranks_bits import MELT, OUTPUT, check_grids, write_case

random.seed(int(os.environ.get("MDMINI_TEST_SEED", "1")))
LATEST_S = 120  # far away: nothing here waits for longer than a few seconds where the machine is quiet
PATIENCE_S = 6  # with a rank whose GPU does not answer: enough to join where others use the processors


def endless(folder, name, **output):
    often = {"frames_every": 2, "velocities_every": 2, "images_every": 2, "forces_every": 0, "commit_frames": 2}
    content = {**MELT, "system": {**MELT["system"], "cells": 6}, "run": {"steps": 40000, "backend": "cpu"},
               "output": {**OUTPUT, **often, **output}, "restart": {"every": 20}}
    return program.write_deck(folder, name, **content).name


def wait_for_end(checks, started, folder, name, begun, what, latest_s=LATEST_S):
    done = started.wait(folder, name, 2 * latest_s)
    checks.that(done.code not in (None, 0), f"{what}: exit code {done.code}, {done.last_lines()}")
    checks.that(time.monotonic() - begun < latest_s, f"{what}: {time.monotonic() - begun:.1f} s to the end")
    return done


def told_by(done):
    return [line for line in done.stderr.splitlines() if line.startswith("mdmini: error")]


def test_waiting_for_input(checks, folder):
    """Ranks that wait for their input, a pipe without a writer, end by the first signal: of the launcher, or of one of them."""
    os.mkfifo(folder / "pipe")
    for who in ("launcher", 0, 1):
        started = ranks.start(2, "pipe", folder=folder)
        pids = started.wait_for_all(2)
        for pid in pids.values():
            program.wait_until_asleep(pid)
        os.kill(started.child.pid if who == "launcher" else pids[who], signal.SIGTERM)
        wait_for_end(checks, started, folder, "pipe", time.monotonic(), f"SIGTERM for {who}, which waits for its input")


def test_killed_in_set_up(checks, folder):
    """From the log on: list, verification, first frame. Before, in MPI_Init, it is for the launcher to notice, and it does not
    always."""
    for rank in range(3):
        stem = f"start{rank}"
        started = ranks.start(3, endless(folder, stem), "system.cells=14", "output.frames_every=50", "output.velocities_every=50",
                              "output.images_every=50", folder=folder)
        pids = started.wait_for_all(3)
        wait_for(folder / f"{stem}.log")
        begun = time.monotonic()
        time.sleep(0.03 * rank)
        os.kill(pids[rank], signal.SIGKILL)
        done = wait_for_end(checks, started, folder, stem, begun, f"rank {rank} killed while the run is set up")
        checks.that("mdmini: error" not in done.stderr, f"rank {rank} killed: {done.stderr}")


def test_killed(checks, folder):
    """In the loop, in which there is always a frame or a restart file on its way."""
    for rank, pipeline in ((0, "on"), (1, "on"), (2, "off")):
        stem = f"killed{rank}"
        started = ranks.start(3, endless(folder, stem, pipeline=pipeline), folder=folder)
        wait_for(folder / f"{stem}.restart")
        time.sleep(random.uniform(0.1, 0.6))
        begun = time.monotonic()
        os.kill(started.processes()[rank], signal.SIGKILL)
        what = f"rank {rank} killed, output.pipeline={pipeline}"
        wait_for_end(checks, started, folder, stem, begun, what)
        recovered = program.run("--recover", f"{stem}.h5", folder=folder)
        checks.that(recovered.code == 0, f"{what}: --recover: {recovered.last_lines()}")
        with h5py.File(folder / f"{stem}.h5") as h5:
            steps = len(h5["particles/all/position/value"])
        checks.that(steps > 9, f"{what}: {steps} frames")
        done = ranks.run(2, "--restart", f"{stem}.restart", f"run.steps={2 * steps + 60}", folder=folder, name=stem)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: resumed: {done.code}, {done.last_lines()}")


def test_silent(checks, folder):
    """Who is stopped and does not answer is named."""
    started = ranks.start(4, endless(folder, "silent"), "parallel.timeout=2", folder=folder)
    wait_for(folder / "silent.restart")
    pids, begun = started.processes(), time.monotonic()
    os.kill(pids[2], signal.SIGSTOP)
    done = wait_for_end(checks, started, folder, "silent", begun, "rank 2 stopped")
    told = told_by(done)
    checks.that(len(told) == 1 and "rank 2 (" in told[0] and " of 4 did not answer for 2 s" in told[0] and "parallel.timeout" in told[0],
                f"rank 2 stopped: {told}")


def test_silent_writer(checks, folder):
    """Rank 0 stopped while it writes, and all others wait until it has written: for a commit, or for the end, by threads of their own; or
    for their part of a frame."""
    slow_disk = program.layer("SLOW_DISK")
    if not slow_disk:
        return
    for what, pipeline, words in (("commit", "on", ["restart.every=8", "output.slots=8"]),
                                  ("end", "on", ["restart.every=0", "output.slots=16", "run.steps=16"]),
                                  ("frame", "off", ["restart.every=8", "parallel.frames=all"])):
        deck = endless(folder, what, pipeline=pipeline, frames_every=1, velocities_every=1, images_every=1)
        started = ranks.start(3, deck, "parallel.timeout=2", *words, folder=folder, LD_PRELOAD=slow_disk)
        wait_for(folder / f"{what}.csv", lines=2)  # the loop begins
        time.sleep(random.uniform(0.1, 0.4))
        pids, begun = started.processes(), time.monotonic()
        os.kill(pids[0], signal.SIGSTOP)
        done = wait_for_end(checks, started, folder, what, begun, f"rank 0 stopped before the {what}")
        told = told_by(done)
        checks.that(len(told) == 1 and "error: rank 0 (" in told[0] and " of 3 did not answer for 2 s" in told[0],
                    f"rank 0 stopped before the {what}: {told}")


def test_slow_disk(checks, folder):
    """Who writes for longer than parallel.timeout is there, and is waited for: in a commit for a restart file, or by time."""
    slow_disk = program.layer("SLOW_DISK")
    if not slow_disk:
        return
    once = ["output.frames_every=100000", "output.thermo_every=100000", "output.velocities_every=0", "output.images_every=0"]
    for what, words, slow in (("sync", ["run.steps=20"], "SYNC"),
                              ("timed", [*once, "run.steps=16000", "restart.every=0", "output.commit_seconds=1"], "FLUSH")):
        done = ranks.run(3, endless(folder, what), *words, "parallel.timeout=2", folder=folder, LD_PRELOAD=slow_disk,
                         **{f"MDMINI_TEST_{slow}_S": "4"})
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.code}, {done.last_lines()}")


def test_silent_at_the_end(checks, folder):
    """In the verification of the last step, in which ranks are waited for ten times as long."""
    started = ranks.start(2, endless(folder, "end"), "system.cells=24", "run.steps=2", "output.thermo_every=1", "output.frames_every=100",
                          "output.velocities_every=0", "output.images_every=0", "parallel.timeout=1", folder=folder)
    wait_for(folder / "end.csv", lines=4)
    pids, begun = started.processes(), time.monotonic()
    os.kill(pids[1], signal.SIGSTOP)
    done = wait_for_end(checks, started, folder, "end", begun, "rank 1 stopped behind the last step")
    told = told_by(done)
    # the row is there before the loop is over: for 1 s, that is, or for 10 s
    checks.that(len(told) == 1 and re.search(r"rank 1 \(\S+\) of 2 did not answer for 10? s", told[0]),
                f"rank 1 stopped behind the last step: {told}")


def on_gpus(folder, n, transport, name, lists, launch, system=MELT, **output):
    """n ranks that do not ask the host between two lists: started, and in the loop."""
    content = {**system, "run": {**system["run"], "steps": 1000000, "backend": "cuda"},
               "parallel": {"transport": transport, "timeout": PATIENCE_S}, "output": {**OUTPUT, "forces_every": 0, **output},
               "restart": {"every": 50}, "neighbor": {**system["neighbor"], **lists}, "launch": launch}
    started = ranks.start(n, program.write_deck(folder, name, **content).name, folder=folder, **ranks.transports(n)[transport])
    wait_for(folder / f"{name}.restart")
    return started


# Atoms that do not see each other. From list to list more of them cross to the other GPU than it has room for.
GAS = {**MELT, "potential": {"epsilon": 1e-35}, "run": {"timestep": 0.1}, "neighbor": {"skin": 0.3, "rebuild": "every", "every": 30}}


def test_list_without_answer(checks, folder):
    """Where a GPU is silent no list is made: what it has not sent is missing, and nobody tells that its inbox is full."""
    if "direct" not in ranks.transports(2):
        print("test_list_without_answer: not run: direct cannot run here")
        return
    # without outputs, for which hosts would look at each other
    started = on_gpus(folder, 2, "direct", "gas", {}, {}, GAS, **{key: 10**6 for key in OUTPUT if key.endswith("every")})
    time.sleep(random.uniform(0.1, 0.6))
    begun, what = time.monotonic(), "rank 0 stopped, many atoms cross"
    os.kill(started.processes()[0], signal.SIGSTOP)
    done = wait_for_end(checks, started, folder, "gas", begun, what, 2 * LATEST_S)
    checks.that(done.code == 1 and "mdmini: error: rank 0" in done.stderr, f"{what}: {done.code}, {done.last_lines()}")


def test_gpus(checks, folder, transport="direct"):
    """A rank that is gone, or silent: kernels of others wait for its GPU, in graphs of many steps, in the resident kernel or in a queue
    of bricks."""
    n = next((n for n in (3, 2) if transport in ranks.transports(n)), 0)
    if n == 0:
        print(f"test_gpus: {transport}: not run: it cannot run here, or there are not enough GPUs")
        return
    by_count = {"rebuild": "every", "every": 10} if transport == "direct" else {}  # the resident kernel
    for number, rank, lists, launch in ((signal.SIGKILL, 1, {}, {}), (signal.SIGKILL, 0, by_count, {}), (signal.SIGSTOP, n - 1, {}, {}),
                                        (signal.SIGSTOP, 0, by_count, {}), (signal.SIGSTOP, 1, by_count, {"passes": "queue"})):
        if transport == "nccl" and (launch or number == signal.SIGKILL and rank == 0):
            continue  # the launcher ends the others, whatever they wait for
        launch = {"graph": "off"} if transport == "nccl" and rank == 0 else launch
        what = f"{number.name} of rank {rank} of {n}, parallel.transport={transport} {lists} {launch}"
        name = "-".join([transport, f"{number.name}{rank}", *launch.values()])
        started = on_gpus(folder, n, transport, name, lists, launch)
        pids = started.processes()
        time.sleep(random.uniform(0.1, 0.6))
        begun = time.monotonic()
        os.kill(pids[rank], number)
        done = wait_for_end(checks, started, folder, name, begun, what)
        told = told_by(done)
        if number == signal.SIGSTOP:
            # no other one is named; but who gives up on NCCL answers no other for a while
            silent = f"error: rank {rank}" if transport == "direct" else "rank ."
            checks.that(len(told) == 1 and re.search(f"{silent} \\(\\S+\\) of {n} did not answer for {PATIENCE_S} s", told[0]) and
                        "parallel.timeout" in told[0], f"{what}: {told}")


def test_nccl(checks, folder):
    """NCCL itself waits for ever."""
    test_gpus(checks, folder, "nccl")
    if "nccl" not in ranks.transports(2) or not ranks.PLAYS_NCCL:
        return  # a real one does not fail when it is told to
    deck = program.write_deck(folder, "fails", **{**MELT, "run": {"steps": 100, "backend": "cuda"},
                                                 "parallel": {"transport": "nccl"}}).name
    # Only who is to give up is impatient: compiling kernels takes seconds, in which a rank answers no other.
    for how, code, patience_s, told in (
            ("async", 1, 60, "a message of NCCL failed: remote process exited"),
            ("silent", 1, 2, "NCCL has waited for other ranks for 2 s (parallel.timeout) to join them"),
            ("init", 2, 60, "NCCL cannot join the ranks: unhandled system error")):
        begun = time.monotonic()
        done = ranks.run(2, deck, f"parallel.timeout={patience_s}", folder=folder, timeout=2 * LATEST_S, **ranks.NCCL,
                         NCCL_STAND_IN=how)
        checks.that(done.code == code and told in done.stderr and time.monotonic() - begun < LATEST_S,
                    f"NCCL, {how}: {done.code}, {time.monotonic() - begun:.1f} s, {done.stderr}")


def test_late_messages(checks, folder):
    """With a layer in front of MPI that delays at random: the same bits, and the run ends."""
    shim = program.layer("DELAYING_MPI")
    if not shim:
        return
    os.environ["DELAYING_MPI_COUNTS"] = str(folder / "late")
    ranks.ENVIRONMENT["LD_PRELOAD"] = shim
    for name, more, switches, grid in (
            ("mixed", {}, [], "2 2 1"),
            ("rows", {}, ["memory.layout=soa", "output.pipeline=off"], "3 1 2"),
            ("two", {"types": 2, "fractions": "0.5 0.5"}, ["neighbor.rebuild=host-check"], "1 1 2")):
        melt = {**MELT, "system": {**MELT["system"], "cells": 6}, "run": {"steps": 40, "backend": "cpu"}}
        deck = write_case(folder, name, melt, more)
        check_grids(checks, folder, deck, [*switches, "output.frames_every=10", "output.velocities_every=10",
                                           "output.images_every=10", "output.forces_every=10"], [grid])
        late = [int(path.read_text()) for path in folder.glob("late.*")]
        checks.that(len(late) > 1 and min(late) > 30, f"{name}: late calls of ranks: {late}")
        for path in folder.glob("late.*"):
            path.unlink()
    del ranks.ENVIRONMENT["LD_PRELOAD"], os.environ["DELAYING_MPI_COUNTS"]


if __name__ == "__main__":
    ranks.require()
    on_cpu = [test_waiting_for_input, test_killed_in_set_up, test_killed, test_silent, test_silent_writer, test_slow_disk, test_silent_at_the_end, test_late_messages]
    if BACKEND != "cpu":
        on_cpu.clear()
        print("left out, as MDMINI_TEST_BACKENDS begins with another one: what the cpu runs")
        if not {"direct", "nccl"} & set(ranks.transports(2)):
            print("skipped: neither direct nor nccl can run here")
            sys.exit(program.SKIPPED)
    run_tests(*on_cpu, test_list_without_answer, test_gpus, test_nccl)
