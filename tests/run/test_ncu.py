"""run/ncu.sh with a stand-in for ncu: it runs the program that the command names, and tells counters that are known."""
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
sys.path.insert(0, str(SOURCE / "run"))
import ncu

ROWS = """row,system,cells,atoms,precision,rule,steps,target,unit,asked
a,lj,5,500,mixed,every,40,1,steps/s,
"""

# Options of ncu take a value, but for --csv; what follows them is the program.
STAND_IN = '''#!/usr/bin/env python3
import csv, os, subprocess, sys
words, options = sys.argv[1:], {}
while words and words[0].startswith("--"):
    name = words.pop(0)
    options[name] = "" if name == "--csv" else words.pop(0)
code = subprocess.run(words).returncode
with open(os.path.join(os.path.dirname(sys.argv[0]), "call-steps"), "w") as file:
    file.write(os.environ["MDMINI_CALL_STEPS"])
metrics = options["--metrics"].split(",")
with open(options["--log-file"], "w", newline="") as log:
    log.write("==PROF== Connected to process 1\\n")
    if os.environ.get("STAND_IN_KERNELS") != "none":
        out = csv.writer(log, quoting=csv.QUOTE_ALL)
        out.writerow(["ID", "Process ID", "Kernel Name"] + metrics)
        out.writerow(["", "", ""] + ["unit"] * len(metrics))
        for k, (name, scale) in enumerate([("k_force_plain", 1), ("k_sort_wrap", 2), ("k_force_plain", 3), ("k_force_plain", 5)]):
            out.writerow([k, 1, name] + ["n/a" if "fp64" in metric else f"{1000 * scale * (m + 1):,}" for m, metric in enumerate(metrics)])
    log.write("==PROF== Disconnected\\n")
sys.exit(code)
'''


ROW = ["--table", "rows.csv", "--rows", "a", "--melt", "40"]


def run(folder, *words, what=tuple(ROW), **environment):
    (Path(folder) / "rows.csv").write_text(ROWS)
    stand_in = Path(folder) / "ncu"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    (Path(folder) / "ncu.json").unlink(missing_ok=True)
    done = subprocess.run([SOURCE / "run/ncu.sh", program.program(), "--backend", "auto", *what, "--ncu", str(stand_in),
                           *words], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **environment})
    output = Path(folder) / "ncu.json"
    return done, json.loads(output.read_text()) if output.exists() else None


def test_call_steps(checks, folder):
    """All steps are one call, so that kernels of many steps have many. A length that is none is refused."""
    run(folder, "--steps", "25")
    checks.that((Path(folder) / "call-steps").read_text() == "25", "ncu.py sets MDMINI_CALL_STEPS")
    deck = [SOURCE / "inputs/melt.txt", "run.steps=20", "output.existing=overwrite", "output.name=calls"]
    for text in ("0", " ", "x", "1e3", "1000001"):
        os.environ["MDMINI_CALL_STEPS"] = text
        done = program.run(*deck, "system.cells=4", "run.backend=cpu", folder=folder)
        checks.that(done.code == 2 and f"MDMINI_CALL_STEPS: read {text}; allowed: 1 to 1000000" in done.stderr, f"{text!r}: {done.stderr}")
    os.environ["MDMINI_CALL_STEPS"] = ""
    done = program.run(*deck, "system.cells=4", "run.backend=cpu", folder=folder)
    checks.that(done.code == 0, f"empty, as if it were not set: {done.last_lines()}")
    os.environ["MDMINI_CALL_STEPS"] = "20"
    if BACKEND == "cuda":
        words = ["run.backend=cuda", "system.cells=10", "launch.passes=queue", "neighbor.rebuild=every", "neighbor.every=20",
                 "neighbor.skin=0.3", "output.thermo_every=20"]
        report = program.run(*deck, *words, folder=folder, name="calls").json()
        launches = [kernel["launches"] for kernel in report["kernels"] if kernel["name"] == "k_step_queue"]
        checks.that(launches == [1], f"the queue makes 20 steps in {launches} launches")
    del os.environ["MDMINI_CALL_STEPS"]


def test_whole(checks, folder):
    """Counters of three launches: their median is that of scale 3. Metric number m says 1000 scale (m + 1)."""
    done, record = run(folder)
    if not checks.that(done.returncode == 0 and record, f"exit code {done.returncode}: {done.stdout}{done.stderr}"):
        return
    row, metrics = record["rows"][0], list(ncu.METRICS)
    force, known = row["kernels"]["k_force_plain"], {key: 3000 * (m + 1) for m, key in enumerate(metrics)}
    checks.that(force["launches"] == 3 and row["kernels"]["k_sort_wrap"]["launches"] == 1, f"launches {row['kernels']}")
    for key in metrics:
        expected = None if key == "pipe_fp64" else known[key]
        checks.that(force[key] == expected, f"{key}: {force[key]}, expected {expected}")
    shown = row["figures"]["k_force_plain"]
    checks.near(shown["us"], known["ns"] / 1e3, 1e-12, "time")
    checks.near(shown["instr/a"], 32 * known["warp_instructions"] / 500, 1e-12, "instructions an atom")
    checks.near(shown["instr/e"], shown["instr/a"] / row["neighbors_per_atom"], 1e-12, "instructions an entry")
    checks.near(shown["wave/LDS"], known["shared_wavefronts"] / known["shared_loads"], 1e-12, "wavefronts a load")
    checks.near(shown["DRAM/a"], known["dram_bytes"] / 500, 1e-12, "bytes an atom")
    checks.that(shown["branch"] == known["uniform_branches"] and shown["sect/LD"] == known["sectors_per_load"],
                f"branches and sectors {shown}")
    checks.that(row["figures"]["k_sort_wrap"]["instr/e"] is None, "entries of a kernel that goes through none")
    last = ncu.REASONS[-3:]
    checks.that([text.split()[0] for text in shown["waits"].split(", ")] == list(last[::-1]), f"waits {shown['waits']}")
    lines = done.stdout.splitlines()
    checks.that(any(line.startswith("k_force_plain") and "   3 " in line for line in lines), f"the table: {done.stdout}")
    checks.that(record["provenance"]["commit"] and record["provenance"]["host"] is None, f"provenance {record['provenance']}")
    checks.that("/mdmini-ncu-" not in json.dumps(record["provenance"]), f"a folder of the machine: {record['provenance']['command']}")


def test_resident(checks, folder):
    """A launch of the resident kernel makes many steps: what the table says is of one."""
    of = {"launches": 4, **{key: 400.0 for key in ncu.METRICS}}
    report = {"n_atoms": 10, "neighbors_per_atom": 5.0, "stages": [{"stage": "step", "calls": 40}]}
    shown = ncu.figures("k_step_resident", of, report)
    checks.near(shown["us"], 0.4 / 10, 1e-12, "time of a step")
    checks.near(shown["instr/e"], 32 * 400 / 10 / 10 / 5, 1e-12, "instructions an entry and step")
    checks.near(shown["DRAM/a"], 400 / 10 / 10, 1e-12, "bytes an atom and step")


def test_deck(checks, folder):
    """Any deck, with words of its own, which go before those of the script."""
    program.write_deck(folder, "own", system={"cells": 4, "density": 0.8442}, potential={"cutoff": 2.2}, run={"timestep": 0.004})
    done, record = run(folder, what=("--deck", "own.txt neighbor.skin=0.25 run.steps=7"))
    if not checks.that(done.returncode == 0 and record, f"exit code {done.returncode}: {done.stdout}{done.stderr}"):
        return
    row = record["rows"][0]
    checks.that(row["row"] == "own.txt neighbor.skin=0.25 run.steps=7" and row["n_atoms"] == 256,
                f"the row {row['row']}, {row['n_atoms']} atoms")
    command = record["provenance"]["command"]
    checks.that(all(word in command for word in ("own.txt", "run.steps=7", "report.verify=off", "launch.graph=off")) and
                "run.steps=22" not in command, f"the run: {command}")
    dram_bytes = 3000 * (list(ncu.METRICS).index("dram_bytes") + 1)
    checks.near(row["figures"]["k_force_plain"]["DRAM/a"], dram_bytes / 256, 1e-9, "bytes an atom")
    resident = run(folder, what=("--deck", "own.txt launch.persistent=auto"))[1]
    checks.that("launch.graph" not in resident["provenance"]["command"], f"with a resident kernel: {resident['provenance']['command']}")


def test_ceilings(checks, folder):
    """Each row of a group in a run of its own, figures of an element."""
    listed = json.loads(subprocess.run([program.program(), "--list-ceilings=json"], check=True, stdout=subprocess.PIPE).stdout)
    group = "transpose"
    expected = list(dict.fromkeys(f"{row['group']}:{row['variant']}" for row in listed if row["group"] == group))
    done, record = run(folder, "--words", "--quick run.backend=cpu", what=("--ceilings", group))
    if not checks.that(done.returncode in (0, 1) and record, f"exit code {done.returncode}: {done.stdout}{done.stderr}"):
        return
    of_cpu = {f"{row['group']}:{row['variant']}": row for row in listed if row["group"] == group and row["backend"] == "cpu"}
    ran = [row["row"] for row in record["rows"]]
    checks.that(ran == [name for name in expected if name in of_cpu] and len(ran) > 1, f"rows {ran} of {expected}")
    bytes_index = list(ncu.METRICS).index("dram_bytes")
    for row in record["rows"]:
        n = of_cpu[row["row"]]["quick_size"] ** 2
        checks.that(row["n_atoms"] == n and f"{row['row']}: {n} elements" in done.stdout, f"elements of {row['row']}: {row['n_atoms']}, {n}")
        checks.near(row["figures"]["k_force_plain"]["DRAM/a"], 3000 * (bytes_index + 1) / n, 1e-9, "bytes an element")
    one = run(folder, "--words", "--quick run.backend=cpu", what=("--ceilings", ran[1].replace(":", ": ")))[1]
    checks.that([row["row"] for row in one["rows"]] == [ran[1]], f"one row: {one['rows']}")
    none = run(folder, "--words", "--quick run.backend=cpu", what=("--ceilings", ran[1]), STAND_IN_KERNELS="none")[0]
    checks.that(none.returncode == 0 and f"{ran[1]}: no kernel" in none.stdout, f"copies have no kernel: {none.stdout}")


def test_failures(checks, folder):
    done, record = run(folder, STAND_IN_KERNELS="none")
    checks.that(done.returncode == 1 and record is None and "told nothing" in done.stdout, f"no kernels: {done.stdout}")
    done, record = run(folder, "--words", "force.kernel=nonsense")
    checks.that(done.returncode == 1 and record is None and "refused" in done.stdout, f"refused: {done.stdout}")
    done, record = run(folder, "--ncu", "/nonexistent/ncu")
    checks.that(done.returncode == 2 and "Nsight Compute" in done.stderr, f"no ncu: {done.stderr}")
    for words, said in ((("--deck", "x.txt"), "exclude each other"), (("--ceilings", "nothing"), "exclude each other")):
        done, record = run(folder, *words)
        checks.that(done.returncode == 2 and said in done.stderr, f"{words} beside --rows: {done.stderr}")
    for words in ((), ("--ncu", "/nonexistent/ncu")):
        done, record = run(folder, *words, what=("--ceilings", "bandwidth:nothing"))
        checks.that(done.returncode == 2 and "no such group" in done.stderr, f"no such row of a group: {done.stderr}")
    done, record = run(folder, what=("--deck", "nowhere.txt"))
    checks.that(done.returncode == 1 and record is None and "refused" in done.stdout, f"no such deck: {done.stdout}{done.stderr}")
    done, record = run(folder, "--rows", "zzz")
    checks.that(done.returncode == 2 and "zzz" in done.stderr, f"no such row: {done.stderr}")


checks = Checks()
checks.run(test_call_steps, test_whole, test_resident, test_deck, test_ceilings, test_failures)
checks.finish()
