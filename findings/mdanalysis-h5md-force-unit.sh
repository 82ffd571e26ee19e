#!/usr/bin/env bash
# Guess: with convert_units=False MDAnalysis reads the numbers unchanged and ignores the unit strings.
# Found: a force in eV/angstrom, the unit of metals, is refused with and without conversion; the same file with "kJ mol-1
# Angstrom-1" is read. MDAnalysis accepts only the strings of its own table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile MDAnalysis==2.11.0 h5py==3.16.0
cd "$folder" && "$folder/venv/bin/python" - <<'PYTHON'
import warnings
import h5py, MDAnalysis
import numpy as np

warnings.simplefilter("ignore")
print("MDAnalysis", MDAnalysis.__version__)
seen = {}
for k, force_unit in enumerate(("eV Angstrom-1", "kJ mol-1 Angstrom-1")):
    name = f"{k}.h5md"
    with h5py.File(name, "w") as file:
        head = file.create_group("h5md")
        head.attrs["version"] = np.array([1, 1])
        for group in ("author", "creator"):
            head.create_group(group).attrs["name"] = "example"
        head["creator"].attrs["version"] = "1"
        atoms = file.create_group("particles/all")
        box = atoms.create_group("box")
        box.attrs["dimension"], box.attrs["boundary"] = 3, np.array([b"periodic"] * 3)
        for element, unit, value in (("position", "Angstrom", np.zeros((2, 2, 3))), ("force", force_unit, np.ones((2, 2, 3))),
                                     ("box/edges", "Angstrom", np.array([np.eye(3) * 3] * 2))):
            group = atoms.create_group(element)
            group["step"], group["time"], group["value"] = np.arange(2), np.arange(2) * 0.5, value
            group["value"].attrs["unit"], group["time"].attrs["unit"] = unit, "ps"
    for convert in (True, False):
        universe = MDAnalysis.Universe.empty(2, trajectory=False)
        try:
            universe.load_new(name, format="H5MD", convert_units=convert)
            seen[force_unit, convert] = float(universe.trajectory.ts.forces[0][0])
            universe.trajectory.close()
        except RuntimeError as error:
            seen[force_unit, convert] = "refused"
            print(error)
        print(f"unit {force_unit}, convert_units={convert}: {seen[force_unit, convert]}")
assert seen == {("eV Angstrom-1", True): "refused", ("eV Angstrom-1", False): "refused",
                ("kJ mol-1 Angstrom-1", True): 1.0, ("kJ mol-1 Angstrom-1", False): 1.0}, "this has changed"
PYTHON
