#!/usr/bin/env python3
"""What other programs read of the files of runs: positions, box, distances, times, masses and velocities, compared with
NAME.h5 as h5py reads it. test_readers.py does this with Debian's modules.

    tests/output/readers.py build/mdmini

does it with those of PyPI, in environments that it makes in a temporary folder: MDAnalysis 2.4.2 (which has wheels for
Python 3.8 to 3.11), and the newest versions. They are printed; exit code 0: all of them read everything right.
"""
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
import venv
import warnings

ENVIRONMENTS = (["MDAnalysis==2.4.2", "numpy<2", "scipy<1.14", "biopython<1.81"],  # of its time
                ["MDAnalysis", "ase", "ovito", "chemfiles", "freud-analysis"])
LIQUID = ["system.start=fcc", "system.cells=4", "system.density=0.8442", "system.temperature=1"]
ARGON = ["system.units=metal", "system.start=fcc", "system.cells=4", "system.density=0.0205", "system.temperature=100",
         "system.masses=39.948", "potential.epsilon_kelvin=120", "potential.sigma=3.4", "potential.cutoff=7.65", "neighbor.skin=1",
         "run.timestep=0.005"]
MIXTURE = [*LIQUID, "system.types=2", "system.fractions=0.7 0.3", "system.masses=1 2.5"]
RUNS = {"liquid": LIQUID, "argon": ARGON, "heavy": [*LIQUID, "system.masses=3", "output.xyz_velocities=velo"],
        "plane": ["system.dimension=2", "system.start=hexagonal", "system.cells=20 10", "system.density=0.8",
                  "system.temperature=1", "output.xyz_velocities=velo"],
        "open": ["output.xyz_velocities=velo"], "half-open": ["output.xyz_velocities=momenta"],
        "plane-open": ["system.temperature=0.1"], "plane-half-open": ["system.boundary=periodic open", "system.box=8 8"],
        **{f"mixture-{word}": [*MIXTURE, f"output.xyz_velocities={word}"] for word in ("off", "velo", "vel", "momenta")}}
OPEN = ("open", "plane-open")
N_FRAMES, INTERVAL = 5, 0.25


def write_runs(mdmini, folder):
    grid = [(1.6 * x, 1.6 * y, 1.6 * z) for x in range(5) for y in range(5) for z in range(5)]
    for name, comment in (("open", 'pbc="F F F"'), ("half-open", 'Lattice="8 0 0 0 8 0 0 0 7" pbc="T T F"')):
        rows = [f"Ar {x} {y} {z} {x % 0.7 - 0.3} {y % 0.5 - 0.2} {x % 0.3 - z % 0.2}" for x, y, z in grid]
        write(folder, f"{name}.xyz", len(rows), f"{comment} Properties=species:S:1:pos:R:3:velo:R:3", *rows)
    for name in ("plane-open", "plane-half-open"):
        write(folder, f"{name}.txt", *(f"{x} {y}" for x, y, z in grid if z == 0))
    write(folder, "all.txt", "[run]", "steps = 200", "backend = cpu", "[output]", "frames_every = 50", "velocities_every = 50",
          "xyz_every = 50", "precision = double", "[analysis]", "msd_every = 20", "msd_lags = 3", "vacf_every = 10", "vacf_lags = 12")
    for name, words in RUNS.items():
        own = [file for file in (f"{name}.xyz", f"{name}.txt") if os.path.exists(os.path.join(folder, file))]
        # coordinates and trajectory have different names
        done = subprocess.run([mdmini, *own, "all.txt", *words, f"output.name=run-{name}"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stdout[-800:]}{done.stderr}"


def write(folder, name, *lines):
    with open(os.path.join(folder, name), "w") as file:
        file.write("".join(f"{line}\n" for line in lines))


# --- one reader -------------------------------------------------------------------------------------------------------


class Expected:
    """A run, as h5py reads it."""

    def __init__(self, folder, name):
        self.name, self.path = name, os.path.join(folder, f"run-{name}")
        self.velocity_column = ([word.split("=")[1] for word in RUNS[name] if "xyz_velocities" in word] or ["off"])[0]
        with h5py.File(f"{self.path}.h5") as file:
            particles = file["particles/all"]
            self.position, self.velocity = particles["position/value"][:], particles["velocity/value"][:]
            self.step, self.time = particles["position/step"][:], particles["position/time"][:]
            self.mass = particles["mass"][:]
            self.periodic = np.array([bytes(word) == b"periodic" for word in particles["box"].attrs["boundary"]])
            self.length = np.diag(particles["box/edges/value"][0]) if "edges" in particles["box"] else None
            self.temperature = file["observables/temperature/value"][:]
        n = self.position.shape[1]
        self.pairs = np.stack([np.arange(n), (7 * np.arange(n) + n // 2) % n], axis=1)
        self.pairs = self.pairs[self.pairs[:, 0] != self.pairs[:, 1]]
        assert self.position.shape[0] == N_FRAMES and (self.length is None) == (name in OPEN), name
        assert np.ptp(self.velocity) > 0 and (len(set(self.mass)) > 1) == name.startswith("mixture"), name

    def distance(self, k):
        vector = self.position[k][self.pairs[:, 1]] - self.position[k][self.pairs[:, 0]]
        if self.length is not None:
            vector -= np.where(self.periodic, self.length * np.rint(vector / self.length), 0)
        return np.linalg.norm(vector, axis=1)

    def longer_box(self):
        """For readers that take every box as a periodic one: an edge along open axes that is longer than any distance."""
        return None if self.length is None else np.where(self.periodic, self.length, 1000)

    def near(self, value, expected, what, tolerance=1e-12):
        """Equal to rounding; in frames whose numbers are not 0."""
        right = np.shape(value) == np.shape(expected) and np.allclose(value, expected, rtol=tolerance, atol=tolerance)
        assert right, f"{self.name}: {what}: {value}, expected {expected}"

    def same(self, value, expected, what):
        assert value == expected, f"{self.name}: {what}: {value}, expected {expected}"


def load_mdanalysis(run, **options):
    import MDAnalysis
    universe = MDAnalysis.Universe.empty(run.position.shape[1], trajectory=False)
    universe.load_new(f"{run.path}.h5", format="H5MD", convert_units=False, **options)
    return universe


def check_mdanalysis(run):
    from MDAnalysis.lib.distances import calc_bonds
    from MDAnalysis.transformations.boxdimensions import set_dimensions
    universe, timed = load_mdanalysis(run), load_mdanalysis(run, dt=run.time[1] - run.time[0])
    run.same((len(universe.trajectory), timed.trajectory.dt, timed.trajectory.totaltime), (N_FRAMES, INTERVAL, run.time[-1]), "frames, dt")
    if run.name == "argon":
        units = [universe.trajectory.units[key] for key in ("length", "time", "velocity")]
        run.same(units, ["Angstrom", "ps", "Angstrom/ps"], "units")
    box = universe.dimensions
    if run.length is None:
        run.same(box, None, "dimensions")
    else:
        run.near(box, np.append(run.length, [90, 90, 90]), "dimensions", 1e-6)
    if run.length is not None and run.name.endswith("half-open"):
        universe.trajectory.add_transformations(set_dimensions([*run.longer_box(), 90, 90, 90]))
    for k, frame in enumerate(universe.trajectory):
        run.same((frame.time, frame.data["step"], timed.trajectory[k].time), (run.time[k], run.step[k], run.time[k]), "time, step")
        run.near(frame.positions, run.position[k], "positions", 1e-6)
        run.near(frame.velocities, run.velocity[k], "velocities", 1e-6)
        run.near(frame.data["temperature"], run.temperature[k], "temperature")
        a, b = (universe.atoms[run.pairs[:, side]].positions for side in (0, 1))
        run.near(calc_bonds(a, b, box=universe.dimensions), run.distance(k), "distances", 2e-6)


def check_types(run, k, values):
    """Real values of the comment line are real numbers in every frame, step is a whole one."""
    run.same(int(values["step"]), run.step[k], "step")
    assert isinstance(values["step"], (int, np.integer)), f"{run.name}: step is {type(values['step'])}"
    for name, expected in (("time", run.time[k]), ("temperature", run.temperature[k])):
        assert isinstance(values[name], float), f"{run.name}: {name} is {type(values[name])}"
        run.same(float(values[name]), expected, name)


def check_ase(run):
    import ase.io
    from ase.geometry import find_mic
    frames = ase.io.read(f"{run.path}.xyz", ":", format="extxyz")
    run.same(len(frames), N_FRAMES, "frames")
    for k, atoms in enumerate(frames):
        check_types(run, k, atoms.info)
        run.same(atoms.pbc.tolist(), run.periodic.tolist(), "pbc")
        run.near(atoms.cell[:], np.zeros((3, 3)) if run.length is None else np.diag(run.length), "cell")
        run.near(atoms.positions, run.position[k], "positions")
        vectors = atoms.positions[run.pairs[:, 1]] - atoms.positions[run.pairs[:, 0]]
        run.near(find_mic(vectors, atoms.cell, atoms.pbc)[1], run.distance(k), "distances")
        if run.velocity_column == "momenta":
            run.near(atoms.get_velocities(), run.velocity[k], "velocities")
            run.near(atoms.get_masses(), run.mass, "masses")
        elif run.velocity_column != "off":
            run.near(atoms.arrays[run.velocity_column], run.velocity[k], "velocities")
        if run.velocity_column != "momenta":
            run.same("mass" in atoms.arrays, bool((run.mass != 1).any()), "a column mass")
            run.near(atoms.arrays.get("mass", np.ones(len(run.mass))), run.mass, "masses")


def check_ovito(run):
    from ovito.io import import_file
    pipeline = import_file(f"{run.path}.xyz")
    run.same(pipeline.source.num_frames, N_FRAMES, "frames")
    for k in range(N_FRAMES):
        data = pipeline.compute(k)
        check_types(run, k, {name: data.attributes[name] for name in ("time", "step", "temperature")})
        run.near(data.particles.positions[...], run.position[k], "positions")
        run.same(data.cell is None, run.length is None, "no cell")
        vectors = run.position[k][run.pairs[:, 1]] - run.position[k][run.pairs[:, 0]]
        if data.cell is not None:
            run.near(data.cell[:, :3], np.diag(run.length), "cell")
            run.same(list(data.cell.pbc), run.periodic.tolist(), "pbc")
            vectors = data.cell.delta_vector(*(data.particles.positions[...][run.pairs[:, side]] for side in (0, 1)))
        run.near(np.linalg.norm(vectors, axis=1), run.distance(k), "distances")
        if run.velocity_column == "velo":
            run.near(data.particles.velocities[...], run.velocity[k], "velocities")
        if run.velocity_column != "momenta":
            run.same("Mass" in data.particles, bool((run.mass != 1).any()), "a column mass")
            run.near(data.particles["Mass"][...] if "Mass" in data.particles else np.ones(len(run.mass)), run.mass, "masses")


def check_chemfiles(run):
    import chemfiles
    chemfiles.set_warnings_callback(lambda message: None)
    file = chemfiles.Trajectory(f"{run.path}.xyz")
    run.same(file.nsteps, N_FRAMES, "frames")
    if run.name.endswith("half-open"):
        file.set_cell(chemfiles.UnitCell(list(run.longer_box())))
    for k in range(N_FRAMES):
        frame = file.read()
        run.near(frame.positions, run.position[k], "positions")
        run.near(frame.cell.lengths, [0, 0, 0] if run.length is None else
                 run.longer_box() if run.name.endswith("half-open") else run.length, "cell")
        run.same((float(frame["time"]), int(frame["step"])), (run.time[k], run.step[k]), "time, step")  # it gives text
        run.near([frame.distance(int(i), int(j)) for i, j in run.pairs], run.distance(k), "distances")
        if run.velocity_column != "off":
            scale = run.mass[:, None] if run.velocity_column == "momenta" else 1
            run.near([atom[run.velocity_column] for atom in frame.atoms], scale * run.velocity[k], "velocities")


def check_freud(run):
    """The recipe for two dimensions: far away g is 1, whoever reads the positions."""
    import freud
    if run.name != "plane":
        return
    pairs = freud.density.RDF(20, 5, r_min=4)
    pairs.compute((freud.box.Box(*run.length[:2]), load_mdanalysis(run).trajectory[-1].positions))
    run.near(pairs.rdf.mean(), 1, "g(r)", 0.1)


READERS = {"MDAnalysis": check_mdanalysis, "ase": check_ase, "ovito": check_ovito, "chemfiles": check_chemfiles,
           "freud": check_freud}


def check(folder):
    """Every reader that is installed, on all runs; those that are."""
    found = [name for name in READERS if importlib.util.find_spec(name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in found:
            for run in RUNS:
                READERS[name](Expected(folder, run))
            package = {"freud": "freud-analysis"}.get(name, name)
            print(f"{package} {importlib.metadata.version(package)}: {len(RUNS)} runs", flush=True)
    return found


# --- by itself --------------------------------------------------------------------------------------------------------


def check_environment(folder, number, packages):
    place = os.path.join(folder, f"environment{number}")
    venv.create(place, with_pip=True)
    python = os.path.join(place, "bin", "python")
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "h5py", *packages])
    return done.returncode == 0 and subprocess.run([python, "-B", os.path.abspath(__file__), "--check", folder]).returncode == 0


def main(arguments):
    if len(arguments) != 1 or not os.access(arguments[0], os.X_OK):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        write_runs(os.path.abspath(arguments[0]), folder)
        failed = [packages for number, packages in enumerate(ENVIRONMENTS) if not check_environment(folder, number, packages)]
    print(f"FAILED: {failed}" if failed else "all readers read everything right")
    return 1 if failed else 0


if __name__ != "__main__" or sys.argv[1:2] == ["--check"]:
    import h5py
    import numpy as np

if __name__ == "__main__":
    sys.exit(0 if check(sys.argv[2]) else 1) if sys.argv[1:2] == ["--check"] else sys.exit(main(sys.argv[1:]))
