#!/usr/bin/env bash
# Guess: a property of a frame that chemfiles writes into the comment line of an extended XYZ file comes back with its type,
# and a number that another program wrote there (time=0.5) is a number.
# Found: numbers, booleans and vectors of a frame all come back as text, while ASE reads the same line as numbers; the
# columns of atoms (Properties=...) keep their types in both. The step of the frame is 0 whatever the line says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile chemfiles==0.10.4 ase==3.29.0
cd "$folder" && "$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import ase, ase.io, chemfiles

print("chemfiles", chemfiles.__version__, "ASE", ase.__version__)
frame = chemfiles.Frame()
frame.resize(1)
frame["time"], frame["closed"], frame["along"], frame["step"] = 0.5, True, [1.0, 2.0, 3.0], 7.0
frame.atoms[0]["charge"] = 0.25
with chemfiles.Trajectory("frame.xyz", "w") as file:
    file.write(frame)
print(pathlib.Path("frame.xyz").read_text().splitlines()[1])
read, by_ase = chemfiles.Trajectory("frame.xyz").read(), ase.io.read("frame.xyz").info
seen = {name: read[name] for name in sorted(read.list_properties())}
print(f"chemfiles: {seen}, step {read.step}, charge {read.atoms[0]['charge']}")
print(f"ASE: time {by_ase['time']}, closed {by_ase['closed']}, along {by_ase['along']}")
assert seen == {"along": "1 2 3", "closed": "T", "step": "7", "time": "0.5"} and read.step == 0, "this has changed"
assert read.atoms[0]["charge"] == 0.25 and by_ase["time"] == 0.5 and by_ase["closed"] is True, "this has changed"
PYTHON
