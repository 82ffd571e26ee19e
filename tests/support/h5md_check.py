"""A strict check of a trajectory: H5MD 1.1 as specified, and the narrower layout that readers need.

check(path) returns the list of violations; an empty one means that the file is right.
"""
import json

import h5py
import numpy as np

OBSERVABLES = ["particle_number", "temperature", "pressure", "density", "potential_energy", "kinetic_energy",
               "internal_energy", "conserved_energy"]


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
        self.need(str(node.dtype) in kinds, f"{path} has type {node.dtype}, not one of {kinds}")
        self.need(node.shape == shape, f"{path} has shape {node.shape}, not {shape}")
        return node

    def same_object(self, a, b):
        if not self.need(a in self.file and b in self.file, f"{a} or {b} is missing"):
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


def check(path, velocities=None, forces=None, images=None):
    with h5py.File(path, "r") as file:
        checker = Checker(file)
        checker.n_frames = 0
        if checker.need("/particles/all/position/value" in file, "/particles/all/position/value is missing"):
            try:
                walk(checker, file, velocities, forces, images)
            except (KeyError, TypeError, ValueError) as error:  # something absent, or of another kind
                checker.problems.append(f"{type(error).__name__}: {error}")
        return checker.problems


def walk(checker, file, velocities, forces, images):
    position = file["/particles/all/position/value"]
    checker.n_frames, n_atoms = position.shape[0], position.shape[1]
    real = [str(position.dtype)]
    checker.need(real[0] in ("float32", "float64"), f"position has type {real[0]}")

    checker.need(set(file) == {"h5md", "particles", "observables", "parameters"}, f"the root holds {sorted(file)}")
    checker.integers("/h5md", "version", [1, 1])
    checker.text("/h5md/author", "name")
    checker.text("/h5md/creator", "name", b"mdmini")
    checker.text("/h5md/creator", "version")
    checker.integers("/h5md/modules/thermodynamics", "version", [1, 0])

    checker.need(list(file["particles"]) == ["all"], "/particles must hold `all` alone")
    particles = file["/particles/all"]
    optional = {"velocity": velocities, "force": forces, "image": images}
    for name, wanted in optional.items():
        checker.need(wanted is None or wanted == (name in particles), f"{name}: present is {name in particles}")
    known = {"box", "position", "species", "id", "mass"} | set(optional)
    checker.need(set(particles) <= known, f"/particles/all holds {sorted(particles)}")
    for name in ["position", "velocity", "force", "image"]:
        if name in particles:
            checker.element(f"/particles/all/{name}", ["int32"] if name == "image" else real, (n_atoms, 3))
    step = checker.dataset("/particles/all/position/step", ["int64"], (checker.n_frames,))
    time = checker.dataset("/particles/all/position/time", ["float64"], (checker.n_frames,))
    for series in (step, time):
        if series is not None:
            checker.need((np.diff(series[:]) > 0).all(), f"{series.name} does not increase")

    checker.integers("/particles/all/box", "dimension", 3)
    boundary = checker.attribute("/particles/all/box", "boundary")
    if boundary is not None:
        values = [bytes(word) for word in particles["box"].attrs["boundary"]]
        checker.need(boundary.shape == (3,) and not boundary.get_type().is_variable_str() and
                     set(values) <= {b"periodic", b"none"}, f"box@boundary is {values}")
    checker.element("/particles/all/box/edges", ["float64"], (3, 3))
    edges = file["/particles/all/box/edges/value"][:]
    checker.need((edges[:, [0, 1, 2], [0, 1, 2]] > 0).all(), "a box edge is not above zero")
    checker.need(np.count_nonzero(edges) == 3 * checker.n_frames, "the box is not a cuboid")
    checker.dataset("/particles/all/species", ["int32"], (n_atoms,))
    checker.dataset("/particles/all/mass", ["float64"], (n_atoms,))
    ids = checker.dataset("/particles/all/id", ["int32"], (n_atoms,))
    checker.need(ids is not None and np.array_equal(ids[:], np.arange(n_atoms)), "ids are not 0 .. N-1")

    dimension = file["/parameters/mdmini"].attrs["dimension"]
    checker.need(dimension in (2, 3), f"dimension is {dimension}")
    checker.integers("/observables", "dimension", int(dimension))
    checker.need(set(file["observables"]) == set(OBSERVABLES), f"/observables holds {sorted(file['observables'])}")
    for name in OBSERVABLES:
        checker.element(f"/observables/{name}", ["int64"] if name == "particle_number" else ["float64"], ())
    checker.need((file["/observables/particle_number/value"][:] == n_atoms).all(), "particle_number is wrong")
    if dimension == 2:
        checker.need(not position[:, :, 2].any(), "a 2-D system has z")
        checker.need(bytes(particles["box"].attrs["boundary"][2]) == b"none", "a 2-D system has a third boundary")

    checker.text("/parameters/mdmini", "unit_style", b"lj")
    for name in ("deck", "provenance"):
        node = file[f"/parameters/mdmini/{name}"]
        checker.need(node.shape == () and len(node[()]) > 0, f"/parameters/mdmini/{name} is no text")
    json.loads(file["/parameters/mdmini/provenance"][()])
    species = file["/parameters/vmd_structure/indexOfSpecies"][:]
    checker.need(set(particles["species"][:]) <= set(species), "vmd_structure lacks a species")
    for name in ("name", "type", "radius", "atomicnumber"):
        complete = file[f"/parameters/vmd_structure/{name}"].shape == species.shape
        checker.need(complete, f"vmd_structure/{name} is incomplete")

    def no_units(name, node):
        checker.need("unit" not in node.attrs, f"{name} has a unit, which no reader knows in reduced units")

    file.visititems(no_units)
