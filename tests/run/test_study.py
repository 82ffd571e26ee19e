"""tools/study.py on a program that takes no time and measures the same each time: what failed is listed and not ranked; what is
wrong is refused. And on mdmini itself, where one variant is made to fail."""
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import program
from bench_study import N_RUNS, SOURCE, STUDY, Bench, points_of
from studies import stats
from studies.fractions import fraction
from studies.listings import Program
from studies.results import provenance_differs


def test_table(checks, bench):
    """The points of a full design, what is said of them, and the order of the runs."""
    done = bench.run("whole")
    if not checks.that(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}"):
        return
    results, lines = bench.results("whole"), bench.lines("whole")
    points = points_of(results)
    checks.that(len(points) == 8 and results["finished"] and len(lines) == N_RUNS, f"{len(points)} points, {len(lines)} lines")
    base = results["points"][0]
    checks.that(base["settings"] == {"a.x": "fast", "a.y": "2", "a.z": "on"} and results["systems"][0]["base"] == base["id"] and
                base["ratio"] is None, f"base {base['settings']}")
    refused = [point for point in results["points"] if point["status"] == "refused"]
    checks.that(len(refused) == 2 and all("a.z: has no effect" in point["reason"] and not point["speed"] for point in refused),
                f"refused: {[point['label'] for point in refused]}")
    slow = points["a.x=slow a.y=2 a.z=on"]
    checks.near(slow["ratio"]["value"], 0.5, 0.01, "ratio of half the speed")
    checks.that(slow["ratio"]["outcome"] == "slower" and slow["deterministic"] is False and slow["n_used"] == 3, f"{slow}")
    checks.that(points["a.x=fast a.y=3 a.z=on"]["ratio"]["outcome"] == "not distinguishable", "equals are told apart")
    checks.that([len(group) for group in results["ranking"]["s0"]][0] == 2, f"ranking {results['ranking']}")
    others = [point for point in results["points"] if point["ratio"]]
    speeds = {point["id"]: [line["report"]["atom_steps_per_second"] for line in lines
                            if line["point"] == point["id"] and line["status"] == "ok"] for point in [base, *others]}
    alone = [stats.paired_ratio(speeds[base["id"]], speeds[point["id"]]).p for point in others]
    checks.that(len(others) == 5 and all(abs(point["ratio"]["p"] - p) < 1e-9 for point, p in zip(others, stats.adjust(alone))),
                f"p {[point['ratio']['p'] for point in others]}, of each alone {alone}")
    effect = next(effect for effect in results["effects"] if effect["factors"] == ["a.x"])
    checks.near(effect["value"], 0.5, 0.01, "main effect of a.x")
    checks.that(len(results["determinism"]) == 3 and all(abs(row["ratio"]["value"] - 0.5) < 0.01
                                                        for row in results["determinism"]), f"{results['determinism']}")
    alone = [stats.paired_ratio(speeds[row["with"]], speeds[row["point"]]).p for row in results["determinism"]]
    checks.that(all(abs(row["ratio"]["p"] / p - 1) < 1e-9 for row, p in zip(results["determinism"], stats.adjust(alone))),
                f"determinism: p {[row['ratio']['p'] for row in results['determinism']]}, of each alone {alone}")
    orders = [[line["point"] for line in lines if line["round"] == n_round and line["status"] == "ok"] for n_round in range(3)]
    checks.that(all(sorted(one) == sorted(orders[0]) and len(one) == 6 for one in orders) and
                len({tuple(one) for one in orders}) == 3, "the rounds are not orders of the same points")
    checks.that([line["verified"] for line in lines if line["status"] == "ok"] == [True] * 6 + [False] * 12, "verified runs")
    checks.that(len({point["n_steps"] for point in results["points"] if point["speed"]}) == 1, "different steps in one system")
    bench.run("again")
    checks.that([line["point"] for line in bench.lines("again")] == [line["point"] for line in lines], "another order")
    checks.that(bench.table("again") == bench.table("whole"), "another table")
    bench.run("seed", "--seed", "8", "--budget", "1e-6")
    drawn = [json.loads((bench.folder / name / "study.json").read_text())["order"]["s0"] for name in ("whole", "seed")]
    checks.that(drawn[0] != drawn[1] and [id for id in drawn[0][0] if id in orders[0]] == orders[0], "the seed changes nothing")
    n_rows = len((bench.folder / "whole/results.csv").read_text().splitlines())
    checks.that(n_rows == 9, f"{n_rows} rows in results.csv")


def test_failed(checks, bench):
    """What fails, crashes, or ends with other energies is listed as that, and neither compared nor ranked."""
    done = bench.run("failed", FAILS="a.x=slow a.y=2 a.z=on", DIES="a.x=slow a.y=3 a.z=on", WOBBLES="a.y=2 a.z=off")
    results = bench.results("failed")
    points, ranked = points_of(results), sum(results["ranking"]["s0"], [])
    checks.that(done.returncode == 1 and len(ranked) == 3, f"exit code {done.returncode}, {len(ranked)} ranked")
    for label, status, n_runs, said in (("a.x=slow a.y=2 a.z=on", "failed", 1, "forces: 0.25 of 1"),
                                        ("a.x=slow a.y=3 a.z=on", "crashed", 0, "CRASHED: "),
                                        ("a.x=fast a.y=2 a.z=off", "failed", 2, "another energy than in round 1")):
        bad = points[label]
        checks.that(bad["status"] == status and not bad["speed"] and not bad["ratio"] and said in bad["reason"] and
                    bad["id"] not in ranked and bad["id"] in done.stdout.splitlines()[-1] and bad["n_runs"] == n_runs,
                    f"{label}: {bad['status']}, {bad['n_runs']} runs, {bad['reason']}")
    checks.that(points["a.x=slow a.y=2 a.z=off"]["status"] == "measured", "what is not deterministic may end with another energy")
    checks.that("CRASHED: CRASHED" not in done.stdout and "crashed: CRASHED" not in done.stdout and "refused: refused" not in done.stdout,
                "what it says twice")
    done = bench.run("all", FAILS="a.w=on")
    checks.that(done.returncode == 3, f"all points fail: exit code {done.returncode}: {done.stdout[-300:]}")
    done = bench.run("base", FAILS="a.x=fast a.y=2 a.z=on")
    checks.that(done.returncode == 3 and not any(point["ratio"] for point in bench.results("base")["points"]),
                "ratios to a base that failed")
    for own, n_bad in (("a.x=slow a.y=2", {"full": 2, "one-at-a-time": 1}), ("a.x=fast a.y=2 a.z=on", {"full": 1, "fractional": 1}),
                       ("a.w=on", {"full": 6, "fractional": 6, "one-at-a-time": 4})):  # of the last all but those that are refused
        for design, n in n_bad.items():
            name = f"unstable-{own}-{design}"
            done = bench.run(name, "--design", design, UNSTABLE=own)
            bad = [point for point in bench.results(name)["points"] if point["status"] == "failed"]
            checks.that(done.returncode == 3 and len(bad) == n and
                        all(point["reason"] == "unstable at step 1: atom 7 would have moved to no finite place" and
                            point["verdict"] == "FAILED" and not point["speed"] for point in bad),
                        f"{name}: {len(bad)} failed, not {n}: {done.stdout[-500:]}{done.stderr[-500:]}")
            again = bench.run("", "--report", str(bench.folder / name))
            checks.that(again.returncode == 3, f"{name}: the report anew: {again.stderr[-500:]}")


def test_systems(checks, bench):
    """A factor of kind physics makes systems of their own, and so do decks."""
    (bench.folder / "other.txt").write_text("[system]\n")
    bench.study.write_text(STUDY.replace("words   = system.cells=8", ";"))
    done = bench.run("systems", "--design", "one-at-a-time", "--vary", "system.cells=6,9,51", "--vary", "deck=deck.txt,other.txt",
                     "--repeats", "2")
    results = bench.results("systems")
    checks.that(done.returncode == 0 and [system["n_atoms"] for system in results["systems"]] == [864, 864, 2916, 2916, 0, 0],
                f"{done.stderr}{[system['n_atoms'] for system in results['systems']]}")
    large = [point for point in results["points"] if point["system"] in ("s4", "s5")]
    checks.that(len(large) == 8 and all(point["status"] == "refused" and "room for fewer" in point["reason"] for point in large),
                "a system that is too large is not refused")
    done = bench.run("none", given=["deck.txt", "--words", "system.cells=8 a.y=3", "--vary", "a.z=off", "--vary", "a.w=on,off"])
    checks.that(done.returncode == 1 and {point["status"] for point in bench.results("none")["points"]} == {"refused"},
                f"all points are refused: exit code {done.returncode}: {done.stdout[-300:]}{done.stderr}")
    labels = [point["label"] for point in results["points"] if point["system"] == "s3"]
    checks.that(labels == ["base", "a.x=slow", "a.y=3", "a.z=off"], f"points {labels}")
    checks.that(all(id.startswith(f"{key}/") for key, groups in results["ranking"].items() for group in groups for id in group),
                "points of two systems in one ranking")
    checks.that(len({system["label"] for system in results["systems"]}) == 6, f"{[s['label'] for s in results['systems']]}")
    bench.study.write_text(STUDY)


def test_fraction(checks, bench):
    """Eight runs of four factors: main effects are found; interactions that are aliases are said to be so."""
    bench.study.write_text(STUDY.replace("a.y = 2, 3", "a.y = 1, 2\na.w = off, on"))
    done = bench.run("fraction", "--design", "fractional")
    results = bench.results("fraction")
    checks.that(done.returncode == 0 and len(results["points"]) == 8, f"{len(results['points'])} points: {done.stderr}")
    found = {tuple(effect["factors"]): effect for effect in results["effects"]}
    for key, expected in (("a.x", 0.5), ("a.y", 1 / 1.3), ("a.z", 1 / 1.1), ("a.w", 1 / 0.9)):
        checks.near(found[key,]["value"], expected, 0.01 * expected, f"main effect of {key}")
    aliases = results["systems"][0]["aliases"]
    checks.that(len(aliases) == 3 and all(len(group) == 2 and all("*" in name for name in group) for group in aliases) and
                done.stdout.count("cannot be told apart: ") == 3, f"aliases {aliases}")
    bench.study.write_text(STUDY)


def test_confounded(checks, bench):
    """Where auto becomes something else along with a switch, its effect and what it meets are not of it alone, and pairs that differ
    in it do not differ in one setting."""
    words = {"given": ["deck.txt", "--vary", "a.x=slow,fast", "--vary", "a.w=off,on", "--words", "system.cells=8 run.steps=40", "--repeats", "3"]}
    for design in ("full", "fractional"):
        for name, auto, expected in (("alone", "-", []), ("along", "a.x=slow", ["b.k"])):
            done = bench.run(f"{design}-{name}", "--design", design, AUTO=auto, **words)
            results = bench.results(f"{design}-{name}")
            checks.that(done.returncode == 0, f"{design}, {name}: {done.stdout[-300:]}{done.stderr}")
            besides = {tuple(effect["factors"]): effect["besides"] for effect in results["effects"]}
            checks.that(besides == {("a.x",): expected, ("a.w",): [], ("a.x", "a.w"): expected}, f"{design}, {name}: beside them {besides}")
            checks.that(len(results["determinism"]) == (0 if expected else 2), f"{design}, {name}: {results['determinism']}")
            changed = {"with b.k=list" in point["changed"] for point in results["points"] if "a.x=slow" in point["label"]}
            checks.that(changed == {bool(expected)}, f"{design}, {name}: {changed}")


def test_confounded_base(checks, bench):
    """Where the level of the base has failed, an effect is told against another one, and so is what ran besides."""
    done = bench.run("no-base", given=["deck.txt", "--vary", "a.y=1,2,3", "--vary", "a.w=off,on", "--words", "system.cells=8 run.steps=40",
                                       "--repeats", "3"], FAILS="a.y=2", AUTO="a.y=3")
    besides = {(*effect["factors"], *effect["levels"]): effect["besides"] for effect in bench.results("no-base")["effects"]}
    checks.that(done.returncode == 3 and besides[("a.y", "3")] == ["b.k"] and besides[("a.w", "off")] == [], f"beside them {besides}")


def test_idle(checks, bench):
    """A switch that the backend lacks is not measured, and one that serves nothing in these runs is without effect; neither has a
    main effect."""
    vary = ["--vary", "a.x=slow,fast", "--vary", "a.y=1,2", "--vary", "a.w=off,on", "--words", "system.cells=8 run.steps=40", "--repeats", "3"]
    for design, kind, n_refused, n_idle in (("full", "LACKS", 4, 0), ("fractional", "LACKS", 1, 0), ("one-at-a-time", "LACKS", 1, 0),
                                            ("full", "UNUSED", 0, 4), ("one-at-a-time", "UNUSED", 0, 1)):
        name = f"idle-{design}-{kind}"
        done = bench.run(name, "--design", design, given=["deck.txt", *vary], **{kind: "a.w"})
        results = bench.results(name)
        refused, idle = ([point for point in results["points"] if point["status"] == status] for status in ("refused", "without effect"))
        checks.that(done.returncode == 0 and results["finished"] and len(refused) == n_refused and len(idle) == n_idle,
                    f"{name}: exit code {done.returncode}, {len(refused)} refused, {len(idle)} without effect: {done.stdout[-600:]}{done.stderr}")
        checks.that(all(point["reason"] == "a.w: the cpu backend has no such switch" for point in refused), f"{name}: {refused}")
        labels = {point["label"] for point in results["points"]}
        twins = [(point["label"], point["reason"].removeprefix("it runs as ")) for point in idle]
        checks.that(all(one != other and other in labels and one.split(" a.w")[0] in (other.split(" a.w")[0], "a.w=off")
                        for one, other in twins), f"{name}: {twins}")
        factors = [effect["factors"] for effect in results["effects"]]
        checks.that(factors == ([] if design == "one-at-a-time" else [["a.x"], ["a.y"], ["a.x", "a.y"]]), f"{name}: effects of {factors}")


def test_fractions(checks):
    """As few runs as resolution IV takes; every two columns are orthogonal, the base is one of the runs, and what the runs cannot
    tell apart is named, with its sign."""
    for n, n_runs in ((2, 4), (3, 8), (4, 8), (5, 16), (8, 16), (9, 32), (16, 32)):
        factors = {f"f{k}": ["0", "1"] for k in range(n)}
        base = {key: "0" for key in factors}
        points, groups = fraction(factors, base)
        columns = {key: [1 if point[key] == "1" else -1 for point in points] for key in factors}
        checks.that(len(points) == n_runs and base in points, f"{n} factors: {len(points)} runs")
        pairs = {f"{a}*{b}": [x * y for x, y in zip(columns[a], columns[b])] for a, b in combinations(columns, 2)}
        checks.that(not any(sum(pair) for pair in pairs.values()), f"{n} factors: columns are not orthogonal")
        everything = {**columns, **pairs}
        for group in groups:
            first, *others = ((everything[name.lstrip("-")], -1 if name[0] == "-" else 1) for name in group)
            checks.that(all([sign * x for x in column] == first[0] for column, sign in others) and all("*" in name for name in group),
                        f"{n} factors: no aliases: {group}")
        n_distinct = len({tuple(column) for column in everything.values()} | {tuple(-x for x in c) for c in everything.values()}) / 2
        checks.that(n_distinct == len(everything) - sum(len(group) - 1 for group in groups), f"{n} factors: aliases are missing")
    _, groups = fraction({key: ["0", "1"] for key in "ABC"}, dict.fromkeys("ABC", "0"), 4)
    checks.that(groups == [["A", "-B*C"], ["B", "-A*C"], ["C", "-A*B"]], f"half of three factors: {groups}")


def test_resume_refused(checks, bench):
    """A folder is that of one study, of one program; what differs is said, and the folder stays as it is."""
    before = {path.name: path.read_bytes() for path in (bench.folder / "whole").iterdir()}
    here = ("--program", bench.mdmini, "--output", bench.folder / "whole")
    for words, expected in ((["--seconds", "0.02"], "seconds: 0.01 there, 0.02 now"), (["--repeats", "2"], "repeats: 3 there, 2 now"),
                            (["--repeats", "5", "--seed", "8"], "repeats: 3 there, 5 now"),
                            (["--words", "run.precision=single"], "words: "), (["--vary", "a.w=on,off"], "factors: ")):
        code, said = bench.judge(bench.study, *words, *here)
        checks.that(code == 2 and expected in said and "another study" in said, f"{words}: exit code {code}: {said}")
    (bench.folder / "deck.txt").write_text("[system]\n# changed\n")
    checks.that("files: " in bench.judge(bench.study, *here)[1], "a changed deck")
    (bench.folder / "deck.txt").write_text("[system]\n")
    bench.mdmini.write_text(bench.mdmini.read_text().replace("mdmini fake (0)", "mdmini fake (1)"))
    code, said = bench.judge(bench.study, *here)
    checks.that(code == 2 and "program: " in said, f"another program: {said}")
    bench.mdmini.write_text(bench.mdmini.read_text().replace("mdmini fake (1)", "mdmini fake (0)"))
    original = bench.mdmini.read_text()
    bench.mdmini.write_text(original + "# built once more\n")
    code, said = bench.judge(bench.study, *here)
    checks.that(code == 2 and "program: \"executable: SHA-256 " in said and said.count("program: ") == 1,
                f"another program of the same version: exit code {code}: {said}")
    bench.mdmini.write_text(original)
    test_kernels(checks, bench, here)
    after = {path.name: path.read_bytes() for path in (bench.folder / "whole").iterdir()}
    checks.that(after == before, "a refused study has changed the folder")


def test_kernels(checks, bench, here):
    """Kernels that are compiled at run time belong to the program, those files only that may be kernels."""
    kernel = bench.folder / "src/cuda/kernels/force.cu"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("one")
    known = Program(bench.mdmini)
    own = known.identity()
    os.environ["MDMINI_KERNELS"] = ""
    checks.that(known.identity() == own, "an empty name is none")
    os.environ["MDMINI_KERNELS"] = str(bench.folder / "src")
    code, said = bench.judge(bench.study, *here)
    checks.that(code == 2 and "kernels: those of the program" in said and "kernels: of MDMINI_KERNELS" in said,
                f"kernels of a folder: exit code {code}: {said}")
    one = known.identity()
    (bench.folder / "src/README.md").write_text("two")
    checks.that(known.identity() == one, "a page is no kernel")
    kernel.write_text("two")
    checks.that(known.identity() != one, "other kernels in the same folder")
    kernel.write_text("one")
    checks.that(known.identity() == one, "the first kernels again")
    del os.environ["MDMINI_KERNELS"]


def test_refused(checks, bench):
    """What is wrong gets a message, exit code 2, and nothing is made."""
    here = ("--program", bench.mdmini, "--output", bench.folder / "refused")

    def refused(expected, *words):
        code, said = bench.judge(*words)
        checks.that(code == 2 and expected in said and not (bench.folder / "refused").exists() and "Traceback" not in said,
                    f"{words}: exit code {code}, {expected!r} was due: {said[-300:]}")

    code, said = bench.judge(bench.study, "--vary", "a.w", *here)
    checks.that(len(said.splitlines()) == 1, f"one mistake, one message: {said}")
    for expected, *words in (("a.q: no such key", "--vary", "a.q=1,2"), ('read "of"; allowed: off, on', "--vary", "a.w=on,of"),
                             ("--vary: read 'a.w'", "--vary", "a.w"), ("twice", "--vary", "a.w=on,on"),
                             ("allowed: level, level", "--vary", "a.w=on,"), ("1 levels", "--design", "fractional", "--vary", "a.w=on"),
                             ("makes its own points", "--design", "ladder"), ("allowed: full, ", "--design", "ladderr"),
                             ("repeats: read '0'", "--repeats", "0"), ("seconds: read 'x'", "--seconds", "x"),
                             ("--shard: read '3/2'", "--shard", "3/2"), ("stands in [factors] and in words", "--words", "a.x=fast"),
                             ("the study sets it", "--words", "report.verify=off"), ("a.q: no such key", "--words", "a.q=1"),
                             ("nix.txt: no such file", "--base", "nix.txt"), ("only a fractional design", "--runs", "8"),
                             ("confidence: read '2'", "--confidence", "2"), ("name: ", "--name", "a/b")):
        refused(expected, bench.study, *words, *here)
    for text, expected in ((STUDY.split("[factors]")[0], "no factors"), (STUDY + "a.x = slow\n", "a.x"), ("nonsense", "nonsense"),
                           (STUDY.replace("seed", "sed"), "[study] sed: no such key"), (STUDY.replace("decks", "name"), "name"),
                           (STUDY.replace("[factors]", "[factor]"), "section: read 'factor'"),
                           (STUDY.replace("decks   = deck.txt", ""), "a study needs a deck")):
        bench.study.write_text(text)
        refused(expected, bench.study, *here)
    bench.study.write_text(STUDY)
    refused("seconds: no such key", bench.study, "--vary", "seconds=1,2", *here)
    refused("nix.ini: no such file", "nix.ini", *here)
    refused("it has no study.json", "--report", bench.folder)
    refused("--merge", "--merge", bench.folder)
    refused("it has no study.json", "--merge", bench.folder, *here)
    refused("does not answer as mdmini does", bench.study, "--program", "/bin/true")
    refused("no such program", bench.study, "--program", bench.folder / "nix")
    refused("--what", "--what")
    refused("is needed", *here)


def closed_after(n_lines, command, bench):
    """Exit code and errors of a command whose output is read so far and no further."""
    reads, writes = os.pipe()
    if not n_lines:
        os.close(reads)  # before there is anything to be read
    child = subprocess.Popen([sys.executable, "-B", *command], stdout=writes, stderr=subprocess.PIPE, text=True, cwd=bench.folder,
                             env=bench.environment("closed"))
    os.close(writes)
    if n_lines:
        with open(reads) as stream:
            for _ in range(n_lines):
                stream.readline()
    errors = child.communicate()[1]
    return child.returncode, errors


def test_closed_pipe(checks, bench):
    """What is printed into a pipe that `head` has closed ends in silence; a study that was running goes on by the same command."""
    pictures = bool(importlib.util.find_spec("matplotlib"))
    tools, whole = SOURCE / "tools", bench.folder / "whole"
    commands = [[tools / "study.py", bench.study, "--program", bench.mdmini, "--check"], bench.command("closed")[2:],
                [tools / "study.py", "--report", whole, "--no-report"], [tools / "compare.py", whole, whole],
                *([tools / f"{name}.py", "--help"] for name in ("study", "compare", "h5check", *(("plot", "timeline") if pictures else ())))]
    for command in commands:
        done = closed_after(0, command, bench)
        # argparse passes over a write that fails; whether the flush behind it fails as well is up to the interpreter.
        ends = (128 + signal.SIGPIPE, 0) if command[-1] == "--help" else (128 + signal.SIGPIPE,)
        checks.that(done[0] in ends and done[1] == "", f"{command[0].name} {command[1:]}: exit code and errors: {done}")
    done = closed_after(8, bench.command("closed")[2:], bench)
    checks.that(done == (128 + signal.SIGPIPE, "") and 0 < len(bench.lines("closed")) < len(bench.lines("whole")),
                f"in the midst of a study: {done}, {len(bench.lines('closed'))} runs kept")
    done = bench.run("closed")
    checks.that(done.returncode == 0 and bench.table("closed") == bench.table("whole"), f"afterwards: {done.stdout[-300:]}{done.stderr}")


def test_without_numpy(checks, bench):
    """Runs are made and kept where there is no numpy; the table is made where it is."""
    command = bench.command("plain")
    done = subprocess.run([command[0], "-S", *command[1:]], capture_output=True, text=True, cwd=bench.folder,
                          env={**bench.environment("plain"), "MDMINI_PYTHON_AGAIN": "1"})
    checks.that(done.returncode == 0 and "no table: No module named 'numpy'" in done.stdout and len(bench.lines("plain")) == N_RUNS and
                not (bench.folder / "plain/results.json").exists(), f"exit code {done.returncode}: {done.stdout[-200:]}{done.stderr}")
    done = bench.run("", "--report", str(bench.folder / "plain"))
    checks.that(done.returncode == 0 and bench.table("plain") == bench.table("whole"), f"the table afterwards: {done.stderr}")


def test_provenance(checks):
    """What differs between the runs of a study is told, but for what belongs to the moment."""
    one = {"commit": "a", "started": "1", "gpu": {"name": "x", "driver": "1"}, "cpu": {"model": "m"}}
    other = {**one, "started": "2", "gpu": {"name": "x", "driver": "2"}}
    checks.that(provenance_differs([one, other]) == {"gpu.driver": ["1", "2"]}, f"{provenance_differs([one, other])}")
    found = provenance_differs([one, {**one, "gpu": None}])
    checks.that(found == {"gpu.name": ["None", "x"], "gpu.driver": ["1", "None"]}, f"{found}")


def test_mdmini(checks, folder):
    """The program itself; of one variant the list is rebuilt far too seldom."""
    seldom = Path(folder) / "seldom.txt"
    seldom.write_text("[neighbor]\nrebuild = every\nevery = 1000\n")
    words = [sys.executable, "-B", SOURCE / "tools/study.py", SOURCE / "inputs/melt.txt", seldom, "--base",
             "inputs/presets/safe.txt", "--words", "run.backend=cpu system.cells=6 run.steps=600", "--vary",
             "neighbor.rebuild=device-check,every", "--vary", "memory.layout=soa,vec4", "--vary", "launch.block_size=auto,64",
             "--repeats", "3", "--design", "one-at-a-time", "--program", program.program(), "--output", Path(folder) / "out"]
    done = subprocess.run(words, capture_output=True, text=True)
    if not checks.that(done.returncode == 3, f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}"):
        return
    results = json.loads((Path(folder) / "out/results.json").read_text())
    points = points_of(results)
    bad = points["neighbor.rebuild=every"]
    checks.that(bad["status"] == "failed" and bad["verdict"] == "FAILED" and bad["reason"] and not bad["speed"], f"{bad['reason']}")
    n_used = points["memory.layout=soa"]["n_used"]  # a round that a busy machine disturbed is left out, and two are too few for a ranking
    ranked = ["s0/base", "s0/memory.layout=soa"] if n_used == 3 else []
    checks.that(sorted(sum(results["ranking"]["s0"], [])) == ranked, f"{n_used} rounds: {results['ranking']}")
    checks.that(points["launch.block_size=64"]["status"] == "refused", f"{points['launch.block_size=64']['status']}")
    soa = points["memory.layout=soa"]
    checks.that(soa["verdict"] == "PASSED" and soa["n_steps"] == 600 and n_used in (2, 3) and soa["ratio"]["value"] > 0 and
                soa["force_error"]["worst"] < 1 and soa["stages"]["force"]["seconds_per_step"] > 0 and soa["deterministic"],
                f"{soa}")
    checks.that((Path(folder) / "out/report.md").is_file(), "no report.md")
    reports = [line["report"] for line in map(json.loads, (Path(folder) / "out/runs.jsonl").open()) if line["report"]]
    checks.that(not any("effective_deck" in report for report in reports) and all(report["provenance"]["deck_hash"] for report in reports),
                "run/results/RECORDS.md says otherwise of the lines of runs.jsonl")
    done = subprocess.run([*words[:3], SOURCE / "inputs/melt.txt", "--vary", "memory.layout=soa,vec4", "--words",
                           "run.backend=cpu system.cells=5 run.steps=20 run.timestep=0.05", "--repeats", "1", "--no-report", "--program",
                           program.program(), "--output", Path(folder) / "unstable"], capture_output=True, text=True)
    points = json.loads((Path(folder) / "unstable/results.json").read_text())["points"]
    checks.that(done.returncode == 3 and {point["status"] for point in points} == {"failed"} and
                all(point["reason"].startswith("unstable at step ") and " sigma in one step" in point["reason"] for point in points),
                f"unstable: exit code {done.returncode}: {[point['reason'] for point in points]}{done.stderr}")
    for timesteps in ("0.005,0.5", "0.5,1"):  # one step is too much
        out = Path(folder) / timesteps
        done = subprocess.run([*words[:3], SOURCE / "inputs/melt.txt", "--words", "run.backend=cpu system.cells=4 run.steps=40", "--vary",
                               f"run.timestep={timesteps}", "--vary", "memory.layout=vec4,aos", "--repeats", "1", "--program", program.program(),
                               "--output", out], capture_output=True, text=True)
        found = {point["id"]: point for point in json.loads((out / "results.json").read_text())["points"]}
        bad = [point["reason"].startswith("unstable at step 1: ") for point in found.values() if point["status"] == "failed"]
        expected = 2 if timesteps.startswith("0.005") else 4
        checks.that(done.returncode == 3 and len(found) == 4 and bad == [True] * expected and (out / "report.md").is_file(),
                    f"{timesteps}: {done.returncode}: {[point['reason'] for point in found.values()]}{done.stderr[-500:]}")
    again = [sys.executable, "-B", SOURCE / "tools/study.py", "--report", Path(folder) / "out", "--ceilings"]
    for ceilings in (Path(folder) / "nix.json", seldom):
        done = subprocess.run([*again, ceilings], capture_output=True, text=True)
        checks.that(done.returncode == 2 and len(done.stderr.splitlines()) == 1, f"{ceilings}: {done.returncode}: {done.stderr}")
    checks.that(results["provenance"]["program"] == "mdmini" and not results["provenance_differs"] and str(SOURCE) not in json.dumps(results), "provenance")


NUMBERS = {"run.threads": "1,2", "run.device": "auto,0", "parallel.grid": "auto,1 1 1", "neighbor.skin": "0.3,0.30,auto,0.4",
           "neighbor.every": "20,10", "neighbor.capacity": "auto,200", "launch.registers": "0,64", "output.slots": "3,4"}
USED = {"run.precision", "run.threads", "memory.allocation", "memory.layout", "memory.sort", "neighbor.search", "neighbor.write", "neighbor.list",
        "neighbor.sorted", "neighbor.skin", "neighbor.rebuild", "neighbor.predict", "neighbor.capacity", "force.kernel", "force.cutoff_test",
        "force.arithmetic", "force.energy", "reduce.accumulate", "launch.fuse", "output.pipeline"}  # by the cpu backend


def test_every_switch(checks, folder):
    """Each value of each switch, on one thread of the processor: refused, without effect, or one that the backend uses."""
    options = json.loads(program.run("--list-options=json", folder=folder).stdout)
    switches = {f"{row['section']}.{row['key']}": row for row in options if row["kind"] == "performance"}
    checks.that({key for key, row in switches.items() if "choices" not in row} == set(NUMBERS), "each number has values here")
    levels = {key: NUMBERS.get(key) or ",".join(row["choices"]) for key, row in switches.items()}
    others = {key: ",".join(values.split(",")[:2]) for key, values in levels.items() if key not in USED}
    # Where auto takes the cpu, it passes what only a GPU has.
    for backend, given, vary, used in (("auto", {"launch": {"bounds": "off"}}, others, set()), ("cpu", {}, levels, USED)):
        deck = program.write_deck(folder, backend, run={"backend": backend, "threads": 1}, **given)
        if "backend   cpu" not in program.run("--check", SOURCE / "inputs/melt.txt", deck, folder=folder).stdout:
            print(f"run.backend={backend}: not tried, as it takes a GPU here")
            continue
        words = ["--words", "system.cells=4 run.steps=2", "--repeats", "1", "--no-report", "--program", program.program(), "--output",
                 Path(folder) / backend, *(word for key, values in vary.items() for word in ("--vary", f"{key}={values}"))]
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools/study.py", SOURCE / "inputs/melt.txt", deck, "--design", "one-at-a-time",
                               *words], capture_output=True, text=True)
        points = json.loads((Path(folder) / backend / "results.json").read_text())["points"][1:]
        measured = {key for point in points if point["status"] == "measured" for key in point["settings"]}
        checks.that(measured == used and {point["status"] for point in points} <= {"measured", "without effect", "refused"},
                    f"{backend}: measured {measured - used}, not {used - measured}: {done.stdout[-3000:]}{done.stderr}")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    with program.temporary_folder() as folder:
        bench = Bench(folder)
        for test in (test_table, test_failed, test_systems, test_fraction, test_confounded, test_confounded_base,
                     test_idle, test_resume_refused, test_refused, test_closed_pipe, test_without_numpy):
            start = time.monotonic()
            test(checks, bench)
            print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    test_provenance(checks)
    test_fractions(checks)
    with program.temporary_folder() as folder:
        test_mdmini(checks, folder)
        test_every_switch(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
