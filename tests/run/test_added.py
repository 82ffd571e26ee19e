"""A pair potential and a thermostat are a file and a row each, a quantity of each atom is a row: Lennard-Jones 9-6, the thermostats of
Berendsen and Andersen and three quantities are added to a copy of the source, which is built. Energies by all pairs in numpy, the relaxation
of the temperature, collisions of single atoms, quantities that stay with their atoms. A form with a wrong derivative is refused.

With MDMINI_TEST_BACKENDS=cuda on a GPU, or in build-emulated on the emulated one."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

import program
import ranks
import restart_file
from program import SKIPPED, Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
FORM = """
#define MD_FORM_COPIES 0
MD_HD MD_REAL MD_NAME(md_form_over_r)(const MD_REAL *p, MD_REAL inverse, MD_REAL inverse_r, MD_REAL r) {
    MD_REAL inverse_4 = inverse * inverse;
    (void)r;
    return (inverse_r * inverse - p[1]) * (inverse_4 * inverse_4);
}
MD_HD MD_REAL MD_NAME(md_form_energy)(const MD_REAL *p, MD_REAL inverse, MD_REAL inverse_r, MD_REAL r) {
    (void)r;
    return (p[2] * inverse * inverse_r - p[3]) * (inverse * inverse * inverse);
}
#ifdef MD_FORM_HOST
static void md_form_parameters(const double *words, double p[MD_FORM_NUMBERS]) {
    const double s3 = words[1] * words[1] * words[1];
    p[0] = %(factor)s * words[0] * s3 * s3 * s3;
    p[1] = 2 / (3 * s3);
    p[2] = 4 * words[0] * s3 * s3 * s3;
    p[3] = 4 * words[0] * s3 * s3;
}
static double md_form_minimum(const double *words) { return 1.1447142425533319 * words[1]; }
static MdShape md_form_shape(const double *p, double r) {
    const double nine = p[2] / pow(r, 9), six = p[3] / pow(r, 6);
    return (MdShape){.u = nine - six,
                     .du = (6 * six - 9 * nine) / r,
                     .ddu = (90 * nine - 42 * six) / (r * r),
                     .size_u = nine + six,
                     .size_du = (9 * nine + 6 * six) / r,
                     .size_ddu = (90 * nine + 42 * six) / (r * r)};
}
#endif
"""
BATH = """#include <math.h>

#include "physics/bath.h"

MdBathChange md_bath_berendsen(const MdBathCall *call) {
    const double kinetic = call->kinetic + (call->target - call->kinetic) * call->elapsed;
    return (MdBathChange){.kinetic = kinetic, .factor = sqrt(kinetic / call->kinetic)};
}
"""
ANDERSEN = """#include <math.h>

#include "physics/bath.h"

MdBathChange md_bath_andersen(const MdBathCall *call) {
    return (MdBathChange){.share = -expm1(-call->elapsed), .drawn = 1};
}
"""

# Each atom gets numbers that its id says.
COLUMNS = ('COLUMN(charge, PAIR, 1, "charges", MD_COLUMN_SAVED | MD_COLUMN_HALO, ARRAY, ALWAYS)',
           'COLUMN(label, WORD, 1, "labels", MD_COLUMN_SAVED, ARRAY, ALWAYS)', 'COLUMN(dipole, STATE, 3, "dipoles", MD_COLUMN_SAVED, ARRAY, ALWAYS)')
ALLOCATED = "#undef ALLOCATE\n"
FILL = """    for (int64_t i = 0; i < system->n_own; i++) {
        const int64_t id = system->first + i;
        system->charge[i] = (double)id / 4;
        system->label[i] = (int32_t)(7 * id);
        for (int a = 0; a < 3; a++) system->dipole[3 * i + a] = (double)(id + 1000 * a) + 0.5;
    }
"""


def add_row(path, table, row):
    """Behind the last row of a table: a macro that goes on over lines."""
    lines = path.read_text().splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith(f"#define {table}("))
    end = next(k for k in range(begin, len(lines)) if not lines[k].endswith("\\"))
    lines[end] += " \\"
    path.write_text("\n".join([*lines[:end + 1], f"    {row}", *lines[end + 1:]]) + "\n")


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words[:4]))}: {done.stdout[-1500:]}{done.stderr[-3000:]}")
    return done.stdout


def build(folder):
    """The copy, with what is added, and its program."""
    copy, cache = folder / "source", {}
    for name in ("src", "inputs", "run", "tools", "tests/emulator", "CMakeLists.txt", "README.md", "CHANGELOG.md", "LICENSE"):
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, copy / name)
        else:
            shutil.copy(SOURCE / name, copy / name)
    physics = copy / "src/physics"
    for name, factor in (("lj96", 36), ("wrong", 36.1)):
        (physics / f"forms/{name}.inc").write_text(FORM % {"factor": factor})
        add_row(physics / "forms.def", "MD_FORMS", f'FORM({name.upper()}, "{name}", {name}, "epsilon sigma", MD_FORM_MIXES, "4 epsilon ((sigma/r)^9 - (sigma/r)^6)")')
    (physics / "baths/berendsen.c").write_text(BATH)
    add_row(physics / "baths.def", "MD_BATHS", 'BATH(BERENDSEN, "berendsen", berendsen, MD_BATH_RELAXES, "weak coupling")')
    (physics / "baths/andersen.c").write_text(ANDERSEN)
    add_row(physics / "baths.def", "MD_BATHS", 'BATH(ANDERSEN, "andersen", andersen, MD_BATH_RELAXES | MD_BATH_BY_ATOM, "collisions of single atoms")')
    for column in COLUMNS:
        add_row(physics / "columns.def", "MD_SYSTEM_COLUMNS", column)
    system = copy / "src/system/system.c"
    system.write_text(system.read_text().replace(ALLOCATED, ALLOCATED + FILL, 1))
    for line in (Path(os.environ["MDMINI"]).parent / "CMakeCache.txt").read_text().splitlines():
        name, _, value = line.partition("=")
        cache[name.partition(":")[0]] = value
    same = [f"-D{name}={cache[name]}" for name in ("CMAKE_C_COMPILER", "CMAKE_C_FLAGS", "CMAKE_PREFIX_PATH", "HDF5_ROOT", "CUDAToolkit_ROOT", "MDMINI_MPI", "MPI_HOME", "MPI_C_COMPILER", "MDMINI_NCCL") if cache.get(name)]
    cuda = cache["MDMINI_CUDA"] if BACKEND == "cuda" else "OFF"
    call("cmake", "-S", copy, "-B", folder / "build", *same, f"-DMDMINI_CUDA={cuda}", "-DMDMINI_TESTS=OFF", "-DMDMINI_WERROR=ON",
         "-DMDMINI_HAVE_CPU_LEVELS=OFF")
    call("cmake", "--build", folder / "build", "--parallel", "2", "--target", "mdmini")
    return folder / "build/mdmini"


def start(folder, *words):
    deck = program.write_deck(folder, "f", **{"system": {"cells": 6, "density": 0.8, "temperature": 1.2}, "run": {"backend": BACKEND, "steps": 200},
                                              "output": {"existing": "overwrite", "frames_every": 200}})
    return program.run(deck, *words, folder=folder)


def test_form(checks, folder):
    energies = {}
    for words in (["run.precision=double", "output.precision=double"], ["run.precision=mixed"], ["run.precision=single", "force.kernel=cell"]):
        done = start(folder, "potential.form=lj96", "potential.shift=none", *words)
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{words}: {done.last_lines()}")
        with done.h5() as file:
            position, edge = file["particles/all/position/value"][-1].astype(float), float(np.ravel(file["particles/all/box/edges/value"])[0])
        i, j = np.triu_indices(len(position), 1)
        d = position[i] - position[j]
        r = np.sqrt(((d - edge * np.rint(d / edge))**2).sum(axis=1))
        r = r[r < 2.5]
        right, room = (4 * (r**-9 - r**-6)).sum() / len(position), 1e-9 if "run.precision=double" in words else 2e-5
        energies[words[0]] = done.json()["thermo"]["potential_energy"][-1]
        checks.that(abs(energies[words[0]] - right) < room * abs(right), f"{words}: {energies[words[0]]}, by all pairs {right}")
    done = start(folder, "potential.form=wrong")
    checks.that(done.code != 0 and "src/physics/forms/wrong.inc" in done.stderr, f"a wrong derivative: {done.code} {done.last_lines()}")


def test_bath(checks, folder):
    """From 1.2 to 0.6 as exp(-t/tau), if the potential energy takes no part: at a density where atoms do not meet."""
    done = start(folder, "system.density=1e-4", "ensemble.thermostat=berendsen", "ensemble.target=0.6", "ensemble.relaxation=0.5", "ensemble.every=1",
                 "output.thermo_every=100")
    checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{done.last_lines()}")
    factor = (1 - 0.005 / 0.5)**200
    last = done.json()["thermo"]["temperature"][-1]
    # Temperatures are those before the thermostat acts at that step.
    right = 0.6 + 0.6 * factor / (1 - 0.005 / 0.5)
    checks.that(abs(last - right) < 1e-3, f"temperature {last}, expected {right}")


def test_bath_by_atom(checks, folder):
    """Atoms that have not collided keep their velocities: exp(-t/tau) of them. The others have those of the target temperature."""
    done = start(folder, "system.density=1e-4", "ensemble.thermostat=andersen", "ensemble.target=0.3", "ensemble.relaxation=0.5",
                 "output.thermo_every=100", "output.velocities_every=100", "run.steps=100", "output.frames_every=100")
    if not checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{done.last_lines()}"):
        return
    with done.h5() as file:
        first, last = (file["particles/all/velocity/value"][k].astype(float) for k in (0, -1))
    turned = (first * last).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (last**2).sum(axis=1))
    kept, right = (turned > 0.999).mean(), np.exp(-100 * 0.005 / 0.5)
    error = np.sqrt(right * (1 - right) / len(first))
    checks.that(abs(kept - right) < 5 * error, f"{kept} of the atoms have not collided, expected {right} +- {error}")
    warm = (last[turned < 0.99]**2).mean()
    checks.that(abs(warm / 0.3 - 1) < 0.1, f"those that have collided are at {warm}")


def wrong_columns(path, precision):
    """The columns of a restart file that are not what the ids in it say; whether its atoms stand in the order of their ids."""
    sections, pair, state = restart_file.sections(path), *{"mixed": "f4 f8", "double": "f8 f8", "single": "f4 f4"}[precision].split()
    ids = np.frombuffer(sections["id"], np.int32)
    right = {"charge": (pair, ids / 4), "label": ("i4", 7 * ids), "dipole": (state, ids[:, None] + np.array([0.5, 1000.5, 2000.5]))}
    wrong = [name for name, (kind, numbers) in right.items() if not np.array_equal(np.frombuffer(sections[name], kind).reshape(numbers.shape), numbers)]
    return wrong, np.array_equal(ids, np.arange(len(ids)))


def test_columns(checks, folder):
    """Quantities stay with their atoms: through sorts, in restart files, from rank to rank."""
    precisions, ways = ("mixed", "double", "single"), [(1, "", {})]
    if BACKEND == "cuda":
        ways += [(1, "memory.layout=aos memory.sort=cell", {}), (1, "memory.layout=soa memory.sort=none force.kernel=list", {})]
    if not ranks.why_not():
        ways += [(4, f"parallel.transport={transport}", environment) for transport, environment in ranks.transports(4).items()] \
            if BACKEND == "cuda" else [(4, "", {})]
    for k, (n, words, environment) in enumerate(ways):
        what, size = f"{n} ranks, {words}", precisions[k % 3]
        deck = program.write_deck(folder, "columns", **{
            "system": {"start": "fcc", "cells": 8, "density": 0.8442, "temperature": 1.44}, "neighbor": {"skin": 0.2},
            "run": {"backend": BACKEND, "steps": 60, "precision": size}, "restart": {"every": 30},
            "output": {"existing": "overwrite", "frames_every": 0, "velocities_every": 0, "images_every": 0, "thermo_every": 20}})
        for begin, steps in ((["columns.txt", *words.split()], 60), (["--restart", "columns.restart", "run.steps=100"], 100)):
            done = ranks.run(n, *begin, folder=folder, name="columns", **environment) if n > 1 else program.run(*begin, folder=folder, name="columns")
            if not checks.that(done.code == 0, f"{what}, step {steps}: {done.last_lines()}"):
                break
            wrong, in_order = wrong_columns(Path(folder) / "columns.restart", size)
            checks.that(not wrong, f"{what}, step {steps}: {wrong}")
            checks.that(not in_order or "sort=none" in words, f"{what}: atoms stand in the order of their ids, so that nothing was shown")


def main():
    checks = Checks()
    if os.environ.get("MDMINI_SANITIZE"):
        print("skipped: a copy that is built again; it runs without sanitizers")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MDMINI"] = str(build(Path(folder)))
        checks.run(test_form, test_bath, test_bath_by_atom, test_columns)
    checks.finish()


if __name__ == "__main__":
    main()
