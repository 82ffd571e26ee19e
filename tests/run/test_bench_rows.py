"""run/bench.sh on small systems: what it times is what its commands say, from the same melted system each time; medians, targets
and verdicts follow from the runs; what is cut or fails says so. On the cpu backend, and in whole on a GPU or its emulation."""
import csv
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
sys.path.insert(0, str(SOURCE / "run"))
import bench
import bench_rows
from runs import NotRun

HEAD = "row,system,cells,atoms,precision,rule,steps,target,unit,asked\n"
ROWS = """a,lj,5,500,mixed,every,40,1,steps/s,
a-safe,lj,5,500,mixed,safe,40,1e18,atom-steps/s,
b,lj,5,500,double,every,40,,atom-steps/s,
c,lj-2d,12 6,144,mixed,every,40,3,steps/s,
d,lj,5,500,mixed,every,40,3,steps/s,yes
"""


def has_gpu():
    done = subprocess.run([program.program(), "--check", SOURCE / "inputs/melt.txt", "run.backend=cuda"], capture_output=True)
    return b"can run here" in done.stdout


def command(folder, *words, rows=ROWS, mdmini=None, backend_name="cpu"):
    (Path(folder) / "rows.csv").write_text("# a comment\n" + HEAD + rows)
    return [str(SOURCE / "run/bench.sh"), str(mdmini or program.program()), "--backend", backend_name, "--table", "rows.csv",
            "--melt", "40", "--repeats", "2", *words]


def run(folder, *words, **more):
    done = subprocess.run(command(folder, *words, **more), cwd=folder, capture_output=True, text=True)
    output = Path(folder) / "bench.json"
    text = output.read_text() if output.exists() else "null"
    assert f"{SOURCE}/" not in text and f"{folder}/" not in text, "the record says where it was made"
    return done, json.loads(text)


def table_lines(text):
    """{row: its words} of the table at the end."""
    lines = text[text.index("\nrow "):].splitlines()
    return {line.split()[0]: line for line in lines[2:] if line.split()}


def test_whole(checks, folder, backend_name):
    done, record = run(folder, backend_name=backend_name)
    if not checks.that(done.returncode == 0 and record, f"exit code {done.returncode}: {done.stdout}{done.stderr}"):
        return
    rows = {row["row"]: row for row in record["rows"]}
    checks.that(list(rows) == ["a", "a-safe", "b", "c"], f"rows {list(rows)}")  # d is to be asked for
    checks.that(record["finished"] and record["provenance"]["commit"] and len(record["gpu_states"]) == 3, "provenance, clocks")
    for name, row in rows.items():
        verdicts = [report["verdict"] for report in row["runs"]]
        checks.that(row["verdict"] == "PASSED" and verdicts == ["PASSED", "NOT CHECKED"], f"{name}: {row['verdict']}, {verdicts}")
        checks.that(all(report["resumed"]["step"] == 40 and report["n_steps"] == 80 for report in row["runs"]),
                    f"{name}: not the 40 steps after the melting")
        checks.that(row["precision"] == row["runs"][0]["precision"] and row["atoms"] == row["runs"][0]["n_atoms"],
                    f"{name}: {row['runs'][0]['precision']}")
        ran = [stage["ran"] for stage in row["runs"][0]["stages"] if "rebuild=" in stage["ran"]][0]
        checks.that(f"rebuild={'every' if row['rule'] == 'every' else 'device-check'}" in ran, f"{name}: {ran}")
        late = [report["n_late_rebuilds"] for report in row["runs"]]
        checks.that(row["rule"] == "every" or late == [0, 0], f"{name}: late rebuilds {late}")
        checks.that(row["runs"][0]["backend"] == backend_name, f"{name}: ran on {row['runs'][0]['backend']}")
        checks.that(row["device_bytes_per_atom"] is None if backend_name == "cpu" else row["device_bytes_per_atom"] > 0,
                    f"{name}: {row['device_bytes_per_atom']} bytes an atom")
    ends = [report["conserved_energy_per_atom"] for report in rows["a"]["runs"]]
    checks.near(ends[1], ends[0], 1e-5, "a repeat that went on from another system")
    lines = table_lines(done.stdout)
    checks.that(" met " in lines["a"] and " MISSED " in lines["a-safe"] and " met " not in lines["b"], done.stdout)
    checks.that(sorted(os.listdir(folder)) == ["bench.json", "rows.csv"], f"left behind: {os.listdir(folder)}")


def test_commands(checks, folder):
    """What --list says one types by hand does what the script does; here with a small lattice and few steps."""
    text = subprocess.run([str(SOURCE / "run/bench.sh"), program.program(), "--list", "--rows", "1m-safe,2d"], cwd=folder,
                          capture_output=True, text=True).stdout
    found = [shlex.split(line) for line in text.splitlines() if line.startswith("    mdmini ")]
    checks.that(len(found) == 4 and not os.path.exists(Path(folder) / "bench.json"), f"--list: {text}")
    for melt, timed in zip(found[::2], found[1::2]):
        checks.that(timed[-1] in ("run.steps=3000", "run.steps=5000"), f"{timed}")
        melted = [word.replace("inputs/", f"{SOURCE}/inputs/") for word in melt[1:]]
        small = program.run(*melted, "system.cells=" + ("12 6" if "2d" in melt[1] else "5"), "run.steps=20", "restart.every=20",
                            folder=folder)
        checks.that(small.code == 0, small.last_lines())
        before = (Path(folder) / timed[2]).read_bytes()
        words = [word.replace("inputs/", f"{SOURCE}/inputs/") for word in timed[1:-1]]
        after = program.run(*words, "run.steps=60", folder=folder, name="timed")
        checks.that(after.code == 0 and after.json()["verdict"] == "PASSED", after.last_lines())
        checks.that((Path(folder) / timed[2]).read_bytes() == before, "the melted system did not stay as it was")


def copy_scripts(folder):
    """What the script needs of the source, elsewhere."""
    copy = Path(folder) / "source"
    shutil.copytree(SOURCE / "run", copy / "run", ignore=shutil.ignore_patterns("results"))
    shutil.copytree(SOURCE / "inputs", copy / "inputs")
    peers = copy / bench.PEERS.relative_to(SOURCE)
    peers.parent.mkdir()
    shutil.copy(bench.PEERS, peers)
    return copy


def test_list(checks, folder):
    """--list needs no program, builds none, and ends in silence where its reader went away."""
    copy = copy_scripts(folder)
    script = str(copy / "run/bench.sh")
    named = subprocess.run([str(SOURCE / "run/bench.sh"), program.program(), "--list"], capture_output=True, text=True)
    for words in (["--list"], ["--rows", "1m*", "--list"], ["--help"]):
        done = subprocess.run([script, *words], cwd=folder, capture_output=True, text=True)
        checks.that(done.returncode == 0 and not done.stderr and (done.stdout == named.stdout or words != ["--list"]),
                    f"{words}: exit code {done.returncode}: {done.stdout[:200]}{done.stderr}")
    done = subprocess.run([sys.executable, "-B", str(copy / "run/bench.py")], cwd=folder, capture_output=True, text=True)
    checks.that(done.returncode == 2 and "no program" in done.stderr and len(done.stderr.splitlines()) == 1,
                f"no program: {done.returncode}: {done.stderr}")
    with subprocess.Popen([script, program.program(), "--list"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        child.stdout.close()
        said = child.stderr.read()
    checks.that(not said and child.returncode == -signal.SIGPIPE, f"no reader: {child.returncode}: {said}")
    left = sorted(path.name for path in [*Path(folder).iterdir(), *copy.iterdir()])
    checks.that(left == ["inputs", "run", "source"], f"left behind: {left}")


def test_kept(checks, folder):
    """A folder that is named keeps the melted systems, and a later call goes on from them."""
    kept = Path(folder) / "kept"
    kept.mkdir()
    run(folder, "--folder", str(kept), "--rows", "a,b", "--repeats", "1")
    files = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    checks.that(len(files) == 4 and all("5-mixed" in name or "5-double" in name for name in files), f"kept {list(files)}")
    done, record = run(folder, "--folder", str(kept), "--rows", "a*", "--repeats", "1")
    checks.that(done.returncode == 0 and len(record["rows"]) == 2, done.stdout + done.stderr)
    checks.that(files == {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}, "melted again, or left behind")


def test_stale(checks, folder):
    """A file that is not of the melted system's last step is nothing to go on from."""
    run(folder, "--folder", folder, "--rows", "a", "--repeats", "1")
    restart, = Path(folder).glob("*.restart")
    later = program.run("--restart", restart, "run.steps=60", f"restart.file={restart}", "output.name=x", folder=folder, name="x")
    checks.that(later.code == 0, later.last_lines())
    done, record = run(folder, "--folder", folder, "--rows", "a", "--repeats", "1")
    checks.that(done.returncode == 1 and "is of step 60, not 40" in record["rows"][0]["not_run"], done.stdout + done.stderr)


def test_energy(checks, folder):
    """Without the reference: crude for few atoms, but a verdict that is told as what it is."""
    done, record = run(folder, "--rows", "c", "--verify-atoms", "100", rows=ROWS.replace("mixed,every,40,3", "mixed,safe,40,3"))
    row = record["rows"][0]
    checks.that(row["verdict"] in ("energy kept", "ENERGY LOST") and row["energy_check"]["limit"] > 0, f"{row['verdict']}")
    checks.that(done.returncode == (row["verdict"] == "ENERGY LOST") and "c: not compared with the reference" in done.stdout,
                f"exit code {done.returncode}: {done.stdout}")
    melted = {"n_steps": 1000, "conserved_energy_per_atom": -4.0, "temperature": 0.7}

    def check(moved, precision="mixed", rule="safe", temperature=0.7):
        report = {"n_steps": 2000, "conserved_energy_per_atom": -4.0 + moved, "temperature": temperature}
        found = bench_rows.energy_check(report, melted, {"precision": precision, "rule": rule})
        return found["moved"] <= found["limit"]

    checks.that(check(4.9e-5, "double") and not check(5.1e-5, "double"), "limit of 5e-8 a step")
    checks.that(check(-1.04e-3, rule="every") and not check(-1.06e-3, rule="every"), "limit of 1.05e-6 a step")
    checks.that(check(1.7e-4, "double", temperature=0.77) and not check(1.8e-4, "double", temperature=0.77), "temperature")
    checks.that(not check(math.nan), "a NaN is no energy")


def invented(verdicts, speeds, energy=None, unit="atom-steps/s", target="2e9", device_bytes=300, drift_error=None):
    class Melt:
        restart, n_steps, decks, words = Path("x.restart"), 1000, bench_rows.DECKS, ["", "system.cells=63", "run.precision=mixed"]

    fields = {"row": "1m", "system": "lj", "cells": "63", "atoms": "1000188", "precision": "mixed", "rule": "every",
              "steps": "100", "target": target, "unit": unit, "asked": ""}
    row = bench_rows.Row(fields, Melt, bench_rows.read_table(bench_rows.PEERS))
    row.runs = [{"verdict": verdict, "atom_steps_per_second": speed, "memory_device_bytes": device_bytes * 1000188,
                 "energy_drift_per_atom_step": 4e-10, "energy_drift_error_per_atom_step": drift_error}
                for verdict, speed in zip(verdicts, speeds)]
    row.energy = energy
    return row


def test_figures(checks):
    """Invented runs: the median counts, beside target and LAMMPS; what failed in any run has no speed."""
    row = invented(["PASSED", "NOT CHECKED", "NOT CHECKED"], [3e9, 1e9, 2.4e9])
    f = row.figures()
    for name, expected in (("speed", 2.4e9), ("steps_per_second", 2.4e9 / 1000188), ("spread", 2 / 2.4), ("ratio", 2.0),
                           ("device_bytes_per_atom", 300)):
        checks.near(f[name], expected, 1e-9 * expected, name)
    checks.that(f["verdict"] == "PASSED" and f["reached"] and f["memory_reached"] and not row.has_failed(), f"{f}")
    f = invented(["PASSED"], [1e9], device_bytes=401).figures()
    checks.that(f["reached"] is False and f["memory_reached"] is False, f"missed: {f}")
    f = invented(["PASSED"], [2.000376e9], unit="steps/s", target="2000").figures()
    checks.that(f["peer"] is None and f["reached"], f"in steps/s: {f}")
    checks.near(f["speed"], 2000, 1e-6, "steps/s")
    checks.that(invented(["PASSED"], [1e9], target="").figures()["reached"] is None, "no target")
    checks.that(invented(["PASSED"], [1e9]).figures()["drift"] is None, "a drift without an error")
    f = invented(["PASSED"], [1e9], drift_error=1e-10).figures()
    checks.that(f["drift"] == 4e-10 and f["drift_error"] == 1e-10, f"drift: {f}")
    f = invented(["FAILED"], [1e9], drift_error=1e-10).figures()
    checks.that(f["drift"] is None, f"a drift of a run that failed: {f}")
    for drift, double, errors, expected in ((4e-10, -2e-10, (0, 0), "met"), (-4.1e-10, 2e-10, (0, 0), "MISSED"),
                                            (4e-10, 1e-10, (1.1e-10, 0), "within errors"), (-4e-10, 1e-10, (0.9e-10, 0), "MISSED"),
                                            (4e-10, 1e-10, (0, 0.51e-10), "within errors"), (4e-10, 1e-10, (0, 0.49e-10), "MISSED"),
                                            (1e-10, 2e-10, (1.6e-10, 0), "within errors"), (1e-10, -2e-10, (1.4e-10, 0), "met")):
        found = bench_rows.drifts_as_double(*({"drift": value, "drift_error": error} for value, error in zip((drift, double), errors)))
        checks.that(found == expected, f"{drift} beside {double}, errors {errors}: {found}")
    for verdicts, energy, verdict in ((["FAILED", "NOT CHECKED"], None, "FAILED"), (["NOT CHECKED", "FAILED"], None, "FAILED"),
                                      (["NOT CHECKED"] * 2, {"moved": 2, "limit": 1}, "ENERGY LOST"),
                                      (["NOT CHECKED"] * 2, {"moved": math.nan, "limit": 1}, "ENERGY LOST")):
        row = invented(verdicts, [1e9, 1e9], energy)
        f = row.figures()
        checks.that(f["verdict"] == verdict and f["speed"] is None and f["reached"] is None and row.has_failed(), f"{verdicts}: {f}")
    row = invented(["NOT CHECKED"], [1e9], {"moved": 0.5, "limit": 1})
    checks.that(row.figures()["verdict"] == "energy kept" and row.figures()["speed"] == 1e9, f"{row.figures()}")
    for kind, failed in (("time", False), ("refused", True), ("crashed", True), ("too slow", True)):
        row.not_run = NotRun(kind, "why")
        checks.that(row.has_failed() == failed, f"{kind}: failed is {row.has_failed()}")


def test_drift(checks, folder):
    """Rows with energies on the way have a drift and its error, of the steps that are timed, and are compared with double precision."""
    rows = "".join(f"x{suffix},lj,5,500,{precision},safe drift,8000,,atom-steps/s,\n" for suffix, precision in (("", "mixed"), ("-double", "double")))
    done, record = run(folder, "--repeats", "1", "--rows", "x*,a", rows=ROWS + rows)
    found = {row["row"]: row for row in record["rows"]}
    for name in ("x", "x-double"):
        row = found[name]
        checks.that(row["drift"] == row["runs"][0]["energy_drift_per_atom_step"] and 1e-10 < row["drift_error"] < 1e-6 and
                    abs(row["drift"]) < 10 * row["drift_error"], f"{name}: {row['drift']} +- {row['drift_error']}")
        checks.that(f" {row['drift']:.2g} +- {row['drift_error']:.1g} " in table_lines(done.stdout)[name], done.stdout)
    checks.that(found["a"]["drift"] is None and " +- " not in table_lines(done.stdout)["a"], "a drift of two energies")
    judged = re.search(r"^x: drift .* \+- .*, in double precision .* \+- .*: (met|within errors|MISSED)$", done.stdout, re.MULTILINE)
    checks.that(judged and judged[1] == bench_rows.drifts_as_double(found["x"], found["x-double"]), done.stdout)


def test_budget(checks, folder):
    """What is left when time is up is listed as not run, is no failure, and the record is of what there was time for."""
    done, record = run(folder, "--budget", "1e-9")
    checks.that(done.returncode == 0 and "UNFINISHED" in done.stdout and "time was up" in table_lines(done.stdout)["c"],
                f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    checks.that(not record["finished"] and not any(row["runs"] for row in record["rows"]), "runs without time")
    a = bench.read_arguments([program.program(), "--backend", "cpu", "--table", f"{folder}/rows.csv", "--rows", "a",
                              "--budget", "100", "--output", f"{folder}/bench.json"])
    made = bench.Bench(a, bench.make_rows(a, folder), bench.Budget(a.budget))
    row = made.rows[0]
    checks.that(not made.has_no_time(row.name), "no time for a first run")
    made.took[row.name] = 200
    checks.that(made.has_no_time(row.name), "time for a run that takes twice what is left")


def test_cut(checks, folder):
    """Killed at once, or ended by a signal: what was measured is in the record."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        child = subprocess.Popen(command(folder, "--repeats", "2000"), cwd=folder, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "TMPDIR": str(folder)})  # what is killed leaves its folder
        for line in child.stdout:
            if line.startswith("b: run 1"):
                break
        child.send_signal(number)
        text = child.communicate()[0]
        record = json.loads((Path(folder) / "bench.json").read_text())
        checks.that(not record["finished"] and record["rows"][1]["verdict"] == "PASSED", f"signal {number}")
        checks.that(number == signal.SIGKILL or child.returncode == 0 and "UNFINISHED" in text,
                    f"signal {number}: exit code {child.returncode}: {text[-300:]}")


def test_failures(checks, folder):
    """A run that is refused, dies, or is not of the row's size fails the script, and is not tried again; the others are
    measured."""
    dying, log = Path(folder) / "dying", Path(folder) / "log"
    dying.write_text(f"""#!/bin/sh
echo "$*" >>{log}
case "$*" in *--restart*double*) kill -SEGV $$ ;; esac
exec {program.program()} "$@"
""")
    dying.chmod(0o755)
    rows = ROWS + "e,lj,6,1000,mixed,every,40,,steps/s,\nf,lj,1,4,mixed,every,40,,steps/s,\n" \
        "f-safe,lj,1,4,mixed,safe,40,,steps/s,\n"
    done, record = run(folder, rows=rows, mdmini=dying)
    lines = {row["row"]: row for row in record["rows"]}
    checks.that(done.returncode == 1 and "FAILED: b, e\nREFUSED: f, f-safe\n" in done.stdout, f"exit code {done.returncode}: {done.stdout}")
    for name, word in (("b", "CRASHED"), ("e", "has 864 atoms, not 1000"), ("f", "refused: ")):
        checks.that(word in lines[name]["not_run"] and not lines[name]["runs"], f"{name}: {lines[name]['not_run']}")
    started = log.read_text().splitlines()
    for what, words in (("melted", "system.cells=1 "), ("timed", "5-double"), ("timed", "lj-6-mixed")):
        n = sum(words in line and ("--restart" in line) == (what == "timed") for line in started)
        checks.that(n == 1, f"{words}: {what} {n} times")
    checks.that(lines["a"]["verdict"] == "PASSED" and len(lines["c"]["runs"]) == 2, "the others were not measured")


def test_against(checks, folder):
    """Another source is built and timed by turns, with its own decks; its ratios are those of the speeds in the record."""
    old, log = Path(folder) / "old", Path(folder) / "log"
    shutil.copytree(SOURCE / "inputs/bench", old / "inputs/bench")
    (old / "program").write_text(f"""#!/bin/sh
echo "$*" >>{log}
case "$*" in *--restart*double*) kill -SEGV $$ ;; esac
exec {program.program()} "$@"
""")
    (old / "program").chmod(0o755)
    (old / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(old NONE)\nadd_custom_target(mdmini "
                                        "COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/program ${CMAKE_BINARY_DIR}/mdmini)\n")
    done, record = run(folder, "--rows", "a,b", "--against", "old")
    a, b = record["rows"]
    checks.that(done.returncode == 1 and "FAILED: b of old\n" in done.stdout, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    speeds = [[report["atom_steps_per_second"] for report in row["runs"]] for row in (a, a["against"]["old"])]
    checks.that(len(speeds[1]) == 2 and a["against"]["old"]["verdict"] == "PASSED", f"{a['against']['old']['not_run']}")
    for ratio, mine, its in zip(a["against"]["old"]["ratios"], *speeds):
        checks.near(ratio, mine / its, 1e-12, "ratio")
    checks.that(b["verdict"] == "PASSED" and b["against"]["old"]["ratios"] == [], "a ratio to a program that crashed")
    order = re.findall(r"^a(?: of (old))?: run (\d)", done.stdout, re.M)
    checks.that(order == [("", "1"), ("old", "1"), ("old", "2"), ("", "2")], f"not by turns: {order}")
    started = log.read_text()
    checks.that(f"{old}/inputs/bench/lj.txt" in started and f"{SOURCE}/inputs" not in started, f"decks: {started}")
    median = sum(a["against"]["old"]["ratios"]) / 2
    checks.that(f"\na                old              {median:7.4f}" in done.stdout, done.stdout)
    for words, says in ((["--against", "nix"], "neither a folder nor a commit"), (["--against=nix"], "neither a folder nor a commit"), (["--against"], "is missing"),
                        (["--against", f"{folder}/old/inputs"], "no CMakeLists.txt"), (["--against", "old", "--against", f"{folder}/old"], "two folders")):
        done, _ = run(folder, "--rows", "a", *words)
        checks.that(done.returncode == 2 and says in done.stderr, f"{words}: {done.returncode}: {done.stderr[-300:]}")


def test_against_commit(checks, folder):
    """A commit is unpacked and built beside the source that the script belongs to, once."""
    source = copy_scripts(folder)
    (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(old NONE)\nadd_custom_target(mdmini COMMAND "
                                           f"${{CMAKE_COMMAND}} -E copy {program.program()} ${{CMAKE_BINARY_DIR}}/mdmini)\n")
    git = ["git", "-C", str(source), "-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    (Path(folder) / "rows.csv").write_text(HEAD + ROWS)
    for _ in range(2):
        done = subprocess.run([str(source / "run/bench.sh"), program.program(), "--backend", "cpu", "--table", "rows.csv", "--melt", "40", "--repeats", "1",
                               "--rows", "a", "--against", "HEAD"], cwd=folder, capture_output=True, text=True)
        record = json.loads((Path(folder) / "bench.json").read_text()) if done.returncode == 0 else None
        if checks.that(record, f"exit code {done.returncode}: {done.stdout}{done.stderr}"):
            checks.that(len(record["rows"][0]["against"][commit]["ratios"]) == 1 and record["against"][commit]["commit"], f"{record['against']}")
            checks.that(f"MDMINI_COMMIT:UNINITIALIZED={commit}" in (source / f"build-against/{commit}/build-gpu/CMakeCache.txt").read_text(), "another commit")
    listed = subprocess.run([str(source / "run/bench.sh"), "--list", "--against", "no-such-commit"], cwd=folder, capture_output=True, text=True)
    checks.that(listed.returncode == 0 and not listed.stderr, f"a list builds: {listed.stderr}")


def test_clocks(checks, folder):
    """With an nvidia-smi that answers: its words stand in the record, before the first turn and after each."""
    smi = Path(folder) / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA H200, 580.1, 1980 MHz, 3201 MHz, 1980 MHz, 37, 124.01 W, 0x0'\n")
    smi.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    done, record = run(folder, "--rows", "a")
    checks.that([state["clocks.mem"] for state in record["gpu_states"]] == ["3201 MHz"] * 3, f"{record['gpu_states']}")
    checks.that("after each: 1980 MHz, 37 C; 1980 MHz, 37 C; 1980 MHz" in done.stdout, done.stdout)


def test_table(checks):
    """The table of the project: decks and layers that are there, sizes that its lattices make, targets in proportion."""
    rows = {row["row"]: row for row in bench_rows.read_table(bench_rows.DECKS / "rows.csv")}
    for name, row in rows.items():
        checks.that((bench_rows.DECKS / f"{row['system']}.txt").exists() and
                    all((bench_rows.DECKS / f"{layer}.txt").exists() for layer in row["rule"].split()), f"{name}: no such deck")
        cells = [int(word) for word in row["cells"].split()]
        n_atoms = 4 * cells[0] ** 3 if row["system"] == "lj" else 2 * cells[0] * cells[1]
        checks.that(n_atoms == int(row["atoms"]), f"{name}: {row['atoms']} atoms, its cells make {n_atoms}")
        checks.that(int(row["steps"]) % 20 == 0, f"{name}: part of an interval")
        if row["rule"] == "safe":
            base = rows[name.replace("-safe", "")]
            checks.near(float(row["target"]), 0.75 * float(base["target"]), 1, f"{name}: target")
            checks.that(all(row[key] == base[key] for key in ("system", "cells", "precision", "steps")), f"{name}: another run")
        if row["rule"] == "safe drift" and row["precision"] != "double":
            beside = rows.get(f"{name}-double")
            checks.that(beside and all(row[key] == beside[key] for key in ("system", "cells", "atoms", "rule", "steps")),
                        f"{name}: beside no double precision")
            checks.that(int(row["steps"]) >= 100 * 200, f"{name}: less than 100 energies, one in 200 steps")
    for peer in bench_rows.read_table(bench_rows.PEERS):
        beside = [row for row in rows.values() if all(row[key] == peer[key] for key in ("system", "atoms", "rule", "unit"))]
        checks.that(beside and float(peer["value"]) > 0 and peer["source"], f"{peer}: beside no row")


def test_typing(checks, folder):
    for words in (["--rows", "x"], ["--rows", "a,x"], ["--repeats", "0"], ["--budget", "-1"], ["--folder", "nix"],
                  ["--output", "nix/bench.json"], ["--what"], ["--table", "nix.csv"]):
        done, record = run(folder, *words)
        checks.that(done.returncode == 2 and len(done.stderr.splitlines()) == 1 and not record,
                    f"{words}: exit code {done.returncode}: {done.stdout[:200]}{done.stderr[-300:]}")


def main():
    checks = Checks()
    for test in (test_figures, test_table):
        test(checks)
    for name in ("cpu", "cuda") if has_gpu() else ("cpu",):  # the rest is the same on every backend
        with program.temporary_folder() as folder:
            test_whole(checks, folder, name)
    for test in (test_commands, test_list, test_kept, test_stale, test_energy, test_drift, test_failures, test_against, test_against_commit, test_clocks, test_typing, test_cut, test_budget):
        with program.temporary_folder() as folder:
            test(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
