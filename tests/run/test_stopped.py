"""Runs that are stopped by signals and by the clock, and killed: resumed, the end is that of a run that never stopped.

MDMINI_TEST_KILLS: how many times a run is killed (24); others as in support/resuming.py."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import h5py

import program
import restart_file
from restart_file import sections
from resuming import BACKEND, THREADS, deck, resume, run_tests, same_end, series, slow_deck, start, wait_for

N_KILLS = int(os.environ.get("MDMINI_TEST_KILLS", "24"))


def wait_for_end(child):
    """The processor time that the process has used."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def seconds_to(folder, path, *words):
    """Seconds of a run of its own from its start to this file: on a busy machine, or on a slow one, they are many."""
    begun, child = time.monotonic(), start(folder, *words, "output.existing=overwrite")
    wait_for(path, 300)
    seconds = time.monotonic() - begun
    child.kill()
    child.wait()
    return seconds


def test_signals(checks, folder):
    """Each signal, at any moment: exit code 75 within seconds, and what follows is as if nothing had been."""
    for k, name in enumerate(("SIGTERM", "SIGINT", "SIGUSR1")):
        run = f"stopped{k}"
        heat = {"ensemble": {"thermostat": "rescale", "target": 0.8, "every": 1}} if k == 1 else {}  # it acts at the step of the stop
        child = start(folder, slow_deck(folder, run, restart={"every": 0}, **heat))
        wait_for(folder / f"{run}.log")
        time.sleep(random.uniform(0.05, 0.5))
        used = program.processor_seconds(child.pid)
        child.send_signal(getattr(signal, name))
        used = wait_for_end(child) - used
        checks.that(child.returncode == 75, f"{name}: exit code {child.returncode}, {child.stderr.read()}")
        checks.that(used < 10, f"{name}: {used:.1f} s of processor time to stop")
        report = json.loads((folder / f"{run}.json").read_text())
        log = (folder / f"{run}.log").read_text()
        checks.that(report["exit_code"] == 75 and report["stopped"]["by"] == name, f"{name}: {report.get('stopped')}")
        checks.that(report["verdict"] == "NOT CHECKED", f"{name}: the verdict is {report['verdict']}")
        checks.that(f"resume with: mdmini --restart {run}.restart" in log, f"{name}: the log does not say how to resume")
        checks.that(not (folder / f"{run}.restart.tmp").exists(), f"{name}: leaves a file")
        end = report["n_steps"] // 50 * 50 + 100
        done = resume(folder, run, f"run.steps={end}")
        checks.that(done.code == 0 and done.json()["resumed"]["same_bits"], f"{name}: {done.last_lines()}")
        checks.that(len(done.json()["sessions"]) == 2 and done.json()["n_steps"] == end, f"{name}: sessions")
        program.run(f"{run}.txt", "output.name=whole", f"run.steps={end}", "restart.every=1000000",
                    "output.existing=overwrite", folder=folder)
        same_end(checks, folder, "whole", run, name)


def test_waiting_for_input(checks, folder):
    """Nothing is there to be saved: the first signal ends a program that waits for its input, and no file was made."""
    write = deck(folder, "melt")
    os.mkfifo(folder / "pipe")
    for words in ((), ("pipe",), (write, "pipe"), (write, "system.start=file", "system.file=pipe"), ("--check", "pipe"),
                  ("--restart", "pipe")):
        for number, writes in ((signal.SIGTERM, False), (signal.SIGINT, False), (signal.SIGTERM, True)):
            if writes and (words in ((), ("--restart", "pipe"))):
                continue  # nothing more is read of what is no restart file
            holder = os.open(folder / "pipe", os.O_RDWR) if writes else None  # a writer that never ends
            if writes:
                os.write(holder, b"1 1 1\n" if len(words) == 3 else b"[run]\n")
            stdin, kept = os.pipe()  # of which nothing comes
            child = subprocess.Popen([program.program(), *(words or ("/dev/stdin",))], cwd=folder, stdin=stdin,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            program.wait_until_asleep(child.pid)
            child.send_signal(number)
            what = f"{' '.join(words) or 'stdin'}, {'a writer' if writes else 'no writer'}, {number.name}"
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            checks.that(child.returncode == -number, f"{what}: {child.returncode}")
            for number_of_file in (stdin, kept, *([holder] if writes else [])):
                os.close(number_of_file)
    checks.that(sorted(path.name for path in folder.iterdir()) == ["melt.txt", "pipe"], f"{list(folder.iterdir())}")


def test_early_signal(checks, folder):
    """While the program starts and sets up: 75 or nothing touched, and never a broken end."""
    name = slow_deck(folder, "early")
    seconds = seconds_to(folder, folder / "early.h5", name)
    for k in range(12):
        for path in folder.glob("early.*"):
            if path.name != name:
                path.unlink()
        child = start(folder, name)
        time.sleep(seconds * k / 10)
        child.send_signal(signal.SIGTERM)
        child.wait(300)
        what = f"after {100 * k} ms of {1000 * seconds:.0f}"
        checks.that(child.returncode in (75, -signal.SIGTERM), f"{what}: exit code {child.returncode}")
        if child.returncode == 75 and (folder / "early.json").exists():
            report = json.loads((folder / "early.json").read_text())
            end = report["n_steps"] // 50 * 50 + 50
            done = resume(folder, "early", f"run.steps={end}")
            checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.last_lines()}")


def test_early_signal_resumed(checks, folder):
    """While a resumed run sets up: its restart file stays as it is, or is a good one of the same step or later."""
    name = deck(folder, "wide", system={"cells": 16}, restart={"every": 2}, run={"steps": 4},
                output={"frames_every": 2, "velocities_every": 0, "images_every": 0})
    program.run(name, folder=folder)
    begun = time.monotonic()
    program.run("--restart", "wide.restart", "run.steps=5", "output.name=timed", folder=folder)
    kept, seconds = (folder / "wide.restart").read_bytes(), time.monotonic() - begun
    for k in range(16):
        child = start(folder, "--restart", "wide.restart", "run.steps=1000")
        time.sleep(seconds * k / 16)
        child.send_signal(signal.SIGTERM)
        told = child.communicate(timeout=300)[1]
        now = (folder / "wide.restart").read_bytes()
        what = f"after {k / 16:.2f} of {1000 * seconds:.0f} ms"
        if child.returncode == -signal.SIGTERM or "no file was touched" in told:
            checks.that(now == kept, f"{what}: the restart file is another")
        else:
            checks.that(child.returncode == 75, f"{what}: {child.returncode}: {told}")
        kept = now
    # SIGUSR1 waits until the input has been read: it then comes while the run is set up.
    os.mkfifo(folder / "layer")
    child = start(folder, "--restart", "wide.restart", "layer", "run.steps=1000")
    with open(folder / "layer", "w") as layer:  # from here on the program reads it
        layer.write("[run]\n")
        child.send_signal(signal.SIGUSR1)
    told = child.communicate(timeout=300)[1]
    checks.that(child.returncode == 75 and "no file was touched" in told and (folder / "wide.restart").read_bytes() == kept,
                f"SIGUSR1 while a run is set up: {child.returncode}: {told}")
    done = resume(folder, "wide", f"run.steps={json.loads((folder / 'wide.json').read_text())['n_steps'] + 4}")
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{done.last_lines()}")


def test_second_signal(checks, folder):
    """It ends at once, whatever the program does; the files of before can be resumed."""
    for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGUSR1, signal.SIGTERM)):
        name = slow_deck(folder, first.name, restart={"every": 50})
        child = start(folder, name)
        wait_for(folder / f"{first.name}.restart")
        child.send_signal(signal.SIGSTOP)  # both are there when it goes on, and count as one
        child.send_signal(first)
        child.send_signal(second)
        child.send_signal(signal.SIGCONT)
        child.wait(300)
        checks.that(child.returncode == 75, f"{first.name} and {second.name} at one moment: {child.returncode}")
    # In the middle of a restart file: the one before it stays.
    codes = []
    while len(codes) < 200 and 130 not in codes:
        name = slow_deck(folder, "writing", system={"cells": 16}, restart={"every": 50})
        (folder / "writing.restart").unlink(missing_ok=True)
        child = start(folder, name, "output.existing=overwrite")
        wait_for(folder / "writing.restart")
        child.send_signal(signal.SIGINT)
        while child.poll() is None and not (folder / "writing.restart.tmp").exists():
            pass
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.3)  # so long two of them count as one
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGCONT)
        child.wait(300)
        codes.append(child.returncode)
        step = restart_file.run_numbers(sections(folder / "writing.restart"))[0]
        done = resume(folder, "writing", f"run.steps={step + 1}")
        checks.that(done.code == 0, f"second SIGINT while a restart file is written: {done.last_lines()}")
    checks.that(codes[-1] == 130, f"no second SIGINT met a restart file that is written: {codes}")


def holds_row(path, step):
    return path.exists() and re.search(rf"^ +{step} ", path.read_text(), re.M) is not None


def test_verification_stopped(checks, folder):
    """The verification of many particles takes longer than a stop may: it is left to who resumes."""
    name = deck(folder, "many", system={"cells": 32}, run={"steps": 1, "threads": 1} if BACKEND == "cpu" else {"steps": 1},
                output={"frames_every": 1, "velocities_every": 0, "images_every": 0})
    def stop(run, sign, seconds, *words):
        """Stops the run so long after the sign, in processor time; again where it was through by then. The exit code."""
        for _ in range(20):
            for path in folder.glob(f"{run}.*"):
                path.unlink()
            child = start(folder, name, f"output.name={run}", *words, OMP_NUM_THREADS="1")
            program.wait_until(lambda: child.poll() is not None or sign(), f"{run}: the sign of life")
            begun = program.processor_seconds(child.pid)
            program.wait_until(lambda: child.poll() is not None or program.processor_seconds(child.pid) > begun + seconds, f"{run} runs")
            child.send_signal(signal.SIGTERM)
            if child.wait(300) != 0:
                break
        return child.returncode

    for every in (0, 1):
        what, run = f"restart.every={every}", f"v{every}"
        code = stop(run, lambda: holds_row(folder / f"{run}.log", 1) and (every == 0 or (folder / f"{run}.restart").exists()), 0.1, what)
        report = json.loads((folder / f"v{every}.json").read_text())
        checks.that(code == 75 and report["verdict"] == "NOT CHECKED" and report["n_steps"] == 1,
                    f"{what}: {code}, {report['verdict']} at step {report['n_steps']}")
        log = (folder / f"v{every}.log").read_text()
        checks.that("at step 1 of 1, not verified, resume with" in log, f"{what}: {log[-300:]}")
        done = resume(folder, f"v{every}")
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.last_lines()}")
        # the list that the verification has made anew is not that of the run
        checks.that(done.json()["resumed"]["same_bits"] == (every == 1), f"{what}: {done.json()['resumed']}")
    code = stop("first", (folder / "first.h5").exists, 0.3)
    report = json.loads((folder / "first.json").read_text())
    checks.that(code == 75 and report["n_steps"] == 0 and not report["checks"],
                f"stopped in the first verification: {code}, {report['checks']}")
    done = resume(folder, "first")
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"first verification: {done.last_lines()}")


def test_close_fails(checks, folder):
    """The trajectory is lost while the last restart file is written: nothing passes, and the loss is told."""
    codes = []
    while len(codes) < 200 and 4 not in codes:
        name = deck(folder, "lost", system={"cells": 20}, run={"steps": 1000000}, restart={"every": 0},
                    output={"existing": "overwrite", "thermo_every": 1, "frames_every": 1000,
                            "velocities_every": 0, "images_every": 0})
        (folder / "lost.log").unlink(missing_ok=True)
        child = start(folder, name)
        while child.poll() is None and not holds_row(folder / "lost.log", 1):
            time.sleep(0.005)
        child.send_signal(signal.SIGTERM)
        while child.poll() is None and not (folder / "lost.restart.tmp").exists():
            pass
        (folder / "lost.h5").unlink()
        child.wait(300)
        codes.append(child.returncode)
        report = json.loads((folder / "lost.json").read_text())
        checks.that(report["verdict"] == "NOT CHECKED", f"exit code {child.returncode}: {report['verdict']}")
    checks.that(codes[-1] == 4, f"the trajectory is never lost between commit and close: {codes}")


def test_walltime(checks, folder):
    name = slow_deck(folder, "wall")
    base = min(58, 2 + int(4 * seconds_to(folder, folder / "wall.h5", name)))  # where the program takes long to start, it is long
    for text, seconds in ((f"{base}", base), (f"0:{base + 1:02}", base + 1)):
        begun = time.monotonic()
        done = program.run(name, f"run.walltime={text}", "output.existing=overwrite", folder=folder)
        took = time.monotonic() - begun
        checks.that(done.code == 75 and done.json()["stopped"]["by"] == "the walltime", f"{text}: {done.last_lines()}")
        checks.that(0.5 * seconds < took < seconds + 60, f"walltime {text}: {took:.1f} s")
    step = done.json()["n_steps"]
    short = program.run(name, "output.name=short", "run.walltime=0.001", folder=folder)
    checks.that(short.code == 2 and "run.walltime" in short.stderr and not (folder / "short.log").exists(),
                f"no time for the set-up: {short.code} {short.stderr}")
    deck(folder, "wide", system={"cells": 40}, run={**{key: 1 for key in THREADS}, "walltime": 0.7},
         output={"frames_every": 0, "velocities_every": None, "images_every": None})
    once, again = program.run("wide.txt", folder=folder), resume(folder, "wide")
    # on a slow machine the first is over before there is anything to resume
    checks.that(once.code == 75 and again.code == 2 and "run.walltime" in again.stderr
                or once.code == 2 and "run.walltime" in once.stderr, f"no time for a step: {once.code}, {again.code}")
    for walltime in (2, 8, 32, 128):  # where the program takes long to start, it makes no step in two seconds
        done = resume(folder, "wall", f"run.walltime={walltime}")
        if done.code == 75 and done.json()["n_steps"] > step:
            break
    checks.that(done.code == 75 and done.json()["n_steps"] > step, f"resumed with a walltime: {done.last_lines()}")


def frames_are_prefix(checks, whole, path, what):
    """What was recovered is the beginning of the undisturbed trajectory; returns the frames of positions."""
    part = series(path)
    for name, data in part.items():
        checks.that(data.tobytes() == whole[name][:len(data)].tobytes(), f"{what}: {name} is no beginning of the whole")
    with h5py.File(path, "r") as h5:
        return len(h5["particles/all/position/step"])


def killed_deck(folder):
    """Keys of a run that is half of its time in its loop, where the kills are to fall, and the seconds it takes. A GPU starts
    in a second, in which it makes tens of thousands of steps; frames and restart files are as many with more steps."""
    stretch = 1
    while True:
        steps = {"run": {"steps": 400 * stretch},
                 "output": {"frames_every": 4 * stretch, "thermo_every": 4 * stretch, "velocities_every": 8 * stretch,
                            "images_every": 4 * stretch, "commit_frames": 3},
                 "restart": {"every": 9 * stretch}}
        name = deck(folder, "whole", **steps)
        program.run(name, folder=folder)  # what is read from disk or compiled once is there for the second run
        begun = time.monotonic()
        done = program.run(name, "output.existing=overwrite", folder=folder)
        seconds = time.monotonic() - begun
        if stretch == 1024 or done.json()["loop_seconds"] > seconds / 2:
            return steps, seconds
        stretch *= 2


def test_kills(checks, folder):
    """kill -9 at any moment, again and again until the run is through."""
    steps, longest = killed_deck(folder)
    whole = series(folder / "whole.h5")
    n_kills = n_resumed = n_runs = 0
    while n_kills < N_KILLS:
        run = f"killed{n_runs}"
        name, words, n_runs = deck(folder, run, **steps), None, n_runs + 1
        for attempt in range(1000):
            restart, h5 = folder / f"{run}.restart", folder / f"{run}.h5"
            words = ("--restart", restart.name) if restart.exists() else (name, "output.existing=overwrite")
            begun, child = time.monotonic(), start(folder, *words)
            try:
                child.wait(random.uniform(0, 1.2 * longest))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                n_kills += 1
            if child.returncode == 0:
                if attempt == 0:  # the machine may have been busy with something else when it was timed
                    longest = min(longest, time.monotonic() - begun)
                break
            what = f"kill {n_kills}, {' '.join(words)}"
            if not checks.that(child.returncode == -signal.SIGKILL, f"{what}: {child.returncode}, {child.stderr.read()}"):
                break
            if not restart.exists():
                continue
            n_resumed += 1
            copy = folder / "copy.h5"
            shutil.copy(h5, copy)
            recovered = program.run("--recover", "copy.h5", folder=folder)
            if checks.that(recovered.code == 0, f"{what}: {recovered.last_lines()}"):
                n = frames_are_prefix(checks, whole, copy, what)
                wanted = restart_file.run_numbers(sections(restart))[1]
                checks.that(n >= wanted, f"{what}: {n} frames are left, the restart file knows of {wanted}")
        same_end(checks, folder, "whole", run, f"killed run {n_runs}")
        for path in folder.glob(f"{run}.*"):
            path.unlink()
    print(f"{n_kills} kills in {n_runs} runs of {steps['run']['steps']} steps, {longest:.2f} s; {n_resumed} met a restart file")
    checks.that(n_resumed >= n_kills / 4, f"only {n_resumed} of {n_kills} kills met a run with a restart file")


run_tests(test_signals, test_waiting_for_input, test_verification_stopped, test_close_fails, test_early_signal, test_early_signal_resumed,
          test_second_signal, test_walltime, test_kills)
