"""tools/plot.py as a module, for its tests: frames of known places, a call of the tool in this process, pictures that are not blank."""
import contextlib
import importlib.util
import io
import os
import subprocess
import unittest.mock

import distribution

distribution.need("numpy", "h5py", "matplotlib")

import h5py
import numpy as np

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
