"""The program end to end: what it says, what it writes, how it ends."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy

import program
from program import Checks, Frame

SOURCE = Path(os.environ["MDMINI_SOURCE"])
BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
# 500 atoms that melt; frames in double precision, to compare bits.
SMALL = {
    "system": {"start": "fcc", "cells": 5, "density": 0.8442, "temperature": 1.44},
    "run": {"steps": 60, "backend": BACKEND, **({"threads": 2} if BACKEND == "cpu" else {})},
    "output": {"frames_every": 20, "thermo_every": 20, "precision": "double", "velocities_every": 20},
}


def small_deck(folder, name="small", **more):
    sections = {section: dict(keys) for section, keys in SMALL.items()}
    for section, keys in more.items():
        sections.setdefault(section, {}).update(keys)
    return program.write_deck(folder, name, **sections)


def listing(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_information(checks, folder):
    for argument, words in [("--version", ["mdmini", "HDF5", "backends", "cpu"]),
                            ("--help", ["usage", "--check", "--bench", "--restart", "--recover", "section.key=value", "Exit codes", "75"]),
                            ("--list-options", ["system", "density", "neighbor", "skin", "periodic"]),
                            ("--list-variants", ["neighbor", "force", "cpu"])]:
        done = program.run(argument, folder=folder)
        checks.that(done.code == 0 and not done.stderr, f"{argument}: exit code {done.code}, {done.stderr}")
        for word in words:
            checks.that(word in done.stdout, f"{argument} does not say {word}")
    options = json.loads(program.run("--list-options=json", folder=folder).stdout)
    names = {f"{option['section']}.{option['key']}" for option in options}
    checks.that({"system.density", "run.steps", "output.existing"} <= names, "--list-options=json lacks options")
    json.loads(program.run("--list-variants=json", folder=folder).stdout)
    markdown = program.run("--list-options=markdown", folder=folder).stdout
    written = (SOURCE / "inputs/README.md").read_text()
    checks.that(markdown == written, "inputs/README.md is not --list-options=markdown")
    done = program.run("--no-such-argument", folder=folder)
    checks.that(done.code == 2 and "--no-such-argument" in done.stderr, "an unknown argument is not refused by name")
    for words, said in ((["--bench"], "--bench: no value"), (["small.txt", "--restart"], "--restart: no value"),
                        (["--recover"], "--recover: no value"), (["--bench", "force", "--melt"], "--melt: no value"),
                        (["--melt", "x", "--bench", "force"], '--melt: read "x"; allowed: a whole number from 0'),
                        (["--melt", "-1"], '--melt: read "-1"; allowed: a whole number from 0'),
                        (["--restart", "a.restart", "--restart", "b.restart"], "--restart is given twice"),
                        (["--recover", "a.h5", "b.h5"], "--recover FILE must be the only argument")):
        done = program.run(*words, folder=folder)
        checks.that(done.code == 2 and said in done.stderr and not done.stdout, f"{words}: {done.code}: {done.stderr}")
    for words in (["--list-ceilings", "foo"], ["foo", "--list-ceilings=json"], ["--list-options", "--check"]):
        done, other = program.run(*words, folder=folder), words[words[0].startswith("--list-")]
        checks.that(done.code == 2 and not done.stdout and f"without {other}" in done.stderr, f"{words}: {done.code}: {done.stderr}")
    for word in ("--help", "--list-options", "--list-options=markdown", "--list-variants", "--list-ceilings=json"):
        with subprocess.Popen([program.program(), word], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            child.stdout.close()  # as `| head` does
            said = child.stderr.read()
        checks.that(child.returncode == 0 and not said, f"{word} without a reader: {child.returncode} {said}")
        with open("/dev/full", "w") as full:
            lost = subprocess.run([program.program(), word], stdout=full, stderr=subprocess.PIPE, text=True)
        checks.that(lost.returncode == 4 and "standard output: No space left" in lost.stderr,
                    f"{word} to a full device: {lost.returncode} {lost.stderr}")
    checks.that(listing(folder) == [], f"asking for information left {listing(folder)}")


def test_check_only(checks, folder):
    deck = small_deck(folder)
    done = program.run("--check", deck.name, folder=folder)
    checks.that(done.code == 0, f"--check ended with {done.code}: {done.last_lines()}")
    checks.that("500 atoms" in done.stdout and "MiB" in done.stdout, "--check names neither atoms nor memory")
    checks.that(re.search(r"^\s*timestep\s*=\s*0.005\s*#\s*default", done.stdout, re.M) is not None,
                "--check does not print the effective deck with origins")
    checks.that(listing(folder) == ["small.txt"], f"--check left {listing(folder)}")
    with open("/dev/full", "w") as full:
        lost = subprocess.run([program.program(), "--check", deck.name], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True)
    checks.that(lost.returncode == 4 and "standard output: No space left" in lost.stderr,
                f"--check to a full device: {lost.returncode} {lost.stderr}")
    with subprocess.Popen([program.program(), "--check", deck.name], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as child:
        child.stdout.close()  # as `| grep -q` does
        said = child.stderr.read()
    checks.that(child.returncode == 0 and not said, f"--check without a reader: {child.returncode} {said}")


def test_starts(checks, folder):
    """Words that run nothing start the program once; a run starts it again, as GCC's OpenMP reads its settings at the start."""
    deck = small_deck(folder).name
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GOMP_", "OMP_"))}
    starts = {}
    for words in (["--version"], ["--help"], ["--list-options"], ["--list-ceilings=json"], ["--check", deck], [deck, "--check"],
                  ["--recover", deck], [deck]):
        told = subprocess.run([program.program(), *words], cwd=folder, capture_output=True, text=True,
                              env={**environment, "LD_DEBUG": "statistics"}).stderr
        starts[" ".join(words)] = told.count("total startup time")
    if not starts["--version"]:
        print("test_starts: not run: this loader does not count")
        return
    again = starts.pop(deck)
    checks.that(set(starts.values()) == {1} and again == 2, f"starts: {starts}, of a run {again}")


def test_auto_backend(checks, folder):
    """A switch that the cpu lacks, refused where run.backend = auto took the cpu: said with the reason, and only there."""
    before = dict(os.environ)
    os.environ.update(CUDA_VISIBLE_DEVICES="", MDMINI_EMULATOR_DEVICES="0")
    deck = program.write_deck(folder, "auto", system={"cells": 5, "density": 0.8442})
    try:
        refused = program.run("--check", deck.name, "force.kernel=brick", "memory.sort=brick", folder=folder).stderr
        named = program.run("--check", deck.name, "force.kernel=brick", "run.backend=cpu", folder=folder).stderr
        other = program.run("--check", deck.name, "run.precision=double", "reduce.accumulate=single", folder=folder).stderr
    finally:
        os.environ.clear()
        os.environ.update(before)
    checks.that(refused.count("does not have it") == 2 and refused.count("run.backend=auto took the cpu backend: run.backend") == 1,
                f"auto: {refused}")
    checks.that("does not have it" in named and "auto took" not in named, f"run.backend=cpu: {named}")
    checks.that("needs run.precision=" in other and "auto took" not in other, f"what any backend refuses: {other}")


def test_too_many_threads(checks, folder):
    """More threads than processors that the process may use: said by log and check, with who asked for them."""
    deck, allowed = small_deck(folder, run={"backend": "cpu", "threads": 2, "steps": 2}), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        given = program.run(deck.name, "output.existing=overwrite", folder=folder)
        told = program.run("--check", deck.name, folder=folder)
        enough = program.run(deck.name, "run.threads=1", "output.existing=overwrite", folder=folder)
        os.environ["OMP_NUM_THREADS"] = "3"
        of_openmp = program.run(deck.name, "run.threads=auto", "output.existing=overwrite", folder=folder)
    finally:
        os.environ.pop("OMP_NUM_THREADS", None)
        os.sched_setaffinity(0, allowed)
    said = f"warning: 2 threads (run.threads: {deck.name}:"
    checks.that(given.code == 0 and said in given.stdout and "on the 1 processor " in given.stdout, f"a run: {given.stdout[:600]}")
    checks.that(f"# {said}" in told.stdout, f"--check: {told.stdout[:600]}")
    checks.that("warning: 3 threads (OMP_NUM_THREADS) on the 1 processor" in of_openmp.stdout, f"by OpenMP: {of_openmp.stdout[:600]}")
    checks.that("warning: 1 thread" not in enough.stdout and "take turns" not in enough.stdout, f"one thread: {enough.stdout[:600]}")


def test_memory(checks, folder):
    """What --check announces for many atoms is what the run then takes, within a factor of 1.2 either way."""
    if os.environ.get("MDMINI_SANITIZE"):
        print("not tested: a sanitizer takes memory of its own")
        return
    small_deck(folder, "many", system={"cells": 63 if BACKEND == "cuda" else 40}, run={"steps": 20}, output={"precision": "single"})
    announced = program.run("--check", "many.txt", folder=folder)
    if "emulated GPU" in announced.stdout:
        print("not tested: the memory of an emulated GPU is main memory")
        return
    match = re.search(r"([0-9.]+) ([MG])iB of main memory", announced.stdout)
    if not checks.that(match is not None, f"no announced memory: {announced.last_lines()}"):
        return
    done = program.run("many.txt", folder=folder, compiles=True)  # the compiler's memory is announced
    checks.that(done.code == 0, f"many atoms: exit code {done.code}: {done.last_lines()}")
    ratio = done.peak_bytes / (float(match[1]) * {"M": 2**20, "G": 2**30}[match[2]])
    print(f"many atoms: announced {match[1]} {match[2]}iB, "
          f"resident at most {done.peak_bytes / 2**20:.1f} MiB, ratio {ratio:.3f}")
    checks.that(1 / 1.2 <= ratio <= 1.2, f"resident set is {ratio:.3f} of what was announced")


def test_memory_with_frames(checks, folder):
    """Frames, and their compression, take no memory that was not announced, beside what the program and its libraries take
    in a run of some atoms."""
    if os.environ.get("MDMINI_SANITIZE"):
        print("not tested: a sanitizer takes memory of its own")
        return
    run = {"steps": 2, "backend": "cpu"}
    frames = {"frames_every": 1, "velocities_every": 1}
    cases = [("verified", 40, "on", {"precision": "single"}),
             ("compressed", 50, "off", {"precision": "double", "compression": "gzip-1"})]
    for name, cells, verify, output in cases:
        taken = []
        for of_name, n in ((f"{name}-few", 4), (name, cells)):
            small_deck(folder, of_name, system={"cells": n}, run=run, report={"verify": verify}, output={**frames, **output})
            done = program.run(f"{of_name}.txt", folder=folder)
            checks.that(done.code == 0, f"{of_name}: exit code {done.code}: {done.last_lines()}")
            taken.append((done.peak_bytes, done.json()["memory_announced_host_bytes"]))
        ratio = (taken[1][0] - taken[0][0]) / (taken[1][1] - taken[0][1])
        print(f"frames, {name}: resident at most {ratio:.3f} of what was announced")
        checks.that(ratio <= 1, f"frames, {name}: {ratio:.3f} of what was announced")


def test_decks(checks, folder):
    """Every deck of inputs/, cut short: runs, passes, leaves its files. Presets are layers over the first of them."""
    decks = sorted((SOURCE / "inputs").glob("*.txt"))
    if not Path("/usr/share/lammps/potentials/Cu_u3.eam").exists():
        print("copper.txt: not run: there is no Cu_u3.eam (Debian: lammps-data)")
        decks = [deck for deck in decks if deck.name != "copper.txt"]
    checks.that(len(decks) >= 2, "no decks in inputs/")
    presets = [path for path in sorted((SOURCE / "inputs/presets").glob("*.txt")) if "ladder" not in path.name]
    cases = [[deck] for deck in decks] + [[SOURCE / "inputs/melt.txt", preset] for preset in presets]
    for case in cases:
        name = "-".join(path.stem for path in case)
        words = [*case, "run.steps=20", "output.thermo_every=10", "output.frames_every=10", f"output.name={name}"]
        if "naive" in name:
            words.append("system.cells=6")  # all pairs of 32,000 atoms would take minutes
        done = program.run(*words, folder=folder, name=name)
        if not checks.that(done.code == 0, f"{name}: exit code {done.code}: {done.last_lines()}"):
            continue
        report = done.json()
        checks.that(report["verdict"] == "PASSED" and "PASSED" in done.stdout, f"{name}: verdict {report['verdict']}")
        checks.that(report["n_steps"] == 20 and report["n_atoms"] > 0, f"{name}: {report['n_steps']} steps")
        checks.that(report["atom_steps_per_second"] > 0 and report["loop_seconds"] > 0, f"{name}: no speed")
        checks.that(bool(report["stages"]) and bool(report["provenance"]), f"{name}: no stages or provenance")
        with done.h5() as h5:
            n_frames = len(h5["particles/all/position/step"])
        checks.that(n_frames == 3, f"{name}: {n_frames} frames")
    done = program.run(SOURCE / "inputs/melt.txt", "system.cells=8", folder=folder)
    checks.that(done.code == 0 and "too long" not in done.stdout, f"melt: late lists, or not PASSED: {done.last_lines()}")
    melt = program.run(SOURCE / "inputs/melt.txt", "run.steps=0", "run.precision=double", "output.existing=overwrite",
                       folder=folder).json()
    checks.near(melt["potential_energy_per_atom"], -6.7733681, 1e-7, "melt: potential energy at the start")
    checks.near(melt["pressure"], -5.0197073, 1e-6, "melt: pressure at the start")


def test_no_steps(checks, folder):
    """A run of no steps says what its start is worth, and has judged it; so does one that counts its work."""
    small_deck(folder, run={"steps": 0}, potential={"shift": "none"})
    for precision in ("single", "mixed", "double"):
        for counters in ("off", "on"):
            done = program.run("small.txt", f"run.precision={precision}", f"report.counters={counters}",
                               "output.existing=overwrite", folder=folder)
            name = f"no steps, {precision}, counters {counters}"
            if not checks.that(done.code == 0, f"{name}: exit code {done.code}: {done.last_lines()}"):
                continue
            report = done.json()
            checks.that(report["verdict"] == "PASSED" and report["n_steps"] == 0, f"{name}: {report['verdict']}")
            checks.near(report["potential_energy_per_atom"], -6.7733681, 1e-5, f"{name}: potential energy")
            judged = [(check["name"], check["step"]) for check in report["checks"]]
            checks.that(judged and len(set(judged)) == len(judged) and all(step == 0 for _, step in judged),
                        f"{name}: judged {judged}")


def test_effective_deck(checks, folder):
    """The effective deck of a run, fed back, gives the same numbers to the bit."""
    first = program.run(small_deck(folder).name, "run.steps=40", "run.precision=mixed", folder=folder)
    report = first.json()
    again = Path(folder) / "again"
    again.mkdir()
    (again / "effective.txt").write_text(report["effective_deck"])
    second = program.run("effective.txt", "output.name=effective", folder=again)
    checks.that(second.code == 0, f"the effective deck ends with {second.code}: {second.last_lines()}")
    repeated = second.json()
    for key in ("n_atoms", "n_steps", "backend", "precision",
                "potential_energy_per_atom", "kinetic_energy_per_atom", "pressure"):
        checks.that(report[key] == repeated[key], f"{key}: {report[key]}, from the effective deck {repeated[key]}")
    for key, option in report["options"].items():
        if not key.startswith("output."):
            checks.that(option["value"] == repeated["options"][key]["value"], f"option {key} is not the same")
    with first.h5() as one, second.h5() as other:
        checks.that(numpy.array_equal(Frame(one, -1).position, Frame(other, -1).position), "other places")


def brute_neighbors(frame, dimension, periodic, cutoff):
    """Lists of neighbours by all pairs, and the pairs within rounding of the cutoff, that may go either way."""
    rows, edge = [], set()
    for i, place in enumerate(frame.position):
        d = (frame.position - place)[:, :dimension]
        if periodic:
            d -= frame.edges[:dimension] * numpy.rint(d / frame.edges[:dimension])
        r = numpy.sqrt((d * d).sum(axis=1))
        r[i] = numpy.inf
        rows.append(set(numpy.flatnonzero(r < cutoff)))
        edge |= {(i, j) for j in numpy.flatnonzero(abs(r - cutoff) < 1e-12 * cutoff)}
    return rows, edge


def test_neighbors(checks, folder):
    for dimension, start, cells in ((3, "fcc", 5), (2, "hexagonal", 12)):
        name = f"neighbors{dimension}"
        small_deck(folder, name, system={"dimension": dimension, "start": start, "cells": cells, "density": 0.8},
                   run={"steps": 40, "timestep": 0.004})
        # The first list of a run that goes on from coordinates of a liquid, not of a lattice.
        melted = program.run(f"{name}.txt", folder=folder)
        with melted.h5() as h5:
            liquid = Frame(h5, -1)
        table = Path(folder) / f"liquid{dimension}.txt"
        numpy.savetxt(table, liquid.position[:, :dimension], fmt="%.17g")
        for boundary in ("open", "periodic"):
            words = [table.name, "run.steps=0", "output.precision=double",
                     f"report.neighbors={boundary}{dimension}.txt"]
            if boundary == "periodic":
                edges = " ".join(f"{edge:.17g}" for edge in liquid.edges[:dimension])
                words += ["system.boundary=periodic", f"system.box={edges}"]
            done = program.run(*words, "output.frames_every=1", "output.existing=overwrite", folder=folder)
            if not checks.that(done.code == 0, f"{boundary} {table.name}: exit code {done.code}: {done.last_lines()}"):
                continue
            expected, edge = brute_neighbors(liquid, dimension, boundary == "periodic", 2.5)
            lines = [line for line in (Path(folder) / f"{boundary}{dimension}.txt").read_text().splitlines()
                     if not line.startswith("#")]
            checks.that(len(lines) == len(expected), f"{len(lines)} rows of {len(expected)}")
            n_wrong = 0
            for i, line in enumerate(lines):
                row = [int(word) for word in line.split()]
                good = row[0] == i and row[1] == len(row) - 2 and row[2:] == sorted(set(row[2:]))
                n_wrong += not good or any((i, j) not in edge for j in set(row[2:]) ^ expected[i])
            checks.that(n_wrong == 0, f"{boundary}, {dimension}-D: {n_wrong} rows of the neighbour file are wrong")
            checks.that(min(map(len, expected)) != max(map(len, expected)), "all rows are alike: no test")
            # The energy of the coordinate file, by the formula: shift = energy is the default.
            energy = 0.0
            for i, row in enumerate(expected):
                d = (liquid.position[list(row)] - liquid.position[i])[:, :dimension]
                if boundary == "periodic":
                    d -= liquid.edges[:dimension] * numpy.rint(d / liquid.edges[:dimension])
                r_sq = (d * d).sum(axis=1)
                energy += 2 * (r_sq**-6 - r_sq**-3 - (2.5**-12 - 2.5**-6)).sum()
            energy /= len(expected)
            report = done.json()
            # mixed precision: some 50 roundings of 2^-24 in each pair's parts, of the order of 100 epsilon per atom
            checks.near(report["potential_energy_per_atom"], energy, 50 * 2.0**-24 * 100,
                        f"energy of {table.name}, {boundary}")


def test_endings(checks, folder):
    """Exit codes, and that bad input touches nothing."""
    small_deck(folder)
    for words, code, says in [(["small.txt", "run.stepps=3"], 2, "stepps"),
                              (["small.txt", "system.cells=2"], 2, "box"),
                              (["small.txt", "output.directory=nowhere"], 2, "nowhere"),
                              (["missing.txt"], 2, "missing.txt"),
                              ([], 2, "FILE")]:
        done = program.run(*words, folder=folder)
        checks.that(done.code == code, f"{' '.join(words)}: exit code {done.code}, expected {code}")
        checks.that(says in done.stderr, f"{' '.join(words)}: {done.stderr!r} does not say {says}")
        checks.that(listing(folder) == ["small.txt"], f"{' '.join(words)} left {listing(folder)}")
    full = program.run("small.txt", "run.steps=200", "output.frames_every=1", folder=folder, file_size_limit=300_000)
    checks.that(full.code == 4, f"a file that cannot grow: exit code {full.code}, expected 4: {full.last_lines()}")
    checks.that("small.h5" in full.stderr, f"the message names no file: {full.stderr!r}")


def test_blow_up(checks, folder):
    small_deck(folder, run={"steps": 100000, "timestep": 0.05, "precision": "double"},
               output={"frames_every": 1, "thermo_every": 1})
    done = program.run("small.txt", folder=folder)
    checks.that(done.code == 3, f"a run that blows up ends with {done.code}, expected 3")
    report = done.json()
    checks.that(report["verdict"] == "FAILED", f"its verdict is {report['verdict']}")
    step = report["fault"]["step"]
    checks.that(1 <= step < 1000, f"fault at step {step}")
    # A backend may look a few steps late, see MdBackendOps.fault; the cpu does not.
    checks.that(step - 1 <= report["n_steps"] <= step, f"stopped after step {report['n_steps']}, fault at {step}")
    said = done.stdout + done.stderr
    checks.that(f"step {step}" in said and "timestep" in said, f"does not say step and reason: {done.last_lines()}")
    checks.that(f"step {step}" in done.path("log").read_text(), "the log file does not say the step")
    with done.h5() as h5:
        n_frames = len(h5["particles/all/position/step"])
        checks.that(step <= n_frames <= step + 1, f"{n_frames} frames are kept of {step} steps")
        checks.that(bool(numpy.isfinite(Frame(h5, step - 1).position).all()), "frames before the fault are damaged")


def test_verdict(checks, folder):
    """Short runs from a perfect crystal pass; a list that is rebuilt far too seldom, and a step too long, do not."""
    melt = SOURCE / "inputs/melt.txt"
    for steps in (1, 3, 5, 8):
        done = program.run(melt, f"run.steps={steps}", "output.name=short", "output.existing=overwrite", folder=folder)
        checks.that(done.code == 0, f"{steps} steps of the melt end with {done.code}: {done.last_lines()}")
    # A list that is never rebuilt conserves the energy of that list: only the end, with a fresh one, tells.
    for words in (["neighbor.every=60"], ["run.timestep=0.016"], ["neighbor.every=100000"],
                  ["neighbor.every=100000", "run.steps=2000", "run.precision=double"]):
        done = program.run(melt, SOURCE / "inputs/presets/every.txt", "system.cells=8", "output.name=bad", "output.existing=overwrite", *words, folder=folder,
                           name="bad")
        checks.that(done.code == 3, f"{words} ends with {done.code}, expected 3")
        checks.that(done.json()["verdict"] == "FAILED", f"{words}: verdict {done.json()['verdict']}")
    unchecked = program.run(melt, "system.cells=5", "report.verify=off", "run.steps=10", folder=folder)
    checks.that(unchecked.code == 0 and "verdict: NOT CHECKED" in unchecked.stdout, "report.verify = off claims a verdict")


def test_force_errors(checks, folder):
    """The rms error of forces, beside the worst over its bound: forces of a liquid are sums of some fifty terms of order one
    to a hundred, so an error is some to a thousand roundings of one."""
    deck = small_deck(folder, "errors")
    for precision, rounding in (("double", 2**-53), ("single", 2**-24)):
        done = program.run(deck, f"run.precision={precision}", "output.existing=overwrite", folder=folder)
        found = [check for check in done.json()["checks"] if check["name"].startswith("forces")]
        rms = [check["rms"] for check in found if check["step"] > 0]
        checks.that(len(rms) == 2 and all(rounding < one < 1000 * rounding for one in rms), f"{precision}: rms errors {rms}")
        others = [check["name"] for check in done.json()["checks"] if "rms" in check and check not in found]
        checks.that(not others, f"rms errors of {others}")


def test_not_lost(checks, folder):
    """A run that ends early has no verdict; one that cannot start touches nothing, its own inputs least of all."""
    deck = small_deck(folder, run={"steps": 400}, output={"frames_every": 1, "precision": "double"})
    done = program.run(deck.name, folder=folder, file_size_limit=2_000_000)
    checks.that(done.code == 4, f"a full disk ends with {done.code}, expected 4")
    report = done.json()
    checks.that(report["verdict"] == "NOT CHECKED", f"a run that ended early is called {report['verdict']}")
    checks.that(0 < report["n_steps"] < 400 and report["thermo_step"] <= report["n_steps"], "steps of an early end")
    checks.that("error:" in done.path("log").read_text(), "the log does not say why it ended")
    before = {name: (Path(folder) / name).read_bytes() for name in listing(folder)}
    cases = [["system.start=random", "system.atoms=2000", "system.density=1.3", "system.min_distance=1.0"],
             [f"report.neighbors={deck.name}", "output.existing=overwrite"]]
    (Path(folder) / "given.txt").write_text("[run]\nsteps = 1\n")
    before["given.txt"] = (Path(folder) / "given.txt").read_bytes()
    for words in cases:
        first = deck.name if "report" in words[0] else "given.txt"
        done = program.run(first, "output.name=small", *words, folder=folder)
        checks.that(done.code == 2, f"{words} ends with {done.code}: {done.last_lines()}")
        after = {name: (Path(folder) / name).read_bytes() for name in listing(folder)}
        checks.that(after == before, f"{words} has touched files: {sorted(after)}")


def test_existing(checks, folder):
    small_deck(folder)
    files = ["small.csv", "small.h5", "small.json", "small.log", "small.restart", "small.txt"]
    first = program.run("small.txt", folder=folder)
    checks.that(first.code == 0 and listing(folder) == files, f"left {listing(folder)}")
    old = {name: (Path(folder) / name).read_bytes() for name in files}
    refused = program.run("small.txt", "output.existing=refuse", folder=folder)
    checks.that(refused.code == 2 and "small" in refused.stderr,
                f"refuse: exit code {refused.code}, {refused.stderr!r}")
    checks.that(old == {name: (Path(folder) / name).read_bytes() for name in listing(folder)},
                "refuse has touched files")
    kept = program.run("small.txt", "system.seed=2", folder=folder)
    checks.that(kept.code == 0 and "small.1." in kept.stdout, f"backup: exit code {kept.code}; the log does not say it")
    backups = ["small.1.csv", "small.1.h5", "small.1.json", "small.1.log", "small.1.restart"]
    checks.that(listing(folder) == sorted(files + backups), f"backup left {listing(folder)}")
    for name in backups:
        checks.that((Path(folder) / name).read_bytes() == old[name.replace(".1.", ".")], f"{name} is not the old file")
    before = (Path(folder) / "small.json").read_bytes()
    over = program.run("small.txt", "output.existing=overwrite", folder=folder)
    checks.that(over.code == 0 and listing(folder) == sorted(files + backups), f"overwrite left {listing(folder)}")
    checks.that((Path(folder) / "small.json").read_bytes() != before, "overwrite has written nothing")
    program.write_deck(folder, "small", system=SMALL["system"], run=SMALL["run"], output={"frames_every": 0})
    over = program.run("small.txt", "output.existing=overwrite", folder=folder)
    checks.that(over.code == 0 and "small.h5" not in listing(folder), f"frames of another run stay: {listing(folder)}")


def test_left_over_xyz(checks, folder):
    """The XYZ file of an earlier run goes the way of its other files, though the new run writes none; one from elsewhere stays, and so
    does one that the run starts from."""
    folder, words = Path(folder), ["output.xyz_every=10", "output.existing=overwrite"]
    small_deck(folder)

    def run(*more):
        return program.run("small.txt", *more, folder=folder)

    def xyz_files():
        return [name for name in listing(folder) if name.endswith(".xyz")]

    run(*words)
    frames = (folder / "small.xyz").read_bytes()
    refused = run("output.existing=refuse", "output.frames_every=0")
    checks.that(refused.code == 2 and "small.xyz' exists" in refused.stderr, f"refuse: {refused.code} {refused.stderr}")
    kept = run()
    checks.that(kept.code == 0 and xyz_files() == ["small.1.xyz"] and (folder / "small.1.xyz").read_bytes() == frames and
                "small.xyz" in kept.stdout, f"backup: {xyz_files()}: {kept.last_lines()}")
    run("output.xyz_every=10")
    checks.that(xyz_files() == ["small.1.xyz", "small.xyz"] and (folder / "small.2.json").exists(), f"a number for each run: {listing(folder)}")
    over = run("output.existing=overwrite")
    checks.that(over.code == 0 and xyz_files() == ["small.1.xyz"], f"overwrite: {xyz_files()}: {over.last_lines()}")
    (folder / "small.xyz").write_text("1\nmine\nA 0 0 0\n")
    for existing in ("backup", "overwrite", "refuse"):
        run(f"output.existing={existing}")
        checks.that((folder / "small.xyz").read_text().startswith("1\nmine"), f"{existing}: the file of another program is gone")
    first = b"".join(frames.splitlines(keepends=True)[:502])  # a run starts from one frame
    (folder / "small.xyz").write_bytes(first)
    program.write_deck(folder, "small", system={"start": "file", "file": "small.xyz"}, run=SMALL["run"])
    for existing in ("backup", "overwrite"):
        done = run(f"output.existing={existing}")
        checks.that(done.code == 0 and (folder / "small.xyz").read_bytes() == first, f"{existing}: what it starts from: {done.last_lines()}")


def test_room(checks, folder):
    """Frames that find no room are refused; with output.existing = overwrite, the room of the files that are replaced is theirs."""
    small_deck(folder, output={"frames_every": 1, "precision": "double"})
    old = Path(folder) / "small.h5"

    def has_room(n_steps, existing="backup"):
        done = program.run("--check", "small.txt", f"run.steps={n_steps}", "restart.every=0", f"output.existing={existing}", folder=folder)
        checks.that(done.code == 0 or "output.frames_every: " in done.stderr and "are free in" in done.stderr, f"{n_steps} steps: {done.stderr}")
        told = ", with replaced files: " in done.stderr
        checks.that(done.code == 0 or told == (existing == "overwrite" and old.stat().st_nlink == 1), f"{existing}: {done.stderr}")
        return done.code == 0

    few, many = 0, 10**15  # the most steps that there is room for
    while many > 1.0001 * few:
        middle = int((max(few, 1) * many) ** 0.5) + 1
        few, many = (middle, many) if has_room(middle) else (few, middle)
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    size = min(2**30, free // 4)
    with open(old, "wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, size)
    n_steps = int(few * (1 - size / 2 / free))
    checks.that(not has_room(n_steps), "room beside the file that is there")
    checks.that(has_room(n_steps, "overwrite"), "no room in place of the file that is replaced")
    checks.that(not has_room(2 * few, "overwrite"), "more room than there is")
    os.link(old, Path(folder) / "kept.h5")
    checks.that(not has_room(n_steps, "overwrite"), "room of a file that has another name")


def test_late(checks, folder):
    """A list that is used for too long up to the end of the run is in the books, whether work is counted or not."""
    small_deck(folder, run={"steps": 30, "precision": "double"},
               neighbor={"rebuild": "every", "every": 1000, "skin": 0.3})
    for counters in ("off", "on"):
        done = program.run("small.txt", f"report.counters={counters}", "output.existing=overwrite", folder=folder)
        n_late = done.json()["n_late_rebuilds"]
        checks.that(n_late == 1, f"counters {counters}: {n_late} late rebuilds")
        checks.that("1 list was used for too long" in done.stdout, f"counters {counters}: the log does not say so")


def test_in_use(checks, folder):
    """Files that a running program writes are neither moved nor overwritten, whatever output.existing says."""
    for frames in (20, 0):
        name = f"live{frames}"
        deck = program.write_deck(folder, name, system=SMALL["system"], run={**SMALL["run"], "steps": 10_000_000},
                                  output={"frames_every": frames, "thermo_every": 1000})
        first = subprocess.Popen([program.program(), deck.name], cwd=folder, stdout=subprocess.DEVNULL)
        log, deadline = Path(folder) / f"{name}.log", time.monotonic() + 600
        while time.monotonic() < deadline and not (log.exists() and re.search(r"\n +0 ", log.read_text())):
            time.sleep(0.05)  # until it has begun
        for existing in ("backup", "overwrite", "refuse"):
            done = program.run(deck.name, "run.steps=1", f"output.existing={existing}", folder=folder)
            checks.that(done.code == 2 and f"{name}.*: another run writes files of this name: process {first.pid} on " in done.stderr,
                        f"frames {frames}, existing={existing}: {done.code} {done.last_lines()}")
        first.send_signal(signal.SIGTERM)
        checks.that(first.wait(600) == 75, f"frames {frames}: the first run ended with {first.returncode}")
        made = json.loads((Path(folder) / f"{name}.json").read_text())["n_steps"]
        done = program.run("--restart", f"{name}.restart", f"run.steps={made + 20}", "output.frames_every=0", folder=folder,
                           name=name)
        checks.that(done.code == 0, f"frames {frames}: resumed: {done.code} {done.last_lines()}")


def test_log(checks, folder):
    small_deck(folder)
    done = program.run("small.txt", folder=folder)
    control = sorted(set(done.raw + done.path("log").read_bytes()) & (set(range(32)) - {9, 10} | {127}))
    checks.that(not control, f"terminal control characters {control} in a redirected log")
    for word in ("temperature", "verdict: PASSED", "atom-steps/s"):
        checks.that(word in done.stdout and word in done.path("log").read_text(), f"the log lacks {word}")


def test_kernel_report(checks, folder):
    """What ran and what it achieved: consistent with itself, and in log and JSON alike."""
    small_deck(folder, report={"counters": "on"})
    done = program.run("small.txt", "force.kernel=auto", folder=folder)
    report = done.json()
    stages = {stage["stage"]: stage for stage in report["stages"]}
    checks.that({"force", "neighbor", "integrate", "reduce", "memory"} <= set(stages), f"stages {sorted(stages)}")
    for name, stage in stages.items():
        if stage["seconds"] is None or not stage["calls"]:
            checks.that(stage["gb_per_s"] is None, f"{name}: a bandwidth without a time")
            continue
        checks.near(stage["share"], stage["seconds"] / report["loop_seconds"], 1e-12, f"{name}: share")
        for rate, model in (("gb_per_s", "model_bytes"), ("gflop_per_s", "model_flops")):
            if stage[model] > 0 and stage["seconds"] > 0:
                expected = 1e-9 * stage[model] * stage["calls"] / stage["seconds"]
                checks.near(stage[rate], expected, 1e-9 * expected, f"{name}: {rate}")
            else:
                checks.that(stage[rate] is None, f"{name}: {rate} without a model or a time")
        checks.that(f"\n{name} " in done.stdout, f"the log does not show {name}")
    checks.that(stages["force"]["model_bytes"] > 500, "forces of 500 atoms without bytes")
    ran = dict(word.split("=") for word in stages["force"]["ran"].split())
    checks.that("kernel=auto" in stages["force"]["asked"] and ran["kernel"] != "auto",
                f"force: asked {stages['force']['asked']}, ran {stages['force']['ran']}")
    chosen = {choice["option"]: choice for choice in report["choices"]}
    checks.that(chosen.get("force.kernel", {}).get("value") == ran["kernel"] and bool(chosen["force.kernel"]["reason"]),
                f"choices {chosen}")
    open_ones = [name for name, stage in stages.items() if "=auto" in stage["ran"]]
    checks.that(not stages["halo"]["ran"], f"one process: halos {stages['halo']['ran']}")
    checks.that(not open_ones, f"an auto that nobody resolved: {open_ones}")
    checks.that(("launch.block_size" in chosen) == (BACKEND == "cuda"), f"choices {list(chosen)}")
    flat = " ".join(done.stdout.split())
    checks.that("(asked: auto)" in flat and f"force.kernel = {ran['kernel']}: " in flat, "the log does not say what auto became")
    for kernel in report["kernels"]:
        checks.that(kernel["launches"] > 0 and kernel["registers"] > 0 and 0 < kernel["occupancy"] <= 1,
                    f"kernel {kernel}")
        limits = set(kernel["limited_by"].split(", "))
        checks.that(limits == {"full"} if kernel["occupancy"] == 1 else limits and limits <= {"blocks", "threads", "registers", "shared"},
                    f"occupancy {kernel['occupancy']} limited by {limits}")
        checks.that(f"\n{kernel['name']} " in done.stdout, f"the log does not show the kernel {kernel['name']}")
    checks.that(bool(report["kernels"]) == (BACKEND == "cuda"), f"{len(report['kernels'])} kernels on {BACKEND}")
    counters = report["counters"]
    for stage in ("force", "search"):
        tested, inside = counters.get(f"{stage}_pairs_tested"), counters.get(f"{stage}_pairs_inside")
        if tested is not None and inside is not None:
            checks.that(0 < inside <= tested, f"{stage}: {inside} pairs inside of {tested} tested")
    if "force_pairs_inside" in counters:  # each pair once (half) or from both sides (full)
        per_atom = counters["force_pairs_inside"] / report["n_atoms"]
        checks.that(any(abs(per_atom / (share * report["pairs_per_atom"]) - 1) < 1e-3 for share in (1, 2)),
                    f"{per_atom} pairs inside an atom, {report['pairs_per_atom']} by the sums")
    without = program.run("small.txt", "report.counters=off", "output.existing=overwrite", folder=folder).json()
    checks.that("counters" not in without, "counted without being asked")


def test_unused(checks, folder):
    """The report names what did nothing: what is given and the backend lacks, and what serves frames where there are none."""
    small_deck(folder)
    of_frames = {"output.streams", "output.host_memory", "output.pack"} if BACKEND == "cuda" else set()
    for words, expected in ((["output.frames_every=0"], of_frames), (["output.frames_every=10"], set()),
                            (["output.frames_every=0", "output.xyz_every=10"], set())):
        report = program.run("small.txt", "run.steps=20", "output.existing=overwrite", *words, folder=folder).json()
        checks.that(set(report["unused_switches"]) == expected, f"{words}: {report['unused_switches']}")
    switch = "parallel.transport=staged" if BACKEND == "cuda" else "parallel.overlap=off"
    for words, expected in (([], False), ([switch, "parallel.timeout=60"], True)):
        told = " ".join(program.run("--check", "small.txt", *words, folder=folder).stdout.replace("#", " ").split())
        checks.that((f"not used by one process: {switch.split('=')[0]}, parallel.timeout " in told) == expected and ("by one process" in told) == expected,
                    f"{words}: {told[:1500]}")


def test_deterministic(checks, folder):
    """The default run: same input, same bits; whatever the number of threads."""
    small_deck(folder)
    frames = []
    for threads in (1, 2, 2, 3):
        words = [f"run.threads={threads}"] if BACKEND == "cpu" else []
        done = program.run("small.txt", *words, "output.existing=overwrite", folder=folder)
        with done.h5() as h5:
            frames.append([numpy.concatenate([Frame(h5, k).position, Frame(h5, k).velocity]) for k in range(4)])
    for other in frames[1:]:
        checks.that(all(numpy.array_equal(a, b) for a, b in zip(frames[0], other)), "two runs differ in their bits")
    checks.that(not numpy.array_equal(frames[0][0], frames[0][3]), "nothing moved")


def main():
    checks = Checks()
    checks.run(test_information, test_check_only, test_starts, test_auto_backend, test_too_many_threads, test_decks, test_no_steps,
               test_effective_deck, test_neighbors, test_endings, test_blow_up, test_verdict, test_force_errors, test_not_lost, test_existing, test_left_over_xyz, test_room, test_in_use, test_late, test_log,
               test_kernel_report, test_unused, test_deterministic, test_memory, test_memory_with_frames)
    checks.finish()


main()
