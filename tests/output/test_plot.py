"""tools/plot.py of a trajectory: its pictures for being there and not blank, its errors; of files of others, too."""
import json
import os
import shutil
import subprocess
import tempfile
import warnings

from plotting import check_picture, film, plot, run_tool, write_trajectory

import h5check
import h5py
import numpy as np


def check_table(path):
    with open(path, encoding="utf-8") as stream:
        assert stream.readline().strip() == "r (sigma),g,r_outer (sigma),neighbors,g_first,g_last"
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert np.isfinite(table["g"]).all() and (np.diff(table["neighbors"]) >= 0).all()
    assert np.allclose(table["r_outer_sigma"] - table["r_sigma"], 0.01) and table["neighbors"][-1] > 0


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


with tempfile.TemporaryDirectory() as directory:
    test_pictures(directory)
    test_errors(directory)
    test_other_files(directory)
    test_sparse(directory)
print("pictures, errors: as expected")
