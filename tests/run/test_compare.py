"""tools/compare.py: runs of the cpu backend, a record of run/bench.sh and synthetic studies: what differs is listed, slower
ones and lost verdicts are found, equal ones are not, and what is not the same physics is refused with what differs."""
import contextlib
import copy
import io
import json
import os
import subprocess
from pathlib import Path

import compare
import numpy as np
import program
from program import Checks
from studies import comparison, stats

SOURCE = Path(os.environ["MDMINI_SOURCE"])
BENCH = SOURCE / "run/results/h200/bench.json"
MELT = SOURCE / "inputs/melt.txt"


class Done:
    """What the command says and returns, in the folder; in this process, as starting one takes longer than the comparison."""

    def __init__(self, *words, folder):
        out, errors, before = io.StringIO(), io.StringIO(), os.getcwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
                self.code = compare.main([str(word) for word in words])
        except SystemExit as end:
            self.code = end.code
        finally:
            os.chdir(before)
        self.stdout, self.stderr = out.getvalue(), errors.getvalue()


def save(folder, name, data):
    (Path(folder) / name).write_text(json.dumps(data))
    return name


def make_run(folder, name, *words):
    program.run(MELT, "run.backend=cpu", "run.threads=1", "system.cells=5", "run.steps=100", "output.progress=off",
                f"output.name={name}", *words, folder=folder)
    return json.loads((Path(folder) / f"{name}.json").read_text())


def check_code(checks, code, a, b, *words, folder, says=()):
    """The comparison ends with this code and says all this; its text."""
    done = Done(a, b, *words, folder=folder)
    text = done.stderr if code == 2 else done.stdout
    checks.that(done.code == code, f"{a} {b} {words}: exit code {done.code}, not {code}: {done.stderr}{done.stdout}")
    checks.that(bool(done.stdout) == (code != 2), f"{a} {b}: standard output {done.stdout[:200]!r}")
    for what in says:
        checks.that(" ".join(what.split()) in " ".join(text.split()), f"{a} {b} {words}: does not say {what!r}: {text}")
    return text


def test_runs(checks, folder):
    first = make_run(folder, "first")
    make_run(folder, "again")
    make_run(folder, "other", "neighbor.skin=0.4", "run.precision=double")
    text = check_code(checks, 0, "first.json", "again.json", folder=folder,
                      says=("output.name  first  again", "same to the bit", "single runs: no interval", "too few runs to judge any speed"))
    checks.that("neighbor.skin" not in text and "started" not in text, f"setting of equal runs: {text}")
    check_code(checks, 0, "first.json", "other.json", folder=folder,
               says=("neighbor.skin  0.3    0.4", "run.precision  mixed  double", "time of force per step",
                     "mean pressure", "no error to go by: too few rows (20 are needed)", "averages differ in bits: sums in another order"))
    found = json.loads(check_code(checks, 0, "first.json", "other.json", "--json", folder=folder))
    other = json.loads((Path(folder) / "other.json").read_text())
    row = found["points"][0]
    checks.near(row["ratio"]["value"], other["atom_steps_per_second"] / first["atom_steps_per_second"], 1e-12, "ratio B / A")
    checks.that(row["ratio"]["low"] is None and row["outcome"] == "too few runs", f"single runs: {row}")
    checks.that(found["exit_code"] == 0, f"exit code in JSON: {found['exit_code']}")
    stage = next(stage for stage in other["stages"] if stage["stage"] == "force")
    checks.near(row["stages"]["force"]["b"], stage["seconds"] / 100, 1e-12, "time of a stage")
    checks.that(not row["averages"]["same"] and not row["averages"]["expected"] and
                all(one["p"] is one["outcome"] is None for one in row["averages"]["of"].values()), f"averages: {row['averages']}")
    checks.that({row["what"] for row in found["settings"]} >= {"neighbor.skin", "run.precision"}, "settings")
    check_conditions(checks, folder, first, other)
    check_lost_verdicts(checks, folder, first)
    check_other_physics(checks, folder, first)
    make_run(folder, "none", "run.steps=0")
    check_code(checks, 2, "first.json", "none.json", folder=folder, says=("none.json: a run of no steps has no speed",))


def averages(offset, error=0.01, blocks=10):
    """Temperature and pressure by that many errors of a difference off, the energy not; as NAME.json has them."""
    means = {"temperature": 0.7 + offset * error * 2**0.5, "potential_energy": -5.7, "pressure": 0.6 + offset * error * 2**0.5}
    return {"from_step": 50, "to_step": 100, "rows": 51, "blocks": blocks,
            **{name: {"mean": mean, "error": error, "why": None} for name, mean in means.items()}}


def test_averages(checks, folder):
    """Over the second half of the runs, by the errors of both, with as many degrees of freedom as blocks allow, and for three of them at
    once; a last row that is off is nothing to them."""
    first = make_run(folder, "first", "output.thermo_every=2")
    save(folder, "a.json", {**first, "averages": averages(0)})
    # Two-sided 5 % of t with 18 degrees of freedom: 2.10; of the smallest of two equal p of three (Holm): 2.64.
    for offset, outcome in ((0.5, "within the errors"), (2.55, "within the errors"), (2.75, "differs (p 0.04"), (-9, "differs (p 1")):
        save(folder, "b.json", {**first, "averages": averages(offset), "temperature": 7, "pressure": 8, "potential_energy_per_atom": 9})
        text = check_code(checks, 0, "a.json", "b.json", folder=folder, says=("mean temperature 0.7 +- 0.01", outcome))
        checks.that(text.count(outcome) == 2 and text.count("same to the bit") == 1, f"{offset}: {text}")
    row = json.loads(check_code(checks, 0, "a.json", "b.json", "--json", folder=folder))["points"][0]["averages"]["of"]
    checks.that(row["pressure"]["outcome"] == "differs" and row["potential_energy"]["outcome"] == "within the errors", f"{row}")
    # Fewer blocks know less.
    save(folder, "few_a.json", {**first, "averages": averages(0, blocks=3)})
    save(folder, "few_b.json", {**first, "averages": averages(3, blocks=3)})
    check_code(checks, 0, "few_a.json", "few_b.json", folder=folder, says=("within the errors",))
    # What a run writes of itself; and one that was written before there were averages.
    found = json.loads(check_code(checks, 0, "first.json", "first.json", "--json", folder=folder))["points"][0]["averages"]
    for name, one in found["of"].items():
        checks.that(one["a"] == {key: first["averages"][name][key] for key in ("mean", "error", "why")}, f"{name}: {one}")
    save(folder, "old.json", {key: value for key, value in first.items() if key != "averages"})
    for pair in (("old.json", "first.json"), ("first.json", "old.json")):
        check_code(checks, 0, *pair, folder=folder, says=("averages: none, as A or B is of an older mdmini",))
    open_box = averages(0)
    open_box["pressure"] = {"mean": None, "error": None, "why": "an open box has no pressure"}
    save(folder, "open_a.json", {**first, "averages": open_box})
    save(folder, "open_b.json", {**first, "averages": {**open_box, "temperature": {"mean": 0.71, "error": 0.01, "why": None}}})
    text = check_code(checks, 0, "open_a.json", "open_b.json", folder=folder, says=("mean temperature",))
    checks.that("mean pressure" not in text, f"an open box: {text}")


def test_several(checks, folder):
    """Three runs on each side: an interval, and a verdict on the speed. Copies of one run with known speeds."""
    first = make_run(folder, "first")
    sides = {"old": (1e6, 1.01e6, 0.99e6), "new": (2e6, 2.03e6, 1.98e6)}
    names = {side: [save(folder, f"{side}{k}.json", {**first, "atom_steps_per_second": speed}) for k, speed in enumerate(speeds)]
             for side, speeds in sides.items()}
    done = Done("--old", *names["old"], "--new", *names["new"], "--json", folder=folder)
    checks.that(done.code == 0, f"three runs a side: {done.code} {done.stderr}")
    row = json.loads(done.stdout)["points"][0]
    checks.near(row["ratio"]["value"], 2, 1e-12, "ratio of the medians")
    ratio = stats.unpaired_ratio(*sides.values())
    checks.that(row["outcome"] == "faster" and (row["ratio"]["low"], row["ratio"]["high"]) == (ratio.low, ratio.high), f"{row}")
    checks.that(row["a"]["n_runs"] == row["b"]["n_runs"] == 3 and row["averages"]["same"], f"three of each: {row}")
    done = Done("--old", *names["new"], "--new", *names["old"], folder=folder)
    checks.that(done.code == 1 and "slower by more than 0.02" in done.stdout, f"the other way: {done.code} {done.stdout}")
    save(folder, "bad.json", {**first, "verdict": "FAILED"})
    done = Done("--old", *names["old"], "--new", *names["new"], "bad.json", folder=folder)
    checks.that(done.code == 1 and "verdict FAILED, was PASSED" in done.stdout, f"one that failed: {done.code} {done.stdout}")
    make_run(folder, "larger", "system.cells=6")
    done = Done("--old", "first.json", "larger.json", "--new", "first.json", folder=folder)
    checks.that(done.code == 2 and "system.cells: 5 in first.json, 6 in larger.json" in done.stderr, f"two physics: {done.stderr}")
    save(folder, "study.json", study(0))
    done = Done("--old", "study.json", "study.json", "--new", "study.json", folder=folder)
    checks.that(done.code == 2 and "--repeats" in done.stderr, f"two studies: {done.stderr}")
    for words in (names["old"], ["--old", *names["old"]], [*names["old"][:2], "--new", names["new"][0]]):
        done = Done(*words, folder=folder)
        checks.that(done.code == 2 and "--old FILE... --new FILE..." in done.stderr, f"{words}: {done.code} {done.stderr}")
    record = json.loads(BENCH.read_text())
    done = Done("--old", BENCH, BENCH, "--new", BENCH, "--json", folder=folder)
    row, runs = json.loads(done.stdout)["points"][0], len(record["rows"][0]["runs"])
    checks.that((row["a"]["n_runs"], row["b"]["n_runs"]) == (2 * runs, runs), f"two records of a benchmark: {row}")


def check_conditions(checks, folder, first, other):
    """What was another way round the runs: load that differs much; a drift may have either sign."""
    busy = [{**run, "conditions": {"before": {"load_1min": load}}, "energy_drift_per_atom_step": drift}
            for run, load, drift in ((first, 0.1, -1e-9), (first, 0.5, 2e-9), (other, 3.5, 2e-9))]
    for k, run in enumerate(busy):
        save(folder, f"busy{k}.json", run)
    text = check_code(checks, 0, "busy0.json", "busy1.json", folder=folder,
                      says=("setting: the same", "energy drift per atom and step  -1e-09  2e-09",))
    checks.that("load" not in text and "-2" not in text.split("2e-09")[1].split("\n")[0], f"a ratio of drifts: {text}")
    check_code(checks, 0, "busy1.json", "busy2.json", folder=folder, says=("load of the machine before the runs (1 min)  0.5  3.5",))


def check_lost_verdicts(checks, folder, first):
    make_run(folder, "unchecked", "report.verify=off")
    check_code(checks, 1, "first.json", "unchecked.json", folder=folder, says=("WORSE: run: verdict NOT CHECKED, was PASSED",))
    check_code(checks, 0, "unchecked.json", "first.json", folder=folder)
    save(folder, "failed.json", {**first, "verdict": "FAILED"})
    check_code(checks, 1, "first.json", "failed.json", folder=folder, says=("WORSE: run: verdict FAILED, was PASSED",))
    found = json.loads(check_code(checks, 1, "first.json", "failed.json", "--json", folder=folder))
    checks.that(found["points"][0]["ratio"] is None and found["points"][0]["b"]["speed"] is None, "a run that failed has a speed")
    moved = copy.deepcopy(first)
    moved["averages"]["pressure"]["mean"] *= 1 + 1e-15
    if not first["provenance"]["dirty"]:
        check_code(checks, 0, "first.json", save(folder, "moved.json", moved), folder=folder,
                   says=("only switches that are not deterministic may do that",))


def check_other_physics(checks, folder, first):
    make_run(folder, "larger", "system.cells=6")
    check_code(checks, 2, "first.json", "larger.json", folder=folder,
               says=("different inputs", "system.cells: 5 in first.json, 6 in larger.json"))
    make_run(folder, "finer", "run.timestep=0.004", "potential.cutoff=2.4")
    check_code(checks, 2, "first.json", "finer.json", folder=folder, says=("run.timestep", "potential.cutoff"))
    # A file that is read has another name on another machine; with the hash of its content that does not matter.
    named = [copy.deepcopy(first) for _ in range(3)]
    for run, path, content in zip(named, ("x/a.xyz", "y/b.xyz", "y/b.xyz"), ("17", "17", "18")):
        run["options"]["system.file"]["value"] = path
        run["provenance"]["deck_hash"] = {"physics": content, "all": path}
    for k, run in enumerate(named):
        save(folder, f"named{k}.json", run)
    check_code(checks, 0, "named0.json", "named1.json", folder=folder)
    check_code(checks, 2, "named1.json", "named2.json", folder=folder, says=("physics of the deck",))
    for run in named[:2]:
        del run["provenance"]["deck_hash"]
    check_code(checks, 2, save(folder, "old0.json", named[0]), save(folder, "old1.json", named[1]), folder=folder,
               says=("system.file: a.xyz in old0.json, b.xyz in old1.json",))


def test_kinds(checks, folder):
    """Reports name options without their kind; what compare.py takes for physics is what the program says."""
    options = json.loads(program.run("--list-options=json", folder=folder).stdout)
    for row in options:
        key = f"{row['section']}.{row['key']}"
        checks.that(comparison.is_physics(key) == (row["kind"] == "physics"), f"{key} is of kind {row['kind']}")


def test_benchmarks(checks, folder):
    record = json.loads(BENCH.read_text())
    check_code(checks, 0, BENCH, BENCH, folder=folder, says=("setting: the same",))
    single = copy.deepcopy(record)
    for row in single["rows"]:
        del row["runs"][1:]
    save(folder, "single.json", single)
    check_code(checks, 0, "single.json", "single.json", folder=folder, says=("setting: the same", "too few runs to judge any speed"))
    rng = np.random.default_rng(0)
    for row in record["rows"]:
        row["runs"] = [{**row["runs"][0], "atom_steps_per_second": row["runs"][0]["atom_steps_per_second"] * factor}
                       for factor in 1 + 0.001 * rng.normal(size=5)]
    slower = copy.deepcopy(record)
    for run in slower["rows"][3]["runs"]:
        run["atom_steps_per_second"] *= 0.95
    slower["provenance"]["commit"] = "0000000"
    slower["rows"][4]["verdict"] = "ENERGY LOST"
    del slower["rows"][5:]
    slower["rows"].append({**record["rows"][5], "row": "new"})
    save(folder, "record.json", record), save(folder, "slower.json", slower)
    names = [row["row"] for row in record["rows"]]
    check_code(checks, 1, "record.json", "slower.json", folder=folder,
               says=(f"WORSE: {names[3]}: slower by more than 0.02", f"WORSE: {names[4]}: verdict ENERGY LOST, was",
                     f"commit  {record['provenance']['commit']}  0000000", f"only in A: {names[5]}", "only in B: new"))
    found = json.loads(check_code(checks, 1, "record.json", "slower.json", "--json", folder=folder))
    checks.that([bool(row["worse"]) for row in found["points"]] == [False, False, False, True, True], "what is worse")
    checks.that(found["points"][0]["outcome"] == "not distinguishable", f"an equal row: {found['points'][0]}")
    refused = copy.deepcopy(record)
    refused["rows"][0].update(runs=[], verdict=None, not_run="refused: no")
    refused["rows"][1].update(runs=[], verdict=None, not_run="time was up")
    check_code(checks, 1, "record.json", save(folder, "refused.json", refused), folder=folder,
               says=("verdict refused: no, was PASSED",))
    found = comparison.compare([Path(folder) / "record.json"], [Path(folder) / "refused.json"])
    checks.that(len(found["worse"]) == 1 and found["points"][1]["ratio"] is None, f"a row that had no time: {found['worse']}")
    record["rows"][2]["rule"] = "another"
    check_code(checks, 2, "slower.json", save(folder, "rule.json", record), folder=folder,
               says=(f"{names[2]}: rule: {slower['rows'][2]['rule']} in slower.json, another in rule.json",))


# --- studies ----------------------------------------------------------------------------------------------------------

POINTS = ("base", "neighbor.write=atomic", "launch.block_size=64", "launch.block_size=256")


def study(seed, factors=(1, 1, 1, 1), n_rounds=5, noise=0.002):
    """results.json of points whose speeds are these times 1e9."""
    rng = np.random.default_rng(seed)
    points = []
    for name, factor in zip(POINTS, factors):
        speeds = list(1e9 * factor * np.exp(noise * rng.normal(size=n_rounds)))
        speed = stats.median_interval(speeds)._asdict()
        points.append({"id": f"s0/{name}", "system": "s0", "label": name, "settings": {}, "changed": "",
                       "ran": {"force.kernel": "list"}, "status": "measured", "reason": "", "verdict": "PASSED", "deterministic": True, "n_late_rebuilds": 0,
                       "n_steps": 1000, "n_runs": n_rounds, "n_used": n_rounds, "speeds": speeds, "speed": speed,
                       "ratio": {"value": factor, "low": None, "high": None, "n": n_rounds, "p": None, "outcome": "too few runs"},
                       "force_error": {"worst": 0.01, "rms": None}, "drift": 1e-8, "joules_per_atom_step": None,
                       "stages": {"force": {"seconds_per_step": 1e-5 / factor, "share": 0.8}}})
    system = {"id": "s0", "label": "32,000 atoms", "deck": "melt.txt", "n_atoms": 32000, "dimension": 3, "base": "s0/base",
              "words": {"system.cells": "20", "run.threads": "1"}, "warm_up": {"dropped_rounds": 0, "reason": ""}}
    return {"format": "mdmini-study 1", "name": "synthetic", "command": [], "finished": True, "n_left_out": 0, "confidence": 0.95,
            "definition": {"decks": ["melt.txt"], "base": [], "design": "full", "repeats": n_rounds, "files": {"melt.txt": "1"}},
            "systems": [system], "factors": [], "points": points, "effects": [], "ranking": {}, "determinism": [],
            "provenance": {"commit": f"c{seed}", "machine": "NVIDIA H200", "gpu": {"driver": "580"}}, "provenance_differs": {}}


def test_studies(checks, folder):
    save(folder, "base.json", study(0))
    slower = study(1, (1, 0.95, 1, 1.05))
    slower["points"][0]["n_steps"] = 2000
    slower["provenance"]["deck_hash"] = {"physics": "of another point"}
    text = check_code(checks, 1, "base.json", save(folder, "slower.json", slower), folder=folder,
                      says=("WORSE: s0/neighbor.write=atomic: slower by more than 0.02", "faster", "not distinguishable",
                            "commit  c0  c1", "time of force per step", "steps 1000 2000 2"))
    checks.that("deck_hash" not in text, f"the hash of one run is not that of a study: {text}")
    checks.that(text.count("WORSE:") == 1, f"more than one point is worse: {text}")
    place = Path(folder) / "study"
    place.mkdir()
    save(place, "results.json", study(2))
    check_code(checks, 0, "study", "base.json", folder=folder, says=("not distinguishable", "nothing is worse"))
    # Slower by one per cent is seen, and allowed; with less tolerance it is not.
    save(folder, "little.json", study(3, (1, 1, 0.99, 1), 10, 0.001))
    check_code(checks, 0, "base.json", "little.json", folder=folder, says=(" slower", "nothing is worse"))
    check_code(checks, 1, "base.json", "little.json", "--tolerance", "0.002", folder=folder, says=("slower by more than 0.002",))
    check_few(checks, folder)
    noisy = save(folder, "noisy.json", study(5, (1, 0.95, 1, 1), 3, 0.05))
    check_code(checks, 0, "base.json", noisy, folder=folder)
    false, found = 0, 0
    for seed in range(100, 220):
        save(folder, "a.json", study(seed, noise=0.01)), save(folder, "b.json", study(1000 + seed, noise=0.01))
        rows = comparison.compare([Path(folder) / "a.json"], [Path(folder) / "b.json"], tolerance=0)["points"]
        false += any(row["outcome"] != "not distinguishable" for row in rows)
        save(folder, "b.json", study(1000 + seed, (1, 1, 0.95, 1)))
        worse = comparison.compare([Path(folder) / "base.json"], [Path(folder) / "b.json"])["worse"]
        found += len(worse) == 1 and worse[0].startswith("s0/launch.block_size=64: slower by more than 0.02: 0.9")
    checks.that(false / 120 <= 0.05 + 3 * (0.05 * 0.95 / 120) ** 0.5, f"{false} of 120 pairs of equal studies differ")
    checks.that(found > 115, f"five per cent at a noise of 0.2: found in {found} of 120")


def check_few(checks, folder):
    """Nothing is said to be no worse where nothing could be judged; and where some of it could, of how much."""
    few = save(folder, "few.json", study(4, (1, 0.5, 1, 1), 2))
    text = check_code(checks, 0, "base.json", few, folder=folder, says=("too few runs",))
    checks.that(text.splitlines()[-1].startswith("too few runs to judge any speed: ") and "nothing is worse" not in text, text)
    checks.that(json.loads(check_code(checks, 0, "base.json", few, "--json", folder=folder))["n_judged"] == 0, "n_judged")
    some = study(2)
    some["points"][1]["speeds"] = some["points"][1]["speeds"][:2]
    check_code(checks, 0, "base.json", save(folder, "some.json", some), folder=folder,
               says=("nothing is worse, of 3 points; the speed of 1 more could not be judged",))
    # An even number of runs: the speeds shown are those of the study, and their ratio is the one shown.
    for name, seed in (("even0.json", 6), ("even1.json", 7)):
        save(folder, name, study(seed, n_rounds=4, noise=0.5))
    rows = comparison.compare([Path(folder) / "even0.json"], [Path(folder) / "even1.json"])["points"]
    points = json.loads((Path(folder) / "even0.json").read_text())["points"]
    for row, point in zip(rows, points):
        checks.near(row["a"]["speed"], point["speed"]["value"], 1e-6 * row["a"]["speed"], "the speed of a study")
        checks.near(row["b"]["speed"] / row["a"]["speed"], row["ratio"]["value"], 1e-12, "the ratio of the speeds shown")
    loads = [study(8), study(8)]
    for one, load in zip(loads, (0.2, 2.0)):
        for point in one["points"]:
            point["load_1min"] = load
    check_code(checks, 0, save(folder, "calm.json", loads[0]), save(folder, "busy.json", loads[1]), folder=folder,
               says=("load of the machine before the runs (1 min)  0.2  2",))


def test_other_studies(checks, folder):
    save(folder, "base.json", study(0))
    for status, verdict, says in (("failed", "FAILED", "verdict FAILED, was PASSED"), ("crashed", None, "verdict crashed"),
                                  ("refused", None, "verdict refused"), ("too slow", None, "verdict too slow")):
        other = study(1)
        other["points"][2].update(status=status, verdict=verdict, speed=None, ratio=None, stages={}, reason="why")
        check_code(checks, 1, "base.json", save(folder, "other.json", other), folder=folder,
                   says=(f"launch.block_size=64: {says}",))
        check_code(checks, 0, "other.json", "base.json", folder=folder)
    other = study(1)
    other["points"][2].update(status="not run", verdict=None, speed=None, ratio=None, stages={}, reason="time was up")
    other["points"][3]["id"] = "s0/launch.block_size=512"
    check_code(checks, 0, "base.json", save(folder, "other.json", other), folder=folder,
               says=("time was up", "only in A: s0/launch.block_size=256", "only in B: s0/launch.block_size=512"))
    other = study(1)
    other["systems"][0]["words"] = {"system.cells": "20", "run.threads": "2"}
    check_code(checks, 0, "base.json", save(folder, "other.json", other), folder=folder, says=("s0: run.threads  1   2",))
    other["systems"][0].update(words={"system.cells": "20", "ensemble.thermostat": "rescale"}, n_atoms=32004)
    text = check_code(checks, 2, "base.json", save(folder, "other.json", other), folder=folder,
                      says=("s0: atoms: 32000 in base.json, 32004 in other.json", "s0: ensemble.thermostat"))
    checks.that(len(text.splitlines()) == 3, f"what differs in a system is said once: {text}")
    other = study(1)
    other["definition"]["files"]["melt.txt"] = "2"
    check_code(checks, 2, "base.json", save(folder, "other.json", other), folder=folder,
               says=("text of melt.txt: 1 in base.json",))
    other = study(1)
    for point in other["points"]:
        point["id"] += "x"
    check_code(checks, 2, "base.json", save(folder, "other.json", other), folder=folder, says=("no point in common",))


def test_refusals(checks, folder):
    save(folder, "study.json", study(0))
    (Path(folder) / "text.json").write_text("not JSON")
    (Path(folder) / "empty").mkdir()
    for bad, says in (("gone.json", "no such file"), ("text.json", "not a JSON file"), ("empty", "without results.json"),
                      (save(folder, "list.json", [1]), "not a file of this kind"), (save(folder, "any.json", {"x": 1}), "not a file of this kind"),
                      (save(folder, "cut.json", {"format": "mdmini-study 1", "points": []}), "not as mdmini or its tools"),
                      (BENCH, "is a study")):
        check_code(checks, 2, "study.json", bad, folder=folder, says=(says,))
    for words in (["--tolerance", "2"], ["--tolerance", "x"], ["--confidence", "1"], ["--wrong"]):
        check_code(checks, 2, "study.json", "study.json", *words, folder=folder, says=(words[0],))
    checks.that(Done("study.json", folder=folder).code == 2, "one file alone")


def test_command(checks, folder):
    """As it is started."""
    save(folder, "a.json", study(0)), save(folder, "b.json", study(1, (1, 1, 1, 0.9)))
    for words, code, says in ((["a.json", "b.json"], 1, "WORSE"), (["a.json", "a.json"], 0, "nothing is worse"), (["a.json"], 2, "B"),
                              (["--help"], 0, "Exit code")):
        done = subprocess.run([SOURCE / "tools/compare.py", *words], cwd=folder, capture_output=True, text=True)
        checks.that(done.returncode == code and says in done.stdout + done.stderr, f"{words}: exit code {done.returncode}")


def main():
    checks = Checks()
    checks.run(test_runs, test_averages, test_several, test_kinds, test_benchmarks, test_studies, test_other_studies, test_refusals, test_command)
    checks.finish()


main()
