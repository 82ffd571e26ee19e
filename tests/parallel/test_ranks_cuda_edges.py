"""The cuda backend over several ranks, in the places and shapes of test_ranks_edges, with fewer grids of eight domains; one grid of each
has the same bits by staged and by another transport, or twice.

MDMINI_TEST_ONLY: names of tests, with commas between."""
import itertools
import json
import os

import numpy

import program
import ranks
import test_ranks_bits as bits
import test_ranks_edges as edges
from resuming import run_tests
from test_ranks_cuda import PINNED, next_words, turn, ways

MOST_RANKS = 2 * os.cpu_count()  # that a test waits for


def passes(checks, folder, deck, words, grid, name, more, environment):
    n = bits.n_domains(grid)
    words = [*words, *more, f"parallel.grid={grid}", f"output.name={name}"]
    done = ranks.run(n, deck, *words, folder=folder, name=name, **environment)
    return checks.that(done.code == 0 and done.json()["verdict"] == "PASSED",
                       f"{deck} {' '.join(words)}: {done.code}, {done.last_lines()}")


def same_by_both(checks, folder, deck, words, grid):
    """Two runs over the same grid pass, with the same bits: staged, and by another transport, or twice by the only one."""
    possible = ways(grid)
    others = possible[1:] or possible
    both = possible[0], others[next(turn) % len(others)]
    if all([passes(checks, folder, deck, words, grid, name, *way) for name, way in zip(("once", "again"), both)]):
        different = ranks.differences(folder / "once.h5", folder / "again.h5", 0)
        what = f"{deck} {' '.join(words)} parallel.grid='{grid}', {both}"
        checks.that(not different, f"{what}: {'; '.join(different)}")
        once, again = (json.loads((folder / f"{name}.json").read_text())["ranks"] for name in ("once", "again"))
        for figure in ("atoms", "halo_atoms", "migrated_atoms"):
            checks.that(once[figure] == again[figure], f"{what}: {figure} {once[figure]}, {again[figure]}")
        # a kernel of many steps leaves out the last positions before a list, and one that stops on its way has sent too many
        bytes_ = [run["halo_bytes"]["max"] for run in (once, again)]
        has_rooms = "parallel.transport=nccl" in both[1][0]  # for more positions than there are, however few
        checks.that(0 < 0.8 * bytes_[0] < bytes_[1] and (has_rooms or bytes_[1] < 1.5 * bytes_[0]) or once["halo_atoms"]["max"] == 0,
                    f"{what}: halo_bytes {once['halo_bytes']}, {again['halo_bytes']}")


def on_gpu(test):
    """A test of test_ranks_edges by this backend. Bricks of one process are others: in place of the comparison with it."""
    def tried(checks, folder):
        first = itertools.count()

        def check_edges(checks, folder, deck, words, grids):
            kept = [word for word in words if not word.startswith(("memory.", "report."))] + PINNED.split()
            for k, grid in enumerate(grids):
                if next(first) == 0:
                    same_by_both(checks, folder, deck, kept, min(grids, key=bits.n_domains))
                elif bits.n_domains(grid) <= MOST_RANKS and (k == 0 or bits.n_domains(grid) < 8):
                    passes(checks, folder, deck, kept, grid, "once", *next_words(grid))

        edges.check_grids, edges.BACKEND = check_edges, "cuda"
        test(checks, folder)
    tried.__name__ = test.__name__
    return tried


def test_streams(checks, folder):
    """Four domains full of atoms come together in one, a few at each list, and pass between each other: its arrays grow before they
    are full."""
    if "direct" not in ranks.transports(4):
        print("test_streams: not run: there are not enough GPUs")
        return
    edges.BACKEND, n, gap = "cuda", 8, 2.95
    side = 2 * n * gap  # of a domain
    places, velocities = [], []
    for k in range(4):
        for x, y, z in itertools.product(range(2 * n), range(n), range(n)):
            places.append([(k + 0.5) * side + (x + 0.5) * gap, (2 * y + k % 2 + 0.5) * gap, (2 * z + k // 2 + 0.5) * gap])
            velocities.append([60 * (1.5 - k), 0, 0])
    box = numpy.array([4 * side, side, side])
    deck = edges.deck(folder, "streams", numpy.mod(places, box), velocities, box=box, steps=int(side / 0.3) + 1,
                      rebuild="every", every=4)
    switches = PINNED.split() + ["memory.brick_cells=4"]
    if passes(checks, folder, deck, switches, "4 1 1", "streams", ["parallel.transport=direct", "parallel.timeout=30"], ranks.transports(4)["direct"]):
        atoms = json.loads((folder / "streams.json").read_text())["ranks"]["atoms"]
        checks.that(atoms["max"] == len(places), f"atoms {atoms}, expected all in one domain")


def test_crowded_border(checks, folder):
    """Two slabs, one in each domain, that come to the border all at once: more copies than the other rank has room for, so that nothing
    is sorted and the hosts make that list. In few cells, and in many."""
    edges.BACKEND = "cuda"
    for length, every, kernel in ((24, 4, "k_sort_rank_few"), (96, 1, "k_sort_rank")):
        x, y, z = (grid.ravel() for grid in numpy.meshgrid(1.2 * numpy.arange(3) + length / 8, 1.3 * numpy.arange(12) + 0.5,
                                                           1.3 * numpy.arange(12) + 0.5, indexing="ij"))
        is_other = y > 7.8
        places = numpy.stack([numpy.where(is_other, length - x, x), y, z], axis=1)
        velocities = numpy.stack([numpy.where(is_other, -length / 3, length / 3), 0 * y, 0 * z], axis=1)
        deck = edges.deck(folder, f"crowd{length}", places, velocities, box=numpy.array([length, 15.6, 15.6]), steps=300,
                          rebuild="every", every=every)
        same_by_both(checks, folder, deck, PINNED.split(), "2 1 1")
        if "direct" in ranks.transports(2):
            launches = {each["name"]: each["launches"] for each in json.loads((folder / "again.json").read_text())["kernels"]}
            checks.that(launches.get(kernel, 0) > 30, f"{deck}: {launches}")


def test_slow_disk(checks, folder):
    """Rank 0 has no slot left for a frame while a list that has just been made turns out to be too small: all ranks look, or none."""
    library = program.layer("SLOW_DISK")
    if not library or "direct" not in ranks.transports(2):
        print("test_slow_disk: not run: nothing makes the disk slow, or there are not enough GPUs")
        return
    edges.BACKEND = "cuda"
    places = numpy.array(edges.lattice(8, 3.0, 1.5))
    deck = edges.deck(folder, "slow", places, -4 * (places - places.mean(axis=0)) / places.max(), box=24, steps=400, rebuild="every", every=4)
    words = [*PINNED.split(), "parallel.transport=direct", "parallel.timeout=30", "output.frames_every=4", "output.images_every=0", "output.slots=1"]
    if passes(checks, folder, deck, words, "2 1 1", "slow", [], {**ranks.GPUS, "LD_PRELOAD": library}):
        report = json.loads((folder / "slow.json").read_text())
        checks.that(report["n_overflows"] > 0 and report["output"]["waits_for_a_slot"] > 10,
                    f"{report['n_overflows']} overflows, {report['output']['waits_for_a_slot']} waits for a slot")


if __name__ == "__main__":
    ranks.require()
    ranks.require_gpu()
    run_tests(test_streams, test_crowded_border, test_slow_disk, *(on_gpu(test) for test in (edges.test_flyers, edges.test_leapers, edges.test_blocks, edges.test_pairs_across, edges.test_on_borders,
                                          edges.test_empty_domains, edges.test_beyond_the_cells, edges.test_bursting_drop,
                                          edges.test_gathering_drop, edges.test_fault)))
