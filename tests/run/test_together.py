"""What other programs do with the files of a run: a notebook that has its trajectory open, and runs of the same name that are
started together. Nothing is ever lost, and who has to give way is told before anything is touched.

MDMINI_TEST_ variables as in support/resuming.py."""
import errno
import fcntl
import hashlib
import json
import os
import re
import signal
import subprocess
import sys

import h5check
import h5py

import program
from resuming import deck, resume, run_tests, wait_for


def contents(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_reader(checks, folder):
    """A trajectory that is open in a notebook: not written over and not gone on with; renamed it may be."""
    name = deck(folder, "m")
    words = ["system.seed=5", "run.steps=80"]
    program.run(name, folder=folder)
    for compression in ("none", "gzip-1"):
        program.run(name, "output.existing=overwrite", f"output.compression={compression}", folder=folder)
        before = contents(folder)
        with h5py.File(folder / "m.h5", "r") as h5:
            seen = h5["particles/all/position/value"][...]
            for check in ([], ["--check"]):
                for what, line in {"overwrite": [name, *words, "output.existing=overwrite"],
                                   "restart": ["--restart", "m.restart", "run.steps=80"],
                                   "copy": ["--restart", "m.restart", "run.steps=80", "output.velocities_every=7"]}.items():
                    done = program.run(*check, *line, folder=folder, name="m")
                    told = "m.h5: is open in another program: close it there" in done.stderr
                    checks.that(done.code == 2 and told, f"{compression}, {check} {what}: {done.code} {done.stderr}")
                    checks.that(contents(folder) == before, f"{compression}, {check} {what}: files were touched")
            # Without the trajectory it can go on, and be checked.
            done = program.run("--check", "--restart", "m.restart", "output.frames_every=0", "output.velocities_every=0",
                               "output.images_every=0", folder=folder)
            checks.that("is open in" not in done.stderr, f"{compression}, without frames: {done.stderr}")
        done = program.run("--restart", "m.restart", "run.steps=80", folder=folder, name="m")
        checks.that(done.code == 0, f"{compression}: closed, it goes on: {done.last_lines()}")
        with h5py.File(folder / "m.h5", "r") as h5:
            seen = h5["particles/all/position/value"][...]
            before = contents(folder)
            done = program.run(name, *words, folder=folder)
            checks.that(done.code == 0, f"{compression}, backup: {done.last_lines()}")
            again = h5["particles/all/position/value"][...]
            checks.that(seen.tobytes() == again.tobytes(), f"{compression}: the reader sees something else")
            number = re.search(r"-> m\.(\d+)\.\*", done.stdout)
            moved = folder / f"m.{number[1]}.h5" if number else folder / "none"
            checks.that(moved.exists() and contents(folder)[moved.name] == before["m.h5"], f"{compression}: m.h5 is not {moved}")


def test_not_locked(checks, folder):
    """Where HDF5 is told not to lock, nobody is asked: a reader that locks nothing and one that does are the same."""
    name = deck(folder, "m")
    program.run(name, folder=folder)
    with h5py.File(folder / "m.h5", "r"):
        for choice in ("FALSE", "BEST_EFFORT", "TRUE"):
            child = subprocess.run([program.program(), name, "output.existing=overwrite"], cwd=folder, capture_output=True, text=True,
                                   env={**os.environ, "HDF5_USE_FILE_LOCKING": choice})
            expected = 0 if choice == "FALSE" else 2
            checks.that(child.returncode == expected, f"{choice}: {child.returncode} {child.stderr}")


def test_recovery_of_open_file(checks, folder):
    """--recover reads a file that is open in a notebook, and leaves it alone where it would have to mend it."""
    program.run(deck(folder, "m"), folder=folder)
    path = folder / "m.h5"
    with h5py.File(path, "r"):
        done = program.run("--recover", "m.h5", folder=folder)
        checks.that(done.code == 0 and "in good order" in done.stdout, f"whole: {done.last_lines()}")
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 4096)
    before = contents(folder)
    with open(path, "rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)  # as HDF5 does
        done = program.run("--recover", "m.h5", folder=folder)
    checks.that(done.code == 2 and "is open in another program" in done.stderr, f"cut short: {done.code} {done.stderr}")
    checks.that(contents(folder) == before, "cut short: it was touched")


def without_locks(folder, words, flock=None, locks=None, **more):
    """A child on a file system that refuses flock, or the locks of fcntl, with this errno."""
    given = {"MDMINI_TEST_FLOCK": flock, "MDMINI_TEST_FCNTL": locks}
    environment = {key: str(value) for key, value in given.items() if value}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "LD_PRELOAD": os.environ["NO_LOCKS"], **environment, **more})


def test_no_locks(checks, folder):
    """A file system without locks: the run works and says so; what cannot work is refused before a file is made. A file system that
    has locks still gets them."""
    if not program.layer("NO_LOCKS"):
        return
    name = deck(folder, "m", output={"existing": "overwrite"})
    before, note = contents(folder), "locks     the file system has none ("
    for flock, locks in ((errno.ENOLCK, None), (errno.EOPNOTSUPP, errno.EOPNOTSUPP), (errno.ENOSYS, errno.ENOSYS), (None, errno.ENOLCK)):
        what = f"flock {flock}, fcntl {locks}"
        for choice in ("TRUE", "BEST_EFFORT") if flock != errno.ENOSYS else ("TRUE",):
            for check in ([], ["--check"]):
                done = without_locks(folder, [program.program(), *check, name], flock, locks, HDF5_USE_FILE_LOCKING=choice)
                told = "m.h5: its file system has no locks" in done.stderr and f"HDF5_USE_FILE_LOCKING={choice}" in done.stderr
                checks.that(done.returncode == 2 and told, f"{what}, {check} {choice}: {done.returncode} {done.stderr}")
        done = without_locks(folder, [program.program(), "--check", name], flock, locks)
        checks.that(done.returncode == 0 and f"# {note}" in done.stdout, f"{what}, --check: {done.returncode} {done.stdout} {done.stderr}")
        checks.that(contents(folder) == before, f"{what}: files were made: {list(folder.iterdir())}")
        for compression in ("none", "gzip-1"):
            for words in ([name, f"output.compression={compression}"], ["--restart", "m.restart", "run.steps=80"]):
                done = without_locks(folder, [program.program(), *words], flock, locks)
                checks.that(done.returncode == 0 and note in done.stdout, f"{what}, {words}: {done.returncode} {done.stderr}")
            checks.that(not h5check.check(folder / "m.h5"), f"{what}: {h5check.check(folder / 'm.h5')}")
        done = without_locks(folder, [program.program(), "--recover", "m.h5"], flock, locks)
        checks.that(done.returncode == 0 and "in good order" in done.stdout, f"{what}, --recover: {done.stderr}")
        if flock in (errno.ENOLCK, errno.EOPNOTSUPP):
            done = without_locks(folder, [program.program(), "--recover", "m.h5"], flock, locks, HDF5_USE_FILE_LOCKING="TRUE")
            checks.that(done.returncode == 2 and "HDF5_USE_FILE_LOCKING=TRUE" in done.stderr, f"{what}, --recover: {done.stderr}")
            for tool in ("h5check", "plot"):
                done = without_locks(folder, [sys.executable, os.path.join(os.environ["MDMINI_SOURCE"], "tools", f"{tool}.py"), "m.h5"], flock)
                told = "HDF5_USE_FILE_LOCKING=FALSE" in done.stdout + done.stderr
                checks.that(done.returncode != 0 and told, f"{what}, {tool}.py: {done.returncode} {done.stdout} {done.stderr}")
        for path in folder.glob("m.*"):
            if path.name != name:
                path.unlink()
    first = subprocess.Popen([program.program(), name, "run.steps=1000000"], cwd=folder, stdout=subprocess.PIPE, text=True)
    checks.that(wait_for(folder / "m.restart"), "no restart file")
    with open(folder / "m.h5", "rb") as reader:
        try:
            fcntl.flock(reader, fcntl.LOCK_SH | fcntl.LOCK_NB)
            checks.that(False, "HDF5 does not lock a file that it writes")
        except BlockingIOError:
            pass
    first.send_signal(signal.SIGTERM)
    checks.that(note not in first.communicate(timeout=600)[0], "locks that are there are told as missing")


def start_together(folder, words, n):
    jobs = [subprocess.Popen([program.program(), *line], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for line in (words(k) for k in range(n))]
    return [(job.communicate(), job.returncode) for job in jobs]


def run_ids(folder):
    """{ending of the backup: run_ids of report, log's seed and trajectory} of each set of files that there is."""
    found = {}
    for path in folder.glob("m*.json"):
        stem = path.name[:-len(".json")]
        with h5py.File(folder / f"{stem}.h5", "r") as h5:
            of_h5 = h5["parameters/mdmini"].attrs["run_id"].decode()
        found[stem] = (json.loads(path.read_text())["run_id"], of_h5, (folder / f"{stem}.log").exists())
    return found


def test_together(checks, folder):
    """Eight runs of one name at once: who comes second is refused, and each that ended has all its files."""
    name = deck(folder, "m", run={"steps": 400, "backend": "cpu", "threads": 1})
    for turn, existing in enumerate(["backup", "overwrite", "refuse"] * 3):
        for path in folder.glob("m.*"):
            if path.name != name:
                path.unlink()
        ended = start_together(folder, lambda k: [name, f"system.seed={k + 1}", f"output.existing={existing}"], 8)
        codes = [code for _, code in ended]
        what = f"{turn}, {existing}: {codes}"
        n_done = codes.count(0)
        checks.that(n_done >= 1 and n_done + codes.count(2) == 8, f"{what}: {[said[1] for said, code in ended if code not in (0, 2)]}")
        checks.that(existing != "refuse" or n_done == 1, f"{what}: two ran")
        sets = run_ids(folder)
        checks.that(len(sets) == (n_done if existing == "backup" else 1), f"{what}: {sets}")
        checks.that(all(of_json == of_h5 and log for of_json, of_h5, log in sets.values()), f"{what}: files are mixed: {sets}")
        for stem in sets:
            problems = h5check.check(folder / f"{stem}.h5")
            checks.that(not problems, f"{what}: {stem}.h5: {problems}")
        told = [said[1] for said, code in ended if code == 2]
        pattern = (r"m(\.restart)?\.\*: another run writes files of this name(: process \d+ on \S+)?: wait for its end|output.existing: refuse, and|"
                   r"m\.h5: is being written by a running program")  # it began between the look at the name and that at the trajectory
        checks.that(all(re.search(pattern, text) for text in told), f"{what}: {told}")
        checks.that(not list(folder.glob(".*")), f"{what}: leaves {list(folder.glob('.*'))}")


def test_shared_paths(checks, folder):
    """Runs of other names that would write one restart file, trace or list."""
    name = deck(folder, "m", run={"steps": 1000000})
    words = {"restart.file": "shared.restart", "report.trace": "shared.json", "report.neighbors": "shared.txt"}
    first = subprocess.Popen([program.program(), name, *(f"{key}={path}" for key, path in words.items())], cwd=folder,
                             stdout=subprocess.DEVNULL)
    checks.that(wait_for(folder / "shared.restart"), "no restart file")
    for key, path in words.items():
        done = program.run(name, "run.steps=20", "output.name=other", f"{key}={path}", folder=folder)
        checks.that(done.code == 2 and f"{path}.*: another run writes files of this name: process {first.pid} on " in done.stderr and
                    "if one mpirun started both" in done.stderr,
                    f"{key}: {done.code} {done.stderr}")
    done = program.run(name, "run.steps=20", "output.name=other", "restart.file=other", folder=folder)
    checks.that(done.code == 0, f"a restart file without an ending: {done.last_lines()}")
    first.send_signal(signal.SIGTERM)
    first.wait(600)
    checks.that(not list(folder.glob(".*")), f"leaves {list(folder.glob('.*'))}")


def test_after_kill(checks, folder):
    """A name that a killed run held is free; own names do not meet."""
    name = deck(folder, "m", run={"steps": 1000000})
    first = subprocess.Popen([program.program(), name], cwd=folder, stdout=subprocess.DEVNULL)
    checks.that(wait_for(folder / "m.restart"), "no restart file")
    done = program.run("--restart", "m.restart", folder=folder)
    checks.that(done.code == 2 and f"process {first.pid} on " in done.stderr, f"goes on: {done.code} {done.stderr}")
    done = program.run(name, "output.name=other", "run.steps=20", "restart.file=m.restart", folder=folder)
    checks.that(done.code == 2 and f"process {first.pid} on " in done.stderr, f"its restart file: {done.code} {done.stderr}")
    done = program.run(name, "output.name=other", "run.steps=20", folder=folder)
    checks.that(done.code == 0, f"another name: {done.last_lines()}")
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = program.run(name, "run.steps=20", folder=folder)
    checks.that(done.code == 0 and "existing m.h5" in done.stdout, f"after a kill: {done.last_lines()}")
    done = resume(folder, "m", "run.steps=40")
    checks.that(done.code == 0 and not list(folder.glob(".*")), f"goes on: {list(folder.glob('.*'))} {done.last_lines()}")


run_tests(test_reader, test_not_locked, test_recovery_of_open_file, test_no_locks, test_together, test_shared_paths,
          test_after_kill)
