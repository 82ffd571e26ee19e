"""Analysis while the run goes: mean square displacement, velocity autocorrelation and their diffusion coefficients against brute force over
the frames of every sample, a gas of free particles through many boxes, the same numbers for every order and layout of memory, restarts to
the bit, ranks, units, refusals.

MDMINI_TEST_BACKENDS: the first one runs. MDMINI_TEST_ONLY: names of tests, with commas between."""
import csv
import os
from pathlib import Path

import numpy as np

import program
import ranks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
LIQUID = {"system": {"cells": 4, "density": 0.7, "temperature": 2}, "run": {"backend": BACKEND, "steps": 150, "precision": "double"},
          "neighbor": {"skin": 0.2}, "output": {"existing": "overwrite", "precision": "double", "thermo_every": 50, "frames_every": 5, "velocities_every": 5, "images_every": 5},
          "analysis": {"msd_every": 5, "msd_lags": 7, "vacf_every": 10, "vacf_lags": 4, "msd_from": 20}}
QUIET = {"frames_every": 0, "velocities_every": 0, "images_every": 0, "precision": "single"}
# Forces are zero but for a factor of 1e-12: particles fly straight on, through ten boxes and more.
GAS = {"system": {"start": "sc", "cells": 6, "density": 1, "temperature": 1}, "potential": {"form": "morse", "parameters": "1e-12 1 1", "cutoff": 2, "shift": "energy"},
       "neighbor": {"skin": 0.9}, "run": {"backend": BACKEND, "steps": 900, "timestep": 0.1},
       "output": {"existing": "overwrite", "precision": "double", "frames_every": 100, "velocities_every": 100, "images_every": 100},
       "analysis": {"msd_every": 100, "msd_lags": 10, "vacf_every": 100, "vacf_lags": 5}}


def write(folder, name, deck, **more):
    return program.write_deck(Path(folder), name, **{section: {**deck.get(section, {}), **more.get(section, {})} for section in {**deck, **more}}).name


def start(checks, what, *words, folder, name, n=1, **environment):
    """The run, if it has passed."""
    done = program.run(*words, folder=folder, name=name) if n == 1 else ranks.run(n, *words, folder=folder, name=name, **environment)
    return done if checks.that(done.code == 0 and done.json()["verdict"] == "PASSED", f"{what}: {done.last_lines()}") else None


def table(done, which):
    """{heading: column} of NAME.WHICH.csv; an empty field is NaN."""
    rows = list(csv.reader(done.path(f"{which}.csv").read_text().splitlines()))
    return dict(zip(rows[0], np.array([[float(field or "nan") for field in row] for row in rows[1:]]).T))


def column(done, which, begin):
    found = table(done, which)
    return next(found[key] for key in found if key.startswith(f"{begin} ("))


def read_frames(done):
    """{step: unwrapped positions, velocities}, and the types."""
    with done.h5() as file:
        all_, edges = file["particles/all"], np.diag(file["particles/all/box/edges/value"][0]) if "edges" in file["particles/all/box"] else np.zeros(3)
        x = all_["position/value"][...] + all_["image/value"][...] * edges
        return dict(zip(all_["position/step"][...].tolist(), zip(x, all_["velocity/value"][...]))), all_["species"][...]


def by_windows(frames, which, every, lags, first, chosen):
    """[windows][lags] of the chosen atoms; NaN after the last step."""
    values, k = [], {"msd": 0, "vacf": 1}[which]
    for begin in range(first, max(frames) + 1, every * lags):
        origin = frames[begin][k][chosen]
        steps = [begin + lag * every for lag in range(lags)]
        now = [frames[step][k][chosen] if step in frames else np.nan * origin for step in steps]
        values.append([np.sum((x - origin)**2 if which == "msd" else x * origin, axis=1).mean() for x in now])
    return np.array(values)


def means(values):
    n = (~np.isnan(values)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=0) / n
        error = np.sqrt(np.nansum((values - mean)**2, axis=0) / (n * (n - 1.0)))
    return n, mean, error


def diffusion(values, which, interval, dimension):
    """By window, of those that are whole."""
    whole = values[~np.isnan(values).any(axis=1)]
    lags = values.shape[1]
    half = lags // 2 if lags > 3 else 0
    if which == "msd":
        return [np.polyfit(interval * np.arange(half, lags), window[half:], 1)[0] / (2 * dimension) for window in whole]
    return [interval * (window.sum() - (window[0] + window[-1]) / 2) / dimension for window in whole]


def compare(checks, what, done, keys, timestep=0.005, tolerance=1e-10, dimension=3):
    frames, types = read_frames(done)
    kinds = {"": np.full(len(types), True), **({f" of type {t + 1}": types == t for t in set(types.tolist())} if len(set(types.tolist())) > 1 else {})}
    for which in ("msd", "vacf"):
        every, lags = keys[f"{which}_every"], keys[f"{which}_lags"]
        for k, (kind, chosen) in enumerate(kinds.items()):
            values = by_windows(frames, which, every, lags, keys.get("msd_from", 0), chosen)
            n, mean, error = means(values)
            size = np.nanmax(np.abs(mean))
            for begin, right, room in ((f"{which}{kind}", mean, tolerance * size), (f"error of {which}{kind}", error, 10 * tolerance * size)):
                found = column(done, which, begin)
                checks.that(np.array_equal(np.isnan(found), np.isnan(right)) and np.nanmax(np.abs(found - right), initial=0) <= room, f"{what}: {begin} {found}, by frames {right}")
            seen = table(done, which)
            with done.h5() as file:
                group = file["parameters/mdmini/analysis"]["mean_square_displacement" if which == "msd" else "velocity_autocorrelation"]
                stored = [group[name][:, k] for name in ("value", "error")] + [group["step"][...], group["windows"][...]]
            written = [column(done, which, f"{which}{kind}"), column(done, which, f"error of {which}{kind}"), seen["step (steps)"], seen["windows"]]
            checks.that(all(np.array_equal(*pair, equal_nan=True) for pair in zip(stored, written)), f"{what}: {which}{kind} of the trajectory is not that of the table: {stored} {written}")
            checks.that(np.array_equal(seen["windows"], n) and np.array_equal(seen["step (steps)"], every * np.arange(lags)), f"{what}: {which}: windows {seen['windows']}, by frames {n}")
            coefficients = diffusion(values, which, every * timestep, dimension)
            report = done.json()["analysis"][which]
            checks.that(report["whole_windows"] == len(coefficients), f"{what}: {report}, by frames {len(coefficients)} whole windows")
            if coefficients:
                checks.near(report["diffusion"][k]["mean"], np.mean(coefficients), 1e-7 * np.max(np.abs(coefficients)) + 100 * tolerance * size / timestep, f"{what}: diffusion{kind} by {which}")
            checks.that((report["diffusion"][k]["error"] is None) == (len(coefficients) < 2), f"{what}: {report['diffusion'][k]} of {len(coefficients)} windows")


def test_frames(checks, folder):
    """Two types with masses; windows that are not whole at the end; atoms that cross the boundary."""
    name = write(folder, "mix", LIQUID, system={"types": 2, "fractions": "0.3 0.7", "masses": "1 2.5"})
    done = start(checks, "mix", name, folder=folder, name="mix")
    if done:
        compare(checks, "mix", done, LIQUID["analysis"])
        try:
            import MDAnalysis
            universe = MDAnalysis.Universe.empty(len(read_frames(done)[1]), trajectory=False)
            universe.load_new(str(done.path("h5")), format="H5MD", convert_units=False)
            checks.that(len([step.time for step in universe.trajectory]) == 31, "MDAnalysis does not read all frames of a run with an analysis")
        except ImportError:
            print("not run: MDAnalysis is not installed")
        crossed = max(np.abs(done.h5()["particles/all/image/value"][-1]).max(), 0)
        checks.that(crossed > 0, "no atom has crossed the boundary, so that images were not shown")
    # At the start there are forces, and no half kick is due.
    start_file = {"system": {"start": "file", "file": Path(__file__).with_name("lj-rattled.xyz"), "temperature": 1}, "analysis": {"msd_from": 0}}
    rattled = {**LIQUID, "system": {}}
    done = start(checks, "rattled", write(folder, "rattled", rattled, **start_file), folder=folder, name="rattled")
    if done:
        compare(checks, "rattled", done, {**LIQUID["analysis"], "msd_from": 0})
    for what, more, dimension in (("flat", {"dimension": 2, "start": "square", "cells": 14}, 2), ("open", {"boundary": "periodic open periodic"}, 3)):
        done = start(checks, what, write(folder, what, LIQUID, system=more), folder=folder, name=what)
        if done:
            compare(checks, what, done, LIQUID["analysis"], dimension=dimension)


def test_gas(checks, folder):
    """Free particles of known velocities: <v^2> t^2 and <v^2>, which is 3 k T / m less the motion of the whole."""
    for precision, room in (("double", 1e-11), ("mixed", 2e-6), ("single", 2e-5)):
        done = start(checks, precision, write(folder, "gas", GAS, run={"precision": precision}), folder=folder, name="gas")
        if not done:
            continue
        frames, _ = read_frames(done)
        velocity_sq, n = (frames[0][1]**2).sum(axis=1).mean(), len(frames[0][1])
        msd, vacf, time = column(done, "msd", "msd"), column(done, "vacf", "vacf"), column(done, "msd", "time")
        checks.that(np.abs(frames[900][0] - frames[0][0]).max() > 10 * 6, f"{precision}: no particle went through ten boxes")
        checks.that(np.abs(msd - velocity_sq * time**2).max() < room * msd[-1] and msd[-1] > 20_000, f"{precision}: {msd}, expected {velocity_sq} t^2")
        checks.that(np.abs(vacf / velocity_sq - 1).max() < room, f"{precision}: {vacf}, expected {velocity_sq}")
        checks.near(vacf[0], 3 * (n - 1) / n, 1e-6, f"{precision}: the velocity autocorrelation at 0")
        checks.that(column(done, "vacf", "error of vacf").max() < room * velocity_sq, f"{precision}: windows differ")


def test_brownian(checks, folder):
    """Free particles with friction: velocities forget themselves as exp(-friction t), and D = k T / (m friction), by both ways. A friction
    that is off by 5 % shows in each."""
    if BACKEND != "cpu":
        return  # an emulated GPU is slow, and the motion is that of the other tests
    keys = {"msd_every": 10, "msd_lags": 41, "vacf_every": 2, "vacf_lags": 61, "msd_from": 200}
    deck = write(folder, "brownian", GAS, system={"masses": 2, "cells": 16, "density": 0.05}, run={"steps": 8200, "timestep": 0.05}, ensemble={"thermostat": "langevin", "friction": 1, "target": 2},
                 output={**QUIET, "thermo_every": 100}, analysis=keys)
    for friction in (1, 1.05, 0.95):
        done = program.run(deck, f"ensemble.friction={friction}", folder=folder, name="brownian")
        if not checks.that(done.code == 0, f"brownian: {done.last_lines()}"):
            return
        decay, vacf, error = np.exp(-0.1 * np.arange(61)), column(done, "vacf", "vacf"), column(done, "vacf", "error of vacf")
        holds = (np.abs(vacf / 3 - decay) < 5 * error / 3).all()
        checks.that(holds == (friction == 1) and error.max() < 0.015, f"friction {friction}: {vacf}, expected 3 exp(-t); {error.max()}")
        for which, right in (("vacf", 1 - np.exp(-6)), ("msd", 1.0)):
            found = done.json()["analysis"][which]["diffusion"][0]
            holds = abs(found["mean"] - right) < 4 * found["error"]
            checks.that(holds == (friction == 1) and found["error"] < 0.009, f"friction {friction}, {which}: D {found}, expected {right}")


def test_memory(checks, folder):
    """However atoms stand in memory and steps are issued, the numbers are those of the frames; the run is that without an analysis."""
    ways = ["memory.sort=none", "launch.fuse=off memory.allocation=per-call", "run.precision=single memory.sort=hilbert", "run.precision=mixed"]
    if BACKEND == "cuda":
        ways = ["memory.layout=aos memory.sort=none force.kernel=list", "memory.layout=soa memory.sort=hilbert force.kernel=list-split reduce.method=shared",
                "run.precision=mixed", "run.precision=single memory.layout=aos memory.sort=cell reduce.method=global launch.fuse=off force.kernel=cell",
                "run.precision=mixed force.kernel=brick launch.passes=queue launch.persistent=off launch.fuse=step neighbor.skin=0.1", "run.precision=mixed launch.persistent=on neighbor.skin=0.1",
                "launch.fuse=step launch.persistent=off launch.passes=kernels neighbor.rebuild=every neighbor.every=5 neighbor.skin=0.4",
                "memory.allocation=pool launch.graph=off launch.persistent=off launch.fuse=on reduce.method=shared-dynamic reduce.per_thread=one",
                "neighbor.rebuild=host-check reduce.accumulate=reproducible reduce.finish=host force.kernel=cluster"]
    for k, words in enumerate(ways):
        name = write(folder, f"way{k}", LIQUID, system={"cells": 6, **({} if k % 2 else {"types": 2, "fractions": "0.5 0.5"})})
        done = start(checks, words, name, *words.split(), folder=folder, name=f"way{k}")
        if not done:
            continue
        compare(checks, words, done, LIQUID["analysis"], tolerance=1e-9 if "precision" not in words else 3e-6 if "mixed" in words else 1e-5)
        plain = start(checks, words, name, *words.split(), "analysis.msd_every=0", "analysis.vacf_every=0", "analysis.msd_from=0", "analysis.msd_lags=100", "analysis.vacf_lags=100",
                      f"output.name=plain{k}", folder=folder, name=f"plain{k}")
        if plain:
            with done.h5() as one, plain.h5() as other:
                checks.that(np.array_equal(one["particles/all/position/value"][-1], other["particles/all/position/value"][-1]), f"{words}: atoms are elsewhere with an analysis")
            checks.that(not plain.path("msd.csv").exists() and "analysis" not in plain.json(), f"{words}: curves without an analysis")


def test_seldom(checks, folder):
    """Samples between the output, and batches of steps that the device may have to make again: as with output at every sample."""
    quiet = {"output": {**QUIET, "thermo_every": 150}}
    for k, words in enumerate(([], ["neighbor.skin=0.08"], ["run.precision=mixed", "neighbor.skin=0.08"]) if BACKEND == "cuda" else ([],)):
        much = start(checks, words, write(folder, f"much{k}", LIQUID), *words, folder=folder, name=f"much{k}")
        less = start(checks, words, write(folder, f"less{k}", LIQUID, **quiet), *words, folder=folder, name=f"less{k}")
        if much and less:
            for which in ("msd", "vacf"):
                checks.that(much.path(f"{which}.csv").read_bytes() == less.path(f"{which}.csv").read_bytes(), f"{words}: {which} depends on the output")


def test_batches(checks, folder):
    """A batch of fused steps begins with the forces of a step with a sample: as many separate drifts and forces as without an analysis. The
    numbers are those of output at every sample, which is separate steps, also where the device stops at a sample or between."""
    if BACKEND != "cuda":
        return
    fused = "force.kernel=brick launch.fuse=step launch.persistent=off run.precision=mixed launch.passes="
    keys = {"msd_every": 10, "msd_lags": 4, "vacf_every": 10, "vacf_lags": 4, "rdf_every": 30, "msd_from": 0}
    without = [f"analysis.{key}={value}" for key, value in {"msd_every": 0, "vacf_every": 0, "rdf_every": 0, "msd_lags": 100, "vacf_lags": 100}.items()]
    safe, stops, grows = ("neighbor.rebuild=every neighbor.every=20 neighbor.skin=0.8", "neighbor.skin=0.08",
                          "neighbor.rebuild=every neighbor.every=10 neighbor.skin=0.6 neighbor.capacity=8 system.density=0.5 system.temperature=6 run.timestep=0.002")
    os.environ["MDMINI_CALL_STEPS"] = "120"  # looks at the clock would end batches, too
    for k, (words, positions) in enumerate(((f"{fused}queue {safe}", False), (f"{fused}queue {safe} launch.graph=off", False), (f"{fused}kernels {safe}", True),
                                            (f"{fused}queue {stops}", False), (f"{fused}kernels {stops}", True), (f"{fused}queue {stops} analysis.msd_every=5 analysis.rdf_every=7", False), (f"{fused}queue {grows}", False))):
        words = [*words.split(), *(without[1:2] + without[4:] if positions else [])]
        deck = {"output": QUIET, "system": {"cells": 6}, "analysis": keys}
        less = start(checks, words, write(folder, f"few{k}", LIQUID, **deck), *words, "output.thermo_every=120", "run.steps=120", folder=folder, name=f"few{k}")
        much = start(checks, words, write(folder, f"all{k}", LIQUID, **deck), *words, "output.thermo_every=5", "run.steps=120", folder=folder, name=f"all{k}")
        for which in ("msd", "rdf", "vacf")[:2 if positions else 3] if less and much else ():
            checks.that(less.path(f"{which}.csv").read_bytes() == much.path(f"{which}.csv").read_bytes(), f"{words}: {which} depends on the output")
        if not less or safe.split()[-1] not in words:
            checks.that(not less or less.json()["n_overflows"] > 0 or stops in words, f"{words}: no list had too little room")
            continue
        plain = start(checks, words, write(folder, f"none{k}", LIQUID, **deck), *(word for word in words if "analysis" not in word), *without, "output.thermo_every=120", "run.steps=120", folder=folder,
                      name=f"none{k}")
        if plain:
            counts = [{kernel["name"]: kernel["launches"] for kernel in done.json()["kernels"]} for done in (less, plain)]
            for kernel in ("k_step_drift", "k_force_plain", "k_integrate_kick_drift"):
                checks.that(counts[0][kernel] == counts[1][kernel], f"{words}: {counts[0][kernel]} launches of {kernel}, without an analysis {counts[1][kernel]}")
    del os.environ["MDMINI_CALL_STEPS"]


def test_restart(checks, folder):
    """Cut in the middle of a window, on other numbers of ranks: the same bytes. Longer than planned: the same as at once."""
    quiet = {"output": QUIET, "system": {"cells": 8}, "run": {"steps": 120}}
    name = write(folder, "whole", LIQUID, **quiet)
    whole = start(checks, "whole", name, folder=folder, name="whole")
    counts = [1] if ranks.why_not() else [1, 2, 4]
    for n in counts if whole else []:
        for cut in (33, 60):
            first = start(checks, f"{n} ranks, up to {cut}", name, f"run.steps={cut}", f"output.name=cut{n}-{cut}", folder=folder, name=f"cut{n}-{cut}", n=n, **ranks.GPUS)
            again = start(checks, f"{n} ranks, from {cut}", "--restart", f"cut{n}-{cut}.restart", "run.steps=120", folder=folder, name=f"cut{n}-{cut}", n=n, **ranks.GPUS) if first else None
            for which in ("msd", "vacf") if again else ():
                same = again.path(f"{which}.csv").read_bytes() == whole.path(f"{which}.csv").read_bytes()
                near = np.allclose(column(again, which, which), column(whole, which, which), rtol=1e-6, atol=1e-9)
                checks.that(same or (BACKEND == "cuda" and n > 1 and near), f"{n} ranks, cut at step {cut}: another {which}")
    begun = start(checks, "without", write(folder, "late", LIQUID, **quiet, analysis={key: 0 for key in ("msd_every", "vacf_every", "msd_from")} | {"msd_lags": 100, "vacf_lags": 100}), "run.steps=20",
                  folder=folder, name="late")
    keys = [f"analysis.{key}={value}" for key, value in LIQUID["analysis"].items() if key != "msd_from"]
    if begun and whole:
        done = program.run("--restart", "late.restart", "run.steps=120", *keys, folder=folder, name="late")
        checks.that(done.code == 2 and "analysis.msd_from above 20" in done.stderr, f"from step 0 in a run that is at 20: {done.code} {done.last_lines()}")
        late = start(checks, "anew", "--restart", "late.restart", "run.steps=120", *keys, "analysis.msd_from=25", folder=folder, name="late")
        direct = start(checks, "direct", name, "analysis.msd_from=25", "output.name=direct", folder=folder, name="direct")
        if late and direct:
            checks.that(late.path("msd.csv").read_bytes() == direct.path("msd.csv").read_bytes(), "begun anew at step 25: another msd than from the start")
        done = program.run("--restart", "whole.restart", "run.steps=200", "analysis.msd_lags=9", folder=folder, name="whole")
        checks.that(done.code == 2 and "command line: analysis.msd_lags: read 9, but it is 7 in the run that is resumed (whole.restart)" in done.stderr and done.stderr.count("error:") == 1,
                    f"another number of lags: {done.code} {done.last_lines()}")
        done = program.run("--restart", "whole.restart", "run.steps=200", "analysis.vacf_lags=6", "analysis.vacf_every=5", folder=folder, name="whole")
        checks.that(done.code == 2 and "analysis.vacf_lags: read 6, but it is 4" in done.stderr and "analysis.vacf_every: read 5, but it is 10" in done.stderr and "msd_" not in done.stderr.replace("analysis.msd_from above 120", ""),
                    f"other lags and interval: {done.code} {done.last_lines()}")


def test_files(checks, folder):
    """Curves of an early stop, and of a run that was there before."""
    name = write(folder, "files", LIQUID, output={**QUIET, "existing": "backup"})
    for words, code in ((["run.steps=1e9", "run.walltime=1", "restart.every=1000"], 75), ([], 0)):
        done = program.run(name, *words, folder=folder, name="files")
        checks.that(done.code == code and len(column(done, "msd", "msd")) == 7, f"{words}: {done.code} {done.last_lines()}")
    checks.that(all((Path(folder) / f"files.1.{which}.csv").exists() for which in ("msd", "vacf")), "the curves of the first run were not renamed")
    checks.that(table(done, "msd")["windows"][0] == 4, f"windows {table(done, 'msd')['windows']} of the second run")


def test_units(checks, folder):
    """In angstrom and ps; the same run in reduced units."""
    argon = Path(__file__).resolve().parents[2] / "inputs/argon.txt"
    keys = ["analysis.msd_every=10", "analysis.msd_lags=5", "analysis.vacf_every=10", "analysis.vacf_lags=5"]
    done = program.run(str(argon), f"run.backend={BACKEND}", "run.steps=100", "output.name=argon", "output.frames_every=10", "output.velocities_every=10", "output.images_every=10",
                       "output.precision=double", "run.precision=double", *keys, folder=folder, name="argon")
    if not checks.that(done.code == 0, f"argon: {done.last_lines()}"):
        return
    heads = [list(table(done, which)) for which in ("msd", "vacf")]
    checks.that(heads[0][1:4] == ["time (ps)", "windows", "msd (angstrom^2)"] and heads[1][3] == "vacf (angstrom^2/ps^2)", f"headings {heads}")
    checks.that(done.json()["units"]["diffusion"] == "angstrom^2/ps", f"units {done.json()['units']}")
    step = float(done.json()["options"]["run.timestep"]["value"])
    compare(checks, "argon", done, {"msd_every": 10, "msd_lags": 5, "vacf_every": 10, "vacf_lags": 5}, timestep=step)


def test_refusals(checks, folder):
    name = write(folder, "bad", {**LIQUID, "analysis": {}})
    for words, told in ((["analysis.msd_lags=5"], "has no effect: it needs analysis.msd_every above 0"), (["analysis.vacf_lags=5"], "has no effect: it needs analysis.vacf_every above 0"),
                        (["analysis.msd_from=5"], "it needs analysis.msd_every or analysis.vacf_every above 0"), (["analysis.msd_every=10", "analysis.msd_lags=2.5"], "a whole number"),
                        (["analysis.msd_every=10", "analysis.msd_lags=1"], "from 2"), (["analysis.msd_every=10", "analysis.msd_from=141"], "no second sample"),
                        (["analysis.vacf_every=151"], "no second sample"), (["analysis.msd_every=-1"], "from 0"), (["analysis.msd_evry=1"], "msd_evry")):
        done = program.run(name, *words, folder=folder, name="bad")
        checks.that(done.code == 2 and told in done.stderr and "command line" in done.stderr, f"{words}: {done.code} {done.last_lines()}")
    done = program.run(name, "--check", "analysis.msd_every=10", "analysis.msd_from=140", folder=folder, name="bad")
    checks.that(done.code == 0, f"two samples: {done.last_lines()}")


if __name__ == "__main__":
    checks = program.Checks()
    chosen = [name for name in os.environ.get("MDMINI_TEST_ONLY", "").split(",") if name]
    checks.run(*(test for test in (test_frames, test_gas, test_brownian, test_memory, test_seldom, test_batches, test_restart, test_files, test_units, test_refusals) if not chosen or test.__name__ in chosen))
    checks.finish()
