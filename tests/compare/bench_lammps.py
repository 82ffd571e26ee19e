#!/usr/bin/env python3
"""Speed side by side with LAMMPS (Debian's lmp, opt styles) on the melt: 32,000 atoms, lists rebuilt every 20 steps.

On a shared machine only ratios of runs made side by side mean anything: the programs take turns, and each round gives
one ratio; the median ratio is printed with its range. LAMMPS runs on two MPI ranks, mdmini on two threads. Not a test.

usage: bench_lammps.py MDMINI [--rounds 5] [--steps 300] [--cells 20] [--processes 2]"""
import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

DECK = Path(__file__).resolve().parents[2] / "inputs/melt.txt"

SCRIPT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 100
run {steps}
"""


def run_lammps(folder, options):
    (folder / "in.lj").write_text(SCRIPT.format(cells=options.cells, steps=options.steps))
    words = ["mpirun", "--allow-run-as-root", "-np", str(options.processes),
             "lmp", "-sf", "opt", "-in", "in.lj", "-log", "none"]
    text = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    seconds, n_steps, n_atoms = re.search(r"Loop time of (\S+) on .* for (\d+) steps with (\d+) atoms", text).groups()
    return int(n_steps) * int(n_atoms) / float(seconds)


def run_mdmini(folder, options, precision):
    words = [str(Path(options.mdmini).resolve()), str(DECK), f"system.cells={options.cells}",
             f"run.steps={options.steps}",
             f"run.precision={precision}", "run.backend=cpu", f"run.threads={options.processes}",
             "output.existing=overwrite"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    report = json.loads((folder / "melt.json").read_text())
    if report["verdict"] != "PASSED":
        sys.exit(f"mdmini in {precision} precision: verdict {report['verdict']}; no speed without one\n"
                 f"{done.stdout[-800:]}")
    return report["atom_steps_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    for program in ("lmp", "mpirun"):
        if not shutil.which(program):
            sys.exit(f"{program} is not installed (Debian packages lammps, openmpi-bin)")
    precisions = ["double", "mixed", "single"]
    ratios, speeds, lammps = {p: [] for p in precisions}, {p: [] for p in precisions}, []
    with tempfile.TemporaryDirectory(prefix="mdmini-bench-") as name:
        folder = Path(name)
        for _ in range(options.rounds):
            for precision in precisions:
                lammps.append(run_lammps(folder, options))
                speeds[precision].append(run_mdmini(folder, options, precision))
                ratios[precision].append(speeds[precision][-1] / lammps[-1])
    print(f"LAMMPS opt, {options.processes} ranks: "
          f"{statistics.median(lammps) / 1e6:.3f} M atom-steps/s (median of {len(lammps)})")
    for p in precisions:
        print(f"mdmini {p}, {options.processes} threads: {statistics.median(speeds[p]) / 1e6:.3f} M atom-steps/s, "
              f"ratio {statistics.median(ratios[p]):.2f} ({min(ratios[p]):.2f} to {max(ratios[p]):.2f})")


main()
