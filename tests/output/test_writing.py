"""The files of frames, by runs of the program: intervals of their own, unwrapped positions, compression that changes no
number, XYZ that other programs and mdmini itself read; and what happens when the disk is full, the file is deleted or moved,
or the folder is read-only: the run ends at once with code 4 and the reason, and what was committed can be read."""
import os
import re
import shutil
import subprocess
import threading
import time

import h5check
import h5py
import numpy as np
import program
import restart_file
from program import Checks

checks = Checks()
SYSTEM = {"system": {"start": "fcc", "cells": 4, "density": 0.8442, "temperature": 1.44, "seed": 7},
          "run": {"steps": 60, "backend": "cpu"}}


def run(folder, *arguments, **output):
    keys = {"frames_every": 10, "thermo_every": 10, "existing": "overwrite"} | output
    deck = program.write_deck(folder, "w", **SYSTEM, output=keys)
    return program.run(deck, *arguments, folder=folder)


def good(result, what):
    problems = h5check.check(result.path("h5"))
    return checks.that(result.code == 0 and not problems, f"{what}: {problems}\n{result.last_lines()}")


def test_intervals(folder):
    result = run(folder, velocities_every=20, forces_every=10, images_every=10)
    good(result, "intervals")
    with result.h5() as h5:
        steps = h5["particles/all_velocity/velocity/step"][:].tolist()
        checks.that(steps == [0, 20, 40, 60], f"steps of velocities: {steps}")
        checks.that("force" in h5["particles/all"] and "velocity" not in h5["particles/all"], "where forces and velocities are")
    result = run(folder, "run.steps=35", velocities_every=25)
    good(result, "the last step is due for all")
    with result.h5() as h5:
        checks.that(h5["particles/all_velocity/velocity/step"][:].tolist() == [0, 25, 35], "velocities at the last step")
        checks.that(h5["particles/all/position/step"][:].tolist() == [0, 10, 20, 30, 35], "positions at the last step")
    for words, text in ((["images_every=20"], "allowed: 0, and 10"), (["images_every=10", "unwrapped=on"], "unwrap twice"),
                        (["frames_every=0", "unwrapped=on"], "output.frames_every or output.xyz_every above 0"),
                        (["compression=gzip-0"], "gzip-1")):
        result = run(folder, *(f"output.{word}" for word in words))
        checks.that(result.code == 2 and text in result.stderr, f"{words}: code {result.code}, {result.stderr}")


def arrays(result):
    with result.h5() as h5:
        particles = h5["particles/all"]
        return {name: particles[name + "/value"][:] for name in particles if name not in ("box", "species", "id", "mass")}


def test_same_numbers(folder):
    """Compressed and unwrapped files hold the numbers of the plain one."""
    quantities = {"velocities_every": 10, "forces_every": 10}
    for precision in ("single", "double"):
        result = run(folder, "run.steps=400", precision=precision, images_every=10, **quantities)
        good(result, precision)
        plain = arrays(result)
        with result.h5() as h5:
            edge = h5["particles/all/box/edges/value"][0][0, 0]
        checks.that(plain["image"].any(), "some particle has left the box")
        for level in (1, 9):
            result = run(folder, "run.steps=400", precision=precision, images_every=10, compression=f"gzip-{level}", **quantities)
            good(result, f"gzip-{level}")
            packed = arrays(result)
            same = all(packed[name].tobytes() == plain[name].tobytes() for name in plain) and set(packed) == set(plain)
            checks.that(same, f"{precision}: gzip-{level} changes numbers")
        result = run(folder, "run.steps=400", precision=precision, unwrapped="on", **quantities)
        good(result, "unwrapped")
        unwrapped = arrays(result)["position"]
        expected = (plain["position"].astype(float) + plain["image"] * edge).astype(plain["position"].dtype)
        checks.that((unwrapped == expected).all(), f"{precision}: unwrapped positions")


def test_bytes(folder):
    """What frames are as numbers, and what they take in the files: compressed, and as text. The frame at step 0 comes
    before the loop that the report is about."""
    for compression in ("none", "gzip-1", "gzip-9"):
        result = run(folder, images_every=10, velocities_every=10, precision="double", compression=compression)
        report = result.json()["output"]
        with result.h5() as h5:
            series = [h5[f"particles/all/{name}/value"].id for name in ("position", "velocity", "image")]
            stored = sum(one.get_storage_size() - one.get_chunk_info_by_coord((0, 0, 0)).size for one in series)
        numbers = 6 * 256 * 3 * (8 + 8 + 4)
        checks.that(report["frame_bytes"] == numbers, f"{compression}: {report['frame_bytes']} bytes of numbers, not {numbers}")
        checks.that(report["file_bytes"] == stored, f"{compression}: {report['file_bytes']} bytes of the file, not {stored}")
        checks.that((compression == "none") == (stored == numbers), f"{compression}: {stored} bytes of {numbers}")
        for kind in ("frame", "file"):
            speed = report[f"{kind}_bytes"] / report["write_seconds"]
            checks.near(report[f"{kind}_bytes_per_second"], speed, 1e-9 * speed, f"{compression}: speed of {kind}_bytes")
        checks.that(("into the files" in result.stdout) == (compression != "none"), f"{compression}: {result.stdout}")
    result = run(folder, frames_every=0, xyz_every=10)
    report, text = result.json()["output"], result.path("xyz").read_text()
    first = text[:text.index("\n256\n") + 1]
    checks.that(report["frame_bytes"] == 6 * 256 * 3 * 4, f"XYZ: {report['frame_bytes']} bytes of numbers")
    checks.that(report["file_bytes"] == len(text) - len(first), f"XYZ: {report['file_bytes']} bytes of text")


def read_xyz(path):
    """[(comment, species, numbers)]"""
    frames, lines = [], path.read_text().splitlines()
    while lines:
        n = int(lines[0])
        rows = [line.split() for line in lines[2:2 + n]]
        frames.append((lines[1], [row[0] for row in rows], np.array([row[1:] for row in rows], float)))
        lines = lines[2 + n:]
    return frames


def check_ase(path, periodic):
    """ASE finds the same frames in the file as read_xyz."""
    try:
        import ase.io
    except ImportError:
        print("not tested: ASE is not installed (Debian: python3-ase)")
        return
    images, frames = ase.io.read(path, ":", format="extxyz"), read_xyz(path)
    checks.that(len(images) == len(frames), f"ASE: {len(images)} frames of {len(frames)}")
    for image, (comment, species, numbers) in zip(images, frames):
        lattice = re.search(r'Lattice="([^"]*)"', comment)
        lattice = np.array(lattice[1].split() if lattice else [0] * 9, float).reshape(3, 3)
        checks.that((image.positions == numbers[:, :3]).all() and image.pbc.tolist() == periodic, "ASE: positions, pbc")
        checks.that(np.array_equal(image.cell[:], lattice) and image.get_chemical_symbols() == species, "ASE: cell, species")
        checks.that(numbers.shape[1] == 3 or (image.arrays["velo"] == numbers[:, 3:]).all(), "ASE: velocities")
        checks.that(image.info["step"] == int(re.search(r"step=(\d+)", comment)[1]), f"ASE: {image.info}")


def test_xyz(folder):
    result = run(folder, xyz_every=30, xyz_velocities="velo", velocities_every=10, precision="double")
    good(result, "with an XYZ file")
    frames = read_xyz(result.path("xyz"))
    with result.h5() as h5:
        edge = h5["particles/all/box/edges/value"][0][0, 0]
        for (comment, species, numbers), row in zip(frames, (0, 3, 6)):
            checks.that((numbers[:, :3] == h5["particles/all/position/value"][row]).all(), "positions in XYZ")
            checks.that((numbers[:, 3:] == h5["particles/all/velocity/value"][row]).all(), "velocities in XYZ")
            lattice = re.search(r'Lattice="([^"]*)"', comment)[1].split()
            checks.that(np.array_equal(np.array(lattice, float).reshape(3, 3), edge * np.eye(3)), f"Lattice {lattice}")
            checks.that('pbc="T T T"' in comment and f" step={10 * row} " in comment, comment)
            energy = float(re.search(r"potential_energy=(\S+)", comment)[1])
            checks.that(energy == h5["observables/potential_energy/value"][row], "energy in XYZ")
            checks.that(set(species) == {"Ar"}, f"species {set(species)}")
    checks.that(len(frames) == 3, f"{len(frames)} frames in XYZ")
    check_ase(result.path("xyz"), [True] * 3)

    # mdmini starts from it, with the velocities that it holds
    lines = result.path("xyz").read_text().splitlines(keepends=True)
    with open(os.path.join(folder, "start.xyz"), "w") as file:
        file.writelines(lines[:2 + int(lines[0])])
    again = program.run("start.xyz", "run.steps=0", "run.backend=cpu", "output.frames_every=1", "output.velocities_every=1",
                        "output.precision=double", folder=folder)
    checks.that(again.code == 0, again.last_lines())
    with again.h5() as h5:
        checks.that((h5["particles/all/position/value"][0] == frames[0][2][:, :3]).all(), "started from the XYZ file")

    result = run(folder, "system.dimension=2", "system.start=hexagonal", "system.cells=8 4", "system.density=0.8",
                 "system.types=8", xyz_every=60, frames_every=0)
    checks.that(result.code == 0, result.last_lines())
    comment, species, numbers = read_xyz(result.path("xyz"))[0]
    checks.that(len(set(species)) == 8, f"names of eight types: {set(species)}")
    checks.that(numbers.shape[1] == 3 and not numbers[:, 2].any() and 'pbc="T T F"' in comment, f"in two dimensions: {comment}")
    check_ase(result.path("xyz"), [True, True, False])

    # files that are there: like all other outputs
    result = run(folder, xyz_every=30, existing="refuse")
    checks.that(result.code == 2 and "w.xyz' exists" in result.stderr, result.stderr)
    before = result.path("xyz").read_bytes()
    result = run(folder, xyz_every=30, existing="backup")
    moved = [name for name in os.listdir(folder) if re.fullmatch(r"w\.\d+\.xyz", name)]
    checks.that(result.code == 0 and len(moved) == 1 and open(os.path.join(folder, moved[0]), "rb").read() == before,
                f"backup of the XYZ file: {moved}")


def give_back(result, name):
    """A run of no step from the last frame of its XYZ file."""
    lines = result.path("xyz").read_text().splitlines(keepends=True)
    n_lines = 2 + int(lines[0])
    (result.folder / f"{name}.xyz").write_text("".join(lines[-n_lines:]))
    return program.run(f"{name}.xyz", "run.steps=0", "run.backend=cpu", "output.frames_every=1", "output.velocities_every=1",
                       "output.precision=double", "output.existing=overwrite", "output.name=again", folder=result.folder, name="again")


def check_reals(comment):
    """Readers tell the type of a value from its looks."""
    pairs = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', comment))
    words = pairs.pop("Lattice", "").strip('"').split()
    words += [value for key, value in pairs.items() if key not in ("Properties", "pbc", "run_id", "step")]
    checks.that(len(words) >= 4 and all(re.fullmatch(r"-?\d.*[.e].*", word) for word in words) and pairs["step"].isdigit(),
                f"real values: {comment}")


COLUMNS = {"off": "", "velo": ":velo:R:3", "on": ":velo:R:3", "vel": ":vel:R:3", "momenta": ":momenta:R:3"}


def test_xyz_columns(folder):
    """Velocities under each name, and masses where one of them is not 1: what is given back to mdmini is the same system."""
    for masses, words in (([1, 2.5], ["system.types=2", "system.fractions=0.7 0.3", "system.masses=1 2.5"]), ([3], ["system.masses=3"]),
                          ([1], []), ([1, 1], ["system.types=2"])):
        for velocities, column in COLUMNS.items():
            what = f"masses {masses}, {velocities}"
            result = run(folder, *words, "run.timestep=0.025", xyz_every=20, xyz_velocities=velocities, velocities_every=10,
                         precision="double")
            good(result, what)
            frames = read_xyz(result.path("xyz"))
            column += ":masses:R:1" if velocities == "momenta" else ":mass:R:1" if set(masses) != {1} else ""
            with result.h5() as h5:
                mass, velocity = h5["particles/all/mass"][:][:, None], h5["particles/all/velocity/value"][-1]
                deck = h5["parameters/mdmini/deck"][()].decode()
            for comment, _, numbers in frames:
                check_reals(comment)
                checks.that(f"Properties=species:S:1:pos:R:3{column} " in comment, f"{what}: {comment}")
                checks.that(not column.endswith(":R:1") or (numbers[:, -1:] == mass).all(), f"{what}: masses")
            times = [re.search(r" time=(\S+)", comment)[1] for comment, *_ in frames]
            checks.that(times == ["0.0", "0.5", "1.0", "1.5"], f"times {times}")
            expected = velocity * mass if velocities == "momenta" else velocity
            checks.that(velocities == "off" or (frames[-1][2][:, 3:6] == expected).all(), f"{what}: velocities")
            checks.that(re.search(r"xyz_velocities *= (\w+)", deck)[1] == velocities.replace("on", "velo"), f"{what}: {deck}")
            again = give_back(result, "back")
            if not checks.that(again.code == 0, f"{what}: {again.last_lines()}"):
                continue
            with again.h5() as h5:
                checks.that((h5["particles/all/mass"][:][:, None] == mass).all(), f"{what}: masses given back")
                off = np.abs(h5["particles/all/velocity/value"][0] - velocity).max()
                checks.that(velocities == "off" or off < 1e-7, f"{what}: velocities given back differ by {off}")


def test_columns_go_on(folder):
    """They stay as they are within a file, also as an earlier version of the program called and wrote them."""
    mixture = ["system.types=2", "system.masses=1 2", "run.steps=20"]
    for velocities, changed in (("velo", "vel"), ("vel", "momenta"), ("momenta", "off"), ("off", "on")):
        result = run(folder, *mixture, xyz_every=10, xyz_velocities=velocities)
        files = {path.name: path.read_bytes() for path in result.folder.iterdir()}
        for words in (["--check"], []):
            done = program.run("--restart", "w.restart", "run.steps=40", f"output.xyz_velocities={changed}", *words, folder=folder)
            checks.that(done.code == 2 and "w.xyz: output.xyz_velocities cannot change within a file" in done.stderr,
                        f"{words}: {done.code} {done.last_lines()}")
            checks.that(files == {path.name: path.read_bytes() for path in result.folder.iterdir()}, "a file was touched")
        done = program.run("--restart", "w.restart", "run.steps=40", "output.xyz_every=0", folder=folder)
        checks.that(done.code == 0, f"without the file: {done.last_lines()}")
    result = run(folder, *mixture, xyz_every=10, xyz_velocities="velo")
    old = restart_file.sections(result.path("restart"))
    old["deck"], n = re.subn(rb"(xyz_velocities *= )velo", rb"\1on", old["deck"])
    result.path("restart").write_bytes(restart_file.compose(old))
    text = result.path("xyz").read_text()
    result.path("xyz").write_text(re.sub(r" [12]$", "", text.replace(":mass:R:1", ""), flags=re.M))
    done = program.run("--restart", "w.restart", "run.steps=40", folder=folder)
    comments = result.path("xyz").read_text().splitlines()[1::2 + 256]
    checks.that(n == 1 and done.code == 0 and [":velo:R:3:mass:R:1 " in comment for comment in comments] == [False] * 3 + [True] * 2,
                f"an old file: {done.last_lines()} {comments}")


def add_edges(path):
    """As an earlier version of the program wrote the file of an open box."""
    with h5py.File(path, "r+") as h5:
        position = h5["particles/all/position"]
        n, planned = position["step"].shape[0], position["step"].maxshape[0]
        edges = h5.create_group("particles/all/box/edges")
        edges.create_dataset("value", data=np.tile(np.eye(3) * 7.0, (n, 1, 1)), maxshape=(planned, 3, 3), chunks=(1, 3, 3))
        edges["step"], edges["time"] = position["step"], position["time"]


def test_open_box(folder):
    """No box where all axes are open: readers take any box as a periodic one. Old files, which have one, are gone on with."""
    for boundary, pbc in (("open", "F F F"), ("periodic periodic open", "T T F"), ("open periodic open", "F T F")):
        is_open = boundary == "open"
        for dimension in (2, 3):
            words = ["system.dimension=2", "system.start=hexagonal", "system.cells=8 4", "system.density=0.8"] if dimension == 2 else []
            words.append("system.boundary=" + " ".join((boundary.split() * 3)[:dimension]))
            result = run(folder, *words, velocities_every=20, xyz_every=10, xyz_velocities="velo", precision="double")
            good(result, f"{dimension}-D, {boundary}")
            comments = [comment for comment, *_ in read_xyz(result.path("xyz"))]
            checks.that(all(("Lattice=" not in comment) == is_open and f'pbc="{pbc}"' in comment for comment in comments), f"{comments}")
            check_ase(result.path("xyz"), [word == "T" for word in pbc.split()])
            with result.h5() as h5:
                for group in ("all", "all_velocity"):
                    box = h5[f"particles/{group}/box"]
                    checks.that(("edges" not in box) == is_open and len(box.attrs["boundary"]) == 3, f"{group}: {list(box)}")
            again = give_back(result, "back")
            checks.that(again.code == 0 and f'pbc="{pbc}"' in comments[0], f"given back: {again.last_lines()}")
    for steps, has_edges in ((60, True), (80, False)):  # the file goes on as it was planned, or a copy that has more room does
        words = ["system.boundary=open", "restart.every=20", f"output.velocities_every={steps // 3}"]
        result = run(folder, *words)
        add_edges(result.path("h5"))
        healed = subprocess.run([program.program(), "--recover", result.path("h5")], capture_output=True, text=True)
        checks.that(healed.returncode == 0 and "in good order" in healed.stdout, f"--recover: {healed}")
        good(result, "edges in an open box")
        done = program.run("--restart", "w.restart.prev", f"run.steps={steps}", folder=folder, name="w")
        good(done, f"{steps} steps")
        with done.h5() as h5:
            box, n = h5["particles/all/box"], h5["particles/all/position/step"].shape[0]
            checks.that(("edges" in box) == has_edges and (not has_edges or box["edges/value"].shape == (n, 3, 3)), f"{list(box)}")
    result = run(folder, "restart.every=20")
    with h5py.File(result.path("h5"), "r+") as h5:
        del h5["particles/all/box/edges"]
    done = program.run("--restart", "w.restart.prev", folder=folder, name="w")
    checks.that(done.code == 2 and "lacks the edges of the box" in done.stderr, f"a periodic box: {done.code} {done.last_lines()}")


def recovered(result, least):
    """What is left can be read, after recovery if need be; the number of frames."""
    healed = subprocess.run([program.program(), "--recover", result.path("h5")], capture_output=True, text=True)
    checks.that(healed.returncode == 0, healed.stderr)
    with open("/dev/full", "w") as full:  # what was done is done, and that nobody could be told is said
        lost = subprocess.run([program.program(), "--recover", result.path("h5")], stdout=full, stderr=subprocess.PIPE, text=True)
    checks.that(lost.returncode == 4 and "standard output: No space left" in lost.stderr, f"--recover to a full device: {lost}")
    problems = h5check.check(result.path("h5"))
    checks.that(not problems, f"{problems}")
    with result.h5() as h5:
        n = h5["particles/all/position/step"].shape[0]
    return checks.that(n >= least, f"{n} frames are left, at least {least} expected")


def check_missing(folder, full):
    """A run that goes on after a full disk says which frames it will never have."""
    with full.h5() as h5:
        n_there, last = h5["particles/all/position/step"].shape[0], h5["particles/all/position/step"][-1]
    done = program.run("--restart", "w.restart", folder=folder, name="w")
    resumed = done.json()["resumed"]
    n_missing = resumed["step"] // 2 + 1 - n_there
    checks.that(done.code == 0 and n_missing > 0 and last == 2 * (n_there - 1), f"code {done.code}, {n_missing} frames missing")
    checks.that(resumed["missing_frames"] == n_missing and resumed["missing_xyz_frames"] == 0, f"{resumed}")
    checks.that(f"missing   {n_missing} frame" in done.stdout and f"up to step {resumed['step']}" in done.stdout, done.stdout)


def test_disk_full(folder):
    """By the limit of file sizes, on a compressed file and an XYZ file: the space of others is reserved at the start."""
    for name, output, ending in (("compressed", {"frames_every": 1, "compression": "gzip-1", "precision": "double"}, "h5"),
                                 ("xyz", {"frames_every": 20, "xyz_every": 1}, "xyz")):
        deck = program.write_deck(folder, "w", **SYSTEM, output={"thermo_every": 10, "existing": "overwrite"} | output)
        result = program.run(deck, "run.steps=400", folder=folder, file_size_limit=1_300_000)
        told = result.stderr.splitlines()
        checks.that(result.code == 4 and len(told) == 1 and "File too large" in told[0] and f"w.{ending}" in told[0],
                    f"{name}: code {result.code}\n{result.stderr}")
        recovered(result, 5)
        if ending == "xyz":
            checks.that(len(read_xyz(result.path("xyz"))) >= 5, "frames of a full disk in XYZ")
    # The room of one timeline ends before that of another: no half of a frame is left.
    deck = program.write_deck(folder, "w", **SYSTEM, output={"frames_every": 2, "velocities_every": 4,
                                                             "thermo_every": 10, "existing": "overwrite"})
    n_full = 0
    for limit in range(250_000, 800_000, 45_000):
        result = program.run(deck, "run.steps=400", folder=folder, file_size_limit=limit)
        checks.that("ulimit -f" in result.stdout, f"limit {limit} is not seen beforehand: {result.stdout}")
        if checks.that(result.code == 4, f"limit {limit}: code {result.code}\n{result.stderr}") and os.path.exists(
                result.path("h5")) and "full with" in result.stderr:
            problems = h5check.check(result.path("h5"))
            checks.that(not problems, f"limit {limit}: {problems}")
            n_full += 1
            if n_full == 1:
                check_missing(folder, result)
    checks.that(n_full >= 10, f"only {n_full} limits were met while frames were written")
    left = set(os.listdir(folder))
    kept = {"w.restart", "w.restart.prev"}  # there was room for the state, and nothing before to go on from
    checks.that("w.restart" in left and left - kept == {"w.csv", "w.h5", "w.json", "w.log", "w.txt"},
                f"left behind: {sorted(left)}")


def wait_for(condition, what):
    for _ in range(60000):
        if condition():
            return True
        time.sleep(0.01)
    return checks.that(False, what)


def interfere(folder, harm, *arguments, begun="w.h5", after=1, **output):
    """A long run, harmed some time after the file begun is there; result and seconds from the harm to the end."""
    times = {}
    path, first = os.path.join(folder, "w.h5"), os.path.join(folder, begun)

    def act():
        if wait_for(lambda: os.path.exists(first) and os.path.getsize(first) > 0, "the file appears"):
            time.sleep(after)
            harm(path)
            times["harm"] = time.monotonic()

    thread = threading.Thread(target=act)
    thread.start()
    result = run(folder, "run.steps=1000000", "output.progress=off", *arguments, **output)
    thread.join()
    return result, time.monotonic() - times.get("harm", 0)


def test_seldom_frames(folder):
    """A frame is committed in its time also when no other comes."""
    deck = program.write_deck(folder, "w", **SYSTEM, output={"frames_every": 10**8, "thermo_every": 10**8,
                                                             "commit_frames": 1000, "commit_seconds": 1})
    path = os.path.join(folder, "w.h5")
    for seconds in (2.5, 10, 40, 160):  # a busy machine takes longer
        child = subprocess.Popen([program.program(), deck, "run.steps=100000000", "output.existing=overwrite"], cwd=folder, stdout=subprocess.DEVNULL)
        if wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "the file appears"):
            time.sleep(seconds)
        child.kill()
        child.wait()
        with h5py.File(path, "r") as h5:
            n = h5["particles/all/position/step"].shape[0]
        os.unlink(path)
        if n > 0:
            break
    checks.that(n == 1, f"{n} frames after {seconds} s, of which one is allowed")


def test_lost(folder):
    def replace(path):
        """In one step: the run may look at any moment."""
        os.link(path, path + ".moved")
        shutil.copy(path, path + ".copy")
        os.rename(path + ".copy", path)

    def remove_folder(path):
        """The run may put a restart file into the folder that has just been emptied."""
        while os.path.exists(os.path.dirname(path)):
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)

    harms = [("deleted", os.unlink), ("moved", lambda path: os.rename(path, path + ".moved")), ("replaced", replace),
             ("emptied", lambda path: os.truncate(path, 0)), ("deleted", remove_folder)]
    for number, (word, harm) in enumerate(harms):
        inner = os.path.join(folder, f"lost{number}")
        os.mkdir(inner)
        result, seconds = interfere(inner, harm, "restart.every=1000", begun="w.restart", after=0.1, frames_every=1000, thermo_every=1000)
        checks.that(result.code == 4 and word in result.stderr, f"{word}: code {result.code}\n{result.last_lines()}")
        checks.that(seconds < 300, f"{word}: noticed after {seconds:.1f} s")
        named = re.findall(r"mdmini --restart (\S+)", result.stdout)
        checks.that(all(os.path.exists(os.path.join(inner, name)) for name in named), f"{word}: {named} is not there")


def test_lost_at_the_end(folder):
    """Files that nothing more is written to when they are lost: the last configuration of many atoms is being verified."""
    replace = lambda path: (os.unlink(path), open(path, "w").close())
    cases = [("h5", os.unlink, "deleted"), ("xyz", replace, "deleted"), ("log", os.unlink, "deleted"),
             ("log", lambda path: os.rename(path, path + ".moved"), "moved")]
    for number, (ending, harm, word) in enumerate(cases):
        inner = os.path.join(folder, f"end{number}")
        os.mkdir(inner)
        deck = program.write_deck(inner, "w", system={"start": "fcc", "cells": 32, "density": 0.8442, "temperature": 1.44},
                                  run={"steps": 1, "backend": "cpu", "threads": 1}, restart={"every": 0},
                                  output={"frames_every": 1, "xyz_every": 1, "thermo_every": 1})
        for _ in range(20):  # on a busy machine a run may end before it is harmed
            with open(os.path.join(inner, "told"), "w") as told:
                child = subprocess.Popen([program.program(), deck, "output.existing=overwrite"], cwd=inner, stdout=subprocess.DEVNULL, stderr=told)
                log = os.path.join(inner, "w.log")
                wait_for(lambda: os.path.exists(log) and re.search(r"^ +1 ", open(log).read(), re.M), "the last row")
                time.sleep(0.15)
                harm(os.path.join(inner, f"w.{ending}"))
                running = child.poll() is None
                child.wait(600)
            if running:
                break
            for name in os.listdir(inner):
                if name not in ("told", "w.txt"):
                    os.unlink(os.path.join(inner, name))
        text = open(os.path.join(inner, "told")).read()
        checks.that(running, f"{ending} {word}: the run has ended before")
        checks.that(child.returncode == 4 and f"w.{ending}: was {word}" in text and len(text.splitlines()) == 1,
                    f"{ending} {word} at the end: code {child.returncode}\n{text}")


def writer_of(path):
    """The process that has the file open for writing."""
    place = os.stat(path)
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            for descriptor in os.listdir(f"/proc/{process}/fd"):
                found = os.stat(f"/proc/{process}/fd/{descriptor}")
                if (found.st_dev, found.st_ino) == (place.st_dev, place.st_ino):
                    return int(process)
        except OSError:
            continue
    raise RuntimeError(f"nobody has {path} open")


def test_kill(folder):
    """The program itself, killed while it writes."""
    for output in ({}, {"compression": "gzip-1"}, {"commit_frames": 5}):
        if os.path.exists(os.path.join(folder, "w.restart")):
            os.unlink(os.path.join(folder, "w.restart"))
        result, _ = interfere(folder, lambda path: os.kill(writer_of(path), 9), "restart.every=200", begun="w.restart", after=0.3,
                              frames_every=10, velocities_every=10, thermo_every=100000, **output)
        checks.that(result.code == -9, f"killed: {result.code}")
        recovered(result, 1)


def test_read_only(folder):
    os.mkdir(os.path.join(folder, "closed"))
    os.chmod(os.path.join(folder, "closed"), 0o500)
    if os.access(os.path.join(folder, "closed"), os.W_OK):
        print("not tested: a read-only folder, for this user may write everywhere")
        return
    result = run(folder, directory="closed")
    checks.that(result.code == 2 and "Permission denied" in result.stderr and not os.listdir(os.path.join(folder, "closed")),
                f"read-only folder: {result.code}, {result.stderr}")


def test_recover_arguments(folder):
    for words in (["--recover"], ["--recover", "a.h5", "b.h5"], ["w.txt", "--recover", "a.h5"]):
        result = subprocess.run([program.program(), *words], cwd=folder, capture_output=True, text=True)
        checks.that(result.returncode == 2 and "--recover" in result.stderr, f"{words}: {result}")


for test in (test_intervals, test_same_numbers, test_bytes, test_xyz, test_xyz_columns, test_columns_go_on, test_open_box, test_disk_full, test_seldom_frames, test_lost, test_lost_at_the_end, test_kill, test_read_only,
             test_recover_arguments):
    with program.temporary_folder() as place:
        test(place)
checks.finish()
