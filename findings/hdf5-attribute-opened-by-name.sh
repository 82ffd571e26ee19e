#!/usr/bin/env bash
# Guess: an attribute opened by the name of its object (H5Aopen_by_name) can be written like one opened from the object.
# Found: opened from the file by the path of its group, it cannot: the write fails ("can't locate open attribute"), in 1.14.2,
# 1.14.6 and 2.0.0 alike (1.10.8 as well). What is then read from the attribute is the value that was refused; the file keeps
# the old one. Opened from the group itself, by name or not, it can be written.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.11.0 3.15.1 3.16.0; do
    "${PYTHON:-python3}" -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q --no-compile "h5py==$version" numpy==2.2.6
    (cd "$folder" && "$folder/$version/bin/python" - <<'PYTHON'
import h5py
import numpy as np


def write(open_attribute):
    """Whether the write succeeds, what the attribute reads next, and the value in the file."""
    with h5py.File("file.h5", "w") as file:
        file.create_group("group").attrs["value"] = 1.0
    with h5py.File("file.h5", "r+") as file:
        attribute = open_attribute(file)
        try:
            attribute.write(np.array(2.0))
            succeeds = True
        except OSError as error:
            succeeds = False
            print(error)
        seen = np.zeros(())
        attribute.read(seen)
        del attribute
    with h5py.File("file.h5", "r") as file:
        return succeeds, float(seen), float(file["group"].attrs["value"])


print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
seen = {"from the file by name": write(lambda file: h5py.h5a.open(file.id, b"value", obj_name=b"group")),
        "from the group by name": write(lambda file: h5py.h5a.open(file["group"].id, b"value", obj_name=b".")),
        "from the group": write(lambda file: h5py.h5a.open(file["group"].id, b"value"))}
for way, found in seen.items():
    print(f"{way}: written, read next, in the file: {found}")
assert list(seen.values()) == [(False, 2.0, 1.0), (True, 2.0, 2.0), (True, 2.0, 2.0)], "this has changed"
PYTHON
    )
done
