"""A study as an array of jobs in a real Slurm of one node, and the table that is made after it: that of a study in one piece."""
import json
import re
import shutil
import subprocess

import cluster as slurm
from cluster import SCRIPTS

STUDY = ("--vary", "neighbor.list=full,half", "--vary", "neighbor.skin=0.2,0.3",
         "--repeats", "6", "--words", "system.cells=5 potential.cutoff=2.2 run.backend=cpu run.threads=1 run.steps=100")
# What has to be the same in all studies of one definition: all but what was timed.
SAME = ("label", "settings", "changed", "ran", "status", "reason", "verdict", "deterministic", "n_late_rebuilds", "n_steps", "n_runs",
        "force_error", "drift")


def table(folder):
    """What two tables of one study have in common, by point."""
    results = json.loads((folder / "results.json").read_text())
    return {point["id"]: {key: point[key] for key in SAME} for point in results["points"]}


def n_lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def submit_study(cluster, folder, n_parts):
    """(array, merge): the jobs."""
    said = cluster.command(SCRIPTS / "study.sh", "--gres=none", "--cpus-per-task=1", n_parts, "study", "melt.txt", *STUDY,
                           folder=folder)
    return re.fullmatch(r"array (\d+), .*; table (\d+): .*", said).groups()


def test_study(checks, folder, cluster):
    """An array of which one part is sent back to the queue and another one is cancelled: the table says what is missing, the same
    command again makes it, and the table is that of a study in one piece, but for what was timed."""
    shutil.copy(SCRIPTS.parents[1] / "inputs" / "melt.txt", folder)
    subprocess.run([SCRIPTS.parents[1] / "tools" / "study.py", "melt.txt", *STUDY, "--output", "whole"], cwd=folder,
                   capture_output=True, check=True)
    whole, parts = table(folder / "whole"), [folder / "study" / f"runs-{k}-of-2.jsonl" for k in (1, 2)]
    checks.that(len(whole) == 4 and {point["status"] for point in whole.values()} == {"measured"},
                f"the study in one piece: {whole}")

    array, merge = submit_study(cluster, folder, 2)
    cluster.command("scancel", f"{array}_2")
    cluster.wait(lambda: n_lines(parts[0]) > 1, 600, "the first part makes no runs")
    cluster.command("scontrol", "requeue", f"{array}_1")
    n_before = n_lines(parts[0])
    cluster.wait_requeued(f"{array}_1", 1)
    checks.that(cluster.job(merge)["JobState"] == "PENDING", "the table is made before the parts have ended")
    end = cluster.wait_state(merge, "FAILED", "COMPLETED")
    said, first = ((folder / f"{name}.out").read_text() for name in (f"mdmini-merge-{merge}", f"mdmini-study-{array}_1"))
    checks.that(end["ExitCode"] == "75:0" and "MISSING: part 2 of 2" in said and "UNFINISHED: 12 runs" in said,
                f"the table without a part: {end}\n{said}")
    checks.that(0 < n_before < 12 and "start 1" in first, f"part 1 was sent back after {n_before} of 12 runs: {first}")

    array, merge = submit_study(cluster, folder, 2)
    end = cluster.wait_state(merge, "FAILED", "COMPLETED")
    said = (folder / f"mdmini-merge-{merge}.out").read_text()
    checks.that(end["ExitCode"] == "0:0" and "MISSING" not in said and cluster.job(f"{array}_2")["ExitCode"] == "0:0",
                f"the table of all parts: {end}\n{said}")
    checks.that([n_lines(part) for part in parts] == [12, 12], f"runs of the parts: {[n_lines(part) for part in parts]}")
    checks.that(table(folder / "study") == whole, f"the table of an array: {table(folder / 'study')}\nin one piece: {whole}")


def test_refused(checks, folder, cluster):
    """What study.sh cannot read: nothing is submitted, and it says what to write."""
    (folder / "mine.ini").touch()
    for words, message in ((("--time", "1:00", 2, "x", "mine.ini"), "write --time=1:00;"), (("-t", 60, 2, "x", "mine.ini"), "write -t60;"),
                           (("--exclusive", 2, "x", "other.ini"), "other.ini: no such file"), ((2, "x"), "too few words;"),
                           (("--time=1:00", 0, "x", "mine.ini"), "read '0' for PARTS; allowed: a whole number from 1; usage")):
        done = subprocess.run([SCRIPTS / "study.sh", *map(str, words)], cwd=folder, env=cluster.environment, capture_output=True, text=True)
        checks.that(done.returncode == 2 and message in done.stderr, f"{words}: exit code {done.returncode}: {done.stderr}")
    checks.that(not cluster.command("squeue", "-h"), "something was submitted")


slurm.run_tests(test_refused, test_study)
