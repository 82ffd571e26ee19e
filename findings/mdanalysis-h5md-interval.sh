#!/usr/bin/env bash
# Guess: the interval of a trajectory, u.trajectory.dt, is the difference of the times in the file.
# Found: for H5MD it is 1.0 for any position/time (with one warning, "no dt information"), and totaltime counts intervals;
# ts.time of each frame is right. dt=... in load_new sets it.
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
with h5py.File("a.h5md", "w") as file:
    head = file.create_group("h5md")
    head.attrs["version"] = np.array([1, 1])
    for group in ("author", "creator"):
        head.create_group(group).attrs["name"] = "example"
    head["creator"].attrs["version"] = "1"
    atoms = file.create_group("particles/all")
    box = atoms.create_group("box")
    box.attrs["dimension"], box.attrs["boundary"] = 3, np.array([b"periodic"] * 3)
    position = atoms.create_group("position")
    position["step"], position["time"], position["value"] = np.arange(5) * 100, np.arange(5) * 0.5, np.zeros((5, 2, 3))
    edges = box.create_group("edges")
    edges["step"], edges["time"], edges["value"] = position["step"], position["time"], np.array([np.eye(3) * 3] * 5)


def times(**words):
    universe = MDAnalysis.Universe.empty(2, trajectory=False)
    universe.load_new("a.h5md", format="H5MD", convert_units=False, **words)
    trajectory = universe.trajectory
    seen = (float(trajectory.dt), float(trajectory.totaltime), [float(frame.time) for frame in trajectory][-1])
    trajectory.close()
    return seen


seen = times(), times(dt=0.5)
print("dt, totaltime, time of the last frame:", seen[0], "with dt=0.5:", seen[1])
assert seen == ((1.0, 4.0, 2.0), (0.5, 2.0, 2.0)), "this has changed"
PYTHON
