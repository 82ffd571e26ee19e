"""Runs that are stopped, killed and resumed: the end is that of a run that never stopped, bit by bit.

MDMINI_TEST_KILLS: how many times a run is killed (24); MDMINI_TEST_SEED: of the random moments; MDMINI_TEST_BACKENDS."""
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import h5check
import h5py
import numpy

import program
import restart_file
from restart_file import sections

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
N_KILLS = int(os.environ.get("MDMINI_TEST_KILLS", "24"))
random.seed(int(os.environ.get("MDMINI_TEST_SEED", "1")))
THREADS = {"threads": 2} if BACKEND == "cpu" else {}  # a key that the cuda backend refuses
# A melting crystal, so that lists are made often; 256 atoms, whose box has just room for cutoff and skin.
SMALL = {
    "system": {"start": "fcc", "cells": 4, "density": 0.8442, "temperature": 1.44},
    "potential": {"cutoff": 2.2},
    "run": {"steps": 60, "backend": BACKEND, **THREADS},
    "neighbor": {"skin": 0.2},
    "output": {"frames_every": 5, "thermo_every": 5, "velocities_every": 10, "images_every": 5, "progress": "off"},
    "restart": {"every": 20},
}


def deck(folder, name, **more):
    content = {section: dict(keys) for section, keys in SMALL.items()}
    for section, keys in more.items():
        content.setdefault(section, {}).update(keys)
        content[section] = {key: value for key, value in content[section].items() if value is not None}
    return program.write_deck(folder, name, **content).name


def series(path):
    """Every dataset of a trajectory that grows with the run."""
    found = {}
    with h5py.File(path, "r") as h5:
        for root in ("particles", "observables"):
            h5[root].visititems(lambda name, item: found.__setitem__(f"{root}/{name}", item[...])
                                if isinstance(item, h5py.Dataset) and name.split("/")[-1] in ("value", "step", "time")
                                else None)
    return found


def same_frames(checks, folder, a, b, what):
    first, second = series(folder / f"{a}.h5"), series(folder / f"{b}.h5")
    checks.that(first.keys() == second.keys() and len(first) > 8, f"{what}: the trajectories hold different things")
    for name in first:
        checks.that(first[name].tobytes() == second[name].tobytes(), f"{what}: {name} differs")


def same_end(checks, folder, a, b, what):
    """Restart file, frames, thermo rows and verdict."""
    different = restart_file.difference(folder / f"{a}.restart", folder / f"{b}.restart")
    checks.that(not different, f"{what}: the restart files differ in {different}")
    same_frames(checks, folder, a, b, what)
    first, second = (json.loads((folder / f"{name}.json").read_text()) for name in (a, b))
    checks.that(first["thermo"] == second["thermo"], f"{what}: the thermo rows differ")
    checks.that(first["verdict"] == second["verdict"] == "PASSED", f"{what}: {first['verdict']}, {second['verdict']}")
    checks.that(first["n_rebuilds"] == second["n_rebuilds"], f"{what}: {first['n_rebuilds']}, {second['n_rebuilds']} rebuilds")
    problems = h5check.check(folder / f"{b}.h5")
    checks.that(not problems, f"{what}: {problems}")
    checks.that(not list(folder.glob("*.tmp")), f"{what}: leaves {list(folder.glob('*.tmp'))}")


def marked_for_writing(path):
    """The bytes of a compressed trajectory with the mark that a killed writer leaves."""
    kill = "import h5py, os, sys; file = h5py.File(sys.argv[1], 'r+', libver='v110'); file.swmr_mode = True; os._exit(0)"
    copy = path.with_suffix(".marked")
    shutil.copy(path, copy)
    subprocess.run([sys.executable, "-c", kill, copy], check=True)
    content = copy.read_bytes()
    copy.unlink()
    return content


def resume(folder, name, *words, **more):
    return program.run("--restart", f"{name}.restart", *words, folder=folder, name=name, **more)


def two_parts(checks, folder, words, cut, what):
    """Up to the cut and on from there, against all at once. The file of the cut is the one before that of the end, so that
    frames after the cut have to go."""
    assert 30 < cut < 60
    name = deck(folder, "parts")
    for run, every in (("whole", 20), ("half", cut)):
        done = program.run(name, f"output.name={run}", f"restart.every={every}", "output.existing=overwrite", *words,
                           folder=folder, name=run)
        if not checks.that(done.code == 0, f"{what}: {done.last_lines()}"):
            return
    checks.that(restart_file.run_numbers(sections(folder / "half.restart.prev"))[0] == cut, f"{what}: no file of step {cut}")
    half = program.run("--restart", "half.restart.prev", folder=folder, name="half")
    if checks.that(half.code == 0 and half.json()["resumed"]["same_bits"], f"{what}: {half.last_lines()}"):
        same_end(checks, folder, "whole", "half", what)


def test_ensembles(checks, folder):
    """Every ensemble and precision, cut where a list is just made, just before and between."""
    ensembles = {"constant energy": [],
                 "constant temperature": ["ensemble.thermostat=rescale", "ensemble.target=0.8", "ensemble.every=3"],
                 "ramp": ["ensemble.thermostat=rescale", "ensemble.target=1.4 0.5", "ensemble.every=4"]}
    rebuilds = {"device-check": [], "host-check": ["neighbor.rebuild=host-check"],
                "every": ["neighbor.rebuild=every", "neighbor.every=10"]}
    for ensemble, heat in ensembles.items():
        for precision in ("single", "mixed", "double"):
            for rebuild, rule in rebuilds.items():
                for cut in (39, 40, 41) if rebuild == "every" else (random.randrange(31, 60),):
                    two_parts(checks, folder, [*heat, f"run.precision={precision}", *rule], cut,
                              f"{ensemble}, {precision}, {rebuild}, cut at {cut}")


def test_every_cut(checks, folder):
    """Cut after each step of a stretch in which the list is made several times."""
    for cut in range(31, 60, 1 if BACKEND == "cpu" else 7):
        two_parts(checks, folder, [], cut, f"cut at {cut}")


def test_open_box(checks, folder):
    """Cells of an open box hang on where the particles are."""
    for boundary in ("open", "periodic periodic open"):
        two_parts(checks, folder, [f"system.boundary={boundary}", "run.timestep=0.002"], 47, f"boundary {boundary}")


def switches():
    """The words of each switch that the backend has."""
    found = {}
    listed = json.loads(program.run("--list-variants=json", folder=".").stdout)
    table = next(backend for backend in listed["backends"] if backend["name"] == BACKEND)
    for row in table["variants"]:
        if not row["switch"].startswith("run."):
            found.setdefault(row["switch"], []).append(row["value"])
    return found


def test_switches(checks, folder):
    """Random sets of switches, those that can run and give the same bits twice."""
    name, words, n_done = deck(folder, "parts"), switches(), 0
    for _ in range(400):
        chosen = [f"{key}={random.choice(words[key])}" for key in random.sample(sorted(words), 5)]
        if program.run("--check", name, *chosen, folder=folder).code != 0:
            continue
        once = program.run(name, *chosen, "output.name=once", "output.existing=overwrite", folder=folder, name="once")
        again = program.run("--restart", "once.restart.prev", folder=folder, name="once")
        if not checks.that(once.code == again.code == 0, f"{chosen}: {once.last_lines()} {again.last_lines()}"):
            continue
        if not again.json()["resumed"]["same_bits"]:
            continue
        two_parts(checks, folder, chosen, random.randrange(31, 60), " ".join(chosen))
        n_done += 1
        if n_done == (20 if BACKEND == "cpu" else 8):
            break
    checks.that(n_done >= 8, f"only {n_done} sets of switches could run")


def test_undisturbed(checks, folder):
    """Restart files, however often, and looking at the run, change no bit of it."""
    name = deck(folder, "bits")
    for run, words in {"never": ["restart.every=60"], "always": ["restart.every=1"], "seldom": ["restart.every=17"],
                       "in_line": ["restart.every=7", "output.pipeline=off"],
                       "looked_at": ["output.thermo_every=1", "output.frames_every=1", "output.images_every=1"]}.items():
        done = program.run(name, f"output.name={run}", *words, folder=folder, name=run)
        checks.that(done.code == 0, f"{run}: {done.last_lines()}")
        if run == "looked_at":
            different = restart_file.difference(folder / "never.restart", folder / f"{run}.restart")
            checks.that(set(word.split()[0] for word in different) <= {"thermo", "run"}, f"{run}: {different}")
        else:
            same_end(checks, folder, "never", run, run)


def test_extended(checks, folder):
    """A run that ended goes on to more steps, as if it had been that long from the start."""
    name = deck(folder, "long")
    program.run(name, "output.name=long", folder=folder)
    for steps in (40, 43):
        program.run(name, "output.name=short", f"run.steps={steps}", "output.existing=overwrite", folder=folder)
        done = resume(folder, "short", "run.steps=60")
        checks.that(done.code == 0, f"extended from {steps}: {done.last_lines()}")
        same_end(checks, folder, "long", "short", f"extended from {steps}")
    done = resume(folder, "short", "run.steps=30")
    checks.that(done.code == 2 and "step 60 is done" in done.stderr, f"shortened: {done.code} {done.stderr}")
    # Each quantity by its own interval: of step 45 some stay, and some were there because it was the last.
    for k, every in enumerate([(10, 5, 20), (5, 10, 20), (20, 20, 9), (45, 4, 10)]):
        words = [f"output.{key}={n}" for key, n in zip(("frames_every", "velocities_every", "thermo_every"), every)]
        words += [f"output.images_every={every[0]}", f"output.forces_every={every[1]}", "output.existing=overwrite"]
        program.run(name, "output.name=long", *words, folder=folder)
        program.run(name, "output.name=short", "run.steps=45", *words, folder=folder)
        done = resume(folder, "short", "run.steps=60")
        checks.that(done.code == 0, f"intervals {every}: {done.last_lines()}")
        same_end(checks, folder, "long", "short", f"intervals {every}")
    # With another interval from there on, what was due by the old one stays.
    program.run(name, "output.name=other", "run.steps=45", "output.frames_every=15", "output.images_every=15", folder=folder)
    done = resume(folder, "other", "run.steps=70", "output.frames_every=30", "output.images_every=30", "output.velocities_every=4")
    checks.that(done.code == 0, f"another interval: {done.last_lines()}")
    with done.h5() as h5:
        found = [h5[f"particles/{path}/step"][...].tolist() for path in ("all/position", "all_velocity/velocity")]
    checks.that(found == [[0, 15, 30, 45, 60, 70], [0, 10, 20, 30, 40, 48, 52, 56, 60, 64, 68, 70]],
                f"another interval: steps {found}")
    # The check of the file knows what was due in each part, so it sees a step that is not where it should be.
    for run, parts in (("other", 2), ("short", 2)):
        problems = h5check.check(folder / f"{run}.h5")
        checks.that(not problems, f"{run} in {parts} parts: {problems}")
        for path in ("all/position", "all_velocity/velocity"):
            for row in (1, 9):
                shutil.copy(folder / f"{run}.h5", folder / "harmed.h5")
                with h5py.File(folder / "harmed.h5", "r+") as h5:
                    steps = h5[f"particles/{path}/step"]
                    row = min(row, len(steps) - 2)
                    steps[row] += 1
                problems = h5check.check(folder / "harmed.h5")
                checks.that(len(problems) == 2 and "was due and is missing" in problems[0] and "not due" in problems[1],
                            f"{run}, {path}: step of row {row} is another: {problems}")
    ramp = deck(folder, "ramp", ensemble={"thermostat": "rescale", "target": "1 0.5"})
    program.run(ramp, folder=folder)
    done = resume(folder, "ramp", "run.steps=80")
    checks.that(done.code == 2 and "ensemble.last_step" in done.stderr, f"a ramp changes its slope: {done.stderr}")


# --- stopped by signals and by the clock


def start(folder, *words, **environment):
    return subprocess.Popen([program.program(), *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})


def slow_deck(folder, name, **more):
    """Long enough to be met in the middle; resumed it is cut short to where it is compared."""
    return deck(folder, name, run={"steps": 1000000},
                output={"frames_every": 50, "thermo_every": 50, "velocities_every": 100, "images_every": 50}, **more)


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.002)
    return path.exists()


def test_signals(checks, folder):
    """Each signal, at any moment: exit code 75 within seconds, and what follows is as if nothing had been."""
    for k, name in enumerate(("SIGTERM", "SIGINT", "SIGUSR1")):
        run = f"stopped{k}"
        child = start(folder, slow_deck(folder, run, restart={"every": 0}))
        wait_for(folder / f"{run}.log")
        time.sleep(random.uniform(0.05, 0.5))
        begun = time.monotonic()
        child.send_signal(getattr(signal, name))
        child.wait(60)
        checks.that(child.returncode == 75, f"{name}: exit code {child.returncode}, {child.stderr.read()}")
        checks.that(time.monotonic() - begun < 10, f"{name}: {time.monotonic() - begun:.1f} s to stop")
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


def test_early_signal(checks, folder):
    """While the program starts and sets up: 75 or nothing touched, and never a broken end."""
    name = slow_deck(folder, "early")
    for k in range(12):
        for path in folder.glob("early.*"):
            if path.name != name:
                path.unlink()
        child = start(folder, name)
        time.sleep(0.01 * k)
        child.send_signal(signal.SIGTERM)
        child.wait(60)
        # before main has run there is nobody to hold the signal
        checks.that(child.returncode in (75, -signal.SIGTERM), f"after {10 * k} ms: exit code {child.returncode}")
        if child.returncode == 75 and (folder / "early.json").exists():
            report = json.loads((folder / "early.json").read_text())
            end = report["n_steps"] // 50 * 50 + 50
            done = resume(folder, "early", f"run.steps={end}")
            checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"after {10 * k} ms: {done.last_lines()}")


def test_early_signal_resumed(checks, folder):
    """While a resumed run sets up: its restart file stays as it is, or is a good one of the same step or later."""
    name = deck(folder, "wide", system={"cells": 16}, restart={"every": 2}, run={"steps": 4},
                output={"frames_every": 2, "velocities_every": 0, "images_every": 0})
    program.run(name, folder=folder)
    kept, n_untouched = (folder / "wide.restart").read_bytes(), 0
    for k in range(16):
        child = subprocess.Popen([program.program(), "--restart", "wide.restart", "run.steps=1000"], cwd=folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.004 * k)
        child.send_signal(signal.SIGTERM)
        told = child.communicate(timeout=60)[1]
        now = (folder / "wide.restart").read_bytes()
        if child.returncode == -signal.SIGTERM or "no file was touched" in told:
            checks.that(now == kept, f"after {4 * k} ms: the restart file is another")
            n_untouched += "no file was touched" in told
        else:
            checks.that(child.returncode == 75, f"after {4 * k} ms: {child.returncode}: {told}")
        kept = now
    checks.that(n_untouched > 0, "no signal came while a run was set up")
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
        child.wait(60)
        checks.that(child.returncode == 75, f"{first.name} and {second.name} at one moment: {child.returncode}")
    # In the middle of a restart file: the one before it stays.
    codes = []
    while len(codes) < 20 and 130 not in codes:
        name = slow_deck(folder, "writing", system={"cells": 16}, restart={"every": 50})
        (folder / "writing.restart").unlink(missing_ok=True)
        child = start(folder, name, "output.existing=overwrite")
        wait_for(folder / "writing.restart")
        child.send_signal(signal.SIGINT)
        while child.poll() is None and not (folder / "writing.restart.tmp").exists():
            pass
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGCONT)
        child.wait(60)
        codes.append(child.returncode)
        step = restart_file.run_numbers(sections(folder / "writing.restart"))[0]
        done = resume(folder, "writing", f"run.steps={step + 1}")
        checks.that(done.code == 0, f"second SIGINT while a restart file is written: {done.last_lines()}")
    checks.that(codes[-1] == 130, f"no second SIGINT met a restart file that is written: {codes}")
    # A program that hangs in its set-up, by a fifo where it reads its coordinates.
    os.mkfifo(folder / "never.txt")
    child = start(folder, "never.txt")
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    time.sleep(0.4)
    checks.that(child.poll() is None, "the first SIGINT ends what hangs: then this test shows nothing")
    child.send_signal(signal.SIGINT)
    child.wait(10)
    checks.that(child.returncode == 130, f"second SIGINT: exit code {child.returncode}")


def holds_row(path, step):
    return path.exists() and re.search(rf"^ +{step} ", path.read_text(), re.M) is not None


def test_verification_stopped(checks, folder):
    """The verification of many particles takes longer than a stop may: it is left to who resumes."""
    name = deck(folder, "many", system={"cells": 32}, run={"steps": 1, "threads": 1} if BACKEND == "cpu" else {"steps": 1},
                output={"frames_every": 1, "velocities_every": 0, "images_every": 0})
    for every in (0, 1):
        child = start(folder, name, f"restart.every={every}", "output.existing=overwrite", f"output.name=v{every}",
                      OMP_NUM_THREADS="1")
        while child.poll() is None and not holds_row(folder / f"v{every}.log", 1):
            time.sleep(0.005)
        if every:
            wait_for(folder / "v1.restart")
        time.sleep(0.1)
        begun = time.monotonic()
        child.send_signal(signal.SIGTERM)
        child.wait(60)
        what = f"restart.every={every}, stopped after {time.monotonic() - begun:.2f} s"
        report = json.loads((folder / f"v{every}.json").read_text())
        checks.that(child.returncode == 75 and report["verdict"] == "NOT CHECKED" and report["n_steps"] == 1,
                    f"{what}: {child.returncode}, {report['verdict']} at step {report['n_steps']}")
        done = resume(folder, f"v{every}")
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.last_lines()}")
        # the list that the verification has made anew is not that of the run
        checks.that(done.json()["resumed"]["same_bits"] == (every == 1), f"{what}: {done.json()['resumed']}")
    child = start(folder, name, "output.name=first", OMP_NUM_THREADS="1")
    wait_for(folder / "first.h5")
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    child.wait(60)
    report = json.loads((folder / "first.json").read_text())
    checks.that(child.returncode == 75 and report["n_steps"] == 0 and not report["checks"],
                f"stopped in the first verification: {child.returncode}, {report['checks']}")
    done = resume(folder, "first")
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"first verification: {done.last_lines()}")


def test_close_fails(checks, folder):
    """The trajectory is lost while the last restart file is written: nothing passes, and the loss is told."""
    codes = []
    while len(codes) < 20 and 4 not in codes:
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
        child.wait(60)
        codes.append(child.returncode)
        report = json.loads((folder / "lost.json").read_text())
        checks.that(report["verdict"] == "NOT CHECKED", f"exit code {child.returncode}: {report['verdict']}")
    checks.that(codes[-1] == 4, f"the trajectory is never lost between commit and close: {codes}")


def test_walltime(checks, folder):
    name = slow_deck(folder, "wall")
    for text, seconds in (("2", 2), ("0:03", 3)):
        begun = time.monotonic()
        done = program.run(name, f"run.walltime={text}", "output.existing=overwrite", folder=folder)
        took = time.monotonic() - begun
        checks.that(done.code == 75 and done.json()["stopped"]["by"] == "the walltime", f"{text}: {done.last_lines()}")
        checks.that(0.5 * seconds < took < seconds + 1, f"walltime {text}: {took:.1f} s")
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
    done = resume(folder, "wall", "run.walltime=2")
    checks.that(done.code == 75 and done.json()["n_steps"] > step, f"resumed with a walltime: {done.last_lines()}")


# --- killed


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


# --- damaged files


def test_damage(checks, folder):
    """Every section, cut anywhere, foreign or newer: refused with a reason and exit code 2; the one before is offered."""
    program.run(deck(folder, "good"), folder=folder)
    data = (folder / "good.restart").read_bytes()
    found = sections(folder / "good.restart")
    checks.that(restart_file.compose(found) == data, "the file is not what its form says")

    def refused(content, word, what):
        (folder / "bad.restart").write_bytes(content)
        done = program.run("--restart", "bad.restart", folder=folder, name="bad")
        checks.that(done.code == 2 and word in done.stderr, f"{what}: exit code {done.code}, {done.stderr}")
        return done

    for name, at, n in restart_file.places(data):
        for byte in {at - 40, at - 10, at, at + n // 2, at + n - 1, at + n + -n % 8 + 7} - ({at, at - 1} if not n else set()):
            flipped = bytearray(data)
            flipped[byte] ^= 1 << random.randrange(8)
            refused(bytes(flipped), "damaged", f"{name}, byte {byte - at} of {n}")
    for n in [0, 1, 15, 31, 32, 40] + [random.randrange(len(data)) for _ in range(20)] + [len(data) - 1]:
        refused(data[:n], "no restart file" if n < 32 else "damaged", f"cut to {n} bytes")
    refused(data + b"\0", "damaged", "a byte too many")
    refused(b"[run]\nsteps = 3\n" * 10, "no restart file", "a deck")
    refused((folder / "good.h5").read_bytes(), "no restart file", "a trajectory")
    refused(restart_file.compose(found, version=2), "version 2", "a newer version")
    refused(data.replace(found["position"], found["velocity"]), "damaged", "another section's bytes")
    without = {name: content for name, content in found.items() if name != "velocity"}
    done = program.run("--restart", "bad.restart", folder=folder)
    (folder / "bad.restart").write_bytes(restart_file.compose(without))
    (folder / "bad.restart.prev").write_bytes(data)
    done = program.run("--restart", "bad.restart", folder=folder)
    checks.that(done.code == 2 and "velocity" in done.stderr, f"a section is missing: {done.code} {done.stderr}")
    done = refused(data[:1000], "mdmini --restart bad.restart.prev", "the older generation is not offered")
    (folder / "bad.restart").unlink()
    done = program.run("--restart", "bad.restart", folder=folder)
    checks.that(done.code == 2 and "bad.restart.prev" in done.stderr, f"no such file: {done.code} {done.stderr}")


def test_refusals(checks, folder):
    """What cannot change on the way, and files that are not there."""
    program.run(deck(folder, "run"), "run.steps=40", folder=folder)
    before = (folder / "run.h5").read_bytes()
    for word, reason in (("run.timestep=0.001", "the physics"), ("system.temperature=2", "the physics"),
                         ("run.precision=double", "the precision"), ("potential.cutoff=2.1", "the physics"),
                         ("output.unwrapped=on", "output.unwrapped"), ("no.such=1", "[no]")):
        done = resume(folder, "run", "run.steps=60", word)
        checks.that(done.code == 2 and reason in done.stderr, f"{word}: {done.code} {done.stderr}")
    checks.that((folder / "run.h5").read_bytes() == before, "a run that was refused has touched the trajectory")
    (folder / "run.h5").rename(folder / "away.h5")
    done = resume(folder, "run", "run.steps=60")
    checks.that(done.code == 2 and "run.h5" in done.stderr, f"no trajectory: {done.code} {done.stderr}")
    program.run("run.txt", "output.name=other", "run.steps=20", folder=folder)
    (folder / "other.h5").rename(folder / "run.h5")
    done = resume(folder, "run", "run.steps=60")
    checks.that(done.code == 2 and "another run" in done.stderr, f"the trajectory of another run: {done.code} {done.stderr}")
    (folder / "away.h5").rename(folder / "run.h5")
    done = resume(folder, "run", "run.steps=60", "neighbor.sorted=on")
    log = (folder / "run.log").read_text()
    checks.that(done.code == 0 and "statistically equivalent only" in log and "neighbor.sorted" in log,
                f"another switch: {done.code} {done.last_lines()}")
    checks.that(not done.json()["resumed"]["same_bits"] and done.json()["verdict"] == "PASSED", "another switch: report")
    program.run("run.txt", "output.name=other", "run.steps=40", "output.existing=overwrite", folder=folder)
    done = resume(folder, "other", "run.steps=60", "output.slots=2", "report.verify=on")
    checks.that(done.code == 0 and done.json()["resumed"]["same_bits"], f"output in another way: {done.last_lines()}")
    done = resume(folder, "other", "run.steps=61", "force.kernel=cell")
    checks.that("which has no part in it now" in " ".join(done.stdout.split()),
                f"a switch that comes or goes: {done.last_lines()}")
    done = program.run("--bench", "force", "--restart", "run.restart", folder=folder)
    checks.that(done.code == 2 and "exclude each other" in done.stderr, f"--bench --restart: {done.code} {done.stderr}")


def test_check(checks, folder):
    """--check says of a run that is resumed what the run itself says, and touches nothing."""
    name = deck(folder, "run", output={"xyz_every": 10, "velocities_every": 10})
    program.run(name, "run.steps=40", folder=folder)
    program.run(name, "run.steps=40", "output.name=gzip", "output.compression=gzip-1", "output.xyz_every=0", folder=folder)
    program.run(name, "run.steps=20", "output.name=twin", folder=folder)
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    h5, xyz = whole["run.h5"], whole["run.xyz"]
    marked = marked_for_writing(folder / "gzip.h5")
    checks.that(marked != whole["gzip.h5"], "there is no mark")
    cases = [("run", {}, [], 0), ("run", {}, ["output.xyz_velocities=on"], 2), ("run", {}, ["output.unwrapped=on"], 2),
             ("run", {}, ["output.images_every=0"], 2), ("run", {"run.xyz": whole["twin.xyz"]}, [], 2),
             ("run", {"run.xyz": xyz[:len(xyz) // 2]}, [], 2), ("run", {"run.h5": whole["twin.h5"]}, [], 2),
             ("run", {"run.h5": b"no trajectory"}, [], 2), ("run", {"run.h5": h5[:len(h5) // 2]}, [], 2), ("gzip", {}, [], 0),
             ("gzip", {"gzip.h5": marked}, [], 0),
             ("gzip", {"gzip.h5": marked}, ["output.images_every=0"], 2)]
    for run, harm, words, code in cases:
        what = f"{run} with {words}, {sorted(harm)}"
        for path, content in {**whole, **harm}.items():
            (folder / path).write_bytes(content)
        told = program.run("--restart", f"{run}.restart", "run.steps=60", *words, "--check", folder=folder)
        changed = [path for path, content in {**whole, **harm}.items() if (folder / path).read_bytes() != content]
        checks.that(not changed and len(list(folder.iterdir())) == len(whole), f"{what}: the check changes {changed}")
        done = resume(folder, run, "run.steps=60", *words)
        checks.that(done.code == code, f"{what}: {done.code} {done.last_lines()}")
        checks.that(told.code == done.code and (not code or told.stdout == ""),
                    f"{what}: the check says {told.code} {told.stderr}, the run {done.code} {done.stderr}")
        for path in folder.iterdir():
            path.unlink()


def test_left_alone(checks, folder):
    """A run that is refused leaves all its files as they are."""
    name = deck(folder, "run", output={"xyz_every": 10})
    program.run(name, "run.steps=40", folder=folder)
    (folder / "run.xyz").write_text("".join((folder / "run.xyz").read_text().splitlines(True)[:2 * 258]))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for words in ([], ["--restart", "run.restart.prev"]):  # from the older file frames would have to go
        done = program.run(*(words or ["--restart", "run.restart"]), "run.steps=60", folder=folder, name="run")
        checks.that(done.code == 2 and "fewer frames" in done.stderr, f"fewer frames: {done.code} {done.last_lines()}")
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        checks.that(not changed, f"refused, and {changed} are others")


def test_existing(checks, folder):
    """output.existing holds for files that the resumed run did not have."""
    name = deck(folder, "run")
    program.run(name, "run.steps=40", folder=folder)
    (folder / "run.xyz").write_text("mine")
    done = resume(folder, "run", "run.steps=60", "output.xyz_every=10", "output.existing=refuse")
    checks.that(done.code == 2 and "run.xyz" in done.stderr, f"refuse: {done.code} {done.last_lines()}")
    done = resume(folder, "run", "run.steps=60", "output.xyz_every=10")
    checks.that(done.code == 0 and (folder / "run.1.xyz").read_text() == "mine", f"backup: {done.last_lines()}")
    kept = sorted(path.name for path in folder.glob("*.1.*"))
    checks.that(kept == ["run.1.xyz"], f"backup has moved {kept}")
    done = resume(folder, "run", "run.steps=70")
    n_frames = (folder / "run.xyz").read_text().count("Lattice")
    checks.that(done.code == 0 and n_frames == 3, f"gone on with the new file: {n_frames} frames, {done.last_lines()}")
    # A file of another run, though it has what is wanted.
    program.run(name, "run.steps=70", "output.name=twin", "output.xyz_every=10", folder=folder)
    for ending in ("h5", "xyz"):
        (folder / f"run.{ending}").rename(folder / f"away.{ending}")
        shutil.copy(folder / f"twin.{ending}", folder / f"run.{ending}")
        done = resume(folder, "run", "run.steps=80")
        checks.that(done.code == 2 and "another run" in done.stderr, f"foreign {ending}: {done.code} {done.last_lines()}")
        (folder / f"away.{ending}").rename(folder / f"run.{ending}")
    # Under another name, and in another folder, which has been moved as a whole.
    for ending in ("h5", "xyz"):
        shutil.copy(folder / f"run.{ending}", folder / f"other.{ending}")
    (folder / "other.log").write_text("of something else")
    done = resume(folder, "run", "run.steps=80", "output.name=other")
    checks.that(done.code == 0 and (folder / "other.1.log").read_text() == "of something else",
                f"another name: {done.last_lines()}")
    (folder / "moved").mkdir()
    for path in folder.glob("run.*"):
        path.rename(folder / "moved" / path.name)
    done = program.run("--restart", "run.restart", "output.directory=.", "run.steps=90", "output.existing=refuse",
                       folder=folder / "moved", name="run")
    checks.that(done.code == 0 and (folder / "moved/run.log").read_text().count("resumed  ") == 3,
                f"a folder that was moved: {done.last_lines()}")
    # A new run is not resumed from files of the one before it.
    program.run(deck(folder, "run"), "run.steps=40", folder=folder)
    checks.that((folder / "run.restart.prev").exists(), "no restart file: then this test shows nothing")
    program.run(name, "restart.every=0", "output.existing=overwrite", folder=folder)
    left = sorted(path.name for path in folder.glob("run.restart*"))
    checks.that(not left, f"overwrite leaves {left}")


def test_trace(checks, folder):
    """Each part of a run has a trace of its own; one that is made again is replaced, and nothing else."""
    name = deck(folder, "run", report={"trace": "t.json"}, output={"existing": "refuse"})
    program.run(name, "run.steps=40", folder=folder)
    first = (folder / "t.json").read_bytes()
    for attempt in range(2):
        done = resume(folder, "run", f"run.steps={60 + 10 * attempt}")
        checks.that(done.code == 0, f"resumed with a trace: {done.last_lines()}")
    done = program.run("--restart", "run.restart.prev", "run.steps=80", folder=folder, name="run")
    checks.that(done.code == 0, f"resumed once more with a trace: {done.last_lines()}")
    traces = sorted(path.name for path in folder.glob("t*.json"))
    checks.that(traces == ["t.from40.json", "t.from60.json", "t.json"], f"traces {traces}")
    checks.that((folder / "t.json").read_bytes() == first, "the trace of the first part is another")
    for trace, last in (("t.json", 40), ("t.from40.json", 60), ("t.from60.json", 80)):
        events = json.loads((folder / trace).read_text())["traceEvents"]
        steps = [event["args"]["step"] for event in events if "step" in event.get("args", {})]
        checks.that(steps and max(steps) == last, f"{trace}: the last step is {max(steps, default=None)}, not {last}")
    (folder / "t.from80.json").write_text("mine")
    done = resume(folder, "run", "run.steps=90", "report.trace=t2.json")
    checks.that(done.code == 0 and (folder / "t2.from80.json").exists() and (folder / "t.from80.json").read_text() == "mine",
                f"a trace of another name: {done.last_lines()}")


def test_full_disk(checks, folder):
    """No room for the restart file: said at once, exit code 4, the file of before is whole and goes on."""
    name = deck(folder, "full", system={"cells": 6}, potential={"cutoff": 2.5}, neighbor={"skin": 0.3},
                output={"frames_every": 0, "velocities_every": None, "images_every": None})
    program.run(name, "output.name=whole", folder=folder)
    size = (folder / "whole.restart").stat().st_size
    program.run(name, "run.steps=40", "output.name=full", folder=folder)
    kept = (folder / "full.restart").read_bytes()
    done = program.run("--restart", "full.restart", "run.steps=60", folder=folder, name="full", file_size_limit=size // 2)
    checks.that(done.code == 4 and "full.restart.tmp" in done.stderr, f"no room: {done.code} {done.stderr}")
    checks.that((folder / "full.restart").read_bytes() == kept, "no room: the restart file is another")
    checks.that(not (folder / "full.restart.tmp").exists(), "no room: a piece of a file is left")
    done = program.run(name, "output.name=new", "restart.every=20", folder=folder, file_size_limit=size // 2)
    checks.that(done.code == 4 and len(done.stderr.splitlines()) == 1, f"no room, from the start: {done.stderr}")
    done = resume(folder, "full", "run.steps=60")
    different = restart_file.difference(folder / "whole.restart", folder / "full.restart")
    checks.that(done.code == 0 and not different, f"room again: {done.code} {different} {done.last_lines()}")
    # What is in the file already needs no room again: a run that has come far, as its restart file says, is refused for
    # what is left of it alone.
    program.run(deck(folder, "far"), folder=folder)
    found = sections(folder / "far.restart")
    n_steps, done_steps = 10**15, 10**15 - 1000
    found["run"] = struct.pack("<q", done_steps) + found["run"][8:]
    found["deck"] = re.sub(rb"(?m)^(steps *= *)60", rb"\g<1>%d" % n_steps, found["deck"])
    (folder / "far.restart").write_bytes(restart_file.compose(found))
    done = program.run("--restart", "far.restart", "--check", folder=folder)
    checks.that(done.code == 0, f"room for what is left: {done.last_lines()}")
    found["run"] = struct.pack("<q", 100) + found["run"][8:]
    (folder / "far.restart").write_bytes(restart_file.compose(found))
    done = program.run("--restart", "far.restart", "--check", folder=folder)
    checks.that(done.code == 2 and "are free" in done.stderr, f"no room for what is left: {done.last_lines()}")
    # No room for frames, and nothing to resume from: the state is kept, and goes on; only frames are lost.
    name = deck(folder, "frames", system={"cells": 6}, potential={"cutoff": 2.5}, neighbor={"skin": 0.3}, restart={"every": 0},
                output={"frames_every": 1, "thermo_every": 10, "images_every": 1, "precision": "double"})
    done = program.run(name, folder=folder, file_size_limit=1500000)
    checks.that(done.code == 4 and "mdmini --restart frames.restart" in done.stdout, f"no room for frames: {done.code} {done.last_lines()}")
    checks.that("frames before it are lost" in done.stdout, "no room for frames: the loss is not told")
    done = resume(folder, "frames")
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"room for frames again: {done.last_lines()}")
    with done.h5() as h5:
        steps = h5["particles/all/position/step"][...]
        checks.that(steps[-1] == 60 and len(steps) < 61 and (numpy.diff(steps) > 0).all(), f"frames of steps {steps}")
    different = restart_file.difference(folder / "whole.restart", folder / "frames.restart")
    checks.that(set(word.split()[0] for word in different) <= {"thermo", "run"}, f"room for frames again: {different}")


def test_generations(checks, folder):
    """Gone on from the older file, as the program offers, the older file stays until there is a new one beside it; a file
    of the same step is no older one."""
    program.run(deck(folder, "run"), "run.steps=40", folder=folder)
    restart, older = folder / "run.restart", folder / "run.restart.prev"

    def steps():
        return [restart_file.run_numbers(sections(path))[0] for path in (restart, older)]

    good = older.read_bytes()
    restart.write_bytes(restart.read_bytes()[:1000])
    done = program.run("--restart", older.name, folder=folder, name="run")
    checks.that(done.code == 0 and steps() == [40, 20] and older.read_bytes() == good,
                f"gone on from the older file: {done.last_lines()}")
    for _ in range(2):
        done = resume(folder, "run")
        checks.that(done.code == 0 and steps() == [40, 20], f"an end resumed: steps {steps()}, {done.last_lines()}")
    done = resume(folder, "run", "run.steps=50")
    checks.that(done.code == 0 and steps() == [50, 40], f"extended: steps {steps()}, {done.last_lines()}")
    # A disk that is full from the start.
    (folder / "run.restart.tmp").symlink_to("/dev/full")
    done = resume(folder, "run", "run.steps=60")
    checks.that(done.code == 4 and steps() == [50, 40], f"a full disk: {done.code}, {steps()}, {done.last_lines()}")
    checks.that(not (folder / "run.restart.tmp").is_symlink(), "a full disk: a piece of a file is left")


def main():
    checks = program.Checks()
    for test in (test_ensembles, test_every_cut, test_open_box, test_switches, test_undisturbed, test_extended,
                 test_signals, test_verification_stopped, test_close_fails, test_early_signal, test_early_signal_resumed,
                 test_second_signal, test_walltime, test_kills, test_damage, test_refusals, test_check, test_left_alone,
                 test_existing, test_trace, test_full_disk, test_generations):
        if os.environ.get("MDMINI_TEST_ONLY", test.__name__) != test.__name__:
            continue
        with program.temporary_folder() as folder:
            before, begun = checks.n_failed, time.monotonic()
            test(checks, Path(folder))
            print(f"{test.__name__}: {'passed' if checks.n_failed == before else 'FAILED'}, "
                  f"{time.monotonic() - begun:.1f} s", flush=True)
    checks.finish()


main()
