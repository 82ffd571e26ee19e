"""tools/plot.py: its numbers against brute force and against what is known of gases and crystals, its pictures for
being there and not blank, its errors."""
import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest.mock
import warnings

import distribution

distribution.need("numpy", "h5py", "matplotlib")

import json

import diffusion
import h5check
import h5py
import numpy as np
import structure
import viscosity

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


def tensor_table(rows, dimension, interval=0.1, tau=0.5, seed=3):
    """A thermo table of an isotropic tensor whose components are independent random walks, C(t) = 0.04 exp(-t / tau), about a pressure of 2."""
    random = np.random.default_rng(seed)
    keep = np.exp(-interval / tau)
    axes = [axes for axes in ("xx", "yy", "zz", "xy", "xz", "yz") if set(axes) <= set("xyz"[:dimension])]
    kicks = random.normal(0, 0.2, (rows, len(axes)))
    kicks[1:] *= np.sqrt(1 - keep**2)
    for k in range(1, rows):
        kicks[k] += keep * kicks[k - 1]
    # of an isotropic tensor (xx - yy) / 2 fluctuates as xy does
    table = {f"pressure_{axis}": 2 + np.sqrt(2) * kicks[:, k] if axis[0] == axis[1] else kicks[:, k] for k, axis in enumerate(axes)}
    flat = {key: -3 + 0.01 * random.normal(size=rows) for key in ("potential_energy", "kinetic_energy", "total_energy", "conserved_energy")}
    return {"step": np.arange(rows) * 20, "time": np.arange(rows) * interval, "temperature": 0.8 + 0.01 * random.normal(size=rows),
            "pressure": np.full(rows, 2.0), **flat, **table}


def test_viscosity(folder):
    """V/kT 0.04 tau of a known correlation, within its errors, which are small; the correlation by all pairs of rows; no viscosity where
    there can be none."""
    values = np.random.default_rng(5).normal(size=50)
    right = [np.mean(values[:50 - k] * values[k:]) for k in range(12)]
    assert np.allclose(viscosity.autocorrelation(values, 12), right, rtol=1e-12, atol=1e-14)
    for dimension in (2, 3):
        thermo, volume = tensor_table(40000, dimension), 500.0
        found, words = plot.find_viscosity(thermo, "lj", dimension, volume, 0)
        # the trapezoidal sum of exp(-k d / tau), to the end
        exact = volume / 0.8 * 0.04 * 0.05 * (1 + np.exp(-0.2)) / (1 - np.exp(-0.2)) * (1 - np.exp(-found.time[found.end] / 0.5))
        value, error = found.viscosity[found.end], found.viscosity_error[found.end]
        assert abs(value - exact) < 4 * error and error < 0.06 * exact, (dimension, value, error, exact)
        assert abs(found.product[0] - 0.04) < 4 * found.product_error[0], found.product[0]
        assert "from step 0" in words and 1 < found.time[found.end] < 6, found.time[found.end]
    argon = plot.find_viscosity(thermo, "metal", 3, volume, 0)[0]
    assert np.allclose(argon.viscosity, found.viscosity * 1e5**2 * 1e-30 * 1e-12 / 1.380649e-23 * 1e3, rtol=1e-9)
    for damage, what in (({"pressure_xy": np.full(40000, np.nan)}, "rows without"), ({}, "an open box")):
        try:
            plot.find_viscosity({**thermo, **damage}, "lj", 3, np.nan if not damage else volume, 0)
            raise AssertionError(what)
        except ValueError as error:
            assert what in str(error), error
    base = os.path.join(folder, "shear")
    report = {"atom_steps_per_second": 1, "unit_style": "lj", "volume": volume, "options": {"system.dimension": {"value": "3"}}}
    for rows in (2000, 30):
        thermo = {key: column.tolist() for key, column in tensor_table(rows, 3).items()}
        with open(base + ".json", "w") as stream:
            json.dump({**report, "thermo": thermo}, stream)
        run = run_tool(base + ".json", "--from", "0")
        made = ["thermo.png", "viscosity.png", "viscosity.csv"] if rows > 200 else ["thermo.png"]
        assert run.returncode == 0 and run.stdout.split() == [f"{base}-{kind}" for kind in made], (run.stdout, run.stderr)
        assert (run.stderr == "") == (rows > 200) and (rows > 200 or "has 30 rows" in run.stderr), run.stderr
    check_picture(base + "-viscosity.png")
    table = np.genfromtxt(base + "-viscosity.csv", delimiter=",", names=True)
    assert table.dtype.names == ("time", "correlation", "correlation_error", "viscosity", "viscosity_error") and len(table) == 100


def test_diffusion(folder):
    """Of a known line and a known decay, by CSV and by the trajectory alone; with the errors of the report; two kinds."""
    base, time = os.path.join(folder, "flow"), 0.05 * np.arange(41)
    with open(base + ".msd.csv", "w") as stream:
        stream.write("step (steps),time (tau),windows,msd (sigma^2),error of msd (sigma^2),msd of type 1 (sigma^2),error of msd of type 1 (sigma^2)\n")
        stream.writelines(f"{k},{t},3,{6 * 0.03 * t + 0.1},0.01,{6 * 0.05 * t},\n" for k, t in enumerate(time))
    with open(base + ".vacf.csv", "w") as stream:
        stream.write("step (steps),time (tau),windows,vacf (sigma^2/tau^2),error of vacf (sigma^2/tau^2)\n")
        stream.writelines(f"{k},{t},1,{3 * np.exp(-t / 0.1)},\n" for k, t in enumerate(time))
    msd, vacf = diffusion.find_curves(base, 3)
    assert msd.kinds == ["", "of type 1"] and vacf.kinds == [""], (msd.kinds, vacf.kinds)
    assert np.allclose([one[0] for one in msd.coefficients], [0.03, 0.05], rtol=1e-10) and np.isnan(msd.coefficients[0][1])
    assert np.allclose(msd.running(1), 0.05, rtol=1e-9)
    trapezoids = 0.025 * (1 + np.exp(-0.5)) / (1 - np.exp(-0.5)) * (1 - np.exp(-20))  # to lag 2, of 3 exp(-t / 0.1), divided by 3
    assert abs(vacf.coefficients[0][0] - trapezoids) < 1e-9, (vacf.coefficients, trapezoids)
    told = [{"mean": 0.031, "error": 0.002}, {"type": 1, "mean": 0.049, "error": None}]
    report = {"atom_steps_per_second": 1, "unit_style": "lj", "volume": None, "options": {"system.dimension": {"value": "3"}},
              "analysis": {"msd": {"diffusion": told}},
              "thermo": {key: column.tolist() for key, column in tensor_table(30, 3).items() if not key.startswith("pressure_")}}
    assert diffusion.find_curves(base, 3, None, report)[0].coefficients[0] == (0.031, 0.002)
    with open(base + ".json", "w") as stream:
        json.dump(report, stream)
    run = run_tool(base + ".json")
    made = ["thermo.png", "msd.png", "msd.csv", "vacf.png", "vacf.csv"]
    assert run.returncode == 0 and run.stdout.split() == [f"{base}-{kind}" for kind in made], (run.stdout, run.stderr)
    check_picture(base + "-msd.png")
    check_picture(base + "-vacf.png")
    table = np.genfromtxt(base + "-msd.csv", delimiter=",", names=True)
    assert table.dtype.names == ("time", "msd", "msd_error", "diffusion", "msd_1", "msd_1_error", "diffusion_1") and len(table) == 41
    with h5py.File(base + ".h5", "w") as file:
        group = file.create_group("parameters/mdmini/analysis/mean_square_displacement")
        group["time"], group["value"], group["error"] = time, msd.value, msd.error
        assert np.array_equal(diffusion.find_curves(base + "2", 3, file)[0].value, msd.value)
    with open(base + ".vacf.csv", "w") as stream:
        stream.write("time (tau),vacf (x)\n1,2\n2\n")
    run = run_tool(base + ".json")
    assert run.returncode == 2 and "flow.vacf.csv: cannot be read" in run.stderr, run.stderr


def test_rdf(folder):
    """g(r) that the run has sampled, drawn from NAME.rdf.csv, and its numbers."""
    base = os.path.join(folder, "sampled")
    r = (np.arange(40) + 0.5) * 0.07
    g, part = 1 + np.exp(-(r - 1.1)**2 / 0.02) * (r > 0.9), 1 + 0.3 * np.sin(r)
    with open(base + ".rdf.csv", "w") as stream:
        stream.write("r (sigma),outer r (sigma),blocks,g,error of g,neighbors,pairs,g of types 1 2,error of g of types 1 2,neighbors of types 1 2,pairs of types 1 2\n")
        for k in range(40):
            stream.write(f"{r[k]},{r[k] + 0.035},12,{g[k]},0.01,{k},{2 * k},{part[k]},,{k},{k}\n")
    thermo = {key: column.tolist() for key, column in tensor_table(300, 3).items() if "pressure_" not in key}
    with open(base + ".json", "w") as stream:
        json.dump({"atom_steps_per_second": 1, "unit_style": "lj", "volume": None, "options": {"system.dimension": {"value": "3"}},
                   "thermo": thermo}, stream)
    run = run_tool(base + ".json")
    assert run.returncode == 0 and run.stdout.split() == [f"{base}-{kind}" for kind in ("thermo.png", "rdf.png", "rdf.csv")], (run.stdout, run.stderr)
    check_picture(base + "-rdf.png")
    table = np.genfromtxt(base + "-rdf.csv", delimiter=",", names=True)
    assert table.dtype.names == ("r", "g", "g_error", "g_1_2", "g_1_2_error") and np.allclose(table["g_1_2"], part) and np.isnan(table["g_1_2_error"]).all(), table
    assert np.allclose(table["r"], r) and np.allclose(table["g"], g) and np.allclose(table["g_error"], 0.01)
    with open(base + ".rdf.csv", "w") as stream:
        stream.write("r (sigma)\n")
    run = run_tool(base + ".json")
    assert run.returncode == 2 and "sampled.rdf.csv" in run.stderr, (run.returncode, run.stderr)


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


def write_trajectory(path, frames, length, periodic=(True, True, True), edges=True, speed=True):
    """frames: arrays of places."""
    n_frames, n_atoms, dimension = np.shape(frames)
    with h5py.File(path, "w") as file:
        file.create_group("parameters/mdmini").attrs["dimension"] = dimension
        particles = file.create_group("particles/all")
        value = np.zeros((n_frames, n_atoms, 3))
        value[..., :dimension] = frames
        particles["position/value"] = value
        particles["position/step"], particles["position/time"] = 100 * np.arange(n_frames), 0.5 * np.arange(n_frames)
        particles.create_group("box").attrs["boundary"] = [b"periodic" if wrapped else b"none" for wrapped in periodic]
        if edges:
            particles["box/edges/value"] = np.tile(np.diag(length).astype(float), (n_frames, 1, 1))
        if speed:
            particles["velocity/value"] = value
        for name in ("temperature", "pressure", "potential_energy", "kinetic_energy", "internal_energy", "conserved_energy"):
            file[f"observables/{name}/value"] = np.ones(n_frames)
    return path


def film(low, high, n=200):
    random = np.random.default_rng(4)
    return np.column_stack([random.random((n, 2)) * 8, low + (high - low) * random.random(n)])


def test_slabs():
    """A slab has atoms: in the middle, or where most are."""
    wet, crystal = film(3, 8), fcc(5)
    for points, length, at in ((wet, [8, 8, 30], (3, 8)), (np.concatenate([film(0, 4), film(26, 30, 250)]), [8, 8, 30], (26, 30)), ([[0.1, 0.2, 0.3]], [9, 9, 9], (0, 1.6)),
                               (film(0, 12, 800), [8, 8, 12], (5.4, 6.6)), (crystal.position, crystal.length, (3.6, 4.8))):
        frame = make_frame(np.array(points), length, [True] * 3)
        low, chosen = plot.lowest_of_slab(frame), plot.choose_slab(frame)
        assert len(chosen) and at[0] <= low + 1e-9 and low + plot.SLAB <= at[1] + 1e-9, (at, low, len(chosen))
        assert (np.abs(frame.position[chosen, 2] - low - plot.SLAB / 2) <= plot.SLAB / 2 + 1e-9).all()
    assert abs(plot.lowest_of_slab(crystal) - 3.6) < 1e-9, "of a crystal that fills the box the middle"


def test_sparse(folder):
    """Films, corners, clusters, one atom, one frame: pictures, and no warning."""
    free, drop = (False, False, False), np.random.default_rng(5).normal(size=(40, 3)) * 2
    for name, frames, length, how in (("film", [film(3, 8)] * 2, [8, 8, 30], {}), ("corner", [[[0.1, 0.1, 0.1], [0.2, 1, 0.3]]], [20, 20, 20], {}),
                                      ("one", [[[1, 2, 3]]] * 2, None, {"periodic": free, "edges": False}),
                                      ("drop", [drop] * 3, None, {"periodic": free, "edges": False, "speed": False}),
                                      ("line", [np.linspace([0, 0], [9, 0], 10)], None, {"periodic": free, "edges": False})):
        path = write_trajectory(os.path.join(folder, f"{name}.h5"), frames, length, **how)
        for color in ("order", "speed") if name == "film" else ("order",) if name in ("drop", "line") else ("speed",):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                run = run_tool(path, "--color", color, "-o", path + color, "--format", "svg")
            assert run.returncode == 0 and not run.stderr, (name, color, run.stderr)
            with open(f"{path}{color}-snapshots.svg", encoding="utf-8") as stream:
                said = stream.read()
            assert "nan" not in said and ("slab" in said) == (len(frames[0][0]) == 3), name
    for name, frames, text in (("none", np.zeros((0, 4, 3)), "holds no frame"), ("empty", np.zeros((1, 0, 3)), "frame 0 has no atoms"),
                               ("lost", np.full((1, 4, 3), np.nan), "frame 0 has numbers that are not finite")):
        path = write_trajectory(os.path.join(folder, f"{name}.h5"), frames, [8, 8, 8])
        run = run_tool(path)
        assert run.returncode == 2 and text in run.stderr and run.stderr.startswith(f"plot.py: error: {path}"), run.stderr


def test_other_files(folder):
    """What a trajectory lacks, or has in another form: plot.py says it in a line with file and path, h5check.py with its path."""
    def remove(path):
        return lambda file: file.__delitem__(path)

    def put(path, value):
        return lambda file: (file.__delitem__(path), file.__setitem__(path, value))

    position = "particles/all/position"
    for change, said in ((remove(f"{position}/step"), f"{position}/step is missing"), (put(f"{position}/step", 10), f"{position}/step is one number, not one a frame"),
                         (put(f"{position}/time", 0.5), f"{position}/time is one number"), (lambda file: file.move("particles/all", "particles/trajectory"), f"{position}/value is missing"),
                         (put(f"{position}/value", np.zeros((3, 2))), f"{position}/value has the shape (3, 2)"), (put(f"{position}/value", [[[b"a"]]]), f"{position}/value is of the type"),
                         (put(position, 1), f"{position}/value is missing"), (put(f"{position}/step", np.arange(2)), f"{position}/step is of 2 frames"),
                         (put(f"{position}/step", h5py.Empty("i8")), f"{position}/step has the shape None"), (remove("particles"), f"{position}/value is missing"),
                         (put("particles/all/box/edges", np.eye(3)), "particles/all/box/edges/value is missing"), (remove("particles/all/box"), "particles/all/box is missing"),
                         (lambda file: file["particles/all/box"].attrs.__delitem__("boundary"), "particles/all/box@boundary is missing"),
                         (lambda file: file["parameters/mdmini"].attrs.__delitem__("dimension"), "parameters/mdmini@dimension is missing"),
                         (remove("observables"), "observables/temperature/value is missing"), (put("observables/temperature/value", 1.0), "observables/temperature/value is one number"),
                         (lambda file: (file.__delitem__(position), file.__setitem__(position, h5py.SoftLink("/nix"))), f"{position}/value is missing")):
        path = os.path.join(folder, "theirs.h5")
        shutil.copy(os.path.join(folder, "all3d.h5"), path)
        with h5py.File(path, "r+") as file:
            change(file)
        run, problems = run_tool(path), h5check.check(path)
        assert run.returncode == 2 and run.stderr.count("\n") == 1 and run.stderr.startswith(f"plot.py: error: {path}: {said}"), (said, run.stderr)
        root = said.split()[0].split("@")[0].removesuffix("/value").replace("observables/temperature", "observables")
        assert any(root in problem for problem in problems) and "Error" not in " ".join(problems), (said, problems)
    for content, said in ((b"", "is empty"), (b"no trajectory" * 9, "no HDF5 file")):
        with open(path, "wb") as stream:
            stream.write(content)
        run = run_tool(path)
        assert run.returncode == 2 and run.stderr.startswith(f"plot.py: error: {path}: {said}"), run.stderr
        assert len(h5check.check(path)) == 1 and said in h5check.check(path)[0]
    shutil.copy(os.path.join(folder, "all3d.h5"), path)
    for text in ("{", "[1]", '{"thermo": {"step": [1]}}', '{"thermo": 3}', '{"thermo": {"step": [0], "time": [0, 1]}}'):
        with open(os.path.join(folder, "theirs.json"), "w") as stream:
            stream.write(text)
        run = run_tool(path)
        assert run.returncode == 2 and "theirs.json: the thermo table cannot be read" in run.stderr, (text, run.stderr)


def test_stationary():
    """What the mean of g(r) is over: the last half; less where that drifts; what is asked for."""
    steps, random = np.arange(0, 50100, 100), np.random.default_rng(6)
    x = np.arange(0, 50001, 50) / 50000
    for temperature, n_frames, words in ((np.ones(len(x)), 100, "100 of 251, evenly spread; the last half of the run"),
                                         (np.maximum(0, 0.3 - x), 100, "100 of 251, evenly spread; the last half of the run"),
                                         (np.maximum(0, 0.7 - x), 100, "100 of 126, evenly spread; the last quarter of the run"),
                                         (np.maximum(0, 0.85 - x), 63, "the last eighth of the run"), (x, 1, "no mean: temperature or energy drift to the end")):
        noise = random.normal(0, 0.01, (2, len(x)))
        chosen, said = plot.frames_of_mean(steps, {"step": 50000 * x, "temperature": temperature + noise[0], "potential_energy": noise[1]}, None)
        assert len(chosen) == n_frames and said.startswith(words) and chosen[-1] == 500, (len(chosen), said)
    thermo = {"step": steps[:3], "temperature": np.ones(3), "potential_energy": np.full(3, np.nan)}
    assert plot.frames_of_mean(steps[:3], thermo, None)[0].tolist() == [1, 2] and plot.frames_of_mean(steps[:1], thermo, None)[0].tolist() == [0]
    chosen, said = plot.frames_of_mean(steps[:9], thermo, 600)
    assert chosen.tolist() == [6, 7, 8] and said == "from step 600 on, as asked"
    # However many frames and atoms there are, the mean rests on about as many pairs: some seconds of work.
    gas = make_frame(random.random((4000, 3)) * 16.8, [16.8] * 3, [True] * 3)
    with unittest.mock.patch.object(plot, "Frame", lambda file, k: gas):
        mean, label = plot.average_distribution(None, [gas], steps, np.arange(0, 500, 5), "the last half of the run")
    assert 0.8 < mean.counts.sum() / (4 * structure.MAX_PAIRS) < 1.2, mean.counts.sum()
    assert label == "mean of 100 frames, steps 0 to 49,500\nthe last half of the run", label


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
test_slabs()
test_stationary()
test_distribution()
test_average()
test_order()
with tempfile.TemporaryDirectory() as directory:
    test_pictures(directory)
    test_viscosity(directory)
    test_rdf(directory)
    test_diffusion(directory)
    test_errors(directory)
    test_other_files(directory)
    test_sparse(directory)
print("pairs, g(r), order, pictures, errors: as expected")
