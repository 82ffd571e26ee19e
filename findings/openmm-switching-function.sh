#!/usr/bin/env bash
# Guess: the switching function of OpenMM's NonbondedForce is that of CHARMM, a polynomial in r^2, like those of LAMMPS'
# lj/charmm and HOOMD's xplor.
# Found: it is a polynomial of the fifth degree in r, like GROMACS' potential-switch. Between 2.0 and 2.5 sigma the energy of
# a pair differs by up to a factor of two: the same two distances in an input file give another potential.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile openmm==8.6.1
cd "$folder" && "$folder/venv/bin/python" - <<'PYTHON'
import openmm
from openmm.unit import kilojoule_per_mole

print("OpenMM", openmm.__version__)
system, force = openmm.System(), openmm.NonbondedForce()
for _ in range(2):
    system.addParticle(1.0)
    force.addParticle(0.0, 1.0, 1.0)
force.setNonbondedMethod(openmm.NonbondedForce.CutoffNonPeriodic)
force.setCutoffDistance(2.5)
force.setUseSwitchingFunction(True)
force.setSwitchingDistance(2.0)
force.setUseDispersionCorrection(False)
system.addForce(force)
context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
for r in (2.1, 2.25, 2.4):
    context.setPositions([[0, 0, 0], [r, 0, 0]])
    energy = context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(kilojoule_per_mole)
    plain, y, a, b = 4 * (r ** -12 - r ** -6), (r - 2) / 0.5, 4.0, 6.25
    quintic = 1 - 10 * y ** 3 + 15 * y ** 4 - 6 * y ** 5
    charmm = (b - r * r) ** 2 * (b + 2 * r * r - 3 * a) / (b - a) ** 3
    print(f"r {r}: energy {energy:.8f}, quintic in r {plain * quintic:.8f}, CHARMM's {plain * charmm:.8f}")
    assert abs(energy - plain * quintic) < 1e-9 and abs(energy - plain * charmm) > 1e-3, "this has changed"
PYTHON
