"""Atoms at rest, short runs, and pairs that are cut at almost nothing: what a thermostat cannot scale is refused, a cold lattice stays
at rest and passes, energies are held to what they can be told to, and the limit of a step's displacement is that of the forces that
can make a motion unstable."""
import program
import restart_file
from program import Checks

CUBE = {"fcc": 4, "sc": 7, "bcc": 5}
SHEET = {"square": 14, "hexagonal": 12}


def deck(folder, name="rest", start="fcc", cells=4, **sections):
    flat = start in SHEET
    system = {"start": start, "cells": cells, "density": 0.8442, "temperature": 0, **({"dimension": 2} if flat else {})}
    system.update(sections.pop("system", {}))
    given = {"run": {"steps": 20}, "output": {"frames_every": 0, "existing": "overwrite"}}
    for section, keys in sections.items():
        given[section] = {**given.get(section, {}), **keys}
    return program.write_deck(folder, name, system=system, **given)


def lattices():
    listed = program.run("--list-options=json", folder=".").stdout
    return {name: cells for name, cells in {**CUBE, **SHEET}.items() if f'"{name}"' in listed}


def momentum(report):
    return next(check for check in report["checks"] if check["name"] == "total momentum per atom")


def test_cold_lattices(checks, folder):
    """Forces cancel, roundings do not: the perfect lattice at rest passes, for one step or many, and stays where it is."""
    for start, cells in lattices().items():
        for precision in ("double", "mixed", "single"):
            for steps in (1, 200):
                words = deck(folder, "cold", start, cells, run={"steps": steps, "precision": precision, "timestep": 0.002})
                done = program.run(words, folder=folder)
                name = f"{start}, {precision}, {steps} steps"
                if not checks.that(done.code == 0, f"{name}: exit code {done.code}: {done.last_lines()}"):
                    continue
                report = done.json()
                noise = 1e-14 if precision == "double" else 1e-5
                checks.that(momentum(report)["value"] < noise, f"{name}: momentum {momentum(report)}")
                checks.that(report["temperature"] < noise, f"{name}: temperature {report['temperature']}")


def energy(report):
    return next(check for check in report["checks"] if check["name"].startswith("conserved energy"))


SHORT = [(1e-8, 1, 1.44), (1e-6, 5, 1.44), (1e-5, 20, 1.44), (1e-5, 100, 0.01), (1e-6, 20, 0), (3e-5, 2, 5)]


def test_short_runs(checks, folder):
    """All pairs of a lattice that are alike round alike, in what is summed at step 0, and no more when atoms have moved: that is no
    change of the energy."""
    for k, (start, cells) in enumerate(lattices().items()):
        for p, precision in enumerate(("double", "mixed", "single")):
            for timestep, steps, temperature in (SHORT[(2 * k + p) % 6], SHORT[(2 * k + p + 1) % 6]):
                words = deck(folder, "short", start, cells, system={"temperature": temperature, "density": 1.07},
                             run={"steps": steps, "precision": precision, "timestep": timestep}, output={"thermo_every": 1})
                done = program.run(words, folder=folder)
                checks.that(done.code == 0, f"{start}, {precision}, {steps} steps of {timestep}, T = {temperature}: {done.last_lines()}")
    for name, words in (("shift", ["potential.shift=force"]), ("two types", ["system.types=2", "potential.sigma=1 0.9"]),
                        ("thermostat", ["ensemble.thermostat=rescale", "ensemble.target=1.4 2", "ensemble.every=5"])):
        given = deck(folder, "short", system={"temperature": 1.44}, run={"steps": 20, "timestep": 1e-5})
        done = program.run(given, *words, folder=folder)
        checks.that(done.code == 0, f"{name}: {done.last_lines()}")


def test_short_resumed(checks, folder):
    """What is known of the first step is known to the process that goes on; where it was not verified, its bound is taken."""
    for verify in ("on", "off"):
        words = deck(folder, "short", "sc", 7, system={"temperature": 1.44}, run={"steps": 5, "timestep": 1e-5}, report={"verify": verify})
        done = program.run(words, folder=folder)
        checks.that(done.code == 0, f"{verify}: {done.last_lines()}")
        done = program.run("--restart", "short.restart", "run.steps=20", "report.verify=on", folder=folder, name="short")
        checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"resumed, verified before: {verify}: {done.last_lines()}")


def test_energy_limit(checks, folder):
    """Of a run whose atoms have left their lattice the limit of mixed precision is that of double, which has no such rounding. Of a
    short one it is far below the bound of the potential energy."""
    limits = {}
    words = deck(folder, system={"temperature": 1.44}, run={"steps": 20, "timestep": 1e-5})
    report = program.run(words, folder=folder).json()
    bound = next(check["limit"] for check in report["checks"] if check["name"] == "potential energy per atom")
    checks.that(energy(report)["limit"] < 0.05 * bound or report["precision"] != "mixed", f"short: {energy(report)}, {bound}")
    for precision in ("double", "mixed"):
        words = deck(folder, cells=6, system={"temperature": 1.44}, run={"steps": 200, "precision": precision})
        limits[precision] = energy(program.run(words, folder=folder).json())["limit"]
    checks.that(limits["mixed"] < 1.02 * limits["double"], f"{limits}")


def test_momentum_limit(checks, folder):
    """What the limit allows a cold crystal is less than one pair makes of it whose force is lost on one side: in double precision
    by far, in single for so many steps as it takes to see anything."""
    for precision, share in (("double", 1e-6), ("single", 1)):
        done = program.run(deck(folder, run={"steps": 1, "precision": precision}), folder=folder)
        report = done.json()
        lost = 24 * (2 * 1.1879**-13 - 1.1879**-7) * 0.005 / report["n_atoms"]  # nearest neighbours
        checks.that(momentum(report)["limit"] < share * abs(lost), f"{precision}: {momentum(report)}, a pair makes {lost}")


def test_thermostat(checks, folder):
    """Nothing to scale: exit code 2 before any file is touched, with --check too. Something, or nothing wanted: it runs."""
    rescale = {"thermostat": "rescale", "target": "1.0", "every": 10}
    for precision in ("double", "mixed", "single"):
        words = deck(folder, ensemble=rescale, run={"precision": precision})
        for first in ([], ["--check"]):
            done = program.run(*first, words, folder=folder, name="rest")
            checks.that(done.code == 2 and "nothing to scale" in done.stderr and "system.temperature" in done.stderr and
                        "rest.txt:" in done.stderr, f"{precision} {first}: exit code {done.code}: {done.last_lines()}")
            checks.that(not done.path("log").exists(), f"{precision} {first}: files were touched")
        done = program.run(words, "system.temperature=1e-30", folder=folder)
        checks.that(done.code == 2 and "too little to scale" in done.stderr, f"{precision}: next to rest: {done.code} {done.stderr}")
    for temperature, target, said in ((1.44, "1e20", "target: read 1e+20, but the temperature is 1.44 at step 0"),
                                      (1e-3, "0.01 1e9", "target: read 1e+09, but the temperature is 0.001 at step 0")):
        done = program.run(deck(folder, ensemble={**rescale, "target": target}, system={"temperature": temperature}, run={"precision": "mixed"}),
                           folder=folder)
        checks.that(done.code == 2 and said in done.stderr and "at rest" not in done.stderr, f"{target} from {temperature}: {done.code} {done.stderr}")
    rows = [f"{1.5 * (k % 4)} {1.5 * (k // 4 % 4)} {1.5 * (k // 16)}" for k in range(64)]
    for velocity, code in (("0 0 0", 2), ("3 -1 0.1", 2), (None, 0)):
        text = ["64", 'Lattice="6 0 0 0 6 0 0 0 6" Properties=species:S:1:pos:R:3:velo:R:3']
        text += [f"Ar {row} {velocity or f'{0.3 * (-1) ** k} 0 {0.1 * (-1) ** (k // 2)}'}" for k, row in enumerate(rows)]
        (folder_file := program.Path(folder) / "moving.xyz").write_text("\n".join(text) + "\n")
        words = program.write_deck(folder, "moving", system={"start": "file", "file": folder_file.name},
                                   potential={"cutoff": 2.0}, ensemble=rescale, output={"frames_every": 0, "existing": "overwrite"},
                                   run={"steps": 20})
        done = program.run(words, folder=folder)
        checks.that(done.code == code and ("to scale" in done.stderr) == (code == 2),
                    f"velocities {velocity}: exit code {done.code}: {done.last_lines()}")
    runs = [({"target": "0"}, 0, "at rest, none wanted"), ({"every": 50}, 0, "never due"),
            ({"target": "0.01 1"}, 1, "a ramp from the cold"), ({"target": "0"}, 1, "to rest"), ({"target": "0 0"}, 1, "to rest by two words"),
            ({"target": "1 1e-9"}, 1, "a ramp to the cold"), ({"target": "1"}, 1e-6, "from a cold start")]
    for change, temperature, name in runs:
        for precision in ("double", "mixed", "single"):
            words = deck(folder, ensemble={**rescale, **change}, system={"temperature": temperature},
                         run={"steps": 40, "precision": precision})
            done = program.run(words, folder=folder)
            if not checks.that(done.code == 0, f"{name}, {precision}: exit code {done.code}: {done.last_lines()}"):
                continue
            wanted = 0 if temperature == 0 else float(change.get("target", "1").split()[-1])
            found = restart_file.temperature(done.path("restart"))  # the thermo row is of before it acts
            checks.that(abs(found - wanted) < 1e-6, f"{name}, {precision}: T = {found}")


def test_ramp(checks, folder):
    """A ramp from 0 or to 0 is refused with each thermostat, with two temperatures that work."""
    for bath in ("rescale", "csvr", "nose-hoover", "langevin"):
        for target, said, instead in (("1 0", "a ramp to 0", "1 0.001"), ("0 2", "a ramp from 0", "0.002 2"), ("0.5 0", "a ramp to 0", "0.5 0.0005")):
            name = deck(folder, ensemble={"thermostat": bath, "target": target}, system={"temperature": 1}, run={"steps": 20})
            line = 1 + next(k for k, text in enumerate((program.Path(folder) / name).read_text().splitlines()) if text.startswith("target"))
            for words in ([], ["--check"]):
                done = program.run(*words, name, folder=folder)
                checks.that(done.code == 2 and f"{name}:{line}: ensemble.target: read {target}: {said}; allowed: two temperatures above 0, for example {instead};" in done.stderr and
                            done.stderr.count("error:") == 1, f"{bath}, {target}: {done.code} {done.stderr}")
            done = program.run(name, f"ensemble.target={instead}", folder=folder)
            checks.that(done.code == 0, f"{bath}, {instead}: {done.last_lines()}")
    done = program.run(deck(folder, system={"temperature": 1}), "ensemble.target=1 0", folder=folder)  # no thermostat
    checks.that(done.code == 2 and "ensemble.target: has no effect" in done.stderr and "ramp" not in done.stderr, f"{done.code} {done.stderr}")


def test_momentum_of_thermostat(checks, folder):
    """Scaling leaves the total momentum what it is, however much it scales: of a cold start rounding is all there is."""
    rescale = {"thermostat": "rescale", "target": "1.0", "every": 1}
    for precision, most in (("double", 1e-12), ("mixed", 1e-5), ("single", 1e-5)):
        words = deck(folder, ensemble=rescale, system={"temperature": 1e-8}, run={"steps": 300, "precision": precision})
        done = program.run(words, folder=folder)
        checks.that(done.code == 0 and momentum(done.json())["value"] < most,
                    f"{precision}: exit code {done.code}: {done.last_lines()}")


def test_small_cutoffs(checks, folder):
    """Species that do not see each other, or nothing at all, by pairs that are cut at almost nothing: a step of an atom may
    be longer than such a cutoff. Energies per atom of the start by LAMMPS with the same pairs; blow-ups are stopped as before."""
    two = {"system": {"density": 0.6, "temperature": 1, "types": 2, "fractions": "0.5 0.5"}, "run": {"steps": 300, "precision": "double"}}
    for pairs, what in (("1 2 1e-6 0.001 0.0025", "unlike pairs"), ("1 2 1e-6 0.02 0.05", "unlike pairs, as in LAMMPS"),
                        ("2 2 1e-6 0.001 0.0025", "a gas in a fluid"),
                        ("1 1 1e-6 0.001 0.0025 ; 1 2 1e-6 0.001 0.0025 ; 2 2 1e-6 0.001 0.0025", "an ideal gas")):
        done = program.run(deck(folder, "ignore", "fcc", 5, potential={"pairs": pairs}, **two), folder=folder)
        if checks.that(done.code == 0, f"{what}: exit code {done.code}: {done.last_lines()}"):
            change = next(check for check in done.json()["checks"] if check["name"].startswith("conserved energy"))
            checks.that(change["value"] < 2e-3, f"{what}: {change}")
    for words in (["run.timestep=0.2"], ["run.timestep=0.05", "system.temperature=100"]):
        done = program.run(deck(folder, "ignore", "fcc", 5, potential={"pairs": "1 2 1e-6 0.001 0.0025"}, **two), *words, folder=folder)
        checks.that(done.code == 3 and "stopped at step" in done.stdout, f"{words}: exit code {done.code}: {done.last_lines()}")


def main():
    checks = Checks()
    checks.run(test_cold_lattices, test_short_runs, test_short_resumed, test_energy_limit, test_momentum_limit, test_thermostat, test_ramp, test_momentum_of_thermostat, test_small_cutoffs)
    checks.finish()


if __name__ == "__main__":
    main()
