"""Runs of several processes under a launcher: started with a time limit, met on their way, compared with a run of one."""
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import h5py
import numpy

import program

LAUNCHER = shutil.which(os.environ.get("MDMINI_TEST_LAUNCHER") or "mpirun")  # of the MPI of the build: MPIEXEC_EXECUTABLE
# Two processors are shared by eight ranks, which Open MPI has to be told; and containers run as root. Threads would only
# take turns. For another MPI these are words without a meaning.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMP_NUM_THREADS": "1", "GOMP_SPINCOUNT": "2000",
}
RANK_NAMES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
MARK = "MDMINI_TEST_RUN"  # of all processes of one start


def why_not():
    """Why two processes cannot run together here; empty where they can."""
    if not LAUNCHER:
        return "there is no launcher, such as mpirun"
    with program.temporary_folder() as folder:
        told = run(2, "--check", folder=folder).stderr
    if "was built without MPI" in told:
        return "the program was built without MPI"
    can_start = "no deck" in told or "mdmini: error" in told
    return "" if can_start else f"{LAUNCHER} cannot start two processes here: {told.strip()[-300:]}"


def require():
    """Ends the test as skipped where two processes cannot run together."""
    why = why_not()
    if why:
        print(f"skipped: {why}")
        sys.exit(program.SKIPPED)


def is_there(pid):
    """Whether a thread of the process runs, waits or is stopped: it may have files open."""
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):  # it has ended
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                return True
    return False


class Ranks:
    """Processes that were started together: those of `arguments`, n times, or parts [(n, arguments)...]."""

    def __init__(self, parts, folder, environment=None, codes=None):
        """codes: a folder, which gets a file for each rank with its exit code."""
        self.mark, self.began, self.seen = uuid.uuid4().hex, time.monotonic(), set()
        words, n_ranks = [LAUNCHER], sum(n for n, _ in parts)
        for k, (n, arguments) in enumerate(parts):
            words += [":"] * (k > 0) + ["-n", str(n)]
            # the first one that ends with a code has the launcher kill the others: so it waits for theirs
            words += ["bash", "-c", f'rank=${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}; "$@"; echo $? >"$0/$rank"; for k in {{1..100}}; do [ $(ls "$0" | wc -l) -lt {n_ranks} ] || break; '
                      f'sleep 0.05; done; exit $(cat "$0/$rank")', str(codes)] if codes else []
            words += [program.program(), *(str(argument) for argument in arguments)]
        self.stdout, self.stderr = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.child = subprocess.Popen(words, cwd=folder, stdout=self.stdout, stderr=self.stderr, stdin=subprocess.DEVNULL,
                                      start_new_session=True,
                                      env={**os.environ, **ENVIRONMENT, **(environment or {}), MARK: self.mark})

    def processes(self):
        """The ranks that run: {rank: process}."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "environ").read_bytes().decode(errors="replace").split("\0")
                variables = dict(word.split("=", 1) for word in words if "=" in word)
                own = variables.get(MARK) == self.mark and os.path.samefile(path / "exe", program.program())
            except OSError:  # it has ended
                continue
            rank = next((variables[name] for name in RANK_NAMES if name in variables), None)
            if own and rank is not None and is_there(path.name):
                found[int(rank)] = int(path.name)
        self.seen.update(found.values())
        return found

    def wait_for_all(self, n, seconds=300):
        end = time.monotonic() + seconds
        while len(self.processes()) < n and time.monotonic() < end:
            time.sleep(0.01)
        return self.processes()

    def wait(self, folder, name, timeout):
        """The result; code None: it had not ended by then, and all of it was killed."""
        self.processes()
        try:
            code = self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
            print(self.what_they_do())
        self.kill()
        texts = []
        for stream in (self.stdout, self.stderr):
            stream.seek(0)
            texts.append(stream.read())
            stream.close()
        return program.Result(folder, name, code, *texts, 0)

    def what_they_do(self):
        """The threads of the ranks that run: state (R runs, S and D wait, T is stopped), clock ticks used (user + system), and where
        in the kernel each waits."""
        lines = []
        for rank, pid in sorted(self.processes().items()):
            for thread in sorted(Path(f"/proc/{pid}/task").glob("*")):
                try:
                    fields = (thread / "stat").read_text().rpartition(")")[2].split()
                    lines.append(f"rank {rank}, thread {thread.name}: {fields[0]}, {fields[11]} + {fields[12]}, {(thread / 'wchan').read_text()}")
                except OSError:  # it has ended
                    continue
        return "\n".join(lines)

    def kill(self):
        """All that still run, and waits until they have let go of their files."""
        for pid in self.processes().values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 30
        while any(is_there(pid) for pid in self.seen) and time.monotonic() < end:
            time.sleep(0.01)
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()


# --- GPUs --------------------------------------------------------------------------------------------------------------
# Of the emulation as many as named; of real ones as many as there are, or as are left visible. With MDMINI_SHARED_GPU=1 ranks may
# share one: it takes turns between them.

NO_GPU = {"MDMINI_EMULATOR_DEVICES": "0", "CUDA_VISIBLE_DEVICES": ""}
ONE_GPU = {"MDMINI_EMULATOR_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0", "MDMINI_SHARED_GPU": "0"}
GPUS = {"MDMINI_EMULATOR_DEVICES": "8"}
# A box that two domains of the cuda backend fit into along each axis.
PROBE = {"system": {"start": "fcc", "cells": 8, "density": 0.8442}, "run": {"backend": "cuda"}}


def runs_on_gpu():
    """Whether the cuda backend can run here."""
    with program.temporary_folder() as folder:
        return "can run here" in program.run("--check", program.write_deck(folder, "probe", **PROBE), folder=folder).stdout


# Where GPUs are emulated the build has an MPI and an NCCL for them; with real ones it is those that are installed.
STAND_INS = Path(os.environ.get("MDMINI", "")).absolute().parent / "tests/stand-ins"
PLAYS_NCCL = (STAND_INS / "libnccl.so.2").exists()
NCCL = {**GPUS, **({"LD_LIBRARY_PATH": str(STAND_INS)} if PLAYS_NCCL else {})}
CUDA_AWARE_MPI = STAND_INS / "libcuda_aware_mpi.so"
CUDA_AWARE = {"LD_PRELOAD": str(CUDA_AWARE_MPI)} if CUDA_AWARE_MPI.exists() else {}


@functools.lru_cache(None)
def transports(n):
    """What parallel.transport can be over n ranks, and the environment of each: {word: environment}. staged comes first."""
    if not runs_on_gpu():
        return {}
    found = {"staged": {}}
    with program.temporary_folder() as folder:
        deck = program.write_deck(folder, "probe", **PROBE)
        for word, environment in (("direct", GPUS), ("nccl", NCCL), ("cuda-aware", CUDA_AWARE)):
            if run(n, "--check", deck, f"parallel.transport={word}", folder=folder, **environment).code == 0:
                found[word] = environment
    return found


def require_gpu():
    """Ends the test as skipped where the cuda backend cannot run."""
    if not runs_on_gpu():
        print("skipped: the cuda backend cannot run here")
        sys.exit(program.SKIPPED)


def start(n, *arguments, folder, **environment):
    return Ranks([(n, arguments)], folder, environment)


def run(n, *arguments, folder, name=None, timeout=600, codes=None, **environment):
    """The program with these arguments over n ranks, to its end."""
    ranks = Ranks([(n, arguments)], folder, environment, codes)
    name = name or (Path(str(arguments[0])).stem if arguments else "")
    return ranks.wait(Path(folder), name, timeout)


# --- what runs leave ---------------------------------------------------------------------------------------------------

def arrays(path):
    """The numbers of a trajectory: {name: array}."""
    found = {}
    with h5py.File(path, "r") as h5:
        for root in ("particles", "observables"):
            h5[root].visititems(lambda name, item: found.__setitem__(f"{root}/{name}", item[...])
                                if isinstance(item, h5py.Dataset) else None)
    return found


def differences(a, b, energies=None):
    """What two trajectories do not have in common: particles to the bit; energies within this share of theirs, or not at all (None); 0: all
    observables to the bit."""
    first, second = arrays(a), arrays(b)
    found = sorted(first.keys() ^ second.keys())
    for name in first.keys() & second.keys():
        one, other = first[name], second[name]
        if one.shape != other.shape:
            found.append(f"{name}: {one.shape}, {other.shape}")
        elif name.startswith("observables/") and name.endswith("/value") and energies != 0:
            scale = sum(numpy.abs(first[f"observables/{part}_energy/value"]) for part in ("potential", "kinetic"))
            off = numpy.max(numpy.abs(one - other) / scale, initial=0) if energies and "energy" in name else 0
            if not off <= (energies or 0):
                found.append(f"{name}: off by {off:.2g}")
        elif one.tobytes() != other.tobytes():
            rows = numpy.argwhere(one != other)
            found.append(f"{name}: {len(rows)} of {one.size} numbers, the first at {rows[:1].tolist()}")
    return found
