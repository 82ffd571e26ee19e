"""What several processes cannot do together, and decks that no process can run: exit code 2 on every rank, the messages once, and
nothing written. Processes that belong to different runs are told apart.

Of tests/deck/bad/ every fourth deck is here: its messages over ranks are those of one process.

MDMINI_TEST_ONLY: names of tests, with commas between."""
import os
import subprocess
import sys
import zlib
from pathlib import Path

import program
import ranks
from resuming import run_tests
from test_ranks_bits import MELT, OUTPUT

SOURCE = Path(os.environ.get("MDMINI_SOURCE", Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "tests/deck"))
from test_bad_decks import arguments_of  # noqa: E402

# Arguments beside the deck; what the message says of the problem, and of the way out.
REFUSED = (
    (3, "parallel.grid=2 2 1", "2 x 2 x 1 is 4 processes, but 3 were started", "parallel.grid = auto"),
    (3, "parallel.grid=3 1 1", "sigma thick along x, and the list reaches", "at most 2 along x"),
    (2, "parallel.grid=1 1 2", "6.72 sigma are too short along z to be cut", "at most 1 along z"),
    (2, "force.kernel=cell", "force.kernel: cell does not run over several processes", "take list"),
    (2, "force.kernel=list-split", "force.kernel: list-split does not run over several processes", "take list"),
    (2, "neighbor.list=half", "neighbor.list: half does not run over several processes", "take full"),
    (2, "neighbor.write=atomic", "neighbor.write: atomic does not run over several processes", "take nonatomic"),
    (2, "neighbor.search=brute", "neighbor.search: brute does not run over several processes", "take cell"),
    (2, "force.kernel=pairs memory.sort=cell", "force.kernel: pairs does not run over several processes", "take list"),
    (2, "memory.sort=none", "memory.sort: none", "take cell"),
    (2, "report.neighbors=rows.txt", "report.neighbors: for one process only", "2 were started"),
    (2, "--bench force", "--bench measures one process", "2 were started"),
)
# The same of the cuda backend, in a box of 13.4 sigma with four cells along each axis. Where each rank has a GPU of its own:
REFUSED_BY_CUDA = (
    (2, "force.kernel=list", "force.kernel: list does not run over several processes", "take brick"),
    (2, "memory.sort=cell", "memory.sort: cell does not run over several processes", "take brick"),
    (2, "memory.sort=brick memory.brick_grid=device parallel.transport=staged", "memory.brick_grid: device does not run", "take cells"),
    (2, "memory.layout=soa", "memory.layout: soa does not run over several processes", "take vec4"),
    (2, "memory.load=ldg", "memory.load: ldg does not run over several processes", "take global"),
    (2, "memory.allocation=per-call", "memory.allocation: per-call does not run", "take once"),
    (2, "launch.persistent=on parallel.transport=staged", "launch.persistent: on does not run over several processes", "take off"),
    (2, "launch.passes=queue parallel.transport=staged", "launch.passes: queue does not run over several processes", "take kernels"),
    (2, "launch.graph=on parallel.transport=staged", "launch.graph: on does not run over several processes", "take off"),
    (2, "parallel.grid=2 2 1", "2 x 2 x 1 is 4 processes, but 2 were started", "parallel.grid = auto"),
    (5, "parallel.grid=1 5 1", "2.69 sigma thick along y, and the list reaches", "at most 4 along y"),
    (2, "parallel.grid=1 1 2", "6.72 sigma are too short along z to be cut", "at most 1 along z", "system.cells=4"),
    # room for three cells: two domains of a cell each are not as thick as they have to be
    (2, "parallel.grid=2 1 1", "2 domains as thick as the list reaches, 3.36 sigma, do not suffice along x", "1 or 3 here",
     "system.cells=6"),
    (2, "parallel.grid=auto", "no grid of 2 domains fits", "1 process would do", "system.cells=6"),
)
MANAGED = "memory.space=managed", "memory.space: managed does not run over several processes", "take device"


def errors_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith("mdmini:")]


def refused(checks, folder, n, words, what, **environment):
    """The messages of a run that every rank refuses, which has left nothing."""
    codes = folder / "codes"
    codes.mkdir(exist_ok=True)
    before = sorted(path.name for path in folder.iterdir())
    done = ranks.run(n, *words, folder=folder, codes=codes, OMPI_MCA_odls_base_sigkill_timeout="0", **environment)
    own = {int(path.name): path.read_text().strip() for path in codes.iterdir()}
    checks.that(done.code == 2 and own == {rank: "2" for rank in range(n)}, f"{what}: exit codes {done.code}, {own}")
    left = sorted(path.name for path in folder.iterdir())
    checks.that(left == before, f"{what}: left behind {set(left) ^ set(before)}")
    for path in codes.iterdir():
        path.unlink()
    return errors_of(done)


def small_deck(folder, name="melt"):
    content = {**MELT, "system": {**MELT["system"], "cells": 4}, "output": OUTPUT}
    return program.write_deck(folder, name, **content).name


def check_refusal(checks, folder, n, words, problem, way_out, **environment):
    told = refused(checks, folder, n, words, words, **environment)
    checks.that(len(told) == 1 and problem in told[0] and way_out in told[0], f"{words}: {told}")


def split(words):
    return [words] if words.startswith("parallel.grid") else words.split()  # of which the value has blanks


def test_of_ranks(checks, folder):
    """A box of 6.7 sigma, where two domains fit along x and one along y and z."""
    folder = Path(folder)
    deck = small_deck(folder)
    for n, words, problem, way_out in REFUSED:
        check_refusal(checks, folder, n, [deck, *split(words)], problem, way_out)
    for names in ([], ["branch"], ["peers", "bandwidth:triad"]):
        check_refusal(checks, folder, 2, ["--ceilings", *names], "--ceilings measures one process, and 2 were started",
                      "--ceilings peers")


def test_of_cuda(checks, folder):
    folder = Path(folder)
    deck = program.write_deck(folder, "gpu", **{**MELT, "run": {"steps": 20, "backend": "cuda"}}, output=OUTPUT).name
    # without a GPU, or without the backend: which way out it names is for the other tests
    check_refusal(checks, folder, 2, [deck], "run.backend", "cpu", **ranks.NO_GPU)
    possible = ranks.transports(2)
    if not possible:
        print("test_of_cuda: what the cuda backend refuses: not run: it cannot run here")
        check_refusal(checks, folder, 2, [deck], "run.backend", "cpu")
        return
    for n, words, problem, way_out, *more in REFUSED_BY_CUDA:
        check_refusal(checks, folder, n, [deck, *split(words), *more], problem, way_out, **ranks.GPUS)
    check_refusal(checks, folder, 2, [deck, "parallel.transport=direct"], "ranks 0 and 1 share a GPU", "take staged, or auto",
                  **ranks.ONE_GPU)
    check_refusal(checks, folder, 2, [deck, "parallel.transport=nccl"], "ranks 0 and 1 share a GPU", "take staged, or auto",
                  **{**ranks.NCCL, **ranks.ONE_GPU})
    for transport, environment in possible.items():
        words, *told = MANAGED
        if transport != "staged":
            check_refusal(checks, folder, 2, [deck, words, f"parallel.transport={transport}"], *told, **environment)
    for transport, words, *told in (("cuda-aware", "launch.graph=on", "launch.graph: on does not run", "take off"),
                                    ("nccl", "launch.passes=queue", "launch.passes: queue does not run", "take kernels")):
        if transport in possible:
            check_refusal(checks, folder, 2, [deck, *split(words), f"parallel.transport={transport}"], *told, **possible[transport])
    told = ranks.run(2, "--check", deck, folder=folder, **ranks.NO_GPU).stdout
    checks.that("domains not chosen: no GPU\n" in told, f"checked without a GPU: {told[:600]}")
    print(f"test_of_cuda: not run: {', '.join({'cuda-aware', 'nccl', 'direct'} - possible.keys()) or 'nothing'}")


def test_without(checks, folder):
    """Where the MPI is not CUDA-aware, and NCCL is not installed, or old, the emulated GPU says so; auto takes what there is."""
    if not ranks.PLAYS_NCCL or not ranks.transports(2):
        print("test_without: not run: not on the emulated GPU")
        return
    folder, apart = Path(folder), {**ranks.NCCL, "MDMINI_EMULATOR_REACH": "0"}  # GPUs that do not reach each other
    deck = program.write_deck(folder, "gpu", **{**MELT, "run": {"steps": 20, "backend": "cuda"}}, output=OUTPUT).name
    way_out = "take staged, or auto"
    hidden = {"LD_LIBRARY_PATH": str(folder / "none")}  # a real one may be installed
    (folder / "none").mkdir()
    (folder / "none/libnccl.so.2").touch()
    check_refusal(checks, folder, 2, [deck, "parallel.transport=cuda-aware"], "does not say that it is CUDA-aware", way_out)
    check_refusal(checks, folder, 2, [deck, "parallel.transport=nccl"], "NCCL cannot be loaded: ", way_out,
                  **{**ranks.GPUS, **hidden})
    check_refusal(checks, folder, 2, [deck, "parallel.transport=nccl"], "the NCCL here is too old: it needs 2.11", way_out,
                  **ranks.NCCL, NCCL_STAND_IN="old")
    for environment, chosen in (
            (ranks.NCCL, "direct: each GPU can reach the memory of all others"),
            (apart, "nccl: not direct: GPU 0 cannot reach the memory of GPU 1"),
            ({**apart, "NCCL_STAND_IN": "init"}, "staged: not direct: GPU 0 cannot reach the memory of GPU 1; not nccl: NCCL cannot join the ranks"),
            ({**ranks.GPUS, **hidden, "MDMINI_EMULATOR_IPC": "0"}, "staged: not direct: CUDA IPC does not work here; not nccl: NCCL cannot be loaded"),
            ({**apart, **hidden}, "staged: not direct: GPU 0 cannot reach the memory of GPU 1; not nccl: NCCL cannot be loaded"),
            ({**ranks.NCCL, **ranks.ONE_GPU}, "staged: not direct: ranks 0 and 1 share a GPU; not nccl: ranks 0 and 1 share a GPU"),
            ({**ranks.NCCL, **ranks.ONE_GPU, "MDMINI_SHARED_GPU": "1"}, "direct: each GPU can reach the memory of all others")):
        done = ranks.run(2, deck, "output.existing=overwrite", folder=folder, **environment)
        told = " ".join((folder / "gpu.log").read_text().split())
        checks.that(done.code == 0 and f"parallel.transport = {chosen}" in told, f"auto: not {chosen}: {done.code}, {done.last_lines()}")


def test_bad_decks(checks, folder):
    folder, bad = Path(folder), SOURCE / "tests/deck/bad"
    # Of users without rights; of one process; of a GPU; with other numbers, or one more reason, over two ranks.
    others = ("output_folder_locked", "grid_of_more_processes", "registers_too_few", "too_much_memory", "value_of_another_backend",
              "value_that_the_backend_lacks")
    chosen = [name for name in sorted({path.stem for path in bad.glob("*.expected")} - set(others)) if zlib.crc32(name.encode()) % 4 == 0]
    of_backend = {path.stem for path in bad.glob("*.txt") if "backend" in path.read_text(errors="replace")}
    for name in chosen:
        words, expected = arguments_of((bad / f"{name}.expected").read_text().splitlines(), "{here}/" + name + ".txt")
        words = [word.format(here=bad, locked=folder) for word in words]
        if name not in of_backend:  # a GPU wants larger domains than there is room for in these boxes
            words.append("run.backend=cpu")
        alone = program.run(*words, folder=folder)
        told = refused(checks, folder, 2, words, name)
        checks.that(told and told == errors_of(alone), f"{name}: of two ranks {told}, of one {errors_of(alone)}")
        missing = [line for line in expected if line not in "\n".join(told)]
        checks.that(not missing, f"{name}: not said: {missing}")
    checks.that(len(chosen) > 15, f"{len(chosen)} bad decks")


def test_processors(checks, folder):
    """More processes than processors are told that they wait for each other."""
    deck = program.write_deck(folder, "shared", **MELT).name
    allowed, two = os.sched_getaffinity(0), set(sorted(os.sched_getaffinity(0))[:2])
    try:
        os.sched_setaffinity(0, two)
        for n in (2, 3):
            done = ranks.run(n, "--check", deck, "parallel.grid=auto", folder=folder)
            told = f"{n} processes of 1 thread on the {len(two)} processor" in done.stdout
            checks.that(done.code == 0 and told == (n > len(two)), f"{n} processes, {two}: {done.stdout[:900]}")
    finally:
        os.sched_setaffinity(0, allowed)


def test_other_runs(checks, folder):
    """Different arguments are a mistake, or with MDMINI_ALONE=1 runs of their own."""
    folder = Path(folder)
    decks = [small_deck(folder, name) for name in ("a", "b")]
    parts = [(1, (deck, "run.steps=20")) for deck in decks]
    before = sorted(path.name for path in folder.iterdir())
    done = ranks.Ranks(parts, folder).wait(folder, "a", 600)
    told = errors_of(done)
    checks.that(done.code == 2 and len(told) == 1 and "different arguments" in told[0] and "MDMINI_ALONE=1" in told[0],
                f"a : b: {done.code}, {told}")
    checks.that(sorted(path.name for path in folder.iterdir()) == before, "a : b: files were written")
    done = ranks.Ranks(parts, folder, {"MDMINI_ALONE": "1"}).wait(folder, "a", 600)
    checks.that(done.code == 0 and not errors_of(done), f"MDMINI_ALONE=1: {done.code}, {done.last_lines()}")
    whole = program.run(decks[0], "run.steps=20", "output.name=whole", folder=folder, name="whole")
    for name in ("a", "b"):
        different = ranks.differences(whole.path("h5"), folder / f"{name}.h5", 0)
        checks.that(not different, f"MDMINI_ALONE=1, {name}: {different}")


def test_unknown_number(checks, folder):
    """A launcher that does not say how many it has started, as prterun, which sets less than the mpirun that is made of it: MPI is asked.
    Where it sees only one, and there are others, these say so."""
    folder, mdmini, script = Path(folder), os.environ["MDMINI"], Path(folder) / "rank.sh"
    deck, mpich_5 = small_deck(folder), program.layer("MPICH_5")
    whole = program.run(deck, "run.backend=cpu", "output.name=whole", folder=folder, name="whole")
    if "PMIX_RANK" not in subprocess.run([ranks.LAUNCHER, "-n", "1", "env"], env={**os.environ, **ranks.ENVIRONMENT},
                                         capture_output=True, text=True).stdout:
        print("test_unknown_number: not run: the launcher does not speak PMIx")
        return
    hidden = "for name in $(env | sed -n 's/^\\(%s[A-Za-z0-9_]*\\)=.*/\\1/p'); do unset $name; done\n"
    for prefix, n, joined in (("OMPI_COMM_", 2, True), ("OMPI_COMM_", 1, False), ("OMPI_", 1, False), ("OMPI_", 2, False)):
        script.write_text(f'#!/bin/sh\n{hidden % prefix}exec "{mdmini}" "$@"\n')
        script.chmod(0o755)
        os.environ["MDMINI"] = str(script)
        done = ranks.run(n, deck, "run.backend=cpu", "output.existing=overwrite", folder=folder)
        os.environ["MDMINI"] = mdmini
        told = errors_of(done)
        if n == 2 and not joined:  # so that the MPI, too, takes itself for alone
            checks.that(done.code == 2 and len(told) == 1 and "2 or more processes were started, but MPI (" in told[0] and
                        "MDMINI_ALONE=1" in told[0], f"{prefix}, {n}: {done.code}, {told}")
            continue
        different = ranks.differences(whole.path("h5"), folder / "melt.h5")
        checks.that(done.code == 0 and not told and not different and ("2 processes" in done.stdout) == joined,
                    f"{prefix}, {n}: {done.code}, {different}, {done.last_lines()}")
    if mpich_5:
        check_refusal(checks, folder, 2, [deck], "2 processes were started, but MPI (MPICH Version: 5.0.2) sees only one", "srun --mpi=pmi2",
                      LD_PRELOAD=mpich_5)


if __name__ == "__main__":
    ranks.require()
    run_tests(test_of_ranks, test_of_cuda, test_without, test_bad_decks, test_processors, test_other_runs, test_unknown_number)
