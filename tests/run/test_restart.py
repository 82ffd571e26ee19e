"""Runs that are resumed: the end is that of a run that never stopped, bit by bit; and the files that it goes on with.

MDMINI_TEST_ variables as in support/resuming.py."""
import json
import random
import re
import shutil
import struct

import h5check
import h5py
import numpy

import program
import restart_file
from restart_file import sections
from resuming import BACKEND, deck, resume, run_tests, same_end


def run_part(checks, folder, run, every, words, what):
    done = program.run(deck(folder, "parts"), f"output.name={run}", f"restart.every={every}", "output.existing=overwrite", *words,
                       folder=folder, name=run)
    return checks.that(done.code == 0, f"{what}: {done.last_lines()}")


def two_parts(checks, folder, words, cuts, what):
    """Up to each cut and on from there, against all at once, which is made once. The file of the cut is the one before that of the
    end, so that frames after the cut have to go."""
    if run_part(checks, folder, "whole", 20, words, what):
        for cut in cuts:
            cut_once(checks, folder, words, cut, f"{what}, cut at {cut}")


def second_half(checks, folder, words, cut, what):
    """The run "half", gone on with at the cut; None: it failed."""
    assert 30 < cut < 60
    if not run_part(checks, folder, "half", cut, words, what):
        return None
    checks.that(restart_file.run_numbers(sections(folder / "half.restart.prev"))[0] == cut, f"{what}: no file of step {cut}")
    half = program.run("--restart", "half.restart.prev", folder=folder, name="half")
    return half if checks.that(half.code == 0, f"{what}: {half.last_lines()}") else None


def cut_once(checks, folder, words, cut, what):
    half = second_half(checks, folder, words, cut, what)
    if half and checks.that(half.json()["resumed"]["same_bits"], f"{what}: {half.last_lines()}"):
        same_end(checks, folder, "whole", "half", what)


def test_ensembles(checks, folder):
    """Every ensemble with every precision, and each of both with every rule of rebuilds; cut where a list is just made, just before
    and between; and where a thermostat acts at a step with a row and a frame."""
    ensembles = {"constant energy": ([], ()),
                 "constant temperature": (["ensemble.thermostat=rescale", "ensemble.target=0.8", "ensemble.every=3"], (45,)),
                 "ramp": (["ensemble.thermostat=rescale", "ensemble.target=1.4 0.5", "ensemble.every=4"], (40,)),
                 "random numbers": (["ensemble.thermostat=csvr", "ensemble.relaxation=0.1", "ensemble.target=1.4 0.5", "ensemble.every=4"], (40,))}
    rebuilds = {"device-check": [], "host-check": ["neighbor.rebuild=host-check"],
                "every": ["neighbor.rebuild=every", "neighbor.every=10"]}
    for m, (ensemble, (heat, acts)) in enumerate(ensembles.items()):
        for n, precision in enumerate(("single", "mixed", "double")):
            rebuild = list(rebuilds)[(m + n) % 3]  # a Latin square
            cuts = {39, 40, 41, *acts} if rebuild == "every" else {random.randrange(31, 60), *acts}
            two_parts(checks, folder, [*heat, f"run.precision={precision}", *rebuilds[rebuild]], sorted(cuts),
                      f"{ensemble}, {precision}, {rebuild}")


def test_every_cut(checks, folder):
    """Cut after each step of a stretch in which the list is made several times."""
    two_parts(checks, folder, [], range(31, 60, 1 if BACKEND == "cpu" else 7), "each cut")


def test_open_box(checks, folder):
    """Cells of an open box hang on where the particles are."""
    for boundary in ("open", "periodic periodic open"):
        two_parts(checks, folder, [f"system.boundary={boundary}", "run.timestep=0.002"], [47], f"boundary {boundary}")


def switches():
    """The words of each switch that the backend has."""
    found = {}
    listed = json.loads(program.run("--list-variants=json", folder=".").stdout)
    table = next(backend for backend in listed["backends"] if backend["name"] == BACKEND)
    for row in table["variants"]:
        if not row["switch"].startswith("run."):
            found.setdefault(row["switch"], []).append(row["value"])
    return found


def test_switches(checks, folder):
    """Random sets of switches, those that can run and give the same bits twice."""
    name, words, n_done = deck(folder, "parts"), switches(), 0
    for _ in range(400):
        chosen = [f"{key}={random.choice(words[key])}" for key in random.sample(sorted(words), 5)]
        if program.run("--check", name, *chosen, folder=folder).code != 0:
            continue
        cut, what = random.randrange(31, 60), " ".join(chosen)
        half = second_half(checks, folder, chosen, cut, what)
        if not half or not half.json()["resumed"]["same_bits"]:
            continue
        if run_part(checks, folder, "whole", 20, chosen, what):
            same_end(checks, folder, "whole", "half", f"{what}, cut at {cut}")
        n_done += 1
        if n_done == (20 if BACKEND == "cpu" else 8):
            break
    checks.that(n_done >= 8, f"only {n_done} sets of switches could run")


def test_undisturbed(checks, folder):
    """Restart files, however often, and looking at the run, change no bit of it."""
    name = deck(folder, "bits")
    for run, words in {"never": ["restart.every=60"], "always": ["restart.every=1"], "seldom": ["restart.every=17"],
                       "in_line": ["restart.every=7", "output.pipeline=off"],
                       "looked_at": ["output.thermo_every=1", "output.frames_every=1", "output.images_every=1"]}.items():
        done = program.run(name, f"output.name={run}", *words, folder=folder, name=run)
        checks.that(done.code == 0, f"{run}: {done.last_lines()}")
        if run == "looked_at":
            different = restart_file.difference(folder / "never.restart", folder / f"{run}.restart")
            checks.that(set(word.split()[0] for word in different) <= {"thermo", "run"}, f"{run}: {different}")
        else:
            same_end(checks, folder, "never", run, run)


def test_extended(checks, folder):
    """A run that ended goes on to more steps, as if it had been that long from the start."""
    name = deck(folder, "long")
    rescale = ["ensemble.thermostat=rescale", "ensemble.target=0.8", "ensemble.every=3"]
    for words, ends in ((rescale, (42, 45)), ([], (40, 43))):  # it acts at the step of the end, whose row goes or stays
        program.run(name, "output.name=long", "output.existing=overwrite", *words, folder=folder)
        for steps in ends:
            program.run(name, "output.name=short", f"run.steps={steps}", "output.existing=overwrite", *words, folder=folder)
            done = resume(folder, "short", "run.steps=60")
            checks.that(done.code == 0, f"extended from {steps}: {done.last_lines()}")
            same_end(checks, folder, "long", "short", f"extended from {steps}")
    done = resume(folder, "short", "run.steps=30")
    checks.that(done.code == 2 and "step 60 is done" in done.stderr, f"shortened: {done.code} {done.stderr}")
    # Each quantity by its own interval: of step 45 some stay, and some were there because it was the last.
    for k, every in enumerate([(10, 5, 20), (5, 10, 20), (20, 20, 9), (45, 4, 10)]):
        words = [f"output.{key}={n}" for key, n in zip(("frames_every", "velocities_every", "thermo_every"), every)]
        words += [f"output.images_every={every[0]}", f"output.forces_every={every[1]}", "output.existing=overwrite"]
        program.run(name, "output.name=long", *words, folder=folder)
        program.run(name, "output.name=short", "run.steps=45", *words, folder=folder)
        done = resume(folder, "short", "run.steps=60")
        checks.that(done.code == 0, f"intervals {every}: {done.last_lines()}")
        same_end(checks, folder, "long", "short", f"intervals {every}")
    # With another interval from there on, what was due by the old one stays.
    program.run(name, "output.name=other", "run.steps=45", "output.frames_every=15", "output.images_every=15", folder=folder)
    done = resume(folder, "other", "run.steps=70", "output.frames_every=30", "output.images_every=30", "output.velocities_every=4")
    checks.that(done.code == 0, f"another interval: {done.last_lines()}")
    with done.h5() as h5:
        found = [h5[f"particles/{path}/step"][...].tolist() for path in ("all/position", "all_velocity/velocity")]
    checks.that(found == [[0, 15, 30, 45, 60, 70], [0, 10, 20, 30, 40, 48, 52, 56, 60, 64, 68, 70]],
                f"another interval: steps {found}")
    # The check of the file knows what was due in each part, so it sees a step that is not where it should be.
    for run, parts in (("other", 2), ("short", 2)):
        problems = h5check.check(folder / f"{run}.h5")
        checks.that(not problems, f"{run} in {parts} parts: {problems}")
        for path in ("all/position", "all_velocity/velocity"):
            for row in (1, 9):
                shutil.copy(folder / f"{run}.h5", folder / "harmed.h5")
                with h5py.File(folder / "harmed.h5", "r+") as h5:
                    steps = h5[f"particles/{path}/step"]
                    row = min(row, len(steps) - 2)
                    steps[row] += 1
                problems = h5check.check(folder / "harmed.h5")
                checks.that(len(problems) == 2 and "was due and is missing" in problems[0] and "not due" in problems[1],
                            f"{run}, {path}: step of row {row} is another: {problems}")
    ramp = deck(folder, "ramp", ensemble={"thermostat": "rescale", "target": "1 0.5"})
    program.run(ramp, folder=folder)
    done = resume(folder, "ramp", "run.steps=80")
    checks.that(done.code == 2 and "ensemble.last_step" in done.stderr, f"a ramp changes its slope: {done.stderr}")


def test_finished(checks, folder):
    """A run that is done and resumed once more keeps its report, which has the times, and gets no session without steps. What was not
    verified, or not brought to a good end, is reported anew."""
    name = deck(folder, "run")
    program.run(name, folder=folder)
    report = (folder / "run.json").read_bytes()
    for _ in range(2):
        done = resume(folder, "run")
        checks.that(done.code == 0 and (folder / "run.json").read_bytes() == report and "run.json stays as it is" in done.stdout,
                    f"resumed at its end: {done.last_lines()}")
    done = resume(folder, "run", "run.steps=80")
    found = [(session["from_step"], session["to_step"]) for session in done.json()["sessions"]]
    checks.that(found == [(0, 60), (60, 80)] and done.json()["steps_per_second"] > 0 and "stays as it is" not in done.stdout,
                f"gone on: sessions {found}: {done.last_lines()}")
    for what, harm in (("of another end", lambda text: text.replace('"exit_code": 0', '"exit_code": 4')),
                       ("of fewer steps", lambda text: text.replace('"n_steps": 80', '"n_steps": 60')), ("none", lambda text: "")):
        (folder / "run.json").write_text(harm((folder / "run.json").read_text()))
        done = resume(folder, "run")
        checks.that(done.code == 0 and done.json()["resumed"]["step"] == 80 and done.json()["n_steps"] == 80, f"a report {what}: {done.last_lines()}")
    program.run(name, "report.verify=off", "output.name=open", folder=folder)
    for verify, verdict in (("off", "NOT CHECKED"), ("on", "PASSED")):
        done = resume(folder, "open", f"report.verify={verify}")
        checks.that(done.code == 0 and done.json()["verdict"] == verdict and ("resumed" in done.json()) == (verify == "on"),
                    f"not verified, then {verify}: {done.last_lines()}")


def test_existing(checks, folder):
    """output.existing holds for files that the resumed run did not have."""
    name = deck(folder, "run")
    program.run(name, "run.steps=40", folder=folder)
    (folder / "run.xyz").write_text("mine")
    done = resume(folder, "run", "run.steps=60", "output.xyz_every=10", "output.existing=refuse")
    checks.that(done.code == 2 and "run.xyz" in done.stderr, f"refuse: {done.code} {done.last_lines()}")
    done = resume(folder, "run", "run.steps=60", "output.xyz_every=10")
    checks.that(done.code == 0 and (folder / "run.1.xyz").read_text() == "mine", f"backup: {done.last_lines()}")
    kept = sorted(path.name for path in folder.glob("*.1.*"))
    checks.that(kept == ["run.1.xyz"], f"backup has moved {kept}")
    done = resume(folder, "run", "run.steps=70")
    n_frames = (folder / "run.xyz").read_text().count("Lattice")
    checks.that(done.code == 0 and n_frames == 3, f"gone on with the new file: {n_frames} frames, {done.last_lines()}")
    # A file of another run, though it has what is wanted.
    program.run(name, "run.steps=70", "output.name=twin", "output.xyz_every=10", folder=folder)
    for ending in ("h5", "xyz"):
        (folder / f"run.{ending}").rename(folder / f"away.{ending}")
        shutil.copy(folder / f"twin.{ending}", folder / f"run.{ending}")
        done = resume(folder, "run", "run.steps=80")
        checks.that(done.code == 2 and "another run" in done.stderr, f"foreign {ending}: {done.code} {done.last_lines()}")
        (folder / f"away.{ending}").rename(folder / f"run.{ending}")
    # Under another name, and in another folder, which has been moved as a whole.
    for ending in ("h5", "xyz"):
        shutil.copy(folder / f"run.{ending}", folder / f"other.{ending}")
    (folder / "other.log").write_text("of something else")
    done = resume(folder, "run", "run.steps=80", "output.name=other")
    checks.that(done.code == 0 and (folder / "other.1.log").read_text() == "of something else",
                f"another name: {done.last_lines()}")
    (folder / "moved").mkdir()
    for path in folder.glob("run.*"):
        path.rename(folder / "moved" / path.name)
    done = program.run("--restart", "run.restart", "output.directory=.", "run.steps=90", "output.existing=refuse",
                       folder=folder / "moved", name="run")
    checks.that(done.code == 0 and (folder / "moved/run.log").read_text().count("resumed  ") == 3,
                f"a folder that was moved: {done.last_lines()}")
    done = program.run("--restart", "moved/run.restart", "run.steps=95", folder=folder)
    checks.that(done.code == 2 and "output.directory (that of the restart file: moved), or" in done.stderr, f"from another folder: {done.stderr}")
    done = program.run("--restart", "moved/run.restart", "run.steps=95", "output.frames_every=0", "output.xyz_every=0", folder=folder)
    for text, has in (("; its files are those in output.directory, not those beside it", True), ("run.log run.restart resumed", True),
                      ("not used by one process", False)):
        checks.that(done.code == 0 and (text in head(done)) == has, f"from another folder: {text}: {done.code} {head(done)}")
    checks.that("loop), 1 row of the table" in done.stdout, f"one row: {done.last_lines()}")
    # A new run is not resumed from files of the one before it.
    program.run(deck(folder, "run"), "run.steps=40", folder=folder)
    checks.that((folder / "run.restart.prev").exists(), "no restart file: then this test shows nothing")
    program.run(name, "restart.every=0", "output.existing=overwrite", folder=folder)
    left = sorted(path.name for path in folder.glob("run.restart*"))
    checks.that(not left, f"overwrite leaves {left}")


def head(done):
    """The lines before the thermo table, as one."""
    return " ".join(done.stdout.partition("reduced units")[0].split())


def test_told(checks, folder):
    """Frames that had to go are counted, and a trajectory that is written anew is told with the reason, by --check as well."""
    name = deck(folder, "run", output={"xyz_every": 10, "forces_every": 5})
    program.run(name, "run.steps=55", folder=folder)
    program.run(name, "run.steps=55", "output.name=same", folder=folder, name="same")
    with h5py.File(folder / "run.h5") as h5:
        n = {what: int((h5[f"particles/{path}/step"][...] > 40).sum())
             for what, path in (("frames", "all/position"), ("velocity_frames", "all_velocity/velocity"))}
    checks.that(n == {"frames": 3, "velocity_frames": 2}, f"beyond step 40 there are {n}")
    words = ["run.steps=55", "output.compression=gzip-2", "output.precision=double"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    told = program.run("--restart", "run.restart.prev", *words, "--check", folder=folder)
    checks.that({path.name: path.read_bytes() for path in folder.iterdir()} == before, "the check changes files")
    done = program.run("--restart", "run.restart.prev", *words, folder=folder, name="run")
    dropped = "3 frames of run.h5, 2 frames of its velocities, 2 frames of run.xyz: after step 40"
    reasons = ("run.h5, with all frames that stay: output.compression is gzip-2 (command line) and was none; "
               "output.precision is double (command line) and was single")
    checks.that(f"# drops {dropped}" in head(told).replace("drops    ", "drops ") and f"# rewrites {reasons}" in head(told),
                f"--check: {told.last_lines()}")
    checks.that(f"dropped {dropped}" in head(done) and f"rewritten {reasons}" in head(done), f"the log: {head(done)}")
    resumed = done.json()["resumed"]
    checks.that([resumed[f"dropped_{what}"] for what in ("frames", "velocity_frames", "force_frames", "xyz_frames")] == [3, 2, 0, 2]
                and "gzip-2" in resumed["rewritten"], f"the report: {resumed}")
    with done.h5() as h5:
        position = h5["particles/all/position/value"]
        checks.that(position.compression_opts == 2 and position.dtype == "f8", f"the file: {position.compression_opts}, {position.dtype}")
    (folder / "same.json").unlink()  # or it stays
    done = resume(folder, "same", "run.steps=55")
    resumed = done.json()["resumed"]
    checks.that("dropped" not in head(done) and "rewritten" not in head(done) and resumed["rewritten"] is None and
                resumed["dropped_frames"] == resumed["dropped_xyz_frames"] == 0, f"nothing to tell: {head(done)} {resumed}")
    done = resume(folder, "same", "run.steps=80", "output.velocities_every=20")
    checks.that("more frames are to come than it had room for" in done.json()["resumed"]["rewritten"], f"longer: {head(done)}")


def test_late(checks, folder):
    """Rebuilds that came late in an earlier process are told as such, and no rule is blamed that this one does not use."""
    name, rare = deck(folder, "late"), ["neighbor.rebuild=every", "neighbor.every=30", "neighbor.skin=0.02", "report.verify=off"]
    first = program.run(name, *rare, "restart.every=40", folder=folder)
    n_late = first.json()["n_late_rebuilds"]
    text = " ".join((first.stdout + first.stderr).split())
    checks.that(n_late > 0 and "used for too long: an atom" in text and "is what neighbor.rebuild = every does" in text, f"{n_late} late: {text}")
    for words, blames in (([], True), (["neighbor.rebuild=host-check"], False)):
        before = (folder / "late.restart.prev").read_bytes()
        done = program.run("--restart", "late.restart.prev", *words, folder=folder, name="late")
        (folder / "late.restart.prev").write_bytes(before)
        text = " ".join((done.stdout + done.stderr).split())
        checks.that(done.code == 0 and "of them before step 40, where this process began" in text and
                    ("is what neighbor.rebuild = every does" in text) == blames, f"{words}: {done.code} {text[-900:]}")


def test_trace(checks, folder):
    """Each part of a run has a trace of its own; one that is made again is replaced, and nothing else."""
    name = deck(folder, "run", report={"trace": "t.json"}, output={"existing": "refuse"})
    program.run(name, "run.steps=40", folder=folder)
    first = (folder / "t.json").read_bytes()
    for attempt in range(2):
        done = resume(folder, "run", f"run.steps={60 + 10 * attempt}")
        checks.that(done.code == 0, f"resumed with a trace: {done.last_lines()}")
    done = program.run("--restart", "run.restart.prev", "run.steps=80", folder=folder, name="run")
    checks.that(done.code == 0, f"resumed once more with a trace: {done.last_lines()}")
    traces = sorted(path.name for path in folder.glob("t*.json"))
    checks.that(traces == ["t.from40.json", "t.from60.json", "t.json"], f"traces {traces}")
    checks.that((folder / "t.json").read_bytes() == first, "the trace of the first part is another")
    for trace, last in (("t.json", 40), ("t.from40.json", 60), ("t.from60.json", 80)):
        events = json.loads((folder / trace).read_text())["traceEvents"]
        steps = [event["args"]["step"] for event in events if "step" in event.get("args", {})]
        checks.that(steps and max(steps) == last, f"{trace}: the last step is {max(steps, default=None)}, not {last}")
    (folder / "t.from80.json").write_text("mine")
    done = resume(folder, "run", "run.steps=90", "report.trace=t2.json")
    checks.that(done.code == 0 and (folder / "t2.from80.json").exists() and (folder / "t.from80.json").read_text() == "mine",
                f"a trace of another name: {done.last_lines()}")


def test_full_disk(checks, folder):
    """No room for the restart file: said at once, exit code 4, the file of before is whole and goes on."""
    name = deck(folder, "full", system={"cells": 6}, potential={"cutoff": 2.5}, neighbor={"skin": 0.3},
                output={"frames_every": 0, "velocities_every": None, "images_every": None})
    program.run(name, "output.name=whole", folder=folder)
    size = (folder / "whole.restart").stat().st_size
    program.run(name, "run.steps=40", "output.name=full", folder=folder)
    kept = (folder / "full.restart").read_bytes()
    # The limit holds for the compiled kernels of the emulated GPU, too, which are files in memory: it must be above these.
    done = program.run("--restart", "full.restart", "run.steps=60", folder=folder, name="full", file_size_limit=3 * size // 4)
    checks.that(done.code == 4 and "full.restart.tmp" in done.stderr, f"no room: {done.code} {done.stderr}")
    checks.that((folder / "full.restart").read_bytes() == kept, "no room: the restart file is another")
    checks.that(not (folder / "full.restart.tmp").exists(), "no room: a piece of a file is left")
    done = program.run(name, "output.name=new", "restart.every=20", folder=folder, file_size_limit=3 * size // 4)
    checks.that(done.code == 4 and len(done.stderr.splitlines()) == 1, f"no room, from the start: {done.stderr}")
    done = resume(folder, "full", "run.steps=60")
    different = restart_file.difference(folder / "whole.restart", folder / "full.restart")
    checks.that(done.code == 0 and not different, f"room again: {done.code} {different} {done.last_lines()}")
    # What is in the file already needs no room again: a run that has come far, as its restart file says, is refused for
    # what is left of it alone.
    program.run(deck(folder, "far"), folder=folder)
    found = sections(folder / "far.restart")
    n_steps, done_steps = 10**15, 10**15 - 1000
    found["run"] = struct.pack("<q", done_steps) + found["run"][8:]
    found["deck"] = re.sub(rb"(?m)^(steps *= *)60", rb"\g<1>%d" % n_steps, found["deck"])
    (folder / "far.restart").write_bytes(restart_file.compose(found))
    done = program.run("--restart", "far.restart", "--check", folder=folder)
    checks.that(done.code == 0, f"room for what is left: {done.last_lines()}")
    found["run"] = struct.pack("<q", 100) + found["run"][8:]
    (folder / "far.restart").write_bytes(restart_file.compose(found))
    done = program.run("--restart", "far.restart", "--check", folder=folder)
    checks.that(done.code == 2 and "are free" in done.stderr, f"no room for what is left: {done.last_lines()}")
    # No room for frames, and nothing to resume from: the state is kept, and goes on; only frames are lost. A thermostat has acted then
    # at the step whose frame found no room.
    name = deck(folder, "frames", system={"cells": 6}, potential={"cutoff": 2.5}, neighbor={"skin": 0.3}, restart={"every": 0},
                output={"frames_every": 1, "thermo_every": 10, "images_every": 1, "precision": "double", "existing": "overwrite"},
                ensemble={"thermostat": "rescale", "target": 0.8, "every": 1})
    program.run(name, "output.name=whole", "restart.every=60", folder=folder)
    for pipeline in ("on", "off"):
        what = f"output.pipeline={pipeline}"
        done = program.run(name, what, folder=folder, file_size_limit=1500000)
        checks.that(done.code == 4 and "mdmini --restart frames.restart" in done.stdout, f"no room for frames, {what}: {done.code} {done.last_lines()}")
        checks.that("frames before it are lost" in done.stdout, f"no room for frames, {what}: the loss is not told")
        done = resume(folder, "frames")
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"room for frames again, {what}: {done.last_lines()}")
        with done.h5() as h5:
            steps = h5["particles/all/position/step"][...]
            checks.that(steps[-1] == 60 and len(steps) < 61 and (numpy.diff(steps) > 0).all(), f"{what}: frames of steps {steps}")
        different = restart_file.difference(folder / "whole.restart", folder / "frames.restart")
        checks.that(set(word.split()[0] for word in different) <= {"thermo", "run"}, f"room for frames again, {what}: {different}")


def test_generations(checks, folder):
    """Gone on from the older file, as the program offers, the older file stays until there is a new one beside it; a file
    of the same step is no older one."""
    program.run(deck(folder, "run"), "run.steps=40", folder=folder)
    restart, older = folder / "run.restart", folder / "run.restart.prev"

    def steps():
        return [restart_file.run_numbers(sections(path))[0] for path in (restart, older)]

    good = older.read_bytes()
    restart.write_bytes(restart.read_bytes()[:1000])
    done = program.run("--restart", older.name, folder=folder, name="run")
    checks.that(done.code == 0 and steps() == [40, 20] and older.read_bytes() == good,
                f"gone on from the older file: {done.last_lines()}")
    for _ in range(2):
        done = resume(folder, "run")
        checks.that(done.code == 0 and steps() == [40, 20], f"an end resumed: steps {steps()}, {done.last_lines()}")
    done = resume(folder, "run", "run.steps=50")
    checks.that(done.code == 0 and steps() == [50, 40], f"extended: steps {steps()}, {done.last_lines()}")
    # A disk that is full from the start.
    (folder / "run.restart.tmp").symlink_to("/dev/full")
    done = resume(folder, "run", "run.steps=60")
    checks.that(done.code == 4 and steps() == [50, 40], f"a full disk: {done.code}, {steps()}, {done.last_lines()}")
    checks.that(not (folder / "run.restart.tmp").is_symlink(), "a full disk: a piece of a file is left")


def test_nothing_asked(checks, folder):
    """Defaults, and off, of keys that have no effect here: no error, in a run, its check, and a run that goes on; other values are."""
    words = ["output.velocities_every=0", "ensemble.target=1", "memory.space=device", "launch.bounds=off"]
    name = deck(folder, "run", output={"frames_every": 0, "velocities_every": 0, "images_every": None})
    for done in (program.run(name, *words, "--check", folder=folder), program.run(name, *words, folder=folder, name="run"),
                 resume(folder, "run", *words, "run.steps=90")):
        checks.that(done.code == 0, f"defaults: {done.code} {done.last_lines()}")
    done = resume(folder, "run", "output.velocities_every=5", "run.steps=95")
    checks.that(done.code == 2 and "output.velocities_every: has no effect" in done.stderr, f"asked: {done.code} {done.stderr}")


run_tests(test_nothing_asked, test_ensembles, test_every_cut, test_open_box, test_switches, test_undisturbed, test_extended, test_finished,
          test_existing, test_told, test_late, test_trace, test_full_disk, test_generations)
