"""The cuda backend over several ranks, on emulated GPUs or on real ones. Where domains divide the cells and bricks of the whole box
evenly, runs have the bits of one process; everywhere they pass their verification. test_ranks_cuda_edges has places and shapes
where domains are most easily wrong.

Ranks whose hosts send places (parallel.transport = staged, cuda-aware) share one emulated GPU. Those that store them in each
other's memory (direct), or send them by NCCL, have one each: on real GPUs as far as there are enough, unless MDMINI_SHARED_GPU=1 lets
them share one. The transports take turns, not all grids by all.

MDMINI_TEST_ONLY: names of tests, with commas between; MDMINI_TEST_CASE: of cases of test_bits; MDMINI_TEST_TRANSPORT: beside staged this transport alone; MDMINI_TEST_STOP=1: at the first failure."""
import itertools
import json
import os

import numpy

import program
import ranks
import test_ranks_bits as bits
import test_ranks_edges as edges
from resuming import chosen, run_tests

ONE = "launch.persistent=off"  # as several processes run
PINNED = "force.kernel=brick memory.sort=brick memory.brick_grid=cells"
MELT = {**bits.MELT, "run": {"steps": 60, "backend": "cuda"}}
HEATED = {**MELT, "ensemble": bits.HEATED["ensemble"]}
WIDE = {**MELT, "system": {**MELT["system"], "cells": 10}, "neighbor": {"skin": 0.25}}  # six cells along each axis
PLANE = {**bits.PLANE, "run": MELT["run"]}
GAS = {**MELT, "system": {**MELT["system"], "density": 0.05}}  # 12 cells along each axis; those with hardly an atom are sorted as many are
UNEVEN = {**PLANE, "system": {**PLANE["system"], "cells": "20 13"}}  # 8 by 9 cells

BY_ALL = ("memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread launch.fuse=step launch.passes=kernels "
          "parallel.frames=all output.frames_every=10 output.images_every=10 run.steps=60")

# Name, system, more of it, switches, grids.
CASES = (
    ("fused", MELT, {}, "memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=matrix launch.fuse=step "
              "launch.passes=kernels",
     ("2 1 1", "1 2 1", "1 1 2", "2 2 2")),
    ("every", MELT, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=off "
                        "run.precision=double neighbor.rebuild=every neighbor.every=5 output.pipeline=off", ("4 1 1", "1 4 2")),
    ("host", MELT, {}, "memory.brick_cells=2 force.threads_per_atom=4 neighbor.distances=thread launch.fuse=on "
                       "run.precision=single neighbor.rebuild=host-check neighbor.predict=off output.pack=naive", ("2 2 1",)),
    ("device", MELT, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=on "
                         "memory.staging=registers neighbor.predict=off force.energy=every-step", ("1 1 4",)),
    ("thirds", WIDE, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=matrix launch.passes=kernels", ("3 1 1", "1 3 2")),
    ("two", MELT, bits.TWO, "memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread reduce.method=shared "
                        "launch.passes=kernels report.counters=on",
     ("1 2 1", "2 1 2")),
    ("queue", MELT, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                        "neighbor.rebuild=every neighbor.every=3 launch.passes=queue run.steps=90", ("2 1 1", "1 2 2")),
    ("queue-safe", MELT, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                             "neighbor.rebuild=device-check launch.passes=queue run.steps=90", ("2 1 1", "1 2 2")),
    # bricks of two sizes: the order of the table is another than that of places
    ("queue2", UNEVEN, {}, "memory.brick_cells=2 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                           "neighbor.rebuild=every neighbor.every=3 launch.passes=queue", ("2 1 1",)),
    ("gas", GAS, {}, "memory.brick_cells=2 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                     "neighbor.rebuild=every neighbor.every=3 launch.passes=queue", ("2 1 1", "1 2 2")),
    # from the eighteenth list on all of one is one graph
    ("lists", MELT, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                        "neighbor.rebuild=every neighbor.every=3 launch.passes=kernels run.steps=90", ("1 1 2", "2 2 1")),
    ("lists-nccl", MELT, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                             "neighbor.rebuild=every neighbor.every=3 launch.passes=kernels run.steps=90", ("2 1 1", "1 2 2", "4 1 1")),
    ("gas-nccl", GAS, {}, "memory.brick_cells=2 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                          "neighbor.rebuild=device-check launch.passes=kernels launch.graph=off", ("1 1 2", "2 2 1")),
    # by the resident kernel: blocks that wait for those around them, also in batches of a few steps between outputs, and, of two
    # types, bricks with more atoms around them than a block keeps
    ("resident", MELT, {}, "memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread launch.fuse=step "
                           "neighbor.rebuild=every neighbor.every=5 run.steps=90", ("2 1 1", "2 2 2")),
    ("resident-safe", MELT, {}, "memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread launch.fuse=step "
                                "neighbor.rebuild=device-check run.steps=90", ("1 2 1", "2 1 2")),
    ("outputs", MELT, {}, "memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread launch.fuse=step "
                          "neighbor.rebuild=every neighbor.every=20 output.thermo_every=4 run.steps=90", ("2 1 1",)),
    ("resident2", MELT, bits.TWO, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step "
                                  "neighbor.rebuild=every neighbor.every=5 run.steps=90", ("1 2 1",)),
    # frames by all: with direct GPUs put each block together, else hosts
    ("frames", MELT, bits.TWO, BY_ALL, ("2 1 1", "1 2 1", "1 1 2")),
    ("frames-direct", MELT, bits.TWO, BY_ALL, ("2 1 1", "1 2 2")),
    # velocities follow from sums, which are the same for any grid
    ("thermostat", HEATED, {}, "memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread launch.fuse=step "
                               "launch.passes=kernels reduce.accumulate=reproducible", ("2 1 1", "1 2 2")),
    ("thermostat2", HEATED, bits.TWO, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=on "
                                      "reduce.method=shared reduce.finish=atomic run.precision=single reduce.accumulate=reproducible",
     ("2 2 1",)),
    ("plane", PLANE, {}, "memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.passes=kernels", ("2 1 1", "5 2 1")),
)
# By one transport alone, with these words.
BY = {**{name: ("direct", []) for name in ("queue", "queue-safe", "queue2", "gas", "lists", "frames-direct")},
      **{name: ("direct", ["launch.persistent=on"]) for name in ("resident", "resident-safe", "outputs", "resident2")},
      "lists-nccl": ("nccl", ["launch.graph=on"]), "gas-nccl": ("nccl", [])}

turn = itertools.count()


def ways(grid, switches=()):
    """How places can travel: (words, environment) each, staged first. Steps go in graphs where nothing needs the host; messages of
    NCCL are others without them."""
    only = os.environ.get("MDMINI_TEST_TRANSPORT")
    waits = {"neighbor.rebuild=host-check", "force.energy=every-step", "launch.passes=queue"} & set(switches)
    found = []
    for transport, environment in ranks.transports(bits.n_domains(grid)).items():
        words = [f"parallel.transport={transport}", "parallel.timeout=30"]
        in_graph = transport in ("direct", "nccl") and not waits
        found.append(([*words, *["launch.graph=on"] * in_graph], environment))
        if transport == "nccl" and in_graph:
            found.append(([*words, "launch.graph=off"], environment))
    if only:
        found = [way for way in found if way[0][0] in ("parallel.transport=staged", f"parallel.transport={only}")]
    return found


def next_words(grid, switches=(), by=None):
    """by: of BY."""
    possible = ways(grid, switches)
    if by:
        possible = [way for way in possible if f"parallel.transport={by[0]}" in way[0]]
    words, environment = possible[next(turn) % len(possible)]
    if by:
        words = [word for word in words if not word.startswith("launch.graph=")] + by[1]
    return words, environment


def sends_all(checks, folder, name):
    """What the last run over ranks has sent: a row of each copy at lists, its place in the steps between; a queue sends some more."""
    report = json.loads((folder / "ranks.json").read_text())
    n_lists, sent = report["n_rebuilds"], report["ranks"]["halo_bytes"]["mean"]
    least = report["ranks"]["halo_atoms"]["mean"] * (48 * n_lists + 16 * (report["n_steps"] - n_lists))
    checks.that(0.95 * least <= sent <= 1.2 * least, f"{name}: halo_bytes {sent}, expected {least} or a little more")


def test_bits(checks, folder):
    wanted = chosen("MDMINI_TEST_CASE", [case[0] for case in CASES])
    for name, system, more, switches, grids in CASES:
        if name not in wanted:
            continue
        deck = bits.write_case(folder, name, system, more)
        switches = f"{PINNED} {ONE} {switches}".split()
        by = BY.get(name)
        if by:
            grids = [grid for grid in grids if by[0] in ranks.transports(bits.n_domains(grid))]
        if not grids:
            print(f"{name}: not run: there are not enough GPUs")
            continue
        whole = bits.check_grids(checks, folder, deck, switches, grids, lambda grid: next_words(grid, switches, by))
        checks.that(not whole or whole.json()["n_rebuilds"] > 2, f"{name}: {whole and whole.json()['n_rebuilds']} rebuilds")
        if whole and by and by[0] == "direct" and not name.endswith("-safe"):  # which make steps again
            sends_all(checks, folder, name)
        if whole and name in ("lists", "lists-nccl", "gas-nccl"):
            launches = {each["name"]: each["launches"] for each in json.loads((folder / "ranks.json").read_text())["kernels"]}
            checks.that(launches.get("k_halo_border", 0) <= 2 < launches["k_migrate_take"], f"{name}: lists after the first one by hosts: {launches}")


def test_shorter_lists(checks, folder):
    """Atoms that fall into each other: each list lasts shorter than those before, and the resident kernel of all ranks, or the queue, makes
    again what it has made too far."""
    random = numpy.random.default_rng(13)
    places = numpy.array(edges.lattice(8, 1.5, 0.75)) + random.normal(scale=0.05, size=(512, 3))
    edges.write_xyz(folder, "fall", places, numpy.zeros_like(places))
    deck = program.write_deck(folder, "fall", system={"start": "file", "file": "fall.xyz"}, run={"steps": 150, "backend": "cuda"},
                              potential={"cutoff": edges.CUTOFF, "epsilon": 20}, neighbor={"skin": edges.SKIN}, output=bits.OUTPUT).name
    switches = f"{PINNED} {ONE} memory.brick_cells=2 force.threads_per_atom=2 neighbor.distances=thread launch.fuse=step".split()
    grids = [grid for grid in ("2 1 1", "1 2 2") if "direct" in ranks.transports(bits.n_domains(grid))]
    if not grids:
        print("test_shorter_lists: not run: there are not enough GPUs")
        return
    for grid in grids:
        bits.check_grids(checks, folder, deck, switches, [grid], lambda grid: next_words(grid, switches, ("direct", ["launch.persistent=on"])))
        report = json.loads((folder / "ranks.json").read_text())
        n_launches = next(kernel["launches"] for kernel in report["kernels"] if kernel["name"] == "k_step_resident")
        # where a step takes long a launch has few, too few for a list to end in their midst
        checks.that(report["n_batches_rolled_back"] > 0 or n_launches > 30, f"{deck} {grid}: no batch was rolled back")
        queue = [word for word in switches if word not in ONE.split() + ["force.threads_per_atom=2"]] + ["force.threads_per_atom=1"]
        bits.check_grids(checks, folder, deck, [*queue, "launch.persistent=off", "launch.passes=queue"], [grid],
                         lambda grid: next_words(grid, queue, ("direct", [])))


def test_bound(checks, folder):
    """A processor for each rank, as launchers give it, is too little beside a GPU."""
    deck = program.write_deck(folder, "bound", **MELT).name
    allowed = os.sched_getaffinity(0)
    for processors in ({min(allowed)}, allowed):
        os.sched_setaffinity(0, processors)
        try:
            done = ranks.run(2, "--check", deck, folder=folder)
        finally:
            os.sched_setaffinity(0, allowed)
        checks.that(("rank 0 may use one processor" in done.stdout) == (len(processors) == 1), f"{processors}: {done.stdout}")


def test_slower(checks, folder):
    """Where several GPUs are slower than one, or ranks share one, the run says so before it starts."""
    deck = program.write_deck(folder, "slower", **MELT).name
    shared = "ranks share a GPU"
    alone = ranks.run(2, "--check", deck, "parallel.transport=staged", folder=folder, **ranks.ONE_GPU).stdout
    checks.that(shared in alone, f"one GPU: {alone}")
    for transport, environment in ranks.transports(2).items():
        if transport == "cuda-aware":
            continue  # not known
        told = "they add memory" if transport == "staged" else "one GPU would be faster: two pay from"
        few, many = (ranks.run(2, "--check", deck, f"system.cells={cells}", f"parallel.transport={transport}", folder=folder,
                               **{**ranks.GPUS, **environment}).stdout for cells in (8, 28))
        if shared in few and not ranks.PLAYS_NCCL:
            continue  # there is one real GPU
        checks.that(told in few, f"{transport}: {few}")
        checks.that((told in many) == (transport != "direct"), f"{transport}, 87,808 atoms: {many}")


# What Slurm sets in a batch script, which mpirun hands on, and in the step by which mpiexec of MPICH starts its proxies.
BATCH = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
STEP = {**BATCH, "SLURM_STEP_NUM_TASKS": "1"}


def test_which(checks, folder):
    """Which GPU a rank takes, and what is said of ranks that share one."""
    if "emulated GPU" not in program.run("--device", folder=folder).stdout:
        print("test_which: not run: not on the emulated GPU")
        return
    deck, mdmini, script = program.write_deck(folder, "which", **MELT).name, os.environ["MDMINI"], folder / "rank.sh"
    two, each_its_own = {"MDMINI_EMULATOR_DEVICES": "2"}, "0 on GPU 0, rank 1 on GPU 1\n"
    shared, idle = "ranks share a GPU", "ranks 0 and 1 share GPU"
    for n, words, environment, visible, told, untold in (  # visible: CUDA_VISIBLE_DEVICES of both ranks
            (2, [], two, (), [each_its_own], [shared, idle]),
            (2, [], {**two, **BATCH}, (), [each_its_own], [shared, idle]),
            (2, [], {**two, **STEP}, (), [each_its_own], [shared, idle]),
            (4, [], two, (), ["rank 1 on GPU 1, rank 2 on GPU 0, rank 3 on GPU 1", shared], [idle]),
            (2, ["run.device=0"], two, (), ["rank 1 on GPU 0", idle, "with run.device = auto"], [shared]),
            (2, [], two, ("0,1", "1,0"), ["rank 1 on GPU 1", idle, "same GPUs in the same order"], [shared]),
            (2, [], two, ("0", "1"), ["0 on GPU 0 (GPU-00102030-", "1 on GPU 0 (GPU-01112131-"], [shared, idle]),
            (2, [], two, ("0", "0"), ["0 on GPU 0, rank 1 on GPU 0", shared], [idle])):
        choice = "".join(f"[ $OMPI_COMM_WORLD_RANK$PMI_RANK = {rank} ] && export CUDA_VISIBLE_DEVICES={own}\n" for rank, own in enumerate(visible))
        script.write_text(f'#!/bin/sh\n{choice}exec "{mdmini}" "$@"\n')
        script.chmod(0o755)
        os.environ["MDMINI"] = str(script)
        done = ranks.run(n, "--check", deck, "parallel.transport=staged", *words, folder=folder, **environment)
        os.environ["MDMINI"] = mdmini
        said = done.stdout.replace("\n# ", "\n")
        checks.that(done.code == 0 and all(text in said for text in told) and not any(text in said for text in untold),
                    f"{n} ranks, {words}, {environment}, {visible}: {done.code}, {said[:900]}{done.stderr[-300:]}")
    for environment, value in ((BATCH, "1"), (STEP, "yes")):
        done = ranks.run(2, "--check", deck, folder=folder, MDMINI_ALONE=value, **two, **environment)
        used = [done.stdout.count(f"emulated GPU; GPU {number},") for number in (0, 1)]
        checks.that(done.code == 0 and used == [1, 1], f"MDMINI_ALONE={value}, {environment}: {done.code}, {done.stdout[:900]}")


def test_nodes(checks, folder):
    """Ranks that have names of two nodes: auto takes NCCL, which finds its way between them."""
    library, sizes = program.layer("OTHER_NODES"), [n for n in (4, 2) if "nccl" in ranks.transports(n)]
    if not library or not sizes:
        print("test_nodes: not run: nothing plays two nodes, or there is no NCCL")
        return
    grid, nodes = {4: "2 2 1", 2: "2 1 1"}[sizes[0]], {"LD_PRELOAD": library, "RANKS_OF_NODE": str(sizes[0] // 2)}
    switches = f"{PINNED} {ONE} memory.brick_cells=1 force.threads_per_atom=1 neighbor.distances=thread launch.fuse=step".split()
    if bits.check_grids(checks, folder, bits.write_case(folder, "nodes", MELT, {}), switches, [grid], lambda grid: ([], {**ranks.NCCL, **nodes})):
        told, report = " ".join((folder / "ranks.log").read_text().split()), json.loads((folder / "ranks.json").read_text())["ranks"]
        gpus = [gpu["number"] for gpu in report["gpus"]]
        checks.that("parallel.transport = nccl: not direct: ranks are on several nodes" in told and report["hosts"] == 2, f"{report}: {told[:2000]}")
        checks.that(f"node1: rank {sizes[0] // 2} on GPU {gpus[sizes[0] // 2]}" in told and len({gpu["uuid"] for gpu in report["gpus"]}) == len(set(gpus)),
                    f"{report['gpus']}: {told[:2000]}")


if __name__ == "__main__":
    ranks.require()
    ranks.require_gpu()
    run_tests(test_bits, test_shorter_lists, test_bound, test_slower, test_which, test_nodes)
