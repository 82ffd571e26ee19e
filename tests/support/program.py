"""Runs the program under test ($MDMINI) in a folder of its own and reads what it leaves."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import h5py
import numpy

SKIPPED = 77


def program():
    path = os.environ.get("MDMINI")
    if not path or not os.access(path, os.X_OK):
        sys.exit("set MDMINI to the program to be tested (ctest does)")
    return path


def layer(name):
    """The library that the environment names, for LD_PRELOAD; None, with the reason, where it is not built."""
    path = os.environ.get(name)
    if path and os.path.exists(path):
        return path
    print(f"not run: what needs {name}, which is not built: sanitizers want LD_PRELOAD for themselves")
    return None


class Result:
    """Exit code, text, and what the run NAME left in its folder."""

    def __init__(self, folder, name, code, stdout, stderr, peak_bytes):
        self.folder = Path(folder)
        self.name = name
        self.code = code
        self.raw = stdout + stderr
        self.stdout = stdout.decode(errors="replace")
        self.stderr = stderr.decode(errors="replace")
        self.peak_bytes = peak_bytes  # largest resident set of this run

    def path(self, ending):
        return self.folder / f"{self.name}.{ending}"

    def json(self):
        return json.loads(self.path("json").read_text())

    def h5(self):
        return h5py.File(self.path("h5"), "r")

    def last_lines(self):
        errors = [line for line in self.stderr.splitlines() if line.startswith("mdmini: error")]  # a launcher adds many lines
        return "\n".join([*errors[:3], self.stdout[-600:], self.stderr[-600:]]).strip()


def run(*arguments, folder, name=None, timeout=600, file_size_limit=None, compiles=False):
    """Runs the program with these arguments in the folder. name: of its output files, the first deck's by default;
    file_size_limit: bytes that it can write to one file, as on a disk that is full; compiles: its kernels, though they are kept."""
    words = [str(argument) for argument in arguments]

    environment = {**os.environ, "MDMINI_KERNEL_CACHE": ""} if compiles else None

    def limit():
        if file_size_limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, file_size_limit))

    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = subprocess.Popen([program(), *words], cwd=folder, stdout=stdout, stderr=stderr,
                                 stdin=subprocess.DEVNULL, preexec_fn=limit, env=environment)
        watch = threading.Timer(timeout, child.kill)
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)  # the usage of this child alone
        watch.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read())
    name = name or (Path(words[0]).stem if words else "")
    return Result(folder, name, child.returncode, *texts, usage.ru_maxrss * 1024)  # Linux counts in KiB


def processor_seconds(pid):
    """What a process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(holds, what, seconds=300):
    """Ends the test where holds() is still false after that time, which is far away."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"FAILED: {what}: not after {seconds} s")
        time.sleep(0.005)


def wait_until_asleep(pid):
    """Until the process waits in the kernel, as for its input: a number of looks in a row. Or has ended."""
    looks = []

    def is_asleep():
        time.sleep(0.02)
        try:
            looks.append(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0])
        except FileNotFoundError:
            looks.append("Z")
        return looks[-5:] == ["S"] * 5 or looks[-1] == "Z"

    wait_until(is_asleep, "the program waits for its input")


def write_deck(folder, name, **sections):
    """A deck NAME.txt: sections as keyword arguments, each a dictionary of keys."""
    lines = []
    for section, keys in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {value}" for key, value in keys.items()]
    path = Path(folder) / f"{name}.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


class Frame:
    """One frame of a trajectory: arrays by id, and the observables of its step."""

    def __init__(self, h5, k):
        particles = h5["particles/all"]
        self.step = int(particles["position/step"][k])
        self.position = particles["position/value"][k].astype(float)
        self.velocity = particles["velocity/value"][k].astype(float) if "velocity" in particles else None
        self.edges = numpy.diag(particles["box/edges/value"][k]) if "edges" in particles["box"] else None  # no box: all is open
        self.species = numpy.asarray(particles["species"] if isinstance(particles["species"], h5py.Dataset)
                                     else particles["species/value"][k])
        self.observables = {key: float(h5["observables"][key]["value"][k]) for key in h5["observables"]}


class Checks:
    """Counts checks; a failed one is printed with what was seen."""

    def __init__(self):
        self.n_checks = self.n_failed = 0

    def that(self, holds, what):
        self.n_checks += 1
        if not holds:
            self.n_failed += 1
            print(f"FAILED: {what}", flush=True)
            if os.environ.get("MDMINI_TEST_STOP"):
                sys.exit(1)
        return bool(holds)

    def near(self, value, expected, tolerance, what):
        off = abs(value - expected)
        return self.that(off <= tolerance,
                         f"{what}: {value!r}, expected {expected!r} within {tolerance:.3g}, off by {off:.3g}")

    def run(self, *tests):
        """test(checks, folder): each in a folder of its own, with a line that says how it went."""
        for test in tests:
            with temporary_folder() as folder:
                before = self.n_failed
                test(self, folder)
                print(f"{test.__name__}: {'passed' if self.n_failed == before else 'FAILED'}", flush=True)

    def finish(self):
        print(f"{self.n_checks} checks, {self.n_failed} failed")
        sys.exit(1 if self.n_failed or not self.n_checks else 0)


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="mdmini-test-")
