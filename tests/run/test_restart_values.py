"""Restart files whose checksums are right and whose numbers are none that a run can have: each field with extreme values is refused, with
file and field, by the run and by --check; or the run makes of it what it can. Nothing crashes, and nothing runs on and on.

MDMINI_TEST_ variables as in support/resuming.py. MDMINI_TEST_VALUES=all: every value of every field, in place of some."""
import os
import random
import struct
import subprocess

import program
import restart_file
from resuming import BACKEND, SMALL, deck, run_tests

N_ATOMS = 4 * SMALL["system"]["cells"]**3
HUGE, NEXT, CELLS = 2**31 - 1, N_ATOMS + 1, 2**21  # the last: more than a grid may have, also of an open box
INTEGERS = (0, -1, 1, 2, 3, 8, 127, N_ATOMS, NEXT, 20736, CELLS, HUGE, -HUGE - 1)
LONG = (*INTEGERS, 2**62, -2**62)
REALS = (0.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"))
SINGLES = (0.0, -1e30, 1e30, float("nan"), float("inf"))
BYTES = (0, 1, 2, 255)
VALUES = {"q": LONG, "i": INTEGERS, "d": REALS, "f": SINGLES, "B": BYTES}
# Of each section the fields: (name, kind of struct, first byte); and values that no run can have, some of them.
RUN = [(name, "q", 8 * k) for k, name in enumerate(("step", "frames", "xyz frames", "rebuilds", "late", "overflows"))]
SYSTEM = [(name, "q", 8 * k) for k, name in enumerate(("particles", "dimension", "periodic x", "periodic y", "periodic z", "types", "file velocities"))]
CHECK_BYTES, N_CHECKS = 64 + 4 * 8, 32
AFTER_CHECKS = 8 + CHECK_BYTES * N_CHECKS
FIELDS = {
    "run": [*RUN, ("heat", "d", 48), ("key", "B", 79)],
    "system": [*SYSTEM, *((f"length {a}", "d", 56 + 8 * a) for a in range(3)), ("mass", "d", 80), ("density", "d", 144), ("name", "B", 183)],
    "checks": [("checks", "i", 0), ("name", "B", 8 + 63), ("step", "q", 8 + 64), ("value", "d", 8 + 72), ("curvature", "d", AFTER_CHECKS),
               ("fault", "q", AFTER_CHECKS + 24), ("complete", "B", AFTER_CHECKS + 48)],
    "thermo": [("step", "q", 0), ("step 2", "q", 96), ("time", "d", 8), ("conserved", "d", 56)],
    "sessions": [("from", "q", 0), ("to", "q", 8), ("seconds", "d", 16)],
    "type": [("first", "i", 0), ("5", "i", 20), ("last", "i", 4 * N_ATOMS - 4)],
    "id": [("first", "i", 0), ("last", "i", 4 * N_ATOMS - 4)],
    "image": [("first", "i", 0), ("last", "i", 12 * N_ATOMS - 4)],
    "position": [("first", "d", 0), ("last", "d", 24 * N_ATOMS - 8)],
    "velocity": [("first", "d", 0), ("last", "d", 24 * N_ATOMS - 8)],
    "force": [("first", "f", 0), ("last", "f", 12 * N_ATOMS - 4)],
    "cpu list": [*((f"cells {a}", "i", 4 * a) for a in range(3)), *((f"reach {a}", "i", 12 + 4 * a) for a in range(3)),
                 *((f"wraps {a}", "B", 24 + a) for a in range(3)), *((f"low {a}", "d", 32 + 8 * a) for a in range(3)),
                 *((f"per length {a}", "d", 56 + 8 * a) for a in range(3)), ("far apart", "q", 80), ("last build", "q", 88),
                 ("capacity", "q", 96), ("largest", "d", 104), ("used", "d", 112)],
    "cpu built at": [("first", "d", 0), ("last", "d", 24 * N_ATOMS - 8)],
    "cuda list": [*((f"cells {a}", "i", 4 * a) for a in range(3)), *((f"wraps {a}", "i", 12 + 4 * a) for a in range(3)),
                  *((f"origin {a}", "d", 24 + 8 * a) for a in range(3)), *((f"inverse edge {a}", "d", 48 + 8 * a) for a in range(3)),
                  *((f"bricks {a}", "i", 72 + 4 * a) for a in range(3)), ("cells of a brick", "i", 84), ("brick grid", "q", 88), ("age", "q", 96)],
    "cuda built at": [("first", "f", 0), ("last", "f", 12 * N_ATOMS - 4)]}
REFUSED = {("run", "step"): (-1, -HUGE - 1, 2**62), ("run", "frames"): (-1, HUGE), ("system", "particles"): (0, -1, NEXT, HUGE),
           ("system", "types"): (0, -1, 127), ("system", "dimension"): (0, 2, 127), ("checks", "checks"): (-1, 127, HUGE),
           ("type", "5"): (1, 8, 20736, -1, -HUGE - 1, HUGE), ("id", "last"): (-1, N_ATOMS, HUGE), ("sessions", "to"): (-1, HUGE),
           ("thermo", "step"): (-1, HUGE), ("cpu list", "cells 0"): (0, -1, HUGE, CELLS), ("cpu list", "reach 1"): (0, -1, 2, HUGE),
           ("cpu list", "capacity"): (-1, HUGE, 2**62), ("cpu list", "wraps 2"): (0, 2, 255), ("cuda list", "cells 0"): (0, -1, HUGE, CELLS),
           ("cuda list", "bricks 1"): (-1, HUGE), ("cuda list", "age"): (HUGE, 2**62), ("cuda list", "wraps 0"): (0, 2)}


def attempt(folder, found, *words):
    """Exit code and messages; None: it ran on and on."""
    (folder / "made.restart").write_bytes(restart_file.compose(found))
    try:
        done = subprocess.run([program.program(), *words, "--restart", "made.restart", "run.steps=30", "output.existing=overwrite"], cwd=folder,
                              capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stderr


def look(checks, folder, found, what, is_refused=False):
    code, told = attempt(folder, found)
    allowed = (2,) if is_refused else (0, 2, 3, 75)
    checks.that(code in allowed, f"{what}: exit code {code}, not among {allowed}: {told[:600]}")
    if code == 2:
        checks.that("mdmini: error: " in told, f"{what}: {told}")
    if is_refused:
        code, again = attempt(folder, found, "--check")
        checks.that(code == 2 and "made.restart" in told + again, f"{what}, --check: exit code {code}: {told} {again}")


def make(checks, folder, *words):
    done = program.run(deck(folder, "m", run={"steps": 20}, restart={"every": None}), *words, folder=folder)
    checks.that(done.code == 0, f"the run fails: {done.last_lines()}")
    return restart_file.sections(folder / "m.restart")


def walk(checks, folder, found, what, n_values, refused=REFUSED):
    everything = os.environ.get("MDMINI_TEST_VALUES") == "all"
    for section, fields in FIELDS.items():
        for field, kind, at in fields if section in found else ():
            must = refused.get((section, field), ())
            others = [value for value in VALUES[kind] if value not in must]
            chosen = [*must, *others] if everything else [*random.sample(must, min(len(must), n_values)), *random.sample(others, min(len(others), n_values))]
            for value in chosen:
                changed = bytearray(found[section])
                if struct.unpack_from("<" + kind, changed, at)[0] == value:
                    continue
                struct.pack_into("<" + kind, changed, at, value)
                look(checks, folder, {**found, section: bytes(changed)}, f"{what}, {section}: {field} {value}", value in must)


def test_fields(checks, folder):
    """A crystal that melts, in a periodic box."""
    found = make(checks, folder)
    checks.that(set(found) - {"name", "deck", "switches", "origin", "end"} == {name for name in FIELDS if not name.startswith(("cpu", "cuda")) or name.startswith(BACKEND)},
                f"sections that this test does not know, or lacks: {list(found)}")
    walk(checks, folder, found, "periodic", 2)


def test_open(checks, folder):
    """The grid of an open box hangs on its particles."""
    found = make(checks, folder, "system.boundary=open periodic open", "run.timestep=0.002")
    walk(checks, folder, found, "open", 1)


def test_no_cells(checks, folder):
    """Lists that are searched without cells: the grid in the file is empty, and what else stands there hurts nobody."""
    found = make(checks, folder, "system.boundary=open periodic open", "run.timestep=0.002", "neighbor.search=brute", "memory.sort=none")
    code, told = attempt(folder, found)
    checks.that(code == 0, f"exit code {code}: {told}")
    walk(checks, folder, found, "no cells", 1, refused={})


def test_thermostat(checks, folder):
    """Atoms at rest, or without numbers, leave a thermostat nothing to scale; --check says so, too."""
    for precision in ("double", "single"):
        found = make(checks, folder, f"run.precision={precision}", "output.existing=overwrite", "ensemble.thermostat=csvr", "ensemble.relaxation=0.1",
                     "ensemble.target=0.7", "ensemble.every=5")
        kind = "d" if len(found["velocity"]) == 24 * N_ATOMS else "f"
        velocity = list(struct.unpack(f"<{3 * N_ATOMS}{kind}", found["velocity"]))
        for what, changed, is_refused in (("at rest", [0.0] * 3 * N_ATOMS, True), ("all with one velocity", [1.0] * 3 * N_ATOMS, True),
                                          ("slow", [1e-20 * v for v in velocity], True), ("no number", [float("nan"), *velocity[1:]], True),
                                          ("as they were", velocity, False)):
            section = struct.pack(f"<{3 * N_ATOMS}{kind}", *changed)
            look(checks, folder, {**found, "velocity": section}, f"thermostat, {precision}, velocities: {what}", is_refused)
        code, told = attempt(folder, found, "--check")
        checks.that(code == 0, f"{precision}, as it was, --check: {code} {told}")


def test_sections(checks, folder):
    """Sections that are not there, empty, short, doubled."""
    found = make(checks, folder)
    for name in found:
        if name == "end":
            continue
        for what, content in (("missing", None), ("empty", b""), ("short", found[name][:-1]), ("doubled", 2 * found[name])):
            changed = {key: value for key, value in {**found, name: content}.items() if value is not None}
            is_text, has_rows = name in ("name", "deck", "switches", "origin"), name in ("thermo", "sessions")  # of any number
            is_refused = what == "missing" or not is_text and (what == "short" or not has_rows)
            look(checks, folder, changed, f"section {name} is {what}", is_refused)


run_tests(test_fields, test_open, test_no_cells, test_thermostat, test_sections)
