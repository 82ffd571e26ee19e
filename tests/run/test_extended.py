"""A run that ends leaves a restart file, so that it can be extended; or says what it was that kept it from that.

MDMINI_TEST_ variables as in support/resuming.py."""
import gzip
import re
import shutil
import subprocess

import program
import restart_file
from resuming import BACKEND, deck, resume, run_tests, same_end


def test_by_default(checks, folder):
    """The file of a run that says nothing of restart files: the log names it, and the run goes on bit by bit."""
    name = deck(folder, "m", restart={"every": None})
    program.run(name, "output.name=whole", folder=folder)
    done = program.run(name, "run.steps=40", folder=folder)
    checks.that(done.code == 0 and "to go on from here: mdmini --restart m.restart run.steps=N, N above 40" in done.stdout,
                f"default: {done.last_lines()}")
    checks.that(not (folder / "m.restart.prev").exists(), "one file is enough")
    done = resume(folder, "m", "run.steps=60")
    checks.that(done.code == 0, f"goes on: {done.last_lines()}")
    same_end(checks, folder, "whole", "m", "by default")
    # It goes where the other files of its run go.
    done = program.run(name, folder=folder)
    checks.that((folder / "m.1.restart").exists() and (folder / "m.1.json").exists(), f"backup: {done.last_lines()}")
    done = program.run(name, "output.existing=refuse", folder=folder)
    checks.that(done.code == 2 and "'m.restart' exists" in done.stderr, f"refuse: {done.stderr}")


def paste(checks, folder, command, what):
    """A command of the log or of a message, pasted into a shell: it does what it says."""
    done = subprocess.run(["sh", "-c", command.replace("mdmini ", '"$MDMINI" ', 1)], cwd=folder, capture_output=True, text=True)
    return checks.that(done.returncode == 0, f"{what}: {command}: {done.returncode} {done.stderr}")


def test_pasted(checks, folder):
    """Commands that are printed can be pasted into a shell, whatever the files are called."""
    for name in ("""my "deck"`s\\ of $HOME; *""".replace("`", "'"), "-x", "--help", "~#"):
        at = folder / f"of {name}"
        at.mkdir()
        deck(at, name, restart={"every": 10}, run={"steps": 20}, output={"frames_every": None, "velocities_every": None, "images_every": None})
        done = program.run(f"./{name}.txt", folder=at, name=name)
        hint = re.search("to go on from here: (mdmini .*) run.steps=N, ", done.stdout)
        if checks.that(hint, f"{name}: {done.last_lines()}"):
            paste(checks, at, f"{hint[1]} run.steps=40", name)
        checks.that(done.json()["n_steps"] == 40, f"{name}: it is another run that goes on")
        paste(checks, at, done.json()["provenance"]["command"], f"{name}, the command of the report")
        restart = at / f"{name}.restart"
        restart.write_bytes(restart.read_bytes()[:1000])
        done = program.run("--restart", f"./{restart.name}", folder=at)
        paste(checks, at, re.search("the one before it is there: (.*)", done.stderr)[1], f"{name}, damaged")
        (at / f"{name}.xyz").write_bytes(gzip.compress(b"no atoms\n"))
        (at / "layer").write_text("[system]\nstart = file\n")
        done = program.run("--check", "layer", f"system.file={name}.xyz", folder=at)
        checks.that("gzipped" in done.stderr, f"{name}: {done.stderr}")
        (at / f"{name}.xyz").rename(at / f"{name}.xyz.gz")
        paste(checks, at, re.search("unpack it: (.*)", done.stderr)[1].replace(".xyz", ".xyz.gz"), f"{name}, gzipped")
        checks.that((at / f"{name}.xyz").exists(), f"{name}: not unpacked")


def test_never(checks, folder):
    """None where none is wanted; who asks for it is told what to set."""
    name = deck(folder, "m", restart={"every": 0})
    done = program.run(name, folder=folder)
    checks.that(done.code == 0 and not (folder / "m.restart").exists(), f"every = 0: {done.last_lines()}")
    checks.that("cannot be extended: it left no restart file, as restart.every is 0 (m.txt:" in done.stdout, f"{done.stdout[-400:]}")
    done = resume(folder, "m", "run.steps=80")
    checks.that(done.code == 2 and "m.restart: No such file" in done.stderr and "restart.every" in done.stderr, done.stderr)


def test_failed(checks, folder):
    """What blew up leaves none of its end; the one of a run that failed its checks is there, but is not recommended."""
    name = deck(folder, "m", restart={"every": None}, run={"steps": 2000, "timestep": 0.05})
    done = program.run(name, folder=folder)
    checks.that(done.code == 3 and "to go on from here" not in done.stdout, f"failed: {done.code} {done.last_lines()}")


def test_no_room_at_the_end(checks, folder):
    """A run that is complete but for its last restart file: the verdict stands, and the exit code is that of lost output."""
    name = deck(folder, "m", restart={"every": None}, system={"cells": 8}, run={"steps": 20},
                output={"frames_every": 0, "velocities_every": None, "images_every": None})
    done = program.run(name, folder=folder, file_size_limit=100000)
    report = done.json()
    checks.that(done.code == 4 and "m.restart" in done.stderr and "File too large" in done.stderr, f"{done.code}: {done.stderr}")
    checks.that(report["verdict"] == "PASSED" and report["n_steps"] == 20, f"{report['verdict']} {report['n_steps']}")
    checks.that("verdict: PASSED" in done.stdout and "the run is complete, but cannot be extended" in done.raw.decode(), done.last_lines())
    checks.that(not list(folder.glob("*.restart*")), f"left: {list(folder.glob('*.restart*'))}")


def test_room(checks, folder):
    """What restart files take is asked for beforehand, with what else goes to the same disk."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", folder]).returncode:
        print("not tested: a small disk, which this user may not mount")
        return
    program.run(deck(folder, "size", restart={"every": None}, system={"cells": 8}, run={"steps": 1}), folder=folder)
    taken = len(b"".join(content for section, content in restart_file.sections(folder / "size.restart").items()
                         if section not in restart_file.BOOKS))
    n_bytes = 2048 * 104  # in mixed precision
    least = n_bytes if BACKEND == "cpu" else 0.8 * n_bytes  # lists of a GPU may keep less
    checks.that(least <= taken < n_bytes + 8192, f"the file has {taken} bytes, announced are {n_bytes}")
    for every, frames, kib, message in (("auto", 0, 256, None), ("auto", 0, 128, r"restart files need 208\.0 KiB, but"), ("0", 0, 128, None),
                                        ("1", 0, 512, r"restart files need 624\.0 KiB, but"),
                                        ("auto", 10, 256, r"restart files need 208\.0 KiB and all else 168\.0 KiB, but")):
        line = f'mount -t tmpfs -o size={kib}k none "$1" && shift && exec "$@"'
        words = [program.program(), "--check", "size.txt", "run.steps=60", "output.directory=small", f"restart.every={every}",
                 f"output.frames_every={frames}"]
        (folder / "small").mkdir(exist_ok=True)
        lines = [line for line in (folder / "size.txt").read_text().splitlines() if not re.match("(velocities|images)_every", line)]
        (folder / "size.txt").write_text("\n".join(lines) + "\n")
        child = subprocess.run(["unshare", "-rm", "sh", "-c", line, "sh", "small", *words], cwd=folder, capture_output=True, text=True)
        good = child.returncode == (2 if message else 0) and (not message or re.search(message, child.stderr))
        checks.that(good, f"every = {every}, {frames}, {kib} KiB: {child.returncode} {child.stderr}")
    # A run that goes on has two of three files already.
    for kib, message in ((300, None), (400, r"restart files need 208\.0 KiB, but")):
        first = '"$0" size.txt run.steps=40 output.directory=small restart.every=10 output.frames_every=0'
        line = f'mount -t tmpfs -o size=1024k none small && {first} && head -c {kib}k /dev/zero >small/filler && exec "$0" --check "$@"'
        child = subprocess.run(["unshare", "-rm", "sh", "-c", line, program.program(), "--restart", "small/size.restart", "run.steps=60"],
                               cwd=folder, capture_output=True, text=True)
        good = child.returncode == (2 if message else 0) and (not message or re.search(message, child.stderr))
        checks.that(good, f"resumed, {kib} KiB taken: {child.returncode} {child.stderr}")


run_tests(test_by_default, test_pasted, test_never, test_failed, test_no_room_at_the_end, test_room)
