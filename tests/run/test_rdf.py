"""analysis.rdf_every: counts of pairs by distance against all pairs in numpy over frames, crystals and an ideal gas, partial g(r), ranks and
restarts, refusals.

MDMINI_TEST_ variables as in support/resuming.py."""
import csv

import numpy as np

import program
import ranks
from resuming import BACKEND, deck, resume, run_tests

TWO = {"types": 2, "fractions": "0.6 0.4", "masses": "1 2.5"}
FRAMES = {"frames_every": 20, "thermo_every": 20, "velocities_every": 0, "images_every": 0, "precision": "double", "existing": "overwrite"}
# As many kernels, layouts and ways to issue steps as there are; rdf_max beyond the cutoff and below.
WAYS = {"cpu": ([], ["run.precision=double", "memory.layout=soa"], ["run.precision=single", "force.kernel=cell"], ["memory.layout=aos", "force.kernel=pairs"],
                ["force.cutoff_test=branch", "run.precision=double", "memory.sort=none"], ["run.threads=1", "memory.allocation=per-call", "memory.layout=aos"]),
        "cuda": ([], ["run.precision=double"], ["force.kernel=list", "run.precision=single", "memory.layout=soa"], ["force.kernel=pairs", "run.precision=double", "memory.layout=aos"],
                 ["force.kernel=pairs-tiled", "memory.sort=none"], ["force.kernel=cell", "launch.block_size=32"], ["force.kernel=cluster", "run.precision=double", "memory.layout=soa"],
                 ["launch.persistent=on", "force.kernel=brick"], ["force.kernel=brick", "launch.persistent=off", "launch.fuse=step", "launch.passes=queue", "neighbor.skin=0.1"],
                 ["neighbor.rebuild=every", "neighbor.every=5", "launch.persistent=off", "launch.fuse=step", "launch.passes=kernels"], ["memory.allocation=pool", "launch.block_size=1024"],
                 ["neighbor.rebuild=host-check", "reduce.per_thread=one", "memory.layout=aos", "force.kernel=list-split"])}


def read(folder, name):
    """{heading: column} of NAME.rdf.csv; an empty field is NaN."""
    with open(folder / f"{name}.rdf.csv", newline="") as file:
        rows = list(csv.reader(file))
    return {title: np.array([float(row[k] or "nan") for row in rows[1:]]) for k, title in enumerate(rows[0])}


def distances(position, length, chosen=None, other=None):
    """Of all pairs, or of those of an atom of one set with one of another."""
    i, j = np.triu_indices(len(position), 1)
    if chosen is not None:
        keep = (chosen[i] & other[j]) | (other[i] & chosen[j])
        i, j = i[keep], j[keep]
    d = position[i] - position[j]
    d -= np.where(length > 0, length, 1) * np.rint(d / np.where(length > 0, length, np.inf))
    return np.sqrt((d**2).sum(axis=1))


def shells(edges, dimension):
    return np.pi * np.diff(edges**2) if dimension == 2 else 4 / 3 * np.pi * np.diff(edges**3)


def check_by_frames(checks, done, what, dimension, range_, bins=200, by_types=False):
    """All columns, from frames at the same steps: counts to the last pair in double, else but for pairs that round across an edge."""
    if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.last_lines()}"):
        return None
    found, precision = read(done.folder, done.name), done.json()["precision"]
    with done.h5() as h5:
        particles = h5["particles/all"]
        frames, kind = particles["position/value"][...], np.asarray(particles["species"])
        length = np.diag(particles["box/edges/value"][0]).copy()
        length[dimension:] = 0
    edges = np.linspace(0, range_, bins + 1)
    checks.that(np.allclose(found["r (sigma)"], (edges[1:] + edges[:-1]) / 2, rtol=1e-12) and np.allclose(found["outer r (sigma)"], edges[1:], rtol=1e-12), f"{what}: r")
    every = kind == kind
    cases = {"": (every, every)}
    types = sorted(set(kind.tolist()))
    if by_types:
        cases.update({f" of types {a + 1} {b + 1}": (kind == a, kind == b) for a in types for b in types if a <= b})
    for name, (a, b) in cases.items():
        values = [distances(frame, length, *(() if name == "" else (a, b))) for frame in frames]
        scaled = np.concatenate(values) * (bins / range_)
        right = np.bincount(scaled[scaled < bins].astype(int), minlength=bins)
        near = 0 if precision == "double" else np.bincount(np.clip(np.rint(scaled[(np.abs(scaled - np.rint(scaled)) < bins / range_ * 2e-6 * length.max()) & (scaled < bins + 0.5)]).astype(int), 0, bins),
                                                           minlength=bins + 1)
        room = 0 if precision == "double" else near[:-1] + near[1:]
        counts = found[f"pairs{name}"]
        checks.that((np.abs(counts - right) <= room).all(), f"{what}: pairs{name}: {counts[np.abs(counts - right) > room]}, all pairs {right[np.abs(counts - right) > room]}")
        n_a, n_b, volume = a.sum(), b.sum(), np.prod(length[:dimension])
        gas = (n_a * (n_b - 1) / 2 if name == "" or (a == b).all() else n_a * n_b) * shells(edges, dimension) / volume
        checks.that(np.allclose(found[f"g{name}"], counts / len(frames) / gas, rtol=1e-9, atol=1e-12), f"{what}: g{name}")
        around = np.cumsum(counts) / len(frames) / n_a * (2 if name == "" or (a == b).all() else 1)
        checks.that(np.allclose(found[f"neighbors{name}"], around, rtol=1e-9, atol=1e-12), f"{what}: neighbors{name}")
        each = np.array([np.bincount((r * (bins / range_)).astype(int)[r * (bins / range_) < bins], minlength=bins) for r in values])
        if len(frames) <= 20 and precision == "double":  # each frame is a block
            error = each.std(axis=0, ddof=1) / np.sqrt(len(frames)) / gas
            checks.that(np.allclose(found[f"error of g{name}"], error, rtol=1e-9, atol=1e-12) and (found["blocks"] == len(frames)).all(), f"{what}: errors{name}")
    checks.that(len(found) == 3 + 4 * len(cases), f"{what}: columns {list(found)}")
    if by_types:
        total = sum(found[f"pairs{name}"] for name in cases if name)
        checks.that((total == found["pairs"]).all() and total.sum() > 0, f"{what}: partial counts add up to {total.sum()}, all {found['pairs'].sum()}")
    return found


def run_ways(checks, folder, ways, everywhere):
    """A melting crystal by each way; two dimensions, two types, and boxes of one, two and many cells, by turns or everywhere."""
    base = {"run": {"steps": 60}, "output": FRAMES, "restart": {"every": 0}}
    small = deck(folder, "m", **base)
    flat = deck(folder, "flat", system={"dimension": 2, "start": "hexagonal", "cells": "16 14", "density": 0.8, "temperature": 0.8}, **base)
    two = deck(folder, "two", system={**TWO, "cells": "4 6 5", "density": 0.7}, **base, potential={"epsilon": "1 0.7", "sigma": "1 0.9"})
    edge = (4 * 256 / 4 / 0.8442) ** (1 / 3)
    for k, words in enumerate(ways):
        range_, bins = ((2.2, 200), (edge / 2 * (1 - 1e-9), 90), (1.3, 37))[k % 3]
        keys = ["analysis.rdf_every=20", *([] if k % 3 == 0 else [f"analysis.rdf_max={range_!r}", f"analysis.rdf_bins={bins}"])]
        check_by_frames(checks, program.run(small, *keys, *words, folder=folder), f"{words}", 3, range_, bins)
        if everywhere or k % 2 == 0:
            check_by_frames(checks, program.run(flat, "analysis.rdf_every=20", "analysis.rdf_max=5", "analysis.rdf_bins=150", *words, folder=folder), f"2-D, {words}", 2, 5, 150)
        if everywhere or k % 2 == 1:
            check_by_frames(checks, program.run(two, "analysis.rdf_every=20", "analysis.rdf_max=3.1", "analysis.rdf_bins=100", "analysis.rdf_types=all", *words, folder=folder),
                            f"two types, {words}", 3, 3.1, 100, True)


def test_default(checks, folder):
    run_ways(checks, folder, [[]], True)


def test_kernels(checks, folder):
    run_ways(checks, folder, WAYS[BACKEND][1:], False)


def test_long(checks, folder):
    """A box of more than 32 cells along x, and more than one segment, with an edge of two cells."""
    for words in (["run.precision=double"], []):
        name = deck(folder, "long", system={"cells": "24 2 3"}, potential={"cutoff": 1.4}, neighbor={"skin": 0.2}, run={"steps": 40}, output=FRAMES, restart={"every": 0})
        check_by_frames(checks, program.run(name, "analysis.rdf_every=20", "analysis.rdf_max=1.2", "analysis.rdf_bins=60", *words, folder=folder), f"long, {words}", 3, 1.2, 60)


def test_same_run(checks, folder):
    """An analysis changes no bit of the run, and samples between the output are those at the output."""
    name = deck(folder, "m", output={**FRAMES, "frames_every": 60}, restart={"every": 0})
    plain = program.run(name, folder=folder)
    with plain.h5() as h5:
        last = h5["particles/all/position/value"][-1]
    done = program.run(name, "analysis.rdf_every=3", "output.thermo_every=60", folder=folder)
    with done.h5() as h5:
        checks.that(np.array_equal(h5["particles/all/position/value"][-1], last), "atoms are elsewhere with an analysis")
    first = (folder / "m.rdf.csv").read_bytes()
    done = program.run(name, "analysis.rdf_every=3", "output.thermo_every=3", folder=folder)
    checks.that((folder / "m.rdf.csv").read_bytes() == first and done.json()["analysis"]["rdf"]["samples"] == 21, "g(r) depends on the output")
    checks.that("g(r) up to 2.2, 21 samples in 10 blocks" in done.stdout, "the log")
    done = program.run(name, "output.thermo_every=60", folder=folder)
    checks.that(not (folder / "m.rdf.csv").exists() and "analysis" not in done.json(), "a file of the run before stays")


def test_crystal(checks, folder):
    """The shells of a perfect fcc crystal: 12, 6 and 24 atoms at distances a/sqrt 2 times 1, sqrt 2, sqrt 3; and of a hexagonal one."""
    done = program.run(deck(folder, "m", system={"cells": 5, "temperature": 0}, potential={"cutoff": 2.2}, run={"steps": 0}, output=FRAMES), "analysis.rdf_every=1",
                       "analysis.rdf_max=2.2", "analysis.rdf_bins=50", folder=folder)
    found, nearest = read(folder, "m"), (4 / 0.8442) ** (1 / 3) / 2**0.5
    shell = {k: found["pairs"][k] for k in np.flatnonzero(found["pairs"])}
    right = {int(nearest * r * 50 / 2.2): 500 * n / 2 for r, n in ((1, 12), (2**0.5, 6), (3**0.5, 24)) if nearest * r < 2.2}
    checks.that(done.code == 0 and shell == right and len(right) == 3, f"fcc: {shell}, expected {right}")
    checks.near(found["neighbors"][-1], 42, 1e-12, "fcc: neighbours in three shells")
    done = program.run(deck(folder, "flat", system={"dimension": 2, "start": "hexagonal", "cells": "10 9", "density": 0.8, "temperature": 0}, run={"steps": 0}, output=FRAMES),
                       "analysis.rdf_every=1", "analysis.rdf_bins=50", folder=folder)
    found, nearest = read(folder, "flat"), (2 / 3**0.5 / 0.8) ** 0.5
    shell = {k: found["neighbors"][k] for k in np.flatnonzero(found["pairs"])}
    checks.that(done.code == 0 and shell == {int(nearest * 50 / 2.2): 6, int(nearest * 3**0.5 * 50 / 2.2): 12}, f"hexagonal: {shell}")


def test_gas(checks, folder):
    """Independent atoms, few and many: 1 in the mean, also partial g(r), in three dimensions and two."""
    weak = {"form": "yukawa", "parameters": "1e-30 1", "cutoff": 0.5, "shift": "none"}
    for what, system, bins in (("few", {"atoms": 8, "density": 0.01}, 8), ("many", {"atoms": 800, "density": 0.3}, 20), ("flat", {"atoms": 300, "density": 0.2, "dimension": 2}, 15),
                               ("mixed", {"atoms": 400, "density": 0.3, "types": 2, "fractions": "0.5 0.5", "masses": "1 3"}, 12)):
        system = {"start": "random", "min_distance": 0.01, "temperature": 50, "cells": None, **system}
        name = deck(folder, what, system=system, potential=weak,
                    run={"steps": 4000, "timestep": 0.01, "precision": "double"}, neighbor={"skin": 1.0}, output={"frames_every": 0, "velocities_every": 0, "images_every": 0, "thermo_every": 500},
                    restart={"every": 0}, report={"verify": "off"})
        edge = (system["atoms"] / system["density"]) ** (1 / system.get("dimension", 3))
        done = program.run(name, "analysis.rdf_every=40", f"analysis.rdf_bins={bins}", f"analysis.rdf_max={edge / 2 * (1 - 1e-9)!r}",
                           *(["analysis.rdf_types=all"] if "types" in system else []), folder=folder)
        if not checks.that(done.code == 0, f"{what}: {done.last_lines()}"):
            continue
        found = read(folder, what)
        for title in [title for title in found if title.startswith("g")]:
            g, error = found[title][bins // 4:], found[f"error of {title}"][bins // 4:]
            off = np.abs(g - 1) / error
            checks.that(off.max() < 6 and abs((g - 1).mean()) < 5 * np.sqrt((error**2).sum()) / len(g) and error.max() < 0.3, f"{what}: {title}: {g}, errors {error}")
        if what == "few":  # with N in place of N - 1 it were 7/8
            checks.that(abs(np.average(found["g"], weights=1 / found["error of g"]**2) - 1) < 0.06, f"few: {found['g']}")


def test_two_ranks(checks, folder):
    """Against frames. The cpu has domains so thin that an atom has copies on two sides; the cuda backend refuses these."""
    if ranks.why_not():
        print(f"not run: several processes: {ranks.why_not()}")
        return
    switches = {"cpu": [], "cuda": ["force.kernel=brick", "memory.sort=brick", "launch.persistent=off", "parallel.transport=staged"]}[BACKEND]
    for cells in ("5 5 4", "6 4 4") if BACKEND == "cpu" else ("6 4 4",):
        name = deck(folder, "pair", system={"cells": cells}, run={"steps": 40, "threads": None, "precision": "double"}, output=FRAMES, restart={"every": 0})
        done = ranks.run(2, name, "analysis.rdf_every=20", "parallel.grid=2 1 1", *switches, folder=folder, name="pair")
        check_by_frames(checks, done, f"two ranks, {cells}", 3, 2.2)


def test_ranks_and_restarts(checks, folder):
    """The same bytes on grids of ranks and after stops, in double; of thin domains too, where an atom has copies on two sides."""
    counts = [(1, "1 1 1")] + ([] if ranks.why_not() else [(2, "2 1 1"), (4, "1 2 2")])
    switches = {"cpu": [], "cuda": ["force.kernel=brick", "memory.sort=brick", "launch.persistent=off"]}[BACKEND]
    for what, more in (("melt", {"system": {"cells": 6}}), ("two", {"system": {"cells": "6 6 7", **TWO}}), ("flat", {"system": {"dimension": 2, "start": "hexagonal", "cells": "12 7", "density": 0.8}})):
        for precision in {"melt": ("double", "mixed"), "two": ("double",), "flat": ("mixed",)}[what]:
            name = deck(folder, what, **more, run={"steps": 60, "threads": None, "precision": precision}, output={"existing": "overwrite", "frames_every": 0, "velocities_every": 0, "images_every": 0},
                        restart={"every": "auto"})
            keys = [name, "analysis.rdf_every=4", "analysis.rdf_from=8", "analysis.rdf_bins=60", *(["analysis.rdf_types=all"] if what == "two" else []), *switches]
            whole = None
            for n, grid in counts:
                if what == "flat" and not grid.endswith(" 1"):
                    continue
                for cut in (None, 30):
                    words = [*keys, *([f"parallel.grid={grid}"] if n > 1 else []), *(["parallel.transport=staged"] if BACKEND == "cuda" and n > 1 else [])]
                    first = words + ([f"run.steps={cut}"] if cut else [])
                    start = lambda arguments: ranks.run(n, *arguments, folder=folder, name=what) if n > 1 else program.run(*arguments, folder=folder, name=what)
                    done = start(first)
                    if cut and done.code == 0:
                        done = start(["--restart", f"{what}.restart", "run.steps=60"])
                    if not checks.that(done.code == 0, f"{what}, {precision}, {grid}, cut {cut}: {done.last_lines()}"):
                        continue
                    found, text = read(folder, what), (folder / f"{what}.rdf.csv").read_bytes()
                    whole = whole or (found, text)
                    # positions on ranks of a GPU may differ in the last bits
                    same = text == whole[1] or (BACKEND == "cuda" and n > 1 and all(np.allclose(found[key], whole[0][key], rtol=0.02, atol=3) for key in found if key.startswith("pairs")))
                    checks.that(same, f"{what}, {precision}, grid {grid}, cut {cut}: another g(r): {found['pairs'].sum()} pairs, {whole[0]['pairs'].sum()}")
                    checks.that(found["pairs"].sum() > 0 and done.json()["analysis"]["rdf"]["samples"] == 14, f"{what}: {done.json()['analysis']}")
    name = deck(folder, "late", run={"steps": 20}, restart={"every": "auto"})
    program.run(name, folder=folder)
    done = resume(folder, "late", "run.steps=60", "analysis.rdf_every=4")
    checks.that(done.code == 2 and "analysis.rdf_from above 20" in done.stderr, f"begun late: {done.code} {done.stderr[-400:]}")
    done = resume(folder, "late", "run.steps=60", "analysis.rdf_every=4", "analysis.rdf_from=40")
    checks.that(done.code == 0 and done.json()["analysis"]["rdf"]["samples"] == 6, f"begun at 40: {done.last_lines()}")
    done = resume(folder, "late", "run.steps=80", "analysis.rdf_bins=33")
    checks.that(done.code == 2 and "command line: analysis.rdf_bins: read 33, but it is 200 in the run that is resumed" in done.stderr and "rdf_every:" not in done.stderr, f"other bins: {done.stderr}")
    done = resume(folder, "late", "run.steps=80", "analysis.rdf_max=1.5")
    checks.that(done.code == 2 and "command line: analysis.rdf_max: read 1.5, but it is auto in the run that is resumed" in done.stderr, f"another range: {done.stderr}")


def test_refusals(checks, folder):
    name = deck(folder, "m", restart={"every": 0})
    for words, told in ((["analysis.rdf_bins=10"], "it needs analysis.rdf_every above 0"), (["analysis.rdf_max=1"], "it needs analysis.rdf_every above 0"),
                        (["analysis.rdf_types=all"], "it needs analysis.rdf_every above 0"), (["analysis.rdf_every=2", "analysis.rdf_max=3.5"], "more than half of the shortest edge"),
                        (["analysis.rdf_every=2", "analysis.rdf_max=0"], "above 0"), (["analysis.rdf_every=2", "analysis.rdf_bins=0"], "from 1"),
                        (["analysis.rdf_every=2", "analysis.rdf_bins=9000"], "8192"), (["analysis.rdf_every=2", "analysis.rdf_from=61"], "there is no sample"),
                        (["analysis.rdf_every=2", "system.boundary=open"], "an axis is open"), (["analysis.rdf_every=2", "analysis.rdf_types=each"], "auto, all"),
                        (["analysis.rdf_every=2", "analysis.rdf_types=all", "analysis.rdf_bins=4000", "system.types=2"], "of each of 3 pairs of types; allowed: up to 2730")):
        done = program.run(name, *words, folder=folder)
        checks.that(done.code == 2 and told in done.stderr and "command line" in done.stderr, f"{words}: {done.code} {done.stderr[-500:]}")
    if not ranks.why_not():
        done = ranks.run(2, name, "system.cells=8", "run.threads=auto" if BACKEND == "cpu" else "run.device=auto", "analysis.rdf_every=2", "analysis.rdf_max=2.3", folder=folder, name="m")
        checks.that(done.code == 2 and "a process of several knows the atoms around its own only up to there" in done.stderr, f"two ranks: {done.code} {done.stderr[-600:]}")


run_tests(test_default, test_kernels, test_long, test_same_run, test_crystal, test_gas, test_two_ranks, test_ranks_and_restarts, test_refusals)
