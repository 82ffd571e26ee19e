"""Extended XYZ in all spellings: atoms are written in ways that the specification and other programs allow, and energy,
temperature and order of atoms must be those that numpy finds for them. Half of the files are in spellings that ASE knows:
what it reads must be what was meant. Files as other programs write them are read at the end.

    test_xyz_spellings.py [FILES [SEED]]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

import distribution

distribution.need("numpy", "ase")

import ase
import ase.io
import numpy as np

PROGRAM = os.environ.get("MDMINI", "")
QUIET = ["run.steps=0", "run.backend=cpu", "run.threads=1", "run.precision=double", "output.frames_every=0",
         "output.precision=double", "output.xyz_every=1", "output.xyz_velocities=velo", "potential.cutoff=2.2",
         "potential.shift=none", "neighbor.skin=0.1"]
failures = []


def check(holds, text):
    if not holds:
        failures.append(text)
        print("FAILED:", text)
    return holds


class Atoms:
    """What is meant: arrays in the order in which the program is to have them."""

    def __init__(self, draw, dimension):
        side = draw.randint(4, 5)
        cells = np.array([(x, y, z) for x in range(side) for y in range(side)
                          for z in range(side if dimension == 3 else 1)], float)
        self.dimension = dimension
        self.edges = np.array([side * draw.uniform(1.25, 1.6) for _ in range(3)])
        self.pbc = np.array([draw.random() < 0.7 for _ in range(3)])
        if dimension == 2:
            self.pbc[2] = False
        noise = np.array([[draw.uniform(-0.1, 0.1) for _ in range(3)] for _ in cells])
        self.position = (cells / side * self.edges + 0.3 + noise) * [1, 1, dimension == 3]
        names = draw.sample(["Ar", "Kr", "Xe", "Ne"], draw.randint(1, 3))
        self.symbols = [draw.choice(names) for _ in cells]
        masses = {name: round(draw.uniform(0.5, 40), 3) for name in names}
        self.mass = np.array([masses[name] for name in self.symbols])
        self.velocity = np.array([[round(draw.gauss(0, 1), 6) for _ in range(3)] for _ in cells])
        self.velocity *= [1, 1, dimension == 3]
        self.shift = np.zeros(3)  # of the box in the file

    def __len__(self):
        return len(self.position)

    def energy(self):
        """Per atom, Lennard-Jones cut at 2.2 without a shift."""
        d = self.position[:, None, :] - self.position[None, :, :]
        d -= np.where(self.pbc, self.edges * np.round(d / self.edges), 0)
        r2 = (d ** 2).sum(2)[np.triu_indices(len(self), 1)]
        s6 = r2[r2 < 2.2 ** 2] ** -3
        return float((4 * (s6 ** 2 - s6)).sum() / len(self))

    def temperature(self, mass):
        v = self.velocity - (mass[:, None] * self.velocity).sum(0) / mass.sum()
        return float((mass[:, None] * v ** 2).sum() / (self.dimension * (len(self) - 1)))


# --- spellings ---

def write_number(draw, value, known):
    form = draw.choice(["{:.17g}", "{:.17g}", "{:.17e}", "{:60.17f}", "{:+.17g}"])
    text = form.format(value)
    return text.replace("e", draw.choice("edD")) if not known and draw.random() < 0.1 else text


def write_words(draw, words, deep=None):
    """An array as the value of a key; deep: rows of three are arrays of their own, where brackets are taken."""
    form = draw.choice(['"{}"', '"{}"', "'{}'", "{{{}}}", "[{}]"])
    if form != "[{}]":
        return form.format(" ".join(words))
    comma = draw.choice([",", ", ", " , "])
    if deep and draw.random() < 0.7:
        words = ["[" + comma.join(words[k:k + 3]) + "]" for k in range(0, len(words), 3)]
    return "[" + comma.join(words) + "]"


def write_key(draw, name, any_case):
    if any_case:
        name = draw.choice([name, name.lower(), name.upper(), name.capitalize()])
    return name + draw.choice(["=", "=", "=", " = ", "= ", " ="])


def write_pbc(draw, pbc, known):
    truth = draw.choice(["FT"] if known else ["FT", ["False", "True"], ["false", "true"], "01", "ft"])
    if all(pbc) and draw.random() < 0.2:
        return truth[1]
    return write_words(draw, [truth[int(p)] for p in pbc])


KNOWN_NOISE = ["energy=-1.5", 'note="a \\" Lattice=\\"1 0 0 0 1 0 0 0 1\\" pbc=\\"F F F\\" b"', "have_energy",
               'stress="1 2 3 4 5 6 7 8 9"', "config_type=bulk", "title='it is'", "time = 0.5", '"a key"={1 2 3}',
               "latticeconstant=3", "T=300"]
NOISE = KNOWN_NOISE + ['path="C:\\\\new"', "virial=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]", 'empty=""', "my-key_2=it's",
                       "_JSON=[1, {}]", "a=b=c"]


def write_file(draw, atoms, path):
    """Writes the atoms in some spelling; returns what the file tells of velocities and masses, what is not used, and
    whether ASE knows all of it."""
    known = draw.random() < 0.5
    any_case = not known and draw.random() < 0.6
    order = list(range(len(atoms)))
    # name, kind, values of an atom
    columns = [("pos" if known else draw.choice(["pos", "positions"]), "R", lambda k: atoms.position[k] + atoms.shift)]
    named = draw.choice(["species", "species", "Z", "both"] + ([] if known else ["element", "type"]))
    if named != "Z":
        columns.append(("species" if named == "both" else named, "S", lambda k: [atoms.symbols[k]]))
    if named in ("Z", "both"):
        name = "Z" if known else draw.choice(["Z", "numbers"])
        columns.append((name, "I", lambda k: [ase.Atom(atoms.symbols[k]).number]))
    told = {"mass": draw.random() < 0.6, "velocity": draw.choice(["", "velo", "vel", "velocities", "momenta", "both"])}
    if told["velocity"] in ("momenta", "both"):
        told["mass"] = True
        columns.append(("momenta", "R", lambda k: atoms.velocity[k] * atoms.mass[k]))
    if told["velocity"] not in ("", "momenta"):
        name = "velo" if told["velocity"] == "both" else told["velocity"]
        columns.append((name, "R", lambda k: atoms.velocity[k]))
    if told["mass"]:
        columns.append((draw.choice(["mass", "masses"]), "R", lambda k: [atoms.mass[k]]))
    if draw.random() < 0.4:
        first = draw.choice([0, 1, 17])
        columns.append((draw.choice(["id", "id", "ids"]), "I", lambda k: [k + first]))
        draw.shuffle(order)
    unused = [("forces", "R", lambda k: [1.5, -2, 1e-3]), ("charge", "R", lambda k: [0.5]),
              ("tags", "I", lambda k: [7]), ("fixed", "L", lambda k: ["T"]), ("label", "S", lambda k: ["x:y"])]
    unused += [(f"column_number_{c:03d}", "R", lambda k: [0.25]) for c in range(draw.choice([0, 0, 60]))]
    unused = [column for column in unused if draw.random() < 0.5]
    columns += unused
    draw.shuffle(columns)
    properties = ":".join(f"{name}:{kind.lower() if any_case else kind}:{len(values(0))}"
                          for name, kind, values in columns)

    lattice = [write_number(draw, x, known) for x in np.diag(atoms.edges).flatten()]
    if not known and draw.random() < 0.3:
        lattice = lattice[::4]
    pairs = [write_key(draw, "Lattice", any_case) + write_words(draw, lattice, deep=not known and len(lattice) == 9),
             write_key(draw, "Properties", any_case) + properties]
    pbc = write_pbc(draw, atoms.pbc, known) if not all(atoms.pbc) or draw.random() < 0.5 else ""
    if pbc:
        pairs.append(write_key(draw, "pbc", any_case) + pbc)
    if atoms.shift.any():
        pairs.append(write_key(draw, "Origin", any_case) + write_words(draw, [repr(float(x)) for x in atoms.shift]))
    noise = draw.sample(KNOWN_NOISE if known else NOISE, draw.randint(0, 5))
    draw.shuffle(pairs)
    for pair in noise:
        pairs.insert(draw.randint(0, len(pairs)), pair)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{len(atoms)}\n{draw.choice(['', '  '])}{draw.choice([' ', '  ']).join(pairs)}\n")
        for k in order:
            words = [word if isinstance(word, str) else f"{word:.17g}"
                     for _, _, values in columns for word in values(k)]
            file.write(draw.choice(["", " ", "  "]) + draw.choice([" ", "\t", "   "]).join(words) + "\n")
    return told, [name for name, _, _ in unused], known


# --- readers ---

def run(path, folder, *words):
    """(exit code, messages, JSON, frame in the file that the program wrote)."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    done = subprocess.run([PROGRAM, path, f"output.directory={folder}", "output.name=out", *QUIET, *words],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return done.returncode, done.stdout + done.stderr, {}, None
    with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
        record = json.load(file)
    return 0, done.stdout, record, ase.io.read(os.path.join(folder, "out.xyz"), index=0, format="extxyz")


def same(a, b, tolerance=1e-9):
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=tolerance, atol=tolerance)


def check_meaning(path, atoms, told):
    """What ASE reads is what was meant, or the generator is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = ase.io.read(path, format="extxyz")
    arrays = read.arrays
    order = np.argsort(arrays.get("id", arrays.get("ids", np.arange(len(read)))))
    holds = same(read.cell.array, np.diag(atoms.edges)) and list(read.pbc) == list(atoms.pbc)
    holds = holds and same(read.positions[order], atoms.position + atoms.shift)
    holds = holds and [read.symbols[k] for k in order] == atoms.symbols
    if told["velocity"] in ("momenta", "both"):
        holds = holds and same(arrays["momenta"][order] / atoms.mass[:, None], atoms.velocity)
    check(holds, f"{path}: ASE reads something else than was meant")


def check_file(path, folder, atoms, told, unused):
    """Whether the program reads it right."""
    mass = atoms.mass if told["mass"] else np.ones(len(atoms))
    code, text, record, frame = run(path, folder, f"system.dimension={atoms.dimension}")
    if not check(code == 0, f"{path}: exit code {code}: {text}"):
        return
    temperature = atoms.temperature(mass) if told["velocity"] else 1
    expected = (atoms.energy(), temperature)
    got = (record["potential_energy_per_atom"], record["temperature"])
    check(same(got, expected), f"{path}: energy and temperature {got}, expected {expected}")
    moved = frame.positions - atoms.position
    moved -= np.where(atoms.pbc, atoms.edges * np.round(moved / atoms.edges), 0)
    check(np.abs(moved).max() < 1e-9, f"{path}: atoms are not where they should be, or in another order")
    check(list(frame.symbols) == atoms.symbols, f"{path}: the types are others")
    words = text.replace(",", " ").replace(";", " ").split()
    check(all(name in words for name in unused), f"{path}: {unused} are not all named as unused in: {text}")


def check_refused(path, folder, text, *expected):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    code, said, _, _ = run(path, folder)
    check(code == 2 and all(words in said for words in expected), f"{expected}: exit code {code}: {said}")


# --- files of other programs ---

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")


def text_of(name):
    with open(os.path.join(FILES, name + ".xyz"), encoding="utf-8") as file:
        return file.read()


def lj(r):
    return 4 * (r ** -12 - r ** -6)


def check_others(path, folder):
    def read(text, *words):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        code, said, record, frame = run(path, folder, *words)
        check(code == 0, f"exit code {code}: {said}")
        return said, record, frame

    said, record, frame = read(text_of("ovito"))
    # mean velocity: z of mass 2 is -0.5, of mass 2 in all 0.5: relative +-0.5, so that the sum of m v^2 is 1
    check(same(record["temperature"], 1 / 6), f"OVITO: temperature {record['temperature']}")
    check(same(frame.positions, [[7, 3, 3], [2, 4, 4], [6, 1, 0]]), f"OVITO: {frame.positions}")
    check("not used: columns map_shift" in " ".join(said.split()) and "order of their ids" in said, f"OVITO: {said}")
    said, record, frame = read(text_of("chemfiles"))
    check(same(record["potential_energy_per_atom"], lj(1.5) / 2), "chemfiles: energy")
    check("columns mass2; keys both, is_open, name, quo', vec" in " ".join(said.split()), f"chemfiles: {said}")
    said, record, frame = read(text_of("gpumd"))
    check(same([record["potential_energy_per_atom"], record["temperature"]], [lj(1.5) / 2, 5 / 3]), f"GPUMD: {record}")
    check(list(frame.pbc) == [True, True, False] and "group" in said, f"GPUMD: {said}")
    said, record, frame = read(text_of("cp2k"))
    check(not frame.pbc.any() and "keys i, time, E" in said, f"CP2K: {said}")

    said, record, frame = read(text_of("everything"))
    square = (4 * lj(1.5) + 2 * lj(1.5 * 2 ** 0.5)) / 4
    check(same([record["potential_energy_per_atom"], record["temperature"]], [square, 3 / 9]), f"everything: {record}")
    check(list(frame.symbols) == ["Kr", "Ar", "Kr", "Ar"] and list(frame.pbc) == [True, False, True],
          f"everything: {frame}")
    words = " ".join(said.split())
    for part in ("not used: keys note, title, a key, have_energy;", "their ids, 3 to 9, are replaced by 1 to 4",
                 "positions are counted from its Origin", "masses are its own: Ar 2, Kr 4"):
        check(part in words, f"everything: {part} is not in {said}")
    # What --check prints is a deck that gives the same run.
    deck = path + ".txt"
    with open(deck, "w", encoding="utf-8") as file:
        subprocess.run([PROGRAM, "--check", path, *QUIET], stdout=file, check=True)
    code, said, again, _ = run(deck, folder)
    check(code == 0 and again["total_energy_per_atom"] == record["total_energy_per_atom"], f"effective deck: {said}")
    with open(deck, encoding="utf-8") as file:
        check("# start     coordinates of" in file.read(), "--check does not tell what is not used")
    # A comment line beyond what tells decks from coordinates.
    said, record, frame = read(text_of("gpumd").replace("\n", f'\nnote="{"x" * 2000000}" ', 1))
    check(same(record["potential_energy_per_atom"], lj(1.5) / 2) and frame.cell[0][0] == 9, "a long comment line")

    # ASE itself, with masses of its own and its usual columns.
    atoms = ase.Atoms("Ar4", positions=[[0, 0, 0], [1.5, 0, 0], [0, 1.5, 0], [1.5, 1.5, 0]], cell=[8, 8, 0],
                      pbc=[True, True, False], momenta=[[1, 0, 0], [-1, 0, 0], [0, 2, 0], [0, -2, 0]])
    atoms.info.update(note='a "b"', flag=True, matrix=np.eye(3), words=["a", "b"])
    ase.io.write(path, atoms, format="extxyz")
    code, said, _, _ = run(path, folder)
    check(code == 2 and "momenta and no masses" in said, f"ASE, momenta without masses: {code}: {said}")
    code, said, record, _ = run(path, folder, "system.masses=2")
    check(code == 0 and same(record["temperature"], 5 / 9), f"ASE, masses of the deck: {code} {said}")
    atoms.set_masses([2] * 4)
    ase.io.write(path, atoms, format="extxyz")
    code, said, record, _ = run(path, folder)
    check(code == 0 and same(record["temperature"], 5 / 9), f"ASE: {code} {said}")
    read = ase.io.read(path, format="extxyz")
    check(same(read.get_kinetic_energy() / 4, record["kinetic_energy_per_atom"]), "ASE: kinetic energy")


def check_pipes(path, folder):
    """Coordinates from a pipe, named as a file or by a deck."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of("gpumd"))
    deck = path + ".txt"
    with open(deck, "w", encoding="utf-8") as file:
        file.write("[system]\nstart = file\nfile = /dev/stdin\n")
    words, hashes = " ".join(QUIET + [f"output.directory={folder}", "output.name=out"]), set()
    for command in (f"cat {path} | {PROGRAM} /dev/stdin {words}", f"cat {path} | {PROGRAM} {deck} {words}",
                    f"{PROGRAM} <(cat {path}) {words}", f"{PROGRAM} /dev/stdin {words} < {path}",
                    f"mkfifo {path}.fifo; cat {path} > {path}.fifo & {PROGRAM} {path}.fifo {words}", f"{PROGRAM} {path} {words}"):
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600)
        if check(done.returncode == 0, f"{command}: {done.returncode}: {done.stderr}"):
            with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
                report = json.load(file)
            check(same(report["potential_energy_per_atom"], lj(1.5) / 2), f"{command}: energy")
            hashes.add(report["provenance"]["deck_hash"]["physics"])
    check(len(hashes) == 1, f"fingerprints of one file, by pipes and by its name: {hashes}")


def main():
    if not PROGRAM:
        print("skipped: MDMINI does not name the program")
        return 77
    n_files, seed = (int(word) for word in (sys.argv[1:] + ["40", "1"][len(sys.argv) - 1:]))
    n_ase = 0
    with tempfile.TemporaryDirectory() as home:
        path, folder = os.path.join(home, "file.xyz"), os.path.join(home, "out")
        os.mkdir(folder)
        for k in range(n_files):
            draw = random.Random(1000 * seed + k)
            atoms = Atoms(draw, draw.choice([2, 3, 3]))
            if draw.random() < 0.3:
                atoms.shift = np.array([draw.choice([-5.0, 0.5, 100.0]), 1.5, 0.0 if atoms.dimension == 2 else -2.25])
            told, unused, known = write_file(draw, atoms, path)
            before = len(failures)
            if known:
                check_meaning(path, atoms, told)
                n_ase += 1
            check_file(path, folder, atoms, told, unused)
            if len(failures) > before:
                with open(path, encoding="utf-8") as file:
                    print("".join(file.readlines()[:4]))
        box = "9 0 0 0 9 0 0 0 9"
        rows = "Ar 1 2 3\nAr 2.5 2 3\n"
        check_refused(path, folder, f'2\nlattice="9 0 0 4.5 7.8 0 0 0 9"\n{rows}', "the box must be a cuboid")
        check_refused(path, folder, f'2\nLattice="{box}" LATTICE="{box}"\n{rows}', "Lattice is given twice")
        check_refused(path, folder, f'2\nLattice="{box}"\n{rows}2\nLattice="{box}"\n{rows}', "a file holds one frame")
        check_others(path, folder)
        check_pipes(path, folder)
    print(f"{n_files} spellings, {n_ase} of them read by ASE as well, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
