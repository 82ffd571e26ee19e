"""Trajectories open in other programs and hold the right numbers there: h5py (with a strict check of the structure),
h5dump and MDAnalysis. The files come from `test_h5md FOLDER`; the numbers from the formula that is in both. What is
installed of the programs that readers.py knows reads those of runs, too."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

import distribution

distribution.prefer("MDAnalysis")
distribution.need("numpy", "h5py")

import h5py
import numpy as np

import h5check
import program
import readers

PERIODIC, OPEN = b"periodic", b"none"
#          name       N  frames dimension box             boundary                  types type    v  f  images: steps
SAMPLES = [("all3d", 101, 4, 3, [7.5, 8.5, 9.25], [PERIODIC] * 3, 2, "float32", 50, 50, 50),
           ("plain2d", 64, 3, 2, [8, 10, 10], [PERIODIC, PERIODIC, OPEN], 1, "float64", 0, 0, 0),
           ("open3d", 33, 1, 3, [5, 6, 7], [PERIODIC, OPEN, PERIODIC], 1, "float32", 50, 0, 0),
           ("drop", 20, 5, 3, [5, 6, 7], [OPEN] * 3, 2, "float32", 50, 100, 0),
           ("openplane", 20, 3, 2, [5, 6, 6], [OPEN] * 3, 1, "float64", 50, 0, 0),
           ("many", 9, 700, 3, [4, 4, 4], [PERIODIC] * 3, 8, "float64", 0, 50, 0),
           ("gzip", 2000, 8, 3, [7, 8, 9], [PERIODIC] * 3, 3, "float32", 50, 0, 50),
           ("intervals", 40, 12, 3, [7, 8, 9], [PERIODIC] * 3, 2, "float32", 100, 150, 50),
           ("spare", 2, 3, 3, [4, 4, 4], [PERIODIC] * 3, 8, "float32", 0, 0, 0),
           ("gzipped", 40, 12, 3, [7, 8, 9], [PERIODIC] * 3, 2, "float64", 100, 50, 0)]

NAMES = [b"Kr", b"B", b"C", b"D", b"E", b"F", b"G", b"fourteen bytes"]  # as in sample.c; the last one is longer there


def expected_quantities(sample):
    return [name for name, every in zip(("velocity", "force", "image"), sample[8:]) if every]


def due(every, frames):
    """Numbers of the frames of a quantity: frame t is of step 50 t, and the last one has everything."""
    return [t for t in range(frames) if every and (50 * t % every == 0 or t == 11)]


def values(quantity, t, n_atoms, dimension, box, dtype):
    """As value_of in test_h5md.c; quantity 0 position, 1 velocity, 2 force."""
    i, a = np.arange(n_atoms)[:, None], np.arange(3)[None, :]
    x = 0.618033988749895 * (i + 1) * (a + 1) + 0.1 * t + 0.37 * quantity
    x -= np.floor(x)
    x = x * np.array(box) if quantity == 0 else 20 * x - 10
    x[:, dimension:] = 0
    return x.astype(dtype)


def check_h5py(path, sample):
    name, n, frames, dimension, box, boundary, types, dtype, velocities, forces, images = sample
    problems = h5check.check(path, expected_quantities(sample))
    assert not problems, "\n".join(problems)
    with h5py.File(path, "r") as file:
        particles = file["particles/all"]
        filtered = particles["position/value"].compression, particles["position/value"].shuffle
        assert filtered == (("gzip", True) if name.startswith("gzip") else (None, False)), filtered
        assert particles["position/value"].shape[0] == frames and particles["position/value"].dtype == dtype
        assert [bytes(word) for word in particles["box"].attrs["boundary"]] == boundary
        is_open = boundary == [OPEN] * 3
        assert (set(particles["box"]) == set()) if is_open else (particles["box/edges/value"][:] == np.diag(box)).all()
        assert "particles/all_force" not in file or ("edges" in file["particles/all_force/box"]) != is_open
        assert particles["position/step"][:].tolist() == [50 * t for t in range(frames)]
        assert particles["position/time"][:].tolist() == [0.25 * t for t in range(frames)]
        for quantity, element in enumerate(["position", "velocity", "force"]):
            every = [50, velocities, forces][quantity]
            group = particles if every == 50 else file.get(f"particles/all_{element}")
            assert (every > 0) == (group is not None) and (element in particles) == (every == 50), element
            if every:
                numbers = due(every, frames)
                assert group[f"{element}/step"][:].tolist() == [50 * t for t in numbers], element
                for row, t in enumerate(numbers):
                    expected = values(quantity, t, n, dimension, box, dtype)
                    assert np.allclose(group[f"{element}/value"][row], expected, rtol=0, atol=2e-6), (element, t)
        if images:
            k = np.arange(3 * n).reshape(n, 3)
            assert all((particles["image/value"][t] == k % 5 - 2 + t).all() for t in range(frames))
        species = np.arange(n) * 7 % types
        assert (particles["species"][:] == species).all() and (particles["mass"][:] == 1 + 0.5 * species).all()
        present = sorted(set(species))
        assert present == ([0, 7] if name == "spare" else list(range(types)))
        vmd = file["parameters/vmd_structure"]  # of what is there alone: VMD's plugin ignores a table that has more
        assert vmd["indexOfSpecies"][:].tolist() == present, vmd["indexOfSpecies"][:]
        for key in ("name", "type"):
            assert [bytes(text) for text in vmd[key][:]] == [NAMES[s] for s in present], vmd[key][:]
        t = np.arange(frames)
        expected = {"temperature": 1 + t, "potential_energy": -3 - t, "kinetic_energy": 4 + t, "internal_energy": 5 + t,
                    "conserved_energy": 6 + t}
        closed = OPEN not in boundary[:dimension]
        expected["pressure"] = 2 + t if closed else np.full(frames, np.nan)
        expected["density"] = np.full(frames, n / np.prod(box[:dimension]) if closed else np.nan)
        for key, series in expected.items():
            assert np.allclose(file[f"observables/{key}/value"][:], series, rtol=1e-14, atol=0, equal_nan=True), key
        assert file["parameters/mdmini/deck"][()].decode() == "[system]\nseed = 1  # Größe\n"
        assert bytes(file["h5md/author"].attrs["name"]) == b"J. Doe"


def check_strictness(path, folder):
    """The check of the structure is no use unless it sees what is wrong."""
    def damage(number, change):
        copy = os.path.join(folder, f"damaged{number}.h5")
        shutil.copy(path, copy)
        with h5py.File(copy, "r+") as file:
            change(file)
        assert h5check.check(copy), f"damage {number} was not seen"

    def copy_step(file):
        steps = file["observables/pressure/step"][:]
        del file["observables/pressure/step"]
        file["observables/pressure/step"] = steps

    def swap_ids(file):
        file["particles/all/id"][0] = 1

    def variable_text(file):
        file["h5md/author"].attrs["name"] = "J. Doe"

    def shorten(file):
        file["particles/all/velocity/value"].resize(2, axis=0)

    def add_unit(file):
        file["particles/all/position/value"].attrs["unit"] = "sigma"

    def no_number(file):
        file["particles/all/velocity/value"][1, 7, 2] = np.nan

    def leave_box(file):
        file["particles/all/position/value"][2, 5, 0] = 7.5  # the edge itself is outside

    def go_back(file):
        file["particles/all/position/step"][3] = 100

    def miss_a_step(file):
        file["parameters/mdmini/schedule"][0, 1] = 25  # frames every 25 steps

    def not_due(file):
        file["parameters/mdmini/schedule"][0, 1:] = [100, 100, 100, 100, -1, -1, -1, -1]

    def not_resumed(file):
        file["parameters/mdmini"].attrs["n_restarts"] = np.int32(1)

    def no_energy(file):
        file["observables/internal_energy/value"][0] = np.inf

    def name_too_many(file):
        for key in file["parameters/vmd_structure"]:
            column = file[f"parameters/vmd_structure/{key}"][:]
            del file[f"parameters/vmd_structure/{key}"]
            file[f"parameters/vmd_structure/{key}"] = np.append(column, np.array([2], column.dtype))

    def name_at_length(file):
        names = file["parameters/vmd_structure/name"][:].astype("S17")
        del file["parameters/vmd_structure/name"]
        file["parameters/vmd_structure/name"] = names

    def no_edges(file):
        del file["particles/all/box/edges"]

    changes = [no_edges, copy_step, swap_ids, variable_text, shorten, add_unit, no_number, leave_box, go_back, miss_a_step, no_energy, not_due, not_resumed,
               name_too_many, name_at_length]
    for number, change in enumerate(changes):
        damage(number, change)
    tool = os.path.join(os.environ["MDMINI_SOURCE"], "tools", "h5check.py")
    for bad in (os.path.join(folder, "damaged6.h5"), tool, os.path.join(folder, "none.h5")):
        run = subprocess.run([sys.executable, "-B", tool, path, bad], capture_output=True, text=True)
        lines = run.stdout.splitlines()
        assert run.returncode == 1 and lines[0] == f"{path}: good" and lines[1].startswith(bad) and len(lines) == 2, run
    run = subprocess.run([sys.executable, "-B", tool, "--json", path], capture_output=True, text=True)
    assert run.returncode == 0 and json.loads(run.stdout) == {path: []}, run


def check_h5dump(path, sample):
    if not shutil.which("h5dump"):
        print("not tested: h5dump is not installed")
        return
    run = subprocess.run(["h5dump", "-d", "/particles/all/position/step", path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert f"{50 * (sample[2] - 1)}" in run.stdout and "H5T_STD_I64LE" in run.stdout, run.stdout
    run = subprocess.run(["h5dump", path], capture_output=True, text=True)  # all of it
    assert run.returncode == 0 and not run.stderr, run.stderr


def check_mdanalysis(path, sample, mda):
    name, n, frames, dimension, box, boundary, types, dtype, velocities, forces, images = sample
    universe = mda.Universe.empty(n, trajectory=False)
    universe.load_new(path, format="H5MD", convert_units=False)
    assert len(universe.trajectory) == frames
    for t, frame in enumerate(universe.trajectory):
        if boundary == [OPEN] * 3:
            assert frame.dimensions is None, frame.dimensions
        else:
            assert np.allclose(frame.dimensions, box + [90, 90, 90]), frame.dimensions
        assert frame.time == 0.25 * t and frame.data["step"] == 50 * t, (frame.time, frame.data)
        velocities_here, forces_here = velocities == 50, forces == 50  # of other steps than the positions: elsewhere
        assert frame.has_velocities == velocities_here and frame.has_forces == forces_here
        present = [(0, frame.positions)]
        present += [(1, frame.velocities)] if velocities_here else []
        present += [(2, frame.forces)] if forces_here else []
        for quantity, array in present:
            assert np.allclose(array, values(quantity, t, n, dimension, box, "float32"), rtol=0, atol=2e-6), quantity
        assert np.isclose(frame.data["temperature"], 1 + t)


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["./test_h5md", folder], check=True, stdout=subprocess.DEVNULL)
        for sample in SAMPLES:
            path = os.path.join(folder, sample[0] + ".h5")
            check_h5py(path, sample)
            check_h5dump(path, sample)
            print(f"{sample[0]}: h5py, h5dump")
        check_strictness(os.path.join(folder, "all3d.h5"), folder)
        readers.write_runs(program.program(), folder)
        for name in {"MDAnalysis", "ase"} - set(readers.check(folder)):
            print(f"not tested: {name} is not installed (Debian: python3-{name.lower()})")
        if not importlib.util.find_spec("MDAnalysis"):
            print("skipped: MDAnalysis is not installed (Debian: python3-mdanalysis)")
            return 77
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import MDAnalysis as mda

            for sample in SAMPLES:
                check_mdanalysis(os.path.join(folder, sample[0] + ".h5"), sample, mda)
                print(f"{sample[0]}: MDAnalysis {mda.__version__}")
    return 0


sys.exit(main())
