"""Places far from the origin, and in wide boxes: energies do not depend on where a cluster is, or the run is refused, or a warning
says how large the error is. What a refusal names as a way out is taken, and gives the energy. Slow atoms move as they should, or the
run says that they do not."""
import random
import re

import program
from program import Checks

OPEN = {"start": "file", "boundary": "open", "temperature": 0}
UNSAID = 1e-3  # an error of the energy of which there need be no word
OUTPUT = {"frames_every": 0, "existing": "overwrite"}


def cluster(at=(0, 0, 0)):
    """55 shaken atoms of a crystal, about a point."""
    random.seed(7)
    points = []
    for k in range(64):
        place = [(k >> 2 * a & 3) * 1.1 - 1.65 + random.uniform(-0.05, 0.05) for a in range(3)]
        points.append(tuple(x + shift for x, shift in zip(place, at)))
    return points[:55]


def energy_of(points):
    """Per atom, Lennard-Jones with the step at 2.5 left in, from places that are near the origin."""
    total = 0
    for i, one in enumerate(points):
        for other in points[:i]:
            square = sum((x - y)**2 for x, y in zip(one, other))
            if square < 2.5**2:
                total += 4 * (square**-6 - square**-3)
    return total / len(points)


def start(folder, points, *words, **system):
    name = program.Path(folder) / "places.txt"
    name.write_text("\n".join(" ".join(f"{x:.17g}" for x in point) for point in points) + "\n")
    program.write_deck(folder, "far", system={**OPEN, "file": name.name, **system}, run={"steps": 0}, potential={"shift": "none"},
                       output=OUTPUT)
    return program.run("far.txt", *words, folder=folder)


def told(done):
    """The error of the energy of a touching pair that a message tells; None where there is none."""
    text = " ".join((done.stdout + done.stderr).split())
    found = re.search(r"the energy of two atoms that touch is off by up to ([0-9.e+-]+) of its depth", text)
    return float(found[1]) if found else None


def check(checks, folder, name, points, expected, precision, *words, **system):
    """Whether it ran without a word, with a warning, or was refused; the ways out are tried."""
    done = start(folder, points, f"run.precision={precision}", *words, **system)
    error = told(done)
    if done.code == 2:
        checks.that(error is not None and error > 0.05 and "command line: run.precision" in done.stderr, f"{name}: {done.stderr}")
        for way in re.findall(r"run\.[a-z]+ = [a-z]+", done.stderr.split("take", 1)[-1]):
            other = start(folder, points, f"run.precision={precision}", *words, way.replace(" ", ""), **system)
            checks.that(other.code == 0 and told(other) is None, f"{name}, {way}: {other.code} {other.last_lines()}")
            if other.code == 0:
                checks.near(other.json()["potential_energy_per_atom"], expected, UNSAID, f"{name}, {way}")
        return "refused"
    if not checks.that(done.code == 0 and (error is None or "warning: run.precision" in done.stdout), f"{name}: {done.code} {done.last_lines()}"):
        return "failed"
    checks.near(done.json()["potential_energy_per_atom"], expected, error or UNSAID, name)
    return "warned" if error else "ran"


def test_rigid_shifts(checks, folder):
    seen = {}
    for k, distance in enumerate((0, 1e3, 5e3, 3e4, 1e5, 1e6, 9e8)):
        at = tuple(distance * x for x in ((1, 1, 1), (0, -1, 0), (1, 0, -0.5))[k % 3])
        points = cluster(at)
        near = [tuple(x - shift for x, shift in zip(point, at)) for point in points]
        for precision in ("double", "mixed", "single"):
            for backend in ("cpu", "auto"):
                way = check(checks, folder, f"{precision}, {backend}, {at}", points, energy_of(near), precision, f"run.backend={backend}")
                seen.setdefault((precision, backend), {}).setdefault(way, []).append(distance)
    print(seen)
    single = seen["single", "cpu"]
    checks.that(max(single["ran"]) >= 1e3 and min(single["refused"]) <= 1e5 and "warned" in single, f"single precision: {single}")
    for precision in ("double", "mixed"):
        checks.that(set(seen[precision, "cpu"]) == {"ran"}, f"{precision}: {seen[precision, 'cpu']}")


def test_bricks(checks, folder):
    """Bricks have more bits of a position than a float has: they serve where the other kernels of the GPU are refused."""
    if start(folder, cluster(), "run.precision=mixed").json()["backend"] != "cuda":
        print("no GPU: bricks are left out")
        return
    seen = {}
    for distance in (0, 1e3, 3e4, 1e5, 1e6):
        at = (distance, -distance, distance / 2)
        points = cluster(at)
        near = [tuple(x - shift for x, shift in zip(point, at)) for point in points]
        seen[distance] = check(checks, folder, f"mixed, bricks, {at}", points, energy_of(near), "mixed", "run.backend=cuda",
                               "force.kernel=brick")
    checks.that(seen == {0: "ran", 1e3: "ran", 3e4: "ran", 1e5: "ran", 1e6: "warned"}, f"{seen}")


def test_wide_boxes(checks, folder):
    """A cluster in a periodic box, the longer the coarser where places are not doubles; one of usual size is not worth a word."""
    expected, seen = energy_of(cluster()), {}
    for edge in (12, 1000, 1e6, 2e8, 1e9):
        for precision in ("double", "mixed", "single"):
            way = check(checks, folder, f"{precision}, box {edge}", cluster((4, 4, 4)), expected, precision, "run.backend=cpu",
                        boundary="periodic", box=f"{edge} {edge} {edge}")
            seen.setdefault(precision, {})[edge] = way
    checks.that(all(seen[precision][edge] == "ran" for precision in seen for edge in (12, 1000)), f"{seen}")
    checks.that(seen["mixed"][2e8] == "refused" and seen["single"][1e6] == "refused" and seen["double"][1e9] == "ran", f"{seen}")


def test_apart(checks, folder):
    """Three clusters far apart in an open box: bricks there are as wide as the box."""
    for distance in (256, 4096, 1e5, 1e6):
        places = [(0, 0, 0), (distance, 0, 0), (0, -distance, distance)]
        points = [point for at in places for point in cluster(at)]
        expected = energy_of([tuple(x - shift for x, shift in zip(point, at)) for at in places for point in cluster(at)][:55])
        for precision in ("double", "mixed"):
            way = check(checks, folder, f"{precision}, {distance} apart", points, expected, precision)
            checks.that(precision == "mixed" or way == "ran", f"{precision}, {distance} apart: {way}")


def test_places_given(checks, folder):
    """The start is judged by the places of the file, not by what became of them."""
    report = start(folder, cluster(), "run.precision=double").json()
    off = next(row for row in report["checks"] if row["name"].startswith("positions, difference"))
    checks.that(off["value"] == 0 and 0 < off["limit"] < 1e-14, f"double: {off}")
    report = start(folder, cluster((1000, 0, 0)), "run.precision=single").json()
    off = next(row for row in report["checks"] if row["name"].startswith("positions, difference"))
    checks.that(1e-6 < off["value"] <= off["limit"] < 1e-4, f"single: {off}")


def fly(folder, name, *words, edge=100, speed=0.03, dimension=3, at=0, steps=2000, fast=1, **sections):
    """Eight atoms apart from each other, at up to that speed along x, the slowest two faster by a factor; edge None: an open box about
    a point."""
    lattice = f'Lattice="{edge} 0 0 0 {edge} 0 0 0 {edge}" pbc="T T T" ' if edge else ""
    speeds = [speed * (2 * i - 7) / 7 * (fast if i in (3, 4) else 1) for i in range(8)]
    rows = [f"Ar {(edge or 80) * (i + 0.3) / 8 + at} {(edge or 80) * 0.3 * (1 + i % 3)} 0 {v} 0 0" for i, v in enumerate(speeds)]
    (program.Path(folder) / "fly.xyz").write_text(f"8\n{lattice}Properties=species:S:1:pos:R:3:velo:R:3\n" + "\n".join(rows) + "\n")
    system = {"start": "file", "file": "fly.xyz", "dimension": dimension, **({} if edge else {"boundary": "open"})}
    deck = program.write_deck(folder, "fly", system=system, run={"steps": steps, "timestep": 0.0005}, output=OUTPUT, **sections)
    done = program.run(deck, *words, folder=folder, name="fly")
    said = " ".join(done.stdout.split())
    row = next((check for check in done.json()["checks"] if check["name"].startswith("displacement")), None) if "--check" not in words else None
    return done, row, "slow ones move by wrong amounts" in said


def test_motion(checks, folder):
    """Atoms whose steps are short beside the last digit of a position move by wrong amounts: a warning, and FAILED by the motion alone.
    Two fast atoms among them hide nothing. They are right in more digits, in a smaller box, and at greater speed; a short run that
    loses nothing of size has the warning."""
    for name, changes in (("wide", {}), ("wider", {"edge": 1000}), ("2-D", {"dimension": 2}), ("far away", {"edge": None, "at": 500}),
                          ("faster", {"edge": 1000, "speed": 0.2}), ("two fast", {"edge": 1000, "fast": 1000})):
        done, _, warned = fly(folder, name, "--check", "run.precision=single", **changes)
        checks.that(done.code == 0 and warned, f"{name}: --check says nothing: {done.stdout[-900:]}")
        for precision in ("double", "mixed", "single"):
            for backend in ("cpu", "auto"):
                done, row, warned = fly(folder, name, f"run.precision={precision}", f"run.backend={backend}", **changes)
                right = precision != "single"
                failed = [check["name"] for check in done.json()["checks"] if not check["passed"]]
                checks.that(done.code == (0 if right else 3) and row["passed"] == right and warned != right and failed == ([] if right else [row["name"]]),
                            f"{name}, {precision}, {backend}: {done.code} {row} {warned} {failed} {done.last_lines()}")
    for name, words, warns in (("near", ["run.timestep=0.005"], False), ("short", [], True)):
        done, row, warned = fly(folder, name, "run.precision=single", *words, steps=10, edge=10 if name == "near" else 100)
        checks.that(done.code == 0 and row["passed"] and warned == warns, f"{name}: {done.code} {row} {warned}")
    program.write_deck(folder, "liquid", system={"cells": 6, "density": 0.8442}, run={"steps": 50, "precision": "single"}, output=OUTPUT)
    done = program.run("liquid.txt", folder=folder)
    row = next(check for check in done.json()["checks"] if check["name"].startswith("displacement"))
    checks.that(done.code == 0 and "wrong amounts" not in done.stdout and 1e-8 < row["value"] <= row["limit"] < 3e-6, f"liquid: {row}")


def main():
    checks = Checks()
    checks.run(test_rigid_shifts, test_bricks, test_wide_boxes, test_apart, test_places_given, test_motion)
    checks.finish()


if __name__ == "__main__":
    main()
