"""NAME.csv, the thermo table: the numbers of NAME.json, of the state before a thermostat acts, whole also after a kill and after a
restart.

MDMINI_TEST_ variables as in support/resuming.py."""
import csv
import signal
import time

import program
import restart_file
from resuming import BACKEND, deck, resume, run_tests, same_frames, start, wait_for

COLUMNS = {"step": "step", "time (tau)": "time", "temperature (epsilon/k)": "temperature",
           "potential energy per atom (epsilon)": "potential_energy", "total energy per atom (epsilon)": "total_energy",
           "conserved energy per atom (epsilon)": "conserved_energy", "pressure (epsilon/sigma^3)": "pressure"}


def read(folder, name):
    with open(folder / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def same_as_report(checks, done, what, **other):
    table, thermo = read(done.folder, done.name), done.json()["thermo"]
    columns = {**COLUMNS, **other}
    checks.that(list(table[0]) == list(columns), f"{what}: the head is {list(table[0])}")
    for title, key in columns.items():
        numbers = [float(row[title]) if row[title] else None for row in table]
        checks.that(numbers == thermo[key], f"{what}: {title}: {numbers[:3]}, not {thermo[key][:3]}")


def test_numbers(checks, folder):
    name = deck(folder, "m")
    done = program.run(name, folder=folder)
    same_as_report(checks, done, "a run")
    checks.that(len(read(folder, "m")) == 13, f"{len(read(folder, 'm'))} rows")
    for steps, every in ((83, 5), (100, 7)):  # the row of step 60 stays, that of 83 was there as it was the last
        done = resume(folder, "m", f"run.steps={steps}", f"output.thermo_every={every}")
        same_as_report(checks, done, f"up to step {steps}")
    found = [int(row["step"]) for row in read(folder, "m")]
    checks.that(found == [*range(0, 81, 5), 84, 91, 98, 100], f"steps {found}")
    done = program.run(name, "system.boundary=open", "run.timestep=0.002", folder=folder)
    same_as_report(checks, done, "an open box")
    checks.that((folder / "m.1.csv").exists() and all(row["pressure (epsilon/sigma^3)"] == "" for row in read(folder, "m")), "open")
    flat = program.write_deck(folder, "flat", system={"start": "random", "dimension": 2, "density": 0.3, "atoms": 300},
                              run={"steps": 0}, output={"frames_every": 0})
    checks.that(program.run(flat.name, folder=folder).code == 0 and "pressure (epsilon/sigma^2)" in read(folder, "flat")[0], "flat")


def test_killed(checks, folder):
    """What is in the log is in the table; a run that goes on from an earlier step brings the rows of after it again."""
    run = start(folder, deck(folder, "m", run={"steps": 1000000}, restart={"every": 500}))
    checks.that(wait_for(folder / "m.restart"), "no restart file")
    time.sleep(0.2)
    run.send_signal(signal.SIGKILL)
    run.wait()
    steps = [int(row["step"]) for row in read(folder, "m")]
    last = int([line.split()[0] for line in (folder / "m.log").read_text().splitlines() if line.split()[:1] and
                line.split()[0].isdigit()][-1])
    checks.that(steps == list(range(0, steps[-1] + 1, 5)) and abs(steps[-1] - last) <= 5, f"killed: {steps[-5:]}, log {last}")
    done = resume(folder, "m", f"run.steps={steps[-1] + 50}")
    same_as_report(checks, done, "resumed")
    again = [int(row["step"]) for row in read(folder, "m")]
    checks.that(again == list(range(0, steps[-1] + 51, 5)), f"resumed: {again[-5:]}")
    run = start(folder, deck(folder, "gone", run={"steps": 1000000}))
    checks.that(wait_for(folder / "gone.restart"), "no restart file")
    (folder / "gone.csv").unlink()
    run.send_signal(signal.SIGTERM)
    _, told = run.communicate(timeout=600)
    checks.that(run.returncode == 4 and "gone.csv: was deleted" in told, f"deleted: {run.returncode} {told}")


def test_before_thermostat(checks, folder):
    """What is written of a step is the state before the thermostat acts: bit by bit that of a run whose thermostat acts no more at its
    last step. The restart file has the state after it."""
    acts = {"thermostat": "rescale", "target": "0.7", "every": 10}
    switches = {"cpu": ([], ["output.pipeline=off"]),
                "cuda": ([], ["launch.fuse=step", "force.kernel=brick"], ["launch.graph=off", "reduce.finish=atomic"],
                         ["neighbor.rebuild=host-check", "output.host_memory=mapped", "output.pack=naive"], ["output.pipeline=off"])}
    for words in switches[BACKEND]:
        what = f"thermostat, {' '.join(words)}"
        ran = {}
        for name, last_step in (("acts", 40), ("idle", 39)):
            path = deck(folder, name, run={"steps": 40}, ensemble={**acts, "last_step": last_step},
                        output={"xyz_every": 10, "xyz_velocities": "on", "existing": "overwrite", "velocities_every": 5})
            ran[name] = program.run(path, *words, folder=folder)
            checks.that(ran[name].code == 0, f"{what}: {ran[name].last_lines()}")
        same_as_report(checks, ran["acts"], what)
        same_frames(checks, folder, "acts", "idle", what)
        for ending in ("csv", "xyz"):
            texts = [ran[name].path(ending).read_text().replace(ran[name].json()["run_id"], "") for name in ran]
            checks.that(texts[0] == texts[1], f"{what}: NAME.{ending} differs")
        first, second = (ran[name].json() for name in ran)
        for key in ("temperature", "kinetic_energy_per_atom", "conserved_energy_per_atom", "pressure", "thermo"):
            checks.that(first[key] == second[key], f"{what}: {key}: {first[key]}, {second[key]} where it does not act")
        rows = {step: first["thermo"]["temperature"][k] for k, step in enumerate(first["thermo"]["step"])}
        checks.that(all(abs(rows[step] - 0.7) > 1e-4 for step in (10, 20, 30, 40)), f"{what}: the rows show the target: {rows}")
        checks.near(restart_file.temperature(ran["acts"].path("restart")), 0.7, 1e-6, f"{what}: the restart file's temperature")
        checks.that("before the thermostat acts" in ran["acts"].stdout, f"{what}: the log does not say so")


def check_averages(checks, done, what, log):
    """Means over the rows from half of the last step on, as the table has them; in report and log."""
    table, found = read(done.folder, done.name), done.json()["averages"]
    half = [row for row in table if 2 * int(row["step"]) >= int(table[-1]["step"])]
    checks.that((found["from_step"], found["to_step"], found["rows"]) == (int(half[0]["step"]), int(half[-1]["step"]), len(half)), f"{what}: {found}")
    checks.that(log in done.stdout, f"{what}: {log!r} is not in the log: {done.stdout[-3000:]}")
    for title, key in COLUMNS.items():
        if key not in ("temperature", "potential_energy", "pressure"):
            continue
        one, values = found[key], [float(row[title]) for row in half]
        checks.near(one["mean"], sum(values) / len(values), 1e-12, f"{what}: mean of {key}")
        shown = f"error not known: {one['why']}" if one["why"] else f"+- {one['error']:.2g}"
        line = next((line.split(None, 1) for line in done.stdout.splitlines() if line.startswith(f"{key.replace('_', ' ')}  ")), [])
        checks.that(line and line[-1].endswith(shown) and f"{one['mean']:.7f}" in line[-1], f"{what}: {key}: {line}, not {shown}")
    has_error = any(one["error"] is not None for one in found.values() if isinstance(one, dict))
    checks.that(("(+-: standard error, by 10 blocks)" in done.stdout) == has_error, f"{what}: the heading speaks of errors, or not: {found}")
    return found


def test_averages(checks, folder):
    """The log ends with averages; what they rest on is told, also over several processes."""
    done = program.run(deck(folder, "m", run={"steps": 180}), folder=folder)
    found = check_averages(checks, done, "19 rows", "\n19 rows, steps 90 to 180\n")
    checks.that(all("too few rows" in found[key]["why"] and found[key]["error"] is None for key in ("temperature", "pressure")), f"{found}")
    done = resume(folder, "m", "run.steps=190")
    check_averages(checks, done, "gone on", "\n20 rows, steps 95 to 190; those up to step 180 are of earlier processes\n")
    done = resume(folder, "m", "run.steps=400")
    check_averages(checks, done, "the second half is of this process", "\n41 rows, steps 200 to 400\n")
    done = program.run(deck(folder, "far", run={"steps": 3000}), "output.frames_every=0", "output.velocities_every=0", "output.images_every=0",
                       folder=folder)
    found = check_averages(checks, done, "a fluid", "\n301 rows, steps 1500 to 3000\n")
    checks.that(0 < found["temperature"]["error"] < 0.02 and 0 < found["pressure"]["error"] < 0.2, f"a fluid: {found}")


run_tests(test_numbers, test_killed, test_before_thermostat, test_averages)
