"""The same state in LAMMPS (Debian's `lmp`): an independent program for energies, pressure and short trajectories."""
import shutil
import subprocess

import numpy


def command():
    """Path of lmp, or None."""
    return shutil.which("lmp")


def write_data(path, frame, dimension, masses):
    """A frame (program.Frame) as a LAMMPS data file; 17 digits give the same bits back."""
    edges = frame.edges.astype(float).copy()
    lines = ["state of an mdmini run", "", f"{len(frame.position)} atoms", f"{len(masses)} atom types", ""]
    for axis, low, high in zip("xyz", (0, 0, 0 if dimension == 3 else -0.5),
                               (edges[0], edges[1], edges[2] if dimension == 3 else 0.5)):
        lines.append(f"{low:.17g} {high:.17g} {axis}lo {axis}hi")
    lines += ["", "Masses", ""] + [f"{k + 1} {mass:.17g}" for k, mass in enumerate(masses)]
    lines += ["", "Atoms # atomic", ""]
    lines += [f"{i + 1} {kind + 1} {x:.17g} {y:.17g} {z:.17g}"
              for i, (kind, (x, y, z)) in enumerate(zip(frame.species, frame.position))]
    lines += ["", "Velocities", ""]
    lines += [f"{i + 1} {x:.17g} {y:.17g} {z:.17g}" for i, (x, y, z) in enumerate(frame.velocity)]
    path.write_text("\n".join(lines) + "\n")


STYLES = {"none": ("lj/cut", "no"), "energy": ("lj/cut", "yes"), "force": ("lj/smooth/linear", "no")}


def run(folder, data, dimension, shift, cutoff, coefficients, n_steps, timestep, mixing="arithmetic"):
    """Runs n_steps of NVE from a data file. coefficients: lines `i j epsilon sigma cutoff`. Returns the thermo rows
    {step: (potential, kinetic, pressure)}, energies per atom, and the final positions by id."""
    style, shifted = STYLES[shift]
    lines = ["units lj", "atom_style atomic", f"dimension {dimension}", "boundary p p p", "atom_modify map array",
             f"pair_style {style} {cutoff}", f"pair_modify shift {shifted} mix {mixing}", f"read_data {data.name}"]
    lines += [f"pair_coeff {line}" for line in coefficients]
    # A list that is looked after at each step misses no pair, as under mdmini's host-check.
    lines += ["neighbor 0.3 bin", "neigh_modify delay 0 every 1 check yes", f"timestep {timestep}", "fix 1 all nve"]
    if dimension == 2:
        lines.append("fix 2 all enforce2d")
    lines += ["thermo_style custom step pe ke press", "thermo_modify norm yes format float %.17g",
              f"thermo {max(n_steps, 1)}", f"dump 1 all custom {max(n_steps, 1)} {data.stem}.dump id x y z",
              "dump_modify 1 sort id format float %.17g", f"run {n_steps}"]
    script = data.with_suffix(".in")
    script.write_text("\n".join(lines) + "\n")
    done = subprocess.run([command(), "-in", script.name, "-log", f"{data.stem}.lammps"], cwd=folder,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lmp failed: {done.stdout[-800:]}{done.stderr[-400:]}")
    rows = {}
    for line in (folder / f"{data.stem}.lammps").read_text().splitlines():
        words = line.split()
        if len(words) == 4 and words[0].isdigit():
            rows[int(words[0])] = tuple(float(word) for word in words[1:])
    frames = (folder / f"{data.stem}.dump").read_text().split("ITEM: TIMESTEP\n")
    last = frames[-1].splitlines()
    atoms = numpy.array([line.split() for line in last[last.index("ITEM: ATOMS id x y z") + 1:]], dtype=float)
    return rows, atoms[:, 1:]
