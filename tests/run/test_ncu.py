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


def run(folder, *words, **environment):
    (Path(folder) / "rows.csv").write_text(ROWS)
    stand_in = Path(folder) / "ncu"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    (Path(folder) / "ncu.json").unlink(missing_ok=True)
    done = subprocess.run([SOURCE / "run/ncu.sh", program.program(), "--backend", "auto", "--table", "rows.csv", "--rows", "a",
                           "--melt", "40", "--ncu", str(stand_in), *words], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **environment})
    output = Path(folder) / "ncu.json"
    return done, json.loads(output.read_text()) if output.exists() else None


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


def test_failures(checks, folder):
    done, record = run(folder, STAND_IN_KERNELS="none")
    checks.that(done.returncode == 1 and record is None and "told nothing" in done.stdout, f"no kernels: {done.stdout}")
    done, record = run(folder, "--words", "force.kernel=nonsense")
    checks.that(done.returncode == 1 and record is None and "refused" in done.stdout, f"refused: {done.stdout}")
    done, record = run(folder, "--ncu", "/nonexistent/ncu")
    checks.that(done.returncode == 2 and "Nsight Compute" in done.stderr, f"no ncu: {done.stderr}")
    done, record = run(folder, "--rows", "zzz")
    checks.that(done.returncode == 2 and "zzz" in done.stderr, f"no such row: {done.stderr}")


checks = Checks()
checks.run(test_whole, test_resident, test_failures)
checks.finish()
