"""system.units = metal against LAMMPS with units metal on the same atoms: energies, temperature, pressure, forces, a short trajectory.

The constants of LAMMPS are older ones (update.cpp: k = 8.617343e-5 eV/K, 1.0364269e-4 eV for amu (angstrom/ps)^2, 1.6021765e6 bar), by
1.1e-6 in temperatures and some 1e-8 in the others: a temperature agrees to 1e-5, the rest to 1e-6."""
import os
import subprocess
import sys
from pathlib import Path

import numpy

import lammps
import program
from program import Checks, Frame

ARGON = Path(os.environ["MDMINI_SOURCE"]) / "inputs/argon.txt"
N_STEPS = 100
KJ_PER_MOL = 96.48533212  # an eV


def lammps_run(folder, data):
    """Rows {step: (potential per atom, kinetic per atom, K, bar)}; positions and forces by id of the first and the last step."""
    script = folder / "metal.in"
    script.write_text(f"""units metal
atom_style atomic
boundary p p p
atom_modify map array
pair_style lj/cut 7.65
pair_modify shift yes
read_data {data.name}
pair_coeff 1 1 {120 * 1.380649e-23 / 1.602176634e-19:.17g} 3.4 7.65
neighbor 1.0 bin
neigh_modify delay 0 every 1 check yes
timestep 0.01
fix 1 all nve
thermo_style custom step pe ke temp press
thermo_modify norm yes format float %.17g
thermo {N_STEPS}
dump 1 all custom {N_STEPS} metal.dump id x y z fx fy fz
dump_modify 1 sort id format float %.17g
run {N_STEPS}
""")
    done = subprocess.run([lammps.command(), "-in", script.name, "-log", "metal.lammps"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lmp failed: {done.stdout[-800:]}{done.stderr[-400:]}")
    rows = {}
    for line in (folder / "metal.lammps").read_text().splitlines():
        words = line.split()
        if len(words) == 5 and words[0].isdigit():
            rows[int(words[0])] = tuple(float(word) for word in words[1:])
    frames = (folder / "metal.dump").read_text().split("ITEM: TIMESTEP\n")[1:]
    arrays = [numpy.array([line.split() for line in frame.splitlines()[8:]], dtype=float) for frame in frames]
    return rows, arrays


def test_argon(checks, folder):
    folder = Path(folder)
    done = program.run(ARGON, "run.precision=double", "output.precision=double", f"run.steps={N_STEPS}", f"output.thermo_every={N_STEPS}",
                       f"output.frames_every={N_STEPS}", f"output.velocities_every={N_STEPS}", f"output.forces_every={N_STEPS}",
                       "ensemble.thermostat=none", "run.backend=cpu", folder=folder)
    if not checks.that(done.code == 0, done.last_lines()):
        return
    with done.h5() as h5:
        first, last = Frame(h5, 0), Frame(h5, 1)
        forces = h5["particles/all/force/value"][:] / KJ_PER_MOL
    # the crystal of the first frame has no forces; those after 100 steps are compared
    data = folder / "metal.data"
    lammps.write_data(data, first, 3, [39.948])
    rows, arrays = lammps_run(folder, data)
    for step, frame in ((0, first), (N_STEPS, last)):
        seen, (potential, kinetic, kelvin, bar) = frame.observables, rows[step]
        for name, value, right, tolerance in (("potential_energy", seen["potential_energy"], potential, 1e-6), ("kinetic_energy", seen["kinetic_energy"], kinetic, 1e-6),
                                              ("temperature", seen["temperature"], kelvin, 1e-5), ("pressure", seen["pressure"], bar, 1e-5)):
            checks.that(abs(value - right) < tolerance * abs(right), f"step {step}: {name} {value}, LAMMPS {right}, share {value / right - 1:.2e}")
    length = first.edges[0]
    off = last.position - arrays[1][:, 1:4]
    off -= length * numpy.rint(off / length)
    checks.that(abs(off).max() < 1e-5, f"positions after {N_STEPS} steps: off by {abs(off).max():.2e} angstrom")
    scale = abs(arrays[1][:, 4:]).max()
    checks.that(scale > 0.01 and abs(forces[1] - arrays[1][:, 4:]).max() < 1e-5 * scale, f"forces: off by {abs(forces[1] - arrays[1][:, 4:]).max():.2e} of {scale:.3g} eV/angstrom")


def main():
    if not lammps.command():
        print("skipped: no lmp (Debian: lammps)")
        sys.exit(program.SKIPPED)
    checks = Checks()
    checks.run(test_argon)
    checks.finish()


if __name__ == "__main__":
    main()
