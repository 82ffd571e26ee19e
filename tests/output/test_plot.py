"""tools/plot.py: its numbers against brute force and against what is known of gases and crystals, its pictures for
being there and not blank, its errors."""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest.mock

import distribution

distribution.need("numpy", "h5py", "matplotlib")

import json

import h5py
import numpy as np
import structure

TOOL = os.path.join(os.environ["MDMINI_SOURCE"], "tools", "plot.py")
spec = importlib.util.spec_from_file_location("plot", TOOL)
plot = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plot)


def make_frame(position, length, periodic):
    frame = plot.Frame.__new__(plot.Frame)
    frame.dimension = position.shape[1]
    frame.position, frame.length, frame.periodic = position.astype(float), np.array(length, float), np.array(periodic)
    frame.place()
    return frame


def lattice(basis, cell, repeats):
    """basis in units of the cell's edges."""
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in repeats], indexing="ij"), axis=-1).reshape(-1, len(cell))
    points = np.concatenate([grid + np.array(b) for b in basis]) * np.array(cell)
    return make_frame(points, np.array(cell) * repeats, [True] * len(cell))


def hexagonal(n, a=1.1):
    return lattice([(0.25, 0.25), (0.75, 0.75)], (a, a * np.sqrt(3)), (2 * n, n))


def fcc(n, a=1.68):
    return lattice([(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)], (a, a, a), (n, n, n))


def test_pairs():
    """As sets, against all pairs: 2-D and 3-D, periodic and open, uneven, and boxes of one and two cells."""
    random = np.random.default_rng(3)
    n_pairs = 0
    for length in ([9, 7], [4.1, 20], [6, 6.5, 7], [3.2, 8, 4.9], [2.5, 2.5, 2.5]):
        for periodic in ([True] * len(length), [False] * len(length), [True, False, True][:len(length)]):
            points = random.random((150, len(length))) ** 1.7 * length
            points[0] = 0
            points[1] = np.nextafter(length, 0)
            points[2] = -1e-18  # wraps to the length itself when it is rounded
            frame = make_frame(points, length, periodic)
            for cutoff in (0.4, 1.25):
                origins = np.arange(0, 150, 2)
                found = set()
                for k, j, vector in structure.find_pairs(frame, cutoff, origins):
                    portion = set(zip(origins[k].tolist(), j.tolist()))
                    assert len(portion) == len(k) and not portion & found, "a pair came twice"
                    found |= portion
                    assert np.allclose(np.linalg.norm(vector, axis=1) < cutoff, True)
                d = frame.position[:, None] - frame.position[None]
                d -= np.where(frame.periodic, frame.length * np.rint(d / frame.length), 0)
                near = np.linalg.norm(d, axis=2) < cutoff
                expected = {(i, j) for i in origins for j in np.flatnonzero(near[i]) if i != j}
                assert found == expected, (length, periodic, cutoff, len(found), len(expected))
                n_pairs += len(found)
    assert n_pairs > 5000


def test_portions():
    """A search that must be cut into portions finds the same."""
    frame = hexagonal(20)
    origins = np.arange(len(frame.position))
    whole = sorted((k, j) for a, b, _ in structure.find_pairs(frame, 2.5, origins) for k, j in zip(a, b))
    keep, structure.PORTION = structure.PORTION, 50
    parts = sorted((k, j) for a, b, _ in structure.find_pairs(frame, 2.5, origins) for k, j in zip(a, b))
    structure.PORTION = keep
    assert whole == parts and len(whole) == 18 * len(origins)


def distribution_of(*frames, **how):
    found = structure.RadialDistribution(structure.longest_distance(frames), **how)
    for frame in frames:
        found.add(frame)
    return found


def test_distribution():
    random = np.random.default_rng(5)
    for length, periodic in (([60, 60], [True, True]), ([20, 20, 20], [True] * 3), ([60, 60], [True, False]),
                             ([30, 20, 20], [False, True, True]), ([24, 24, 24], [False] * 3)):
        # An ideal gas: 1 within the noise of independent pairs, in each bin and on average.
        n, volume = 20000, np.prod(length)
        gas = make_frame(random.random((n, len(length))) * length, length, periodic)
        found = distribution_of(gas)
        r, g = found.r, found.g
        assert r[-1] > 4.9 and len(r) > 200
        outer = r > 1
        # With an open axis the inner part alone serves, and its own density fluctuates by one over the root of n.
        assert abs(g[outer].mean() - 1) < (0.003 if all(periodic) else 0.02), (periodic, g[outer].mean())
        assert np.abs(g[outer] - 1).max() < 0.15, np.abs(g[outer] - 1).max()
        assert abs(g[(r > 0.2) & (r < 1)].mean() - 1) < 0.04
        ball = np.pi * found.edges[-1] ** 2 if len(length) == 2 else 4 / 3 * np.pi * found.edges[-1] ** 3
        assert abs(found.neighbors[-1] / (n / volume * ball) - 1) < 0.03, "neighbours within the longest distance"

    # A drop in a wide open box, with some vapour far from it: the density is that of the inside.
    drop = random.random((60000, 3)) * 20 - 10
    drop = drop[np.linalg.norm(drop, axis=1) < 10]
    g = distribution_of(make_frame(drop, [1, 1, 1], [False] * 3)).g
    assert abs(g[50:100].mean() - 1) < 0.03, g[50:100].mean()

    # Crystals: shells at the known distances with the known number of neighbours, in open boxes as well.
    for periodic in (True, False):
        a = 1.1
        check_shells(hexagonal(20, a), periodic, a * np.array([1, np.sqrt(3), 2, np.sqrt(7)]), [6, 6, 6, 12])
        a = 1.68
        check_shells(fcc(9, a), periodic, a * np.sqrt([0.5, 1, 1.5, 2]), [12, 6, 24, 12])


def check_shells(frame, periodic, distances, numbers):
    frame = make_frame(frame.position, frame.length, [periodic] * frame.dimension)
    found = distribution_of(frame)
    r, d = found.r, frame.dimension
    width = r[1] - r[0]
    shell = np.pi * np.diff(found.edges ** 2) if d == 2 else 4 / 3 * np.pi * np.diff(found.edges ** 3)
    density = {2: 2 / (1.1 ** 2 * np.sqrt(3)), 3: 4 / 1.68 ** 3}[d]
    neighbors = found.g * density * shell
    inside, so_far = np.zeros(len(r), bool), 0
    for distance, number in zip(distances, numbers):
        near = np.abs(r - distance) < 1.1 * width
        so_far += number
        if distance < r[-1]:
            # In a finite crystal the density of the part that is looked at depends on where it is cut.
            assert abs(neighbors[near].sum() / number - 1) < (0.001 if periodic else 0.3), (distance, neighbors[near].sum())
            assert abs(found.neighbors[near][-1] - so_far) < 1e-9, (distance, found.neighbors[near][-1], so_far)
        inside |= near
    assert not found.g[~inside & (r < distances[-1] + width)].any(), "pairs where the crystal has none"


def test_average():
    """Over frames: the sum of their pairs over the sum of what is expected."""
    random = np.random.default_rng(7)
    frames = [make_frame(random.random((500, 2)) * 20, [20, 20], [True, True]) for _ in range(40)]
    one, mean = distribution_of(frames[0]), distribution_of(*frames)
    assert mean.n_frames == 40 and mean.n_origins == 40 * 500
    assert np.allclose(mean.g, np.mean([distribution_of(frame).g for frame in frames], axis=0))
    scatter = [np.std(found.g[100:]) for found in (one, mean)]
    assert scatter[1] < scatter[0] / 4, scatter
    some = structure.RadialDistribution(5.0)
    some.add(frames[0], most_pairs=1000)
    assert some.n_origins < 60 and abs(some.g[100:].mean() - 1) < 0.3


def check_table(path):
    with open(path, encoding="utf-8") as stream:
        assert stream.readline().strip() == "r,g,r_outer,neighbors,g_first,g_last"
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert np.isfinite(table["g"]).all() and (np.diff(table["neighbors"]) >= 0).all()
    assert np.allclose(table["r_outer"] - table["r"], 0.01) and table["neighbors"][-1] > 0


def test_order():
    frame = hexagonal(12)
    everywhere = np.arange(len(frame.position))
    assert np.allclose(structure.hexatic_order(frame, everywhere), 1)
    square = lattice([(0, 0)], (1, 1), (16, 16))
    square.position += np.random.default_rng(1).normal(0, 0.02, square.position.shape)
    square.place()
    mean = structure.hexatic_order(square, np.arange(256)).mean()
    assert mean < 0.6, mean
    # Turned by any angle, it stays.
    angle = 0.3
    turned = frame.position @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    cluster = make_frame(turned, [1, 1], [False, False])
    middle = np.flatnonzero(np.linalg.norm(turned - turned.mean(axis=0), axis=1) < 6)
    assert len(middle) > 50 and np.allclose(structure.hexatic_order(cluster, middle), 1)

    crystal = fcc(5)
    q6 = structure.steinhardt_order(crystal, np.arange(len(crystal.position)))
    assert np.allclose(q6, 0.57452, atol=1e-5), q6[:3]  # the value of fcc: Steinhardt et al., table I
    gas = make_frame(np.random.default_rng(2).random((2000, 3)) * 10, [10, 10, 10], [True] * 3)
    assert structure.steinhardt_order(gas, np.arange(2000)).mean() < 0.4


def run_tool(*arguments):
    """As the command does, but in this process, which has imported what draws."""
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told), unittest.mock.patch("sys.argv", [TOOL, *arguments]):
        try:
            code = plot.main()
        except SystemExit as end:
            code = end.code
    plot.plt.close("all")
    return subprocess.CompletedProcess(arguments, code, said.getvalue(), told.getvalue())


def check_picture(path):
    image = plot.plt.imread(path)[..., :3]
    assert image.shape[0] > 300 and image.shape[1] > 600, (path, image.shape)
    colors = (255 * image).astype(int) @ [1, 256, 65536]
    assert image.std() > 0.05 and len(np.unique(colors)) > 20, f"{path} is blank"


def test_pictures(folder):
    subprocess.run(["./test_h5md", folder], check=True, stdout=subprocess.DEVNULL)
    base = os.path.join(folder, "plain2d")
    with open(base + ".json", "w") as stream:
        json.dump({"thermo": {"step": [0, 1], "time": [0, 1], "temperature": [1, 2], "pressure": [None, None],
                              "potential_energy": [-3, -4], "kinetic_energy": [1, 2], "total_energy": [-2, -2],
                              "conserved_energy": [-2, -2.1]}}, stream)
    with open(base + ".list", "w") as stream:
        stream.write("# i count j\n0 2 1 2\n1 1 0\n2 1 0\n")
    run = run_tool(base + ".h5", "-o", base + "-pic", "--neighbors", base + ".list")
    assert run.returncode == 0, run.stderr
    expected = [f"{base}-pic-{kind}" for kind in ("thermo.png", "snapshots.png", "neighbors.png", "gr.png", "gr.csv")]
    assert run.stdout.split() == expected, run.stdout
    for path in expected:
        check_table(path) if path.endswith("csv") else check_picture(path)
    run = run_tool(base + ".h5", "-o", base + "-both", "--format", "svg,png")
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [*(f"{base}-both-{kind}.{ending}" for kind in ("thermo", "snapshots", "gr")
                                    for ending in ("svg", "png")), f"{base}-both-gr.csv"]
    for kind, label in (("thermo", "conserved energy: drift"), ("snapshots", "step 0"), ("gr", "radial distribution function")):
        with open(f"{base}-both-{kind}.svg", encoding="utf-8") as stream:
            assert label in stream.read(), f"the SVG of {kind} lacks its label {label}"
        check_picture(f"{base}-both-{kind}.png")
    for name, options in (("all3d", ["--color", "speed"]), ("open3d", []), ("many", [])):
        run = run_tool(os.path.join(folder, name + ".h5"), *options)
        assert run.returncode == 0 and not run.stderr, (name, run.stderr)
        check_picture(os.path.join(folder, name + "-snapshots.png"))
    with h5py.File(base + ".h5") as file:
        thermo = plot.load_thermo(base + ".h5", file)
        assert thermo["temperature"].tolist() == [1, 2] and np.isnan(thermo["pressure"]).all()
        os.remove(base + ".json")
        thermo = plot.load_thermo(base + ".h5", file)
        assert thermo["temperature"].tolist() == [1, 2, 3] and thermo["total_energy"].tolist() == [5, 6, 7]


def test_errors(folder):
    base = os.path.join(folder, "plain2d.h5")
    rubbish = os.path.join(folder, "rubbish.h5")
    with open(rubbish, "wb") as stream:
        stream.write(os.urandom(1000))
    with h5py.File(os.path.join(folder, "other.h5"), "w") as file:
        file["x"] = 1
    study = os.path.join(folder, "study")
    os.mkdir(study)
    open(os.path.join(study, "study.json"), "w").close()
    for text, arguments in ((f"tools/study.py --report {study} makes", [study]), (f"{folder}: this is a folder; ", [folder]), ("none.h5", [os.path.join(folder, "none.h5")]), ("error", [rubbish]),
                            ("error", [os.path.join(folder, "other.h5")]),
                            ("read 'gif'; allowed: png", [base, "--format", "png,gif"]),
                            ("--from 1000: the last frame", [base, "--from", "1000"]),
                            ("velocities", [base, "--color", "speed"]),
                            ("two-dimensional", [os.path.join(folder, "many.h5"), "--neighbors", base])):
        run = run_tool(*arguments)
        assert run.returncode == 2 and text in run.stderr and "Traceback" not in run.stderr, (arguments, run.stderr)
    path = os.path.join(folder, "bad.list")
    for text, line in (("0 2 1\n", 1), ("# x\n0 1 64\n", 2), ("0 1 -1\n", 1), ("0 1 a\n", 1), ("5\n", 1)):
        with open(path, "w") as stream:
            stream.write(text)
        try:
            plot.read_neighbors(path, 64)
            raise AssertionError(f"{text!r} was taken")
        except ValueError as error:
            assert f"bad.list:{line}:" in str(error), error
    with open(path, "w") as stream:
        stream.write("0 2 1 2\n1 1 0  # half and full rows mixed\n3 0\n")
    assert plot.read_neighbors(path, 4).T.tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]


def test_frames():
    """Of a crystal that melts at frame 3 of 9 the pictures show the first frame, the one half way, and the last; of one that does not,
    and coloured by speed, the ends."""
    random = np.random.default_rng(7)
    crystal = hexagonal(10)

    def shaken(amplitude):
        return make_frame(crystal.position + random.normal(0, amplitude, crystal.position.shape), crystal.length, crystal.periodic)

    for amplitudes, color, expected in (([0, 0.02, 0.05, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5], "order", [0, 3, 8]),
                                        ([0] + 8 * [0.5], "order", [0, 1, 8]), (8 * [0] + [0.5], "order", [0, 7, 8]),
                                        (9 * [0.01], "order", [0, 8]), ([0, 0.2, 0.5], "speed", [0, 2]), ([0, 0.5], "order", [0, 1]),
                                        ([0], "order", [0])):
        frames = [shaken(amplitude) for amplitude in amplitudes]
        with unittest.mock.patch.object(plot, "Frame", lambda file, k: file[k]):
            chosen = plot.choose_frames(frames, len(frames), color)
        assert [frames.index(frame) for frame in chosen] == expected, (amplitudes, color, [frames.index(frame) for frame in chosen])


test_pairs()
test_portions()
test_frames()
test_distribution()
test_average()
test_order()
with tempfile.TemporaryDirectory() as directory:
    test_pictures(directory)
    test_errors(directory)
print("pairs, g(r), order, pictures, errors: as expected")
