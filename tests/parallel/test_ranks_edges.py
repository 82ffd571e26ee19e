"""Places and shapes where domains are most easily wrong: atoms on their borders, pairs across each side, empty domains, atoms
that fly through all of them, drops that come together or fly apart. Forces are verified by each run, and the bits are those of
one process.

MDMINI_TEST_ONLY: names of tests, with commas between."""
import itertools

import numpy

import program
import ranks
from resuming import run_tests
from test_ranks_bits import OUTPUT, check_grids

# Of a list that reaches 2.9: 16 cells along x, of which it reaches over 4, and 4 along y and z, of which it reaches over one.
BOX, CUTOFF, SKIN = 12.0, 2.6, 0.3
BACKEND = "cpu"  # test_ranks_cuda sets another
SIDES = [side for side in itertools.product((-1, 0, 1), repeat=3) if any(side)]


def write_xyz(folder, name, places, velocities, box=BOX):
    x, y, z = numpy.broadcast_to(box, 3)
    lines = [str(len(places)), f'Lattice="{x} 0 0 0 {y} 0 0 0 {z}" Properties=species:S:1:pos:R:3:velo:R:3']
    lines += ["Ar " + " ".join(repr(float(x)) for x in (*place, *velocity)) for place, velocity in zip(places, velocities)]
    (folder / f"{name}.xyz").write_text("\n".join(lines) + "\n")


def deck(folder, name, places, velocities=None, box=BOX, boundary="periodic", steps=50, **neighbor):
    places = numpy.asarray(places, float)
    write_xyz(folder, name, places, numpy.zeros_like(places) if velocities is None else velocities, box)
    return program.write_deck(folder, name, system={"start": "file", "file": f"{name}.xyz", "boundary": boundary},
                              potential={"cutoff": CUTOFF}, neighbor={"skin": SKIN, **neighbor},
                              run={"steps": steps, "backend": BACKEND}, output=OUTPUT).name


def flyers(speed):
    """Fast ones along each kind of direction, there and back: through faces, edges and corners of all domains. They pass each other
    at a distance; the first goes exactly through corners."""
    random, times = numpy.random.default_rng(3), numpy.linspace(0, 15 / speed, 300)[:, None]
    places, velocities = [], []
    for side in ((1, 1, 1), (-1, -1, -1), (1, 0, 0), (-1, 0, 0), (0, 1, -1), (0, -1, 1), (1, -1, 1), (-1, 1, -1)):
        velocity, nearest = speed * numpy.array(side) / numpy.linalg.norm(side), 0
        while nearest < 1.5:
            place = random.uniform(0, BOX, 3) if places else numpy.full(3, 3.0)
            apart = [place - other + times * (velocity - v) for other, v in zip(places, velocities)]
            nearest = min([numpy.linalg.norm(d - BOX * numpy.rint(d / BOX), axis=1).min() for d in apart], default=BOX)
        places.append(place)
        velocities.append(velocity)
    return places, velocities


def lattice(n, spacing, first):
    return [[first + spacing * k for k in place] for place in itertools.product(range(n), repeat=3)]


def test_flyers(checks, folder):
    for boundary in ("periodic", "open"):
        name = deck(folder, f"fly-{boundary}", *flyers(20), boundary=boundary, steps=150)
        check_grids(checks, folder, name, [], ("2 2 2", "4 1 2"))
        check_grids(checks, folder, name, ["run.precision=double", "memory.layout=soa"], ("1 4 1",))


def test_leapers(checks, folder):
    """Lists so seldom that atoms go through more than a domain from one to the next; each has company."""
    places, velocities = (both[:4] for both in flyers(15))
    places = [*places, *(place + [0.0, 0.0, 1.12] for place in places)]
    name = deck(folder, "leap", places, velocities * 2, steps=120, rebuild="every", every=60)
    whole = check_grids(checks, folder, name, [], ("4 1 1", "2 2 2"))
    checks.that(not whole or whole.json()["n_late_rebuilds"] > 0, "no atom went far between two lists")


def test_blocks(checks, folder):
    """Two blocks of atoms that pass each other, each of which goes as a whole from one domain to another between two lists: more at once
    than are expected, from and to places where nobody has copies of them."""
    one = numpy.array([place for place in lattice(9, 1.12, 1.0) if place[0] < 6]) + [2.2, 0, 0]
    walkers = [[6, 6, 15], [6, 18, 5], [18, 6, 15], [18, 18, 5]]  # so that lists are late for every rank
    velocities = numpy.repeat([[20.0, 0, 0], [-20.0, 0, 0], [0, 0, 1], [0, 0, -1]], [len(one), len(one), 2, 2], axis=0)
    name = deck(folder, "blocks", [*one, *(one + [12, 12, 12]), *walkers], velocities, box=24, steps=250, rebuild="every", every=120)
    check_grids(checks, folder, name, [], ("2 1 1", "2 2 1"))


def test_pairs_across(checks, folder):
    """A pair across each side of each domain of 2 x 2 x 2."""
    places = []
    for side in SIDES:
        middle, half = 3 + 3 * numpy.array(side), 0.55 * numpy.array(side) / numpy.linalg.norm(side)
        places += [(middle + half) % BOX, (middle - half) % BOX]
    name = deck(folder, "across", places)
    for precision, grids in (("mixed", ("2 2 2", "2 1 4")), ("double", ("2 2 2", "4 2 1"))):
        check_grids(checks, folder, name, [f"run.precision={precision}", "report.counters=on"], grids)


def test_on_borders(checks, folder):
    """Each face, edge and corner of each domain has atoms exactly on it, and so has the end of the box; the domains are as thin as
    may be, with as many cells as the list reaches over."""
    places = lattice(8, 1.5, 1.5)  # up to 12.0, where the box ends
    random = numpy.random.default_rng(5)
    velocities = random.normal(size=(len(places), 3))
    for boundary, grids in (("periodic", ("4 1 2", "2 4 1", "1 2 4")), ("open", ("2 2 2", "1 4 1"))):
        name = deck(folder, f"borders-{boundary}", places, velocities, boundary=boundary)
        check_grids(checks, folder, name, [], grids)
    name = deck(folder, "still", places, steps=3)
    check_grids(checks, folder, name, ["run.precision=double"], ("4 2 1",))


def test_empty_domains(checks, folder):
    """All atoms in one domain, and two clusters with empty domains between them."""
    corner = lattice(3, 1.12, 0.5)
    check_grids(checks, folder, deck(folder, "corner", corner), [], ("2 2 2", "1 4 1"))
    far = [*corner, *(numpy.array(corner) + [70.0, 3, 3])]
    check_grids(checks, folder, deck(folder, "far", far, box=80, boundary="open"), [], ("4 1 1", "8 1 1"))
    check_grids(checks, folder, deck(folder, "three", [[1, 1, 1], [2.1, 1, 1], [7, 7, 7]]), ["run.precision=single"], ("2 2 2",))


def test_beyond_the_cells(checks, folder):
    """One atom is so far away that the cells of the open axis cover the drop alone, fewer of them than the domains need. A chain
    that sticks out of the drop is beyond them: its atoms belong to the last cell, as with one process."""
    random = numpy.random.default_rng(9)
    places = [*lattice(5, 1.1, 1), *([6.6 + 1.1 * k, 3 + 0.3 * (-1) ** k, 3] for k in random.permutation(8)), [400, 3, 3]]
    name = deck(folder, "chain", places, random.normal(size=(len(places), 3)), box=410, boundary="open")
    check_grids(checks, folder, name, [], ("6 1 1", "1 2 2"))
    check_grids(checks, folder, name, ["run.precision=double"], ("4 2 1",))


def test_bursting_drop(checks, folder):
    """From one domain into all: arrays grow on each rank that had no atoms; in the vacuum beyond the ends of all cells, too."""
    places = numpy.array(lattice(6, 1.1, 0.6))
    velocities = 3 * (places - places.mean(axis=0)) + numpy.random.default_rng(7).normal(size=places.shape)
    name = deck(folder, "burst", places, velocities, box=24, steps=300)
    check_grids(checks, folder, name, [], ("2 2 2",))
    check_grids(checks, folder, name, ["memory.layout=soa", "memory.sort=hilbert", "memory.allocation=per-call"], ("4 1 1",))
    name = deck(folder, "vacuum", places, velocities, box=24, boundary="open", steps=300)
    check_grids(checks, folder, name, ["run.precision=double"], ("8 1 1", "1 2 3"))


def test_gathering_drop(checks, folder):
    """Into the middle one of three domains, whose arrays grow."""
    places = numpy.array(lattice(7, 3.4, 1.7))
    velocities = -4 * (places - places.mean(axis=0)) / places.max()
    for layout, boundary in (("vec4", "periodic"), ("soa", "open")):
        name = deck(folder, f"gather-{boundary}", places, velocities, box=24, boundary=boundary, steps=500)
        check_grids(checks, folder, name, [f"memory.layout={layout}"], ("3 1 1", "1 3 1"))


def test_fault(checks, folder):
    """Two atoms that collide too fast, in a domain of all: each rank ends with the step and the atom of one process."""
    places = [[1, 1, 1], [2.0, 1.1, 1], [4.5, 4.5, 4.5], [7, 7, 7], [8.5, 1, 7]]
    velocities = numpy.array([[40, 0, 0], [-40, 0, 0], [0, 0, 0], [9, 9, 9], [0, 0, 0]])
    name = deck(folder, "fast", places, velocities, steps=400, every=5, rebuild="every")
    faults = []
    for n, words in ((1, []), (2, []), (4, ["launch.graph=off"] if BACKEND == "cuda" else [])):
        possible = ranks.transports(n) if BACKEND == "cuda" and n > 1 else {"": {}}
        for transport, environment in list(possible.items())[:2 if n > 2 else None]:
            by = [*words, *([f"parallel.transport={transport}"] if transport else [])]
            done = ranks.run(n, name, *by, folder=folder, name="fast", **environment)
            what = f"{n} ranks {' '.join(by)}"
            errors = [line for line in done.stderr.splitlines() if line.startswith("mdmini: error")]
            checks.that(done.code == 3 and len(errors) == 1, f"{what}: {done.code}, {done.last_lines()}")
            fault = done.json().get("fault") or {}
            faults.append((fault.get("step"), fault.get("atom")))
            checks.that(faults[-1] == faults[0] and (faults[0][0] or 0) > 5, f"{what}: {faults}")


if __name__ == "__main__":
    ranks.require()
    run_tests(test_flyers, test_leapers, test_blocks, test_pairs_across, test_on_borders, test_empty_domains,
              test_beyond_the_cells, test_bursting_drop, test_gathering_drop, test_fault)
