"""A run in metal units as other programs read it: MDAnalysis takes positions, velocities, forces and times of NAME.h5 with their units,
and ASE a frame of NAME.xyz in its own."""
import os
import warnings
from pathlib import Path

import distribution

distribution.prefer("MDAnalysis", "ase")
distribution.need("numpy", "h5py", "MDAnalysis", "ase")

import ase.io
import ase.units
import MDAnalysis
import numpy as np

import program

ARGON = Path(os.environ["MDMINI_SOURCE"]) / "inputs/argon.txt"
BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
WORDS = [f"run.backend={BACKEND}", "run.steps=20", "output.frames_every=10", "output.velocities_every=10", "output.forces_every=10",
         "output.xyz_every=20", "system.cells=5"]


def run(folder, *words):
    return program.run(ARGON, *WORDS, *words, "output.existing=overwrite", folder=folder)


def test_mdanalysis(checks, folder):
    done = run(folder)
    with warnings.catch_warnings(), done.h5() as file:
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe.empty(500, trajectory=True)
        universe.load_new(str(done.path("h5")), format="H5MD")  # convert_units: a unit that is not known is an error
        units = {key: universe.trajectory.units[key] for key in ("length", "time", "velocity", "force")}
        checks.that(units == {"length": "Angstrom", "time": "ps", "velocity": "Angstrom/ps", "force": "kJ/(mol*Angstrom)"}, f"units: {units}")
        checks.that(len(universe.trajectory) == 3, f"{len(universe.trajectory)} frames")
        for k, step in enumerate(universe.trajectory):
            for name, found in (("position", step.positions), ("velocity", step.velocities), ("force", step.forces)):
                right = file[f"particles/all/{name}/value"][k]
                checks.that(np.allclose(found, right, rtol=1e-6, atol=0), f"{name} of frame {k}")
            checks.that(abs(step.time - 0.1 * k) < 1e-6, f"frame {k} at {step.time} ps")
            checks.that(np.allclose(step.dimensions[:3], (500 / 0.02054) ** (1 / 3), rtol=1e-6), f"box {step.dimensions}")
        # the kinetic energy by velocities in angstrom/ps, with nothing of the program: amu (angstrom/ps)^2 is 0.01 kJ/mol
        kinetic = 0.5 * 39.948 * 0.01 * (universe.trajectory[-1].velocities.astype(float) ** 2).sum() / 499 / 3 * 2
        checks.that(abs(kinetic / 0.008314462618 - file["observables/temperature/value"][-1]) < 1e-4, f"{kinetic / 0.008314462618} K")


def test_ase(checks, folder):
    """Energies and temperature follow from the columns in the units of ASE, whose constants differ by less than 1e-7."""
    for word in ("momenta", "vel", "velo"):
        done = run(folder, f"output.xyz_velocities={word}", "output.precision=double")
        report, atoms = done.json(), ase.io.read(done.path("xyz"), index=-1)
        checks.that(np.allclose(atoms.cell.lengths(), (500 / 0.02054) ** (1 / 3), rtol=1e-12) and atoms.pbc.all(), f"box {atoms.cell}")
        with done.h5() as file:
            checks.that(np.allclose(atoms.positions, file["particles/all/position/value"][-1], rtol=1e-12), f"{word}: positions in angstrom")
        if word == "momenta":
            velocities = atoms.get_velocities()
        else:
            velocities = atoms.arrays[word] * ase.units.Angstrom / (ase.units.fs if word == "vel" else 1000 * ase.units.fs)
            atoms.set_masses([39.948] * 500)
            atoms.set_velocities(velocities)
        kinetic = atoms.get_kinetic_energy() / 500
        checks.that(abs(kinetic - report["kinetic_energy_per_atom"]) < 1e-7 * kinetic, f"{word}: {kinetic} eV, {report['kinetic_energy_per_atom']}")
        kelvin = atoms.get_temperature() * 500 / 499
        checks.that(abs(kelvin - report["temperature"]) < 1e-5 * kelvin, f"{word}: {kelvin} K, {report['temperature']}")
        checks.that(atoms.info["time_unit"] == "ps" and atoms.info["energy_unit"] == "eV", f"{atoms.info}")


def main():
    checks = program.Checks()
    checks.run(test_mdanalysis, test_ase)
    checks.finish()


if __name__ == "__main__":
    main()
