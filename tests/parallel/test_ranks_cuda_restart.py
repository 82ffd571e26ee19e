"""Restart files and frames of the cuda backend over several ranks, by all transports: the bits of a run that never stopped on the same
grid; on another one, or with another backend, a run that passes, and that does not claim those bits.

MDMINI_TEST_ONLY: names of tests, with commas between."""
import program
import ranks
from resuming import resume, run_tests, same_end
from test_ranks_bits import MELT, OUTPUT
from test_ranks_frames import APART, LONE
from test_ranks_restart import begin, same_particles

BITS = "the bits are those of a run that never stopped"
OFTEN = {"frames_every": 5, "velocities_every": 5, "images_every": 5, "forces_every": 0, "thermo_every": 5}
TWO_TYPES = {**MELT["system"], "types": 2, "fractions": "0.5 0.5", "masses": "1 2"}
BY_ALL, WITH_XYZ = "parallel.frames=all", "output.xyz_every=10 output.xyz_velocities=velo"
ALIKE = ("memory.sort=brick", "memory.brick_grid=cells")  # the same bricks in all runs: auto may take others with direct, or on a large GPU
GRIDS = {1: ["parallel.grid=auto"], 2: ["parallel.grid=2 1 1"], 4: ["parallel.grid=1 2 2"]}


def deck(folder, name, **output):
    content = {**MELT, "system": TWO_TYPES, "run": {"steps": 60, "backend": "cuda"}, "restart": {"every": 20},
               "output": {**OUTPUT, **OFTEN, **output}}
    return program.write_deck(folder, name, **content).name


def words_of(n, backend, transport):
    return [*GRIDS[n], f"run.backend={backend}", *([f"parallel.transport={transport}"] if n > 1 and backend == "cuda" else [])]


def go_on(folder, n, name, *words):
    return ranks.run(n, "--restart", f"{name}.restart", *words, folder=folder, name=name) if n > 1 else resume(folder, name, *words)


def stop_and_go_on(checks, folder, name, before, after, transport, backends=("cuda", "cuda")):
    """Stopped at step 33 and resumed to step 60; the log of that, None where it failed."""
    what = f"{before} -> {after}, {transport}, {' -> '.join(backends)}"
    first = begin(folder, before, name, "part", "run.steps=33", *words_of(before, backends[0], transport))
    if not checks.that(first.code == 0, f"{what}: {first.code}, {first.last_lines()}"):
        return None
    done = go_on(folder, after, "part", "run.steps=60", *words_of(after, backends[1], transport))
    if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.code}, {done.last_lines()}"):
        return None
    return " ".join((folder / "part.log").read_text().split())  # it has lines of limited width


def test_same_grid(checks, folder):
    """On the same grid all is the same: restart file, frames, thermo rows, verdict."""
    name = deck(folder, "small")
    for transport in ranks.transports(2):
        whole = begin(folder, 2, name, "whole", *words_of(2, "cuda", transport))
        log = stop_and_go_on(checks, folder, name, 2, 2, transport)
        if checks.that(whole.code == 0 and log, f"2 -> 2, {transport}: {whole.last_lines()}"):
            same_end(checks, folder, "whole", "part", f"2 -> 2, {transport}")
            checks.that(BITS in log, f"2 -> 2, {transport}: does not say that {BITS}")


def test_other_grids(checks, folder):
    """Each divides its part of the box into bricks of its own."""
    name = deck(folder, "small")
    for k, (before, after) in enumerate(((2, 1), (1, 2), (2, 4), (4, 2))):
        possible = list(ranks.transports(max(before, after)))
        log = stop_and_go_on(checks, folder, name, before, after, possible[k % len(possible)])
        checks.that(log and BITS not in log, f"{before} -> {after}: says that {BITS}")


def test_rounded_bricks(checks, folder):
    """Three cells along x in each of two ranks take two bricks of two cells: together four, where the six cells of one rank take three."""
    content = {**MELT, "system": {**MELT["system"], "cells": "12 6 6"}, "run": {"steps": 60, "backend": "cuda"}, "restart": {"every": 20},
               "memory": {"sort": "brick", "brick_grid": "cells", "brick_cells": 2}, "force": {"kernel": "brick"}, "output": {**OUTPUT, **OFTEN}}
    name = program.write_deck(folder, "odd", **content).name
    for after in (2, 1):
        stop_and_go_on(checks, folder, name, 2, after, "staged")


def test_other_backend(checks, folder):
    name = deck(folder, "small")
    possible = list(ranks.transports(2))
    for k, (before, after, *backends) in enumerate(((2, 2, "cpu", "cuda"), (2, 2, "cuda", "cpu"), (4, 2, "cpu", "cuda"), (2, 4, "cuda", "cpu"))):
        for transport in {possible[k], possible[-1 - k]} if before == after and len(possible) > k else ["staged"]:
            log = stop_and_go_on(checks, folder, name, before, after, transport, backends)
            checks.that(log and BITS not in log, f"{before} -> {after}, {' -> '.join(backends)}: says that {BITS}")


def test_frames(checks, folder):
    """All quantities, packed by each kernel, into each kind of host memory, written by rank 0 or by all: the same numbers."""
    name = deck(folder, "frames", forces_every=5, precision="double")
    possible = list(ranks.transports(2).items())
    ways = ("output.pack=padded output.host_memory=pinned", "output.pack=naive output.host_memory=pageable",
            "output.pack=padded output.host_memory=mapped", "output.pack=naive output.host_memory=mapped output.pipeline=off",
            "output.pack=padded output.host_memory=pageable output.slots=1", "output.pack=padded output.host_memory=mapped output.slots=1",
            "output.pack=naive output.host_memory=pinned output.slots=1")
    first = None
    for k, way in enumerate(ways):
        files = WITH_XYZ if k < 5 else BY_ALL
        transport, environment = possible[k % len(possible)]
        done = ranks.run(2, name, *way.split(), *files.split(), *ALIKE, *words_of(2, "cuda", transport), f"output.name=way{k}",
                         "restart.every=0", folder=folder, name=f"way{k}", **environment)
        if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{way}, {transport}: {done.last_lines()}"):
            continue
        first = first or f"way{k}"
        same_particles(checks, folder, first, f"way{k}", f"{way}, {transport}")
        if files == BY_ALL:
            continue
        lines = [[line for line in (folder / f"{run}.xyz").read_text().splitlines() if "Lattice" not in line]
                 for run in (first, f"way{k}")]
        checks.that(lines[0] == lines[1] and len(lines[0]) > 6 * 2048, f"{way}, {transport}: the XYZ files differ")


def test_no_ids(checks, folder):
    """Some ranks have no atom, and others no ids: they write nothing."""
    name = program.write_deck(folder, "lone", **{**LONE, "run": {"steps": 60, "backend": "cuda"}}, output={**OUTPUT, **APART}).name
    one = begin(folder, 1, name, "one", *ALIKE)
    for n in (2, 4):
        for transport, environment in ranks.transports(n).items():
            done = ranks.run(n, name, BY_ALL, *ALIKE, f"parallel.transport={transport}", f"output.name={transport}",
                             "output.existing=overwrite", folder=folder, name=transport, **environment)
            if checks.that(one.code == done.code == 0, f"{n}, {transport}: {one.last_lines()} {done.last_lines()}"):
                same_particles(checks, folder, "one", transport, f"{n}, {transport}")


if __name__ == "__main__":
    ranks.require()
    ranks.require_gpu()
    ranks.ENVIRONMENT.update({**ranks.NCCL, **ranks.CUDA_AWARE})
    run_tests(test_same_grid, test_other_grids, test_rounded_bricks, test_other_backend, test_frames, test_no_ids)
