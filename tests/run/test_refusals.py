"""Restart files that are damaged, and runs that cannot go on as they are asked to: refused with a reason, and left alone.

MDMINI_TEST_ variables as in support/resuming.py."""
import random
import shutil
import subprocess
import sys

import h5check
import program
import restart_file
from restart_file import sections
from resuming import deck, resume, run_tests


def test_damage(checks, folder):
    """Every section, cut anywhere, foreign or newer: refused with a reason and exit code 2; the one before is offered."""
    program.run(deck(folder, "good"), folder=folder)
    data = (folder / "good.restart").read_bytes()
    found = sections(folder / "good.restart")
    checks.that(restart_file.compose(found) == data, "the file is not what its form says")

    def refused(content, word, what):
        (folder / "bad.restart").write_bytes(content)
        done = program.run("--restart", "bad.restart", folder=folder, name="bad")
        checks.that(done.code == 2 and word in done.stderr, f"{what}: exit code {done.code}, {done.stderr}")
        return done

    for name, at, n in restart_file.places(data):
        for byte in {at - 40, at - 10, at, at + n // 2, at + n - 1, at + n + -n % 8 + 7} - ({at, at - 1} if not n else set()):
            flipped = bytearray(data)
            flipped[byte] ^= 1 << random.randrange(8)
            refused(bytes(flipped), "damaged", f"{name}, byte {byte - at} of {n}")
    for n in [0, 1, 15, 31, 32, 40] + [random.randrange(len(data)) for _ in range(20)] + [len(data) - 1]:
        refused(data[:n], "no restart file" if n < 32 else "damaged", f"cut to {n} bytes")
    refused(data + b"\0", "damaged", "a byte too many")
    refused(b"[run]\nsteps = 3\n" * 10, "no restart file", "a deck")
    refused((folder / "good.h5").read_bytes(), "no restart file", "a trajectory")
    refused(restart_file.compose(found, version=2), "version 2", "a newer version")
    refused(data.replace(found["position"], found["velocity"]), "damaged", "another section's bytes")
    without = {name: content for name, content in found.items() if name != "velocity"}
    done = program.run("--restart", "bad.restart", folder=folder)
    (folder / "bad.restart").write_bytes(restart_file.compose(without))
    (folder / "bad.restart.prev").write_bytes(data)
    done = program.run("--restart", "bad.restart", folder=folder)
    checks.that(done.code == 2 and "velocity" in done.stderr, f"a section is missing: {done.code} {done.stderr}")
    done = refused(data[:1000], "mdmini --restart bad.restart.prev", "the older generation is not offered")
    (folder / "bad.restart").unlink()
    done = program.run("--restart", "bad.restart", folder=folder)
    checks.that(done.code == 2 and "bad.restart.prev" in done.stderr, f"no such file: {done.code} {done.stderr}")


def test_refusals(checks, folder):
    """What cannot change on the way, and files that are not there."""
    program.run(deck(folder, "run"), "run.steps=40", folder=folder)
    before = (folder / "run.h5").read_bytes()
    for word, reason in (("run.timestep=0.001", "the physics"), ("system.temperature=2", "the physics"),
                         ("run.precision=double", "the precision"), ("potential.cutoff=2.1", "the physics"),
                         ("output.unwrapped=on", "output.unwrapped"), ("no.such=1", "[no]")):
        done = resume(folder, "run", "run.steps=60", word)
        checks.that(done.code == 2 and reason in done.stderr, f"{word}: {done.code} {done.stderr}")
    checks.that((folder / "run.h5").read_bytes() == before, "a run that was refused has touched the trajectory")
    (folder / "run.h5").rename(folder / "away.h5")
    done = resume(folder, "run", "run.steps=60")
    checks.that(done.code == 2 and "run.h5" in done.stderr, f"no trajectory: {done.code} {done.stderr}")
    program.run("run.txt", "output.name=other", "run.steps=20", folder=folder)
    (folder / "other.h5").rename(folder / "run.h5")
    done = resume(folder, "run", "run.steps=60")
    checks.that(done.code == 2 and "another run" in done.stderr, f"the trajectory of another run: {done.code} {done.stderr}")
    (folder / "away.h5").rename(folder / "run.h5")
    done = resume(folder, "run", "run.steps=60", "neighbor.sorted=on", "memory.layout=aos")
    log = (folder / "run.log").read_text()
    checks.that(done.code == 0 and "statistically equivalent only" in log and "neighbor.sorted" in log,
                f"another switch: {done.code} {done.last_lines()}")
    checks.that(not done.json()["resumed"]["same_bits"] and done.json()["verdict"] == "PASSED", "another switch: report")
    told = done.json()["resumed"]["difference"]
    checks.that(all(key in told for key in ("is neighbor.sorted=on", "and is memory.layout=aos")), told)
    program.run("run.txt", "output.name=other", "run.steps=40", "output.existing=overwrite", folder=folder)
    done = resume(folder, "other", "run.steps=60", "output.slots=2", "report.verify=on")
    checks.that(done.code == 0 and done.json()["resumed"]["same_bits"], f"output in another way: {done.last_lines()}")
    done = resume(folder, "other", "run.steps=61", "force.kernel=cell")
    checks.that("which has no part in it now" in " ".join(done.stdout.split()),
                f"a switch that comes or goes: {done.last_lines()}")
    checks.that("all its steps are made" not in " ".join(done.stdout.split()), f"steps are left: {done.last_lines()}")
    done = resume(folder, "other", "run.steps=61", "force.kernel=cell")
    checks.that(done.code == 0 and "all its steps are made" in " ".join(done.stdout.split()), f"no steps are left: {done.last_lines()}")
    done = program.run("--bench", "force", "--restart", "run.restart", folder=folder)
    checks.that(done.code == 2 and "exclude each other" in done.stderr, f"--bench --restart: {done.code} {done.stderr}")


def test_nothing_to_do(checks, folder):
    """A run that is over says so, names run.steps, and has no empty table."""
    made = program.run(deck(folder, "run"), "run.steps=20", folder=folder)
    for words, told in (([], "nothing is left to do"), (["output.name=new", "output.frames_every=0"], "no step is left to make")):
        done = resume(folder, "run", *words)
        text = " ".join(done.stdout.split())
        checks.that(done.code == 0 and f"{told}: all its steps are made, run.steps = 20 (" in text and "; a larger run.steps goes on" in text,
                    f"{words}: {done.code} {text}")
        checks.that("temperature potential total" not in text and "temperature potential total" in " ".join(made.stdout.split()), f"{words}: a table: {text}")
    done = resume(folder, "run", "run.steps=30")
    checks.that(done.code == 0 and "all its steps are made" not in done.stdout and "temperature      potential" in done.stdout, f"as advised: {done.stdout}")


def test_other_name(checks, folder):
    """A run that goes on under another name needs its trajectory there: the message says which, and its ways work."""
    program.run(deck(folder, "run"), "run.steps=20", folder=folder)
    words = ["run.steps=40", "output.name=new"]
    done = resume(folder, "run", *words)
    told = "command line: output.name: read new, but the run goes on with the trajectory that it has, run.h5 of "
    checks.that(done.code == 2 and told in done.stderr and "and there is no new.h5: leave output.name out, copy run.h5 to new.h5, or " in done.stderr,
                f"{done.code} {done.stderr}")
    done = resume(folder, "run", *words, "output.frames_every=0")
    checks.that(done.code == 0, f"without a trajectory: {done.last_lines()}")
    shutil.copy(folder / "run.h5", folder / "new.h5")
    done = resume(folder, "run", *words)
    checks.that(done.code == 0, f"with a copy: {done.last_lines()}")
    (folder / "run.h5").unlink()
    (folder / "new.h5").unlink()
    done = resume(folder, "run", *words)
    checks.that(done.code == 2 and "new.h5: the trajectory of the run, of " in done.stderr, f"there is none at all: {done.code} {done.stderr}")


def marked_for_writing(path):
    """The bytes of a compressed trajectory with the mark that a killed writer leaves."""
    kill = "import h5py, os, sys; file = h5py.File(sys.argv[1], 'r+', libver='v110'); file.swmr_mode = True; os._exit(0)"
    copy = path.with_suffix(".marked")
    shutil.copy(path, copy)
    subprocess.run([sys.executable, "-c", kill, copy], check=True)
    content = copy.read_bytes()
    copy.unlink()
    return content


def test_check(checks, folder):
    """--check says of a run that is resumed what the run itself says, and touches nothing."""
    name = deck(folder, "run", output={"xyz_every": 10, "velocities_every": 10})
    program.run(name, "run.steps=40", folder=folder)
    program.run(name, "run.steps=40", "output.name=gzip", "output.compression=gzip-1", "output.xyz_every=0", folder=folder)
    program.run(name, "run.steps=20", "output.name=twin", folder=folder)
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    h5, xyz = whole["run.h5"], whole["run.xyz"]
    marked = marked_for_writing(folder / "gzip.h5")
    checks.that(marked != whole["gzip.h5"], "there is no mark")
    (folder / "gzip.h5").write_bytes(marked)
    problems = h5check.check(folder / "gzip.h5")
    checks.that(len(problems) == 1 and "mdmini --recover" in problems[0], f"h5check of a file that is marked: {problems}")
    cases = [("run", {}, [], 0), ("run", {}, ["output.xyz_velocities=velo"], 2), ("run", {}, ["output.unwrapped=on"], 2),
             ("run", {}, ["output.images_every=0"], 2), ("run", {"run.xyz": whole["twin.xyz"]}, [], 2),
             ("run", {"run.xyz": xyz[:len(xyz) // 2]}, [], 2), ("run", {"run.h5": whole["twin.h5"]}, [], 2),
             ("run", {"run.h5": b"no trajectory"}, [], 2), ("run", {"run.h5": h5[:len(h5) // 2]}, [], 2), ("gzip", {}, [], 0),
             ("gzip", {"gzip.h5": marked}, [], 0),
             ("gzip", {"gzip.h5": marked}, ["output.images_every=0"], 2)]
    for run, harm, words, code in cases:
        what = f"{run} with {words}, {sorted(harm)}"
        for path, content in {**whole, **harm}.items():
            (folder / path).write_bytes(content)
        told = program.run("--restart", f"{run}.restart", "run.steps=60", *words, "--check", folder=folder)
        changed = [path for path, content in {**whole, **harm}.items() if (folder / path).read_bytes() != content]
        checks.that(not changed and len(list(folder.iterdir())) == len(whole), f"{what}: the check changes {changed}")
        done = resume(folder, run, "run.steps=60", *words)
        checks.that(done.code == code, f"{what}: {done.code} {done.last_lines()}")
        checks.that(told.code == done.code and (not code or told.stdout == ""),
                    f"{what}: the check says {told.code} {told.stderr}, the run {done.code} {done.stderr}")
        for path in folder.iterdir():
            path.unlink()


def test_left_alone(checks, folder):
    """A run that is refused leaves all its files as they are."""
    name = deck(folder, "run", output={"xyz_every": 10})
    program.run(name, "run.steps=40", folder=folder)
    (folder / "run.xyz").write_text("".join((folder / "run.xyz").read_text().splitlines(True)[:2 * 258]))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for words in ([], ["--restart", "run.restart.prev"]):  # from the older file frames would have to go
        done = program.run(*(words or ["--restart", "run.restart"]), "run.steps=60", folder=folder, name="run")
        checks.that(done.code == 2 and "fewer frames" in done.stderr, f"fewer frames: {done.code} {done.last_lines()}")
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        checks.that(not changed, f"refused, and {changed} are others")


def test_other_run(checks, folder):
    """A restart file whose name is that of another run by now would have the reports of that one replaced."""
    for seed in (1, 2):  # the second run renames what the first one left
        program.run(deck(folder, "run", system={"seed": seed}, restart={"every": None},
                         output={"frames_every": 0, "velocities_every": None, "images_every": None}), "run.steps=20", folder=folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = program.run("--restart", "run.1.restart", "run.steps=40", folder=folder, name="run")
    checks.that(done.code == 2 and "run.json: is of another run than run.1.restart" in done.stderr and "output.name" in done.stderr,
                f"{done.code} {done.last_lines()}")
    checks.that({path.name: path.read_bytes() for path in folder.iterdir()} == before, "refused, and files are others")
    for words in (["run.1.restart", "output.name=run.1"], ["run.restart"]):
        done = program.run("--restart", *words, "run.steps=40", folder=folder, name="run")
        checks.that(done.code == 0, f"{words}: {done.code} {done.last_lines()}")


def test_ramp(checks, folder):
    """A ramp up to the last step cannot be extended: the log says so in place of a command that would be refused."""
    ramp = {"thermostat": "rescale", "target": "0.5 1.0"}
    for words, extends in (([], False), (["ensemble.last_step=20"], True)):
        done = program.run(deck(folder, "ramp", ensemble=ramp), "run.steps=20", "output.existing=overwrite", *words, folder=folder)
        checks.that(("cannot be extended: its temperature ramp" in done.stdout) != extends and ("to go on from here" in done.stdout) == extends,
                    f"{words}: {done.last_lines()}")
        done = program.run("--restart", "ramp.restart", "run.steps=40", folder=folder)
        checks.that(done.code == (0 if extends else 2), f"{words}: {done.code} {done.last_lines()}")


def test_coordinates_first(checks, folder):
    """Coordinates that a later file or word replaces: refused, not left out in silence."""
    (folder / "atoms.xy").write_text("0 0\n1.1 0\n0 1.1\n")
    (folder / "other.xy").write_text("0 0\n1.2 0\n0 1.2\n")
    (folder / "lattice.txt").write_text("[system]\nstart = hexagonal\ndensity = 0.8\n[run]\nsteps = 0\n")
    (folder / "named.txt").write_text("[system]\nstart = file\nfile = other.xy\n[run]\nsteps = 0\n")
    for words in (["atoms.xy", "lattice.txt"], ["atoms.xy", "system.start=hexagonal"], ["atoms.xy", "named.txt"]):
        done = program.run(*words, folder=folder)
        checks.that(done.code == 2 and "atoms.xy: its coordinates would not be used" in done.stderr, f"{words}: {done.code} {done.stderr}")
    done = program.run("lattice.txt", "atoms.xy", "output.frames_every=0", folder=folder, name="lattice")
    checks.that(done.code == 0 and done.json()["n_atoms"] == 3, f"coordinates after the deck: {done.code} {done.last_lines()}")


run_tests(test_damage, test_refusals, test_nothing_to_do, test_other_name, test_check, test_left_alone, test_other_run, test_ramp, test_coordinates_first)
