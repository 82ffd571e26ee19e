#!/usr/bin/env python3
"""Checks trajectories: H5MD 1.1 as specified, the narrower layout that MDAnalysis, VMD and other readers need, and what
mdmini promises of the numbers: ids in order, steps that increase and miss nothing that was due, equal lengths, finite
numbers, positions inside the box.

    h5check.py FILE... [--json]

One line for each problem; exit code 0 when there is none, else 1 (141: nobody reads the lines). A file that a killed run has left
is mended by `mdmini --recover FILE`.
"""
import json
import sys

from interpreter import need, run

need(__name__, ("numpy", "h5py"))
import h5py
import numpy as np
from trajectory import open_trajectory, texts
from scripts import Parser  # found by trajectory

OBSERVABLES = ["particle_number", "temperature", "pressure", "density", "potential_energy", "kinetic_energy",
               "internal_energy", "conserved_energy"]
TENSOR = "pressure_tensor"  # with analysis.pressure = tensor
# Of datasets, by their names; strings of variable length. A program that reads H5MD knows no name of a reduced unit.
UNITS = {"position": "Angstrom", "edges": "Angstrom", "velocity": "Angstrom ps-1", "force": "kJ mol-1 Angstrom-1", "time": "ps", "mass": "u",
         "temperature": "K", "pressure": "pressure", "pressure_tensor": "pressure", "density": "density", "potential_energy": "eV", "kinetic_energy": "eV",
         "internal_energy": "eV", "conserved_energy": "eV"}
ANALYSIS = "parameters/mdmini/analysis/"
OF_CURVES = {"mean_square_displacement/value": "Angstrom2", "mean_square_displacement/error": "Angstrom2",
             "velocity_autocorrelation/value": "Angstrom2 ps-2", "velocity_autocorrelation/error": "Angstrom2 ps-2",
             "mean_square_displacement/time": "ps", "velocity_autocorrelation/time": "ps",
             "radial_distribution/r": "Angstrom", "radial_distribution/outer r": "Angstrom"}
POSITION, BOX = "/particles/all/position/value", "/particles/all/box"


class Missing(Exception):
    """What a check needs and the file has not, or has in another form."""


class Checker:
    def __init__(self, file):
        self.file = file
        self.problems = []

    def need(self, holds, text):
        if not holds:
            self.problems.append(text)
        return bool(holds)

    def attribute(self, path, name):
        node = self.file.get(path)
        if not self.need(node is not None and name in node.attrs, f"{path}@{name} is missing"):
            return None
        return node.attrs.get_id(name)

    def at(self, path):
        """The object at a path, which all else of a check needs."""
        node = self.file.get(path)
        if node is None:
            raise Missing(f"{path} is missing")
        return node

    def array(self, path, n_axes):
        """The numbers of a dataset with so many axes."""
        node = self.at(path)
        if not isinstance(node, h5py.Dataset) or node.shape is None or node.ndim != n_axes or node.dtype.kind not in "iuf":
            raise Missing(f"{path} is no dataset of numbers with {n_axes} axes")
        return node[...]

    def value(self, path, name):
        """An attribute, which all else of a check needs."""
        if name not in self.at(path).attrs:
            raise Missing(f"{path}@{name} is missing")
        return self.at(path).attrs[name]

    def whole(self, path):
        """A dataset of one value, such as a text."""
        node = self.at(path)
        if not isinstance(node, h5py.Dataset) or node.shape != ():
            raise Missing(f"{path} is no dataset of one value")
        return node[()]

    def text(self, path, name, expected=None):
        """A scalar attribute of fixed-length string type."""
        attribute = self.attribute(path, name)
        if attribute is None:
            return
        kind = attribute.get_type()
        fixed = isinstance(kind, h5py.h5t.TypeStringID) and not kind.is_variable_str()
        if not self.need(fixed and attribute.shape == (), f"{path}@{name} is not a scalar fixed-length string"):
            return
        value = bytes(self.file[path].attrs[name])
        self.need(value and (expected is None or value == expected), f"{path}@{name} is {value!r}")

    def integers(self, path, name, expected):
        attribute = self.attribute(path, name)
        if attribute is None:
            return
        value = np.array(self.file[path].attrs[name])
        self.need(value.dtype.kind in "iu" and value.tolist() == expected,
                  f"{path}@{name} is {value.tolist()}, not {expected}")

    def dataset(self, path, kinds, shape):
        node = self.file.get(path)
        if not self.need(isinstance(node, h5py.Dataset), f"{path} is no dataset"):
            return None
        is_right = self.need(str(node.dtype) in kinds, f"{path} has type {node.dtype}, not one of {kinds}")
        return node if self.need(node.shape == shape, f"{path} has shape {node.shape}, not {shape}") and is_right else None

    def same_object(self, a, b):
        if not all([self.need(path in self.file, f"{path} is missing") for path in (a, b)]):
            return
        group, name = a.rsplit("/", 1)
        self.need(isinstance(self.file[group].get(name, getlink=True), h5py.HardLink), f"{a} is not a hard link")
        self.need(self.file[a] == self.file[b] and
                  h5py.h5o.get_info(self.file[a].id).addr == h5py.h5o.get_info(self.file[b].id).addr,
                  f"{a} is not the same object as {b}")

    def element(self, path, kinds, shape):
        """Depends on time, with the frames of the position."""
        group = self.file.get(path)
        if not self.need(isinstance(group, h5py.Group), f"{path} is no group"):
            return
        self.need(set(group) == {"value", "step", "time"}, f"{path} holds {sorted(group)}")
        self.dataset(path + "/value", kinds, (self.n_frames,) + shape)
        for name in ("step", "time"):
            self.same_object(f"{path}/{name}", f"/particles/all/position/{name}")

    def timeline(self, path, n_frames):
        for name, kind in (("step", "int64"), ("time", "float64")):
            series = self.dataset(f"{path}/{name}", [kind], (n_frames,))
            if series is not None and n_frames:
                self.need((np.diff(series[:]) > 0).all(), f"{series.name} does not increase")
                self.need(series[0] >= 0, f"{series.name} begins below 0")

    def numbers(self, path, low=None, high=None):
        """Frame by frame: finite, and within [low, high) along the axes where these are not NaN."""
        node = self.file[path]
        for t in range(node.shape[0]):
            frame = node[t]
            if not self.need(np.isfinite(frame).all(), f"{path}: frame {t} holds numbers that are not finite"):
                return
            if low is None:
                continue
            with np.errstate(invalid="ignore"):  # comparisons with NaN are false
                outside = (frame < low.astype(frame.dtype)) | (frame >= high.astype(frame.dtype))
            if not self.need(not outside.any(), f"{path}: frame {t} has {np.count_nonzero(outside.any(axis=1))} "
                                                f"particles outside the box"):
                return

    def schedule(self, path, parts, last_step):
        """Every step that was due up to last_step is there, and no other. parts: of each process of the run the interval, the
        last step planned, and the last that it had kept of the frames before."""
        steps = set(self.file[path + "/step"][:].tolist())
        end, due = max(steps | {last_step}), set()
        for every, last, kept in reversed(parts):
            if every > 0:
                first = -(-(kept + 1) // every) * every
                due.update(range(first, min(end, last) + 1, every))
                due.update({last} if kept < last <= end else ())
            end = min(end, kept)
        missing = sorted(step for step in due - steps if step <= last_step)
        self.need(not missing, f"{path}: step {missing[:1]} was due and is missing")
        extra = sorted(steps - due)
        self.need(not extra, f"{path}: step {extra[:1]} was not due")


def check(path, quantities=None):
    """The problems of a file. quantities: those of velocity, force and image that it has to hold, and no others; None: any."""
    try:
        file = open_trajectory(path)
    except OSError as error:
        return [f"cannot be opened: {str(error).replace(f'{path}: ', '')}"]
    with file:
        checker = Checker(file)
        checker.n_frames = 0
        try:
            position = checker.at(POSITION)
            if not isinstance(position, h5py.Dataset) or position.shape is None or position.ndim != 3:
                raise Missing(f"{POSITION} is no dataset with 3 axes")
            walk(checker, file, position, quantities)
        except Missing as what:
            checker.problems.append(str(what))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OSError, RuntimeError) as error:  # of another kind, or damaged
            if not checker.problems:  # else it follows from these
                checker.problems.append(f"cannot be read to the end: {type(error).__name__}: {error}")
        return list(dict.fromkeys(checker.problems))


def walk(checker, file, position, quantities):
    checker.n_frames, n_atoms = position.shape[0], position.shape[1]
    check_head(checker, file)
    elements = check_particles(checker, file, n_atoms, quantities)
    check_box(checker, file)
    dimension = check_observables(checker, file, n_atoms)
    check_parameters(checker, file)
    check_numbers(checker, file, elements, dimension)
    check_intervals(checker, file, elements)

    def check_unit(name, node):
        unit, right = node.attrs.get("unit"), UNITS.get(name.split("/")[-2 if name.endswith("/value") else -1]) if style == b"metal" else None
        if name.startswith(ANALYSIS):
            right = OF_CURVES.get(name[len(ANALYSIS):]) if style == b"metal" else None
            checker.need(unit == right, f"{name} has the unit {unit!r}, not {right!r}")
        elif isinstance(node, h5py.Dataset) and "parameters/" not in name:
            right = {2: "eV Angstrom-2", 3: "bar"}[dimension] if right == "pressure" else right
            right = f"Angstrom-{dimension}" if right == "density" else right
            checker.need(unit == right and (right is None or type(unit) is str), f"{name} has the unit {unit!r}, not {right!r}")
        else:
            checker.need(unit is None, f"{name} has a unit")

    style = bytes(file["/parameters/mdmini"].attrs["unit_style"])
    file.visititems(check_unit)


def check_head(checker, file):
    checker.need(set(file) == {"h5md", "particles", "observables", "parameters"}, f"the root holds {sorted(file)}")
    checker.integers("/h5md", "version", [1, 1])
    checker.text("/h5md/author", "name")
    checker.text("/h5md/creator", "name", b"mdmini")
    checker.text("/h5md/creator", "version")
    checker.integers("/h5md/modules/thermodynamics", "version", [1, 0])


def check_particles(checker, file, n_atoms, quantities):
    """{quantity: path of its element}"""
    particles = file["/particles/all"]
    real = [str(particles["position/value"].dtype)]
    checker.need(real[0] in ("float32", "float64"), f"position has type {real[0]}")
    elements = {name: f"/particles/all/{name}" for name in ("position", "velocity", "force", "image") if name in particles}
    checker.need(set(particles) == {"box", "species", "id", "mass"} | set(elements), f"/particles/all holds {sorted(particles)}")
    for name, path in elements.items():
        checker.element(path, ["int32"] if name == "image" else real, (n_atoms, 3))
    checker.timeline("/particles/all/position", checker.n_frames)
    checker.dataset("/particles/all/species", ["int32"], (n_atoms,))
    mass = checker.dataset("/particles/all/mass", ["float64"], (n_atoms,))
    checker.need(mass is None or (mass[:] > 0).all(), "a mass is not above zero")
    ids = checker.dataset("/particles/all/id", ["int32"], (n_atoms,))
    checker.need(ids is None or np.array_equal(ids[:], np.arange(n_atoms)), "ids are not 0 .. N-1")
    for name in ("velocity", "force"):
        if f"all_{name}" in file["particles"]:
            checker.need(name not in elements, f"there are two of {name}")
            elements[name] = check_apart(checker, file, name, real, n_atoms)
    known = {"all"} | {f"all_{name}" for name in elements}
    checker.need(set(file["particles"]) <= known, f"/particles holds {sorted(file['particles'])}")
    found = set(elements) - {"position"}
    checker.need(quantities is None or set(quantities) == found, f"the file has {sorted(found)}")
    return elements


def check_apart(checker, file, name, real, n_atoms):
    """The group of a quantity at steps of its own, which readers would pair with positions of other steps."""
    group = f"/particles/all_{name}"
    checker.need(set(file[group]) == {"box", "species", "id", "mass", name}, f"{group} holds {sorted(file[group])}")
    for shared in ("species", "id", "mass"):
        checker.same_object(f"{group}/{shared}", f"/particles/all/{shared}")
    checker.integers(f"{group}/box", "dimension", 3)
    same = words_of(checker, f"{group}/box") == words_of(checker, BOX)
    checker.need(same, f"{group}/box@boundary is not that of the positions")
    if needs_edges(checker, f"{group}/box"):
        checker.dataset(f"{group}/box/edges", ["float64"], (3, 3))
    n_frames = len(checker.array(f"{group}/{name}/step", 1))
    checker.dataset(f"{group}/{name}/value", real, (n_frames, n_atoms, 3))
    checker.timeline(f"{group}/{name}", n_frames)
    return f"{group}/{name}"


def words_of(checker, path):
    """The boundary of a box."""
    return texts(checker.value(path, "boundary"))


def needs_edges(checker, path):
    """The specification leaves them out where no boundary is periodic; files of older versions of mdmini have them there, too."""
    return "edges" in checker.at(path) or any(word != "none" for word in words_of(checker, path))


def check_box(checker, file):
    checker.integers("/particles/all/box", "dimension", 3)
    boundary = checker.attribute("/particles/all/box", "boundary")
    if boundary is not None:
        values = words_of(checker, BOX)
        checker.need(boundary.shape == (3,) and not boundary.get_type().is_variable_str() and
                     set(values) <= {"periodic", "none"}, f"box@boundary is {values}")
    if not needs_edges(checker, BOX):
        return
    checker.element("/particles/all/box/edges", ["float64"], (3, 3))
    edges = checker.array("/particles/all/box/edges/value", 3)
    checker.need((edges[:, [0, 1, 2], [0, 1, 2]] > 0).all(), "a box edge is not above zero")
    checker.need(np.count_nonzero(edges) == 3 * checker.n_frames, "the box is not a cuboid")


def check_observables(checker, file, n_atoms):
    """The dimension of the system."""
    dimension = checker.value("/parameters/mdmini", "dimension")
    checker.need(dimension in (2, 3), f"dimension is {dimension}")
    checker.integers("/observables", "dimension", int(dimension))
    checker.need(set(file["observables"]) - {TENSOR} == set(OBSERVABLES), f"/observables holds {sorted(file['observables'])}")
    for name in OBSERVABLES:
        checker.element(f"/observables/{name}", ["int64"] if name == "particle_number" else ["float64"], ())
    if TENSOR in file["observables"]:
        checker.element(f"/observables/{TENSOR}", ["float64"], (3, 3))
    checker.need((checker.array("/observables/particle_number/value", 1) == n_atoms).all(), "particle_number is wrong")
    return int(dimension)


def read_json(checker, path):
    try:
        return json.loads(checker.whole(path))
    except (ValueError, TypeError) as error:
        raise Missing(f"{path} is no JSON: {error}") from error


def check_parameters(checker, file):
    checker.text("/parameters/mdmini", "run_id")
    style = checker.at("/parameters/mdmini").attrs.get("unit_style")
    checker.need(style in (b"lj", b"metal"), f"/parameters/mdmini@unit_style is {style!r}")
    checker.need(("units" in file["/h5md/modules"]) == (style == b"metal"), "the module units goes with others than reduced units")
    for name in ("deck", "provenance"):
        checker.need(len(checker.whole(f"/parameters/mdmini/{name}")) > 0, f"/parameters/mdmini/{name} is no text")
    read_json(checker, "/parameters/mdmini/provenance")
    for k in range(int(checker.value("/parameters/mdmini", "n_restarts")) + 1):
        path = f"/parameters/mdmini/process_{k}"
        checker.need("provenance" in read_json(checker, path), f"{path} has no provenance")
    species = checker.array("/parameters/vmd_structure/indexOfSpecies", 1)
    present = sorted(set(checker.array("/particles/all/species", 1)))
    checker.need(species.tolist() == present, "vmd_structure is of other species than the particles: VMD ignores it")
    for name in ("name", "type", "radius", "atomicnumber"):
        complete = checker.at(f"/parameters/vmd_structure/{name}").shape == species.shape
        checker.need(complete, f"vmd_structure/{name} is incomplete")
    for name in ("name", "type"):
        size = file[f"/parameters/vmd_structure/{name}"].dtype.itemsize  # VMD has room for 16, a zero included
        checker.need(size <= 16, f"vmd_structure/{name} is too long for VMD")


def check_numbers(checker, file, elements, dimension):
    particles = file["/particles/all"]
    boundary = words_of(checker, BOX)
    closed = "none" not in boundary[:dimension]
    for name in OBSERVABLES:
        if closed or name not in ("pressure", "density"):  # which an open box does not have
            series = checker.array(f"/observables/{name}/value", 1)
            checker.need(np.isfinite(series).all(), f"/observables/{name} holds numbers that are not finite")
    if closed and TENSOR in file["observables"]:
        tensor, pressure = checker.array(f"/observables/{TENSOR}/value", 3), checker.array("/observables/pressure/value", 1)
        checker.need((tensor == tensor.transpose(0, 2, 1)).all(), f"/observables/{TENSOR} is not symmetric")
        off = np.abs(np.trace(tensor, axis1=1, axis2=2) / dimension - pressure)
        checker.need((off <= 1e-4 * (1 + np.abs(tensor).max(axis=(1, 2)))).all(), f"the trace of /observables/{TENSOR} is not the pressure")
    if dimension == 2:
        checker.need(not any(frame[:, 2].any() for frame in particles["position/value"]), "a 2-D system has z")
        checker.need(boundary[2] == "none", "a 2-D system has a third boundary")
    wrapped = bytes(file["/parameters/mdmini"].attrs.get("positions", b"wrapped")) == b"wrapped"
    low = high = None
    if wrapped and checker.n_frames:
        periodic = np.array([word == "periodic" for word in boundary])
        edges = np.diag(checker.array("/particles/all/box/edges/value", 3)[0]) if periodic.any() else np.nan
        low, high = np.where(periodic, 0, np.nan), np.where(periodic, edges, np.nan)
    checker.numbers("/particles/all/position/value", low, high)
    for name in ("velocity", "force"):
        if name in elements:
            checker.numbers(f"{elements[name]}/value")


def check_intervals(checker, file, elements):
    """The frames are those of the intervals of all processes of the run that had a trajectory. The first has kept no frames,
    and may begin after steps that had none."""
    n_restarts = int(checker.value("/parameters/mdmini", "n_restarts"))
    node = checker.dataset("/parameters/mdmini/schedule", ["int64"], (n_restarts + 1, 9))
    if node is None or node.shape[1:] != (9,) or not checker.n_frames:
        return
    rows = node[:]
    checker.need((rows[:, 5:] >= -1).all(), "/parameters/mdmini/schedule has steps below 0")
    last_step = int(checker.array("/particles/all/position/step", 1)[-1])
    for k, name in enumerate(("position", "velocity", "force")):  # images have the steps of the positions themselves
        if name in elements:
            checker.schedule(elements[name], [(int(row[1 + k]), int(row[0]), int(row[5 + k])) for row in rows], last_step)


def main():
    parser = Parser(description=__doc__.split("\n\n")[0], epilog="Exit code 0: no problem in any file; 1: some.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print {file: [problems]}")
    arguments = parser.parse_args()
    problems = {path: check(path) for path in arguments.files}
    if arguments.json:
        print(json.dumps(problems, indent=1))
    else:
        for path, found in problems.items():
            print("\n".join(f"{path}: {problem}" for problem in found) if found else f"{path}: good")
    return 1 if any(problems.values()) else 0


if __name__ == "__main__":
    sys.exit(run(main))
