"""Frames that begin late: a run equilibrates without frames and is resumed with them. Room is planned, and checked, for the
frames that can come; they are those of a run that had frames from its start, and the check of the file finds nothing missing.

MDMINI_TEST_ variables as in support/resuming.py."""
import re
import signal
import time

import h5check
import h5py
import numpy

import program
from resuming import deck, resume, run_tests, series, start, wait_for

ALL = ["output.frames_every=5", "output.velocities_every=10", "output.forces_every=4", "output.images_every=5", "output.xyz_every=5"]
NONE = {"frames_every": 0, "velocities_every": None, "images_every": None}
DUE = {"all/position": [45, 50, 55, 60], "all_velocity/velocity": [50, 60], "all_force/force": [44, 48, 52, 56, 60]}


def equilibrate(checks, folder, name, steps=43, every=20):
    done = program.run(deck(folder, name, output=NONE, run={"steps": steps}, restart={"every": every}), folder=folder)
    checks.that(done.code == 0 and not done.path("h5").exists(), f"{name} without frames: {done.last_lines()}")


def steps_of(folder, name):
    with h5py.File(folder / f"{name}.h5", "r") as h5:
        return {element: h5[f"particles/{element}/step"][...].tolist() for element in DUE if element in h5["particles"]}


def xyz_steps(folder, name):
    return [int(step) for step in re.findall(r" step=(\d+) ", (folder / f"{name}.xyz").read_text())]


def good(checks, folder, name, what):
    problems = h5check.check(folder / f"{name}.h5")
    checks.that(not problems, f"{what}: {problems}")


def same_as_whole(checks, folder, name, what):
    """Each frame there is, but its number, that of a run with all frames."""
    whole, found = series(folder / "whole.h5"), series(folder / f"{name}.h5")
    checks.that(whole.keys() == found.keys(), f"{what}: {sorted(whole.keys() ^ found.keys())}")
    steps = {}
    for run in ("whole", name):
        with h5py.File(folder / f"{run}.h5", "r") as h5:
            steps[run] = {path: h5[f"{path.rsplit('/', 1)[0]}/step"][...] for path in found}
    for path, values in found.items():
        places = numpy.searchsorted(steps["whole"][path], steps[name][path])
        checks.that(whole[path][places].tobytes() == values.tobytes(), f"{what}: {path} differs")


def test_all_elements(checks, folder):
    """Everything that a trajectory can hold, turned on in the middle; then in two goes, one of them broken off."""
    program.run(deck(folder, "whole"), *ALL, folder=folder)
    equilibrate(checks, folder, "late")
    done = resume(folder, "late", "run.steps=60", *ALL)
    checks.that(done.code == 0 and re.search(r"trajectory 4 frames, ", done.stdout), f"late: {done.last_lines()}")
    checks.that(steps_of(folder, "late") == DUE, f"late: {steps_of(folder, 'late')}")
    checks.that(xyz_steps(folder, "late") == DUE["all/position"], f"XYZ: {xyz_steps(folder, 'late')}")
    good(checks, folder, "late", "late")
    same_as_whole(checks, folder, "late", "late")
    equilibrate(checks, folder, "twice")
    first = resume(folder, "twice", "run.steps=51", *ALL)
    checks.that(steps_of(folder, "twice")["all/position"] == [45, 50, 51], f"51 steps: {first.last_lines()}")
    good(checks, folder, "twice", "51 steps")
    second = resume(folder, "twice", "run.steps=60")
    checks.that(second.code == 0 and "trajectory 2 frames to come, " in second.stdout, f"twice: {second.last_lines()}")
    checks.that(steps_of(folder, "twice") == DUE, f"twice: {steps_of(folder, 'twice')}")
    good(checks, folder, "twice", "twice")
    same_as_whole(checks, folder, "twice", "twice")


def test_in_turn(checks, folder):
    """Without frames, with, without, and with others: what was due in each part is there, and nothing else."""
    equilibrate(checks, folder, "turn", steps=22)
    for steps, every, frames in ((41, 10, [30, 40, 41]), (50, 0, [30, 40, 41]), (63, 3, [30, 40, 41, 51, 54, 57, 60, 63]),
                                 (70, 10, [30, 40, 41, 51, 54, 57, 60, 63, 70])):
        done = resume(folder, "turn", f"run.steps={steps}", f"output.frames_every={every}")
        checks.that(done.code == 0, f"to step {steps}: {done.last_lines()}")
        found = steps_of(folder, "turn")["all/position"]
        checks.that(found == frames, f"to step {steps}: {found}, not {frames}")
        good(checks, folder, "turn", f"to step {steps}")
    # Velocities that begin late in a file that has positions.
    done = resume(folder, "turn", "run.steps=81", "output.velocities_every=4")
    found = steps_of(folder, "turn")
    checks.that(found["all_velocity/velocity"] == [72, 76, 80, 81], f"velocities: {found} {done.last_lines()}")
    good(checks, folder, "turn", "velocities late")


def test_velocities_first(checks, folder):
    """Velocities that come before the first late frame of positions stay, too."""
    equilibrate(checks, folder, "first", steps=22)
    words = ["run.steps=60", "output.frames_every=50", "output.velocities_every=4", "restart.every=34"]
    resume(folder, "first", *words)
    whole = steps_of(folder, "first")
    checks.that(whole == {"all/position": [50, 60], "all_velocity/velocity": list(range(24, 61, 4))}, f"at once: {whole}")
    done = program.run("--restart", "first.restart.prev", folder=folder, name="first")
    checks.that(done.code == 0 and steps_of(folder, "first") == whole, f"{steps_of(folder, 'first')} {done.last_lines()}")
    good(checks, folder, "first", "velocities first")
    (folder / "first.h5").unlink()
    done = program.run("--restart", "first.restart.prev", folder=folder, name="first")
    found = steps_of(folder, "first")
    checks.that(done.code == 0 and found == {"all/position": [50, 60], "all_velocity/velocity": list(range(36, 61, 4))},
                f"without the file: {found} {done.last_lines()}")
    good(checks, folder, "first", "without the file")


def test_room(checks, folder):
    """Ten frames after three thousand steps: the file is as long as they are, and no more room is asked for."""
    equilibrate(checks, folder, "room", steps=3000, every=3000)
    words = ["run.steps=3100", "output.frames_every=10"]
    checked = resume(folder, "room", "--check", *words)
    checks.that("trajectory 10 frames, 30.0 KiB" in checked.stdout, f"check: {checked.last_lines()}")
    done = resume(folder, "room", *words)
    checks.that(done.code == 0, f"ten frames: {done.last_lines()}")
    size = done.path("h5").stat().st_size
    checks.that(size < 400000, f"ten frames of 3 KiB make a file of {size} bytes")
    good(checks, folder, "room", "ten frames")
    # More than a disk holds is refused; how much is said in a unit that shows it.
    done = resume(folder, "room", "run.steps=1000000000000", "output.frames_every=1")
    text = re.search(r"frames.* need ([0-9.]+) ([PT]iB), but ([0-9.]+) [KMGTP]iB are free in (/\S+):", done.stderr)
    checks.that(done.code == 2 and text and text[4] == str(folder.resolve()), f"too many: {done.code} {done.stderr}")
    checks.that(text and text[2] == "PiB" and abs(float(text[1]) - 3072e12 / 2**50) < 0.01, f"too many: {done.stderr}")


def test_killed(checks, folder):
    """A file that began late is recovered after a kill, and the run goes on with it."""
    equilibrate(checks, folder, "killed")
    (folder / "killed.restart.prev").unlink()
    run = start(folder, "--restart", "killed.restart", "run.steps=1000000", "output.frames_every=50", "restart.every=500",
                "output.velocities_every=50", "output.commit_frames=1", "output.compression=gzip-1")
    checks.that(wait_for(folder / "killed.restart.prev"), "no restart file")
    time.sleep(0.2)
    run.send_signal(signal.SIGKILL)
    run.wait()
    done = program.run("--recover", "killed.h5", folder=folder)
    checks.that(done.code == 0, f"recovery: {done.last_lines()}")
    good(checks, folder, "killed", "recovered")
    step = int(re.search(r"the last of step (\d+)", done.stdout)[1])
    done = resume(folder, "killed", f"run.steps={step + 100}")
    found = steps_of(folder, "killed")["all/position"]
    checks.that(done.code == 0 and found == list(range(50, step + 101, 50)), f"resumed: {found} {done.last_lines()}")
    good(checks, folder, "killed", "resumed")


run_tests(test_all_elements, test_in_turn, test_velocities_first, test_room, test_killed)
