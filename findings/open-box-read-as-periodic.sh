#!/usr/bin/env bash
# Guess: a reader that returns a box also returns whether it is periodic. H5MD has box/boundary for this, extended XYZ has
# pbc.
# Found: MDAnalysis treats box/edges of H5MD as a periodic cell although every boundary is "none"; chemfiles reads Lattice
# and ignores pbc="F F F". Two atoms 2.9 apart in an open box of 3 are then 0.1 apart. ASE is correct. Without box/edges,
# which H5MD allows if every boundary is "none", MDAnalysis has no cell and the distance is correct.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile MDAnalysis==2.11.0 chemfiles==0.10.4 ase==3.29.0 h5py==3.16.0
cd "$folder" && "$folder/venv/bin/python" - <<'PYTHON'
import warnings
import ase, ase.io, chemfiles, h5py, MDAnalysis
import numpy as np
from MDAnalysis.lib.distances import calc_bonds

warnings.simplefilter("ignore")
print("MDAnalysis", MDAnalysis.__version__, "chemfiles", chemfiles.__version__, "ASE", ase.__version__)


def h5md(name, with_edges):
    with h5py.File(name, "w") as file:
        head = file.create_group("h5md")
        head.attrs["version"] = np.array([1, 1])
        for group in ("author", "creator"):
            head.create_group(group).attrs["name"] = "example"
        head["creator"].attrs["version"] = "1"
        atoms = file.create_group("particles/all")
        box = atoms.create_group("box")
        box.attrs["dimension"], box.attrs["boundary"] = 3, np.array([b"none"] * 3)
        position = atoms.create_group("position")
        position["step"], position["time"] = np.arange(2), np.arange(2.0)
        position["value"] = np.array([[[0, 0, 0], [2.9, 0, 0]]] * 2, float)
        if with_edges:
            edges = box.create_group("edges")
            edges["step"], edges["time"] = position["step"], position["time"]
            edges["value"] = np.array([np.eye(3) * 3] * 2)


seen = {}
for with_edges in (True, False):
    h5md("open.h5md", with_edges)
    universe = MDAnalysis.Universe.empty(2, trajectory=False)
    universe.load_new("open.h5md", format="H5MD", convert_units=False)
    a, b = universe.atoms.positions
    seen["MDAnalysis, edges" if with_edges else "MDAnalysis, no edges"] = float(calc_bonds(a, b, box=universe.dimensions))
    universe.trajectory.close()
with open("open.xyz", "w") as file:
    file.write('2\nLattice="3.0 0.0 0.0 0.0 3.0 0.0 0.0 0.0 3.0" Properties=species:S:1:pos:R:3 pbc="F F F"\n'
               "Ar 0.0 0.0 0.0\nAr 2.9 0.0 0.0\n")
seen["chemfiles"] = chemfiles.Trajectory("open.xyz").read().distance(0, 1)
seen["ASE"] = float(ase.io.read("open.xyz").get_distance(0, 1, mic=True))
for reader, distance in seen.items():
    print(f"{reader}: {distance:.4f}")
right = {"MDAnalysis, edges": 0.1, "MDAnalysis, no edges": 2.9, "chemfiles": 0.1, "ASE": 2.9}
assert all(abs(seen[reader] - right[reader]) < 1e-5 for reader in right), "this has changed"
PYTHON
